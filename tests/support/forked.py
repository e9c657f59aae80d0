"""Runs ``scrapy`` and programs that crawl in processes of their own, which need not
import Scrapy.

That takes most of a second, and the run itself mostly next to nothing. So one process
imports it and the package and nothing else, and is forked for each run: no run knows of
another. It is this file, as a program.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from scrapy.settings import default_settings

LONGEST = 60  # seconds of a run
IMPORTED = (
    "scrapy.__main__",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.core.engine",
    "scrapy.logformatter",
    "scrapy.statscollectors",
    "scrapy.core.downloader.handlers.datauri",
    "scrapy.crawler",
    "scrapy_mandelbot.addon",
    "scrapy_mandelbot.commands.project",
    "scrapy_mandelbot.commands.verbs",
    "scrapy_mandelbot.downloadermiddlewares",
    "scrapy_mandelbot.job.sqlite_job",
    "mandelbot.cli.output.robots_page",
    "scrapy_mandelbot.spidermiddlewares.robot_tags",
    "scrapy_mandelbot.store.sqlite",
)
COMPONENTS = (
    "EXTENSIONS_BASE",
    "DOWNLOADER_MIDDLEWARES_BASE",
    "SPIDER_MIDDLEWARES_BASE",
)


class Forked:
    """What runs them."""

    def __init__(self, folder: Path) -> None:
        self._address = str(folder / "forked")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._address)
            listener.listen()
            number = listener.fileno()
            self._server = subprocess.Popen(
                [sys.executable, __file__, str(number)], pass_fds=[number]
            )

    def run(
        self, folder: Path, *arguments: object, stdin: bytes = b"", **environ: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``scrapy robots`` in a folder, and wait for it."""
        return self.program(
            folder, "scrapy", "robots", *arguments, stdin=stdin, **environ
        )

    def program(
        self, folder: Path, *arguments: object, stdin: bytes = b"", **environ: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``scrapy``, or the script named first, in a folder, and wait for it."""
        words = [str(argument) for argument in arguments]
        with TemporaryDirectory() as files, socket.socket(socket.AF_UNIX) as connection:
            given, out, err = (Path(files) / name for name in ("in", "out", "err"))
            given.write_bytes(stdin)
            connection.settimeout(LONGEST)
            connection.connect(self._address)
            asked = {
                "folder": str(folder),
                "arguments": words,
                "environ": {**os.environ, **environ},
                "files": [str(given), str(out), str(err)],
            }
            connection.sendall(json.dumps(asked).encode() + b"\n")
            code = int(connection.makefile().read())
            return subprocess.CompletedProcess(
                words, code, out.read_bytes(), err.read_bytes()
            )

    def stop(self) -> None:
        """End the server."""
        self._server.kill()
        self._server.wait()


def serve(listener: socket.socket) -> None:
    """Fork for each run, for ever.

    Returns in the process of a run only, which is to run it.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asked = json.loads(connection.makefile().readline())
            run = os.fork()
            if run == 0:
                listener.close()
                connection.close()
                return become(**asked)
            _, status = os.waitpid(run, 0)
            connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
            os._exit(0)
        connection.close()


def become(
    folder: str, arguments: list[str], environ: dict[str, str], files: list[str]
) -> None:
    """Be as a process that was started so."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    modes = (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT] * 2)
    for number, (file, mode) in enumerate(zip(files, modes, strict=True)):
        os.dup2(os.open(file, mode), number)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")
    sys.argv = arguments
    sys.path[0] = folder
    if "PYTHONPATH" in environ:
        sys.path[1:1] = environ["PYTHONPATH"].split(os.pathsep)


def run() -> None:
    """Run what the process has become: ``scrapy``, or a script."""
    if sys.argv[0] == "scrapy":
        sys.argv[0] = sys.modules["scrapy.__main__"].__file__
        sys.modules["scrapy.__main__"].execute()
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


def end(code: object) -> NoReturn:
    """End as an interpreter does, but take nothing apart: that is most of a short run's
    time.
    """
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # ends pools of threads and waits for the other threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # closed by who reads it
            stream.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    for module in IMPORTED:
        importlib.import_module(module)
    for one in pkgutil.iter_modules(
        importlib.import_module("scrapy.commands").__path__
    ):
        importlib.import_module(f"scrapy.commands.{one.name}")
    for setting in COMPONENTS:
        for path in getattr(default_settings, setting):
            importlib.import_module(path.rpartition(".")[0])
    assert "twisted.internet.reactor" not in sys.modules, (
        "each run has to choose its own"
    )
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as here:
        serve(here)
    try:
        run()
    except SystemExit as exit_:
        end(exit_.code)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        end(1)
    end(0)
