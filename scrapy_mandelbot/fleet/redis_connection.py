"""The connection to one job on a Redis or Valkey server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from redis import (
    AuthenticationError,
    ConnectionError,  # noqa: A004 -- of redis
    Redis,
    RedisError,
    TimeoutError,  # noqa: A004 -- of redis
)
from redis.backoff import NoBackoff
from redis.exceptions import AuthorizationError, NoPermissionError
from redis.retry import Retry

from scrapy_mandelbot.fleet.job_server import ServerAwayError, ServerRefusedError
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.settings.redis_url import shown_address, tls_options

KEYS = (
    "asked",
    "cookied",
    "cookies",
    "deaths",
    "due",
    "ended",
    "exchanges",
    "hungry",
    "idle",
    "last",
    "looking",
    "meta",
    "none",
    "owner",
    "quiet",
    "refused",
    "reported",
    "reports",
    "rest",
    "states",
    "was",
    "why",
    "workers",
)
"""Keys that are of no site, worker or request."""
ALL_KINDS = {*KEYS, "c", "children", "of", "out", "q", "r", "seen", "tries"}
"""What the keys of a job begin with, behind its name."""

_REFUSALS = (AuthenticationError, AuthorizationError, NoPermissionError)
_IN_SCRIPTS = ("ACL failure in script", "The user executing the script can't")
"""Begin what Redis (7 and newer, 6.2) says where a user may not do what a script does.
"""
_PATIENCE = 2.0  # seconds for which an answer of the server is waited for


def read_script(which: str) -> str:
    """Return a script of the folder ``lua``, behind what all of them share."""
    folder = files(__package__) / "lua"
    return "\n".join((folder / f"{one}.lua").read_text() for one in ("common", which))


class RedisConnection:
    """Scripts and commands for one job on one server; a StorageError where it fails."""

    def __init__(self, url: str, job: str) -> None:
        self.url = shown_address(url)
        self.key = f"mandelbot:{{{job}}}"  # all keys of the job begin so
        self._redis: Redis = _connect(url)
        self._keys = [f"{self.key}:{one}" for one in KEYS]
        self._scripts: dict[str, Any] = {}  # by name, as they are used

    @contextmanager
    def commands(self) -> Iterator[Any]:
        """Turn errors of the server into StorageError."""
        try:
            yield self._redis
        except (RedisError, OSError) as error:
            raise _kind_of(error)(f"{type(error).__name__}: {error}") from error

    def run(self, which: str, arguments: list[Any], *, all_keys: bool = False) -> Any:
        """Run a script of the folder ``lua`` in one step.

        `all_keys`: name each key of `KEYS`, not only the one with which all begin.
        That is some 700 bytes, and most of what a worker sends if it says little.
        """
        if which not in self._scripts:
            self._scripts[which] = self._redis.register_script(read_script(which))
        keys = [self.key, *self._keys] if all_keys else [self.key]
        try:
            with self.commands():
                return self._scripts[which](keys=keys, args=arguments)
        except StorageError:
            # the name may point to another machine by now
            self._redis.connection_pool.disconnect()
            raise

    def close(self) -> None:
        self._redis.close()


def _kind_of(error: Exception) -> type[StorageError]:
    """Return which StorageError says the same as an error of the package ``redis``."""
    said = str(error)
    if isinstance(error, _REFUSALS) or said.startswith(_IN_SCRIPTS):
        return ServerRefusedError
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return StorageError
    if isinstance(error, (ConnectionError, TimeoutError, OSError)):
        return ServerAwayError
    return StorageError


def _connect(url: str) -> Redis:
    """Return a client that neither waits for long nor tries again by itself.

    It connects later.
    """
    client = Redis.from_url(
        url,
        socket_timeout=_PATIENCE,
        socket_connect_timeout=_PATIENCE,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
        decode_responses=False,
        **tls_options(url),
    )
    # whatever the URL says
    client.connection_pool.connection_kwargs["decode_responses"] = False
    return client
