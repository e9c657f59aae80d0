"""Runs ``mandelbot`` as a person does, in this process or in one of its own."""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from mandelbot.cli.verbs import main

LONGEST = 60  # seconds of a run


class Command:
    """What runs it."""

    def run(
        self,
        folder: Path,
        *arguments: object,
        stdin: bytes = b"",
        most_written: int | None = None,
        **environ: str,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``mandelbot`` in a folder, and wait for it.

        `most_written` is how many octets a file may have, as on a disk that is full.
        Such a run, and one with an environment that the interpreter itself reads, has a
        process of its own; the others call :func:`mandelbot.cli.verbs.main` in this
        one, which takes a tenth of the time.
        """
        words = [str(argument) for argument in arguments]
        is_for_python = any(name.startswith(("PYTHON", "LC_")) for name in environ)
        if most_written is not None or is_for_python:
            return self.process(folder, words, stdin, most_written, environ)
        streams = (Stream(stdin), Stream(), Stream())
        with pytest.MonkeyPatch.context() as patched:
            patched.chdir(folder)
            for name, value in environ.items():
                patched.setenv(name, value)
            for name, stream in zip(
                ("stdin", "stdout", "stderr"), streams, strict=True
            ):
                patched.setattr(sys, name, stream)
            try:
                code = main(words)
            except SystemExit as exit_:  # of wrong use, and of --help
                code = exit_.code
        _, out, err = streams
        return subprocess.CompletedProcess(words, code, out.octets(), err.octets())

    def process(
        self,
        folder: Path,
        words: list[str],
        stdin: bytes = b"",
        most_written: int | None = None,
        environ: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run it in a process of its own, which imports nothing but the library."""
        limited = None if most_written is None else partial(limit_files, most_written)
        return subprocess.run(
            [sys.executable, "-m", "mandelbot", *words],
            cwd=folder,
            input=stdin,
            env={**os.environ, **(environ or {})},
            capture_output=True,
            check=False,
            timeout=LONGEST,
            preexec_fn=limited,
        )


class Stream(io.TextIOWrapper):
    """A pipe's end, as an interpreter opens it."""

    def __init__(self, octets: bytes = b"") -> None:
        super().__init__(io.BytesIO(octets), encoding="utf-8", write_through=True)

    def octets(self) -> bytes:
        """Return what was written."""
        self.flush()
        return self.buffer.getvalue()


def limit_files(octets: int) -> None:
    """Let no file of this process grow beyond so many octets: writing fails then."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, octets))
