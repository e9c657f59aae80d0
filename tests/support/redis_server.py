"""Debian's redis-server, on loopback for tests: one of our own, which can be killed and
come back.

It keeps nothing on disk unless asked to. In a test module::

    from redis_server import NEEDS_REDIS, RedisServer

    pytestmark = NEEDS_REDIS

    @pytest.fixture(scope="module")
    def redis_server(tmp_path_factory):
        with RedisServer(tmp_path_factory.mktemp("redis")) as server:
            yield server

``MANDELBOT_REDIS_SERVER`` in the environment names another program than
``redis-server``, as ``valkey-server`` or ``/opt/redis-8/bin/redis-server``.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    import redis

PROGRAM = os.environ.get("MANDELBOT_REDIS_SERVER", "redis-server")
IS_THERE = shutil.which(PROGRAM) is not None
NEEDS_REDIS = pytest.mark.skipif(
    not IS_THERE, reason=f"{PROGRAM} is not installed (Debian: redis-server)"
)

_PATIENCE = 10.0  # seconds until it must have started, or ended


def free_port() -> int:
    """Return a port of loopback on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


USER = "robot:se%2Fcret"
"""As it stands in a URL."""


RIGHTS = "~mandelbot:* &mandelbot:* +@all -@dangerous"
"""Of a worker's user, as docs/machines.rst has them."""


def add_user(client: redis.Redis) -> None:
    """Add a user with a password and the rights that docs/machines.rst asks for."""
    user = ("robot", "reset", "on", ">se/cret")
    client.execute_command("ACL", "SETUSER", *user, *RIGHTS.split())


class RedisServer:
    """A redis-server on a free port of loopback, stopped at the end of a ``with``
    block.

    Args:
        folder: where it keeps what it writes; of its own, for this server alone.
        appendonly: whether it keeps its data over :meth:`kill` and :meth:`stop`, synced
            at each write. Else it starts empty each time.
        arguments: further settings as redis-server takes them, as ``"--maxmemory",
            "2mb"``.
    """

    def __init__(self, folder: Path, *arguments: str, appendonly: bool = False) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.unix_url = f"unix://{folder}/redis.sock?db=0"
        self._folder = folder
        self._command = [
            *(PROGRAM, "--port", str(self.port), "--bind", "127.0.0.1"),
            *("--unixsocket", str(folder / "redis.sock"), "--dir", str(folder)),
            *(
                "--logfile",
                str(folder / "redis.log"),
                "--daemonize",
                "no",
                "--save",
                "",
            ),
            *("--repl-diskless-sync-delay", "0"),
            *("--appendonly", "yes" if appendonly else "no", "--appendfsync", "always"),
            *arguments,
        ]
        self._process: subprocess.Popen | None = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, again after :meth:`stop` or :meth:`kill` too, and wait till it
        answers.
        """
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            if self._answers():
                return
        self.kill()
        raise TimeoutError((self._folder / "redis.log").read_text())

    def stop(self) -> None:
        """End it as an administrator does; nothing happens where it does not run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash does: ``kill -9``."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it take connections and answer nothing, until :meth:`thaw`."""
        self._running().send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on where :meth:`freeze` held it."""
        self._running().send_signal(signal.SIGCONT)

    def clear(self) -> None:
        """Drop all that it holds, for the next test."""
        self._ask(b"FLUSHALL\r\n")

    def replicate(self, port: int) -> None:
        """Make it a replica of the server on a port, and wait until it has all of
        that.
        """
        self._ask(b"REPLICAOF 127.0.0.1 %d\r\n" % port)
        deadline = time.monotonic() + _PATIENCE
        while b"master_link_status:up" not in self._ask(b"INFO replication\r\n"):
            if time.monotonic() > deadline:
                raise TimeoutError((self._folder / "redis.log").read_text())
            time.sleep(0.01)

    def promote(self) -> None:
        """Make it a primary again."""
        self._ask(b"REPLICAOF NO ONE\r\n")

    def _running(self) -> subprocess.Popen:
        assert self._process is not None
        return self._process

    def _end(self, by: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGCONT)  # a frozen one hears nothing but SIGKILL
        process.send_signal(by)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_PATIENCE)
            raise

    def _answers(self) -> bool:
        try:
            return self._ask(b"PING\r\n").startswith(b"+PONG")
        except OSError:
            time.sleep(0.01)
            return False

    def _ask(self, command: bytes) -> bytes:
        with socket.create_connection(
            ("127.0.0.1", self.port), timeout=_PATIENCE
        ) as connection:
            connection.sendall(command)
            return connection.recv(1_000)


_NODES = """{me} 127.0.0.1:{port}@0 myself,master - 0 0 1 connected {own}
{other} 127.0.0.1:1@2 master - 0 0 2 connected {others}
vars currentEpoch 2 lastVoteEpoch 0
"""


class ClusterNode(RedisServer):
    """A node of a cluster, which has these slots; the others are those of a node that
    is not there.

    It takes two seconds to start: so long a node waits whether it is still the one that
    has them.
    """

    def __init__(self, folder: Path, own: str, others: str = "") -> None:
        super().__init__(
            folder,
            *("--cluster-enabled", "yes", "--cluster-require-full-coverage", "no"),
            *("--cluster-node-timeout", "600000", "--cluster-port", str(free_port())),
        )
        nodes = _NODES.format(
            me="a" * 40, port=self.port, own=own, other="b" * 40, others=others
        )
        (folder / "nodes.conf").write_text(nodes)

    def start(self) -> None:
        """Start it, and wait till it has its slots."""
        super().start()
        while b"cluster_state:ok" not in self._ask(b"CLUSTER INFO\r\n"):
            time.sleep(0.01)


class Sentinel(RedisServer):
    """A Sentinel that watches nothing."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        own = folder / "sentinel.conf"
        own.touch()  # it writes there what it knows
        self._command[1:1] = [str(own), "--sentinel"]
