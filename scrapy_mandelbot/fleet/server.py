"""A job on Redis: calls of its scripts, which block for a few seconds at most."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.fleet.changes import key, name, read_answer, read_request
from scrapy_mandelbot.job.deliveries import most_at_once
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.requests import identity_of

if TYPE_CHECKING:
    from redis import Redis

    from scrapy_mandelbot.fleet.changes import Claimed, Reply
    from scrapy_mandelbot.fleet.holdings import Exchange, HandedOverSite
    from scrapy_mandelbot.settings.config import Config

VERSION = 1  # of the format of a job
_KEYS = (
    *(
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
        "meta",
        "none",
    ),
    *("owner", "refused", "rest", "states", "was", "why", "workers"),
)
"""Those that scripts come by whatever is said; those of a site or worker are found out
in them.
"""


_ADD = "add URLs by `scrapy robots job … add`"
_ALL_KEYS = {*_KEYS, "c", "children", "of", "out", "q", "r", "seen", "tries"}


class JoinReply(NamedTuple):
    """The server's reply to a worker that joins a job."""

    worker: int  # its number, unique in the job as far as the server knows
    run: int
    waiting: int  # sites that wait for a worker
    others: int  # other workers
    born: int  # when the job began; another time is another job
    token: str  # unique, where a server that was set back reuses the number


class CookieReply(NamedTuple):
    """What a job on Redis has of cookies."""

    last: int  # the number of the last change that is known now
    has_more: bool
    bodies: list[bytes]


class JobServer:
    """A job on a Redis server.

    Calls raise StorageError where the server cannot be reached. All keys begin with
    ``mandelbot:{JOB}:``. A worker that is silent for `lease` seconds loses its sites.
    `reader`: the version of the worker's spider, and after how many deaths of workers
    it sets a request aside. `project`: the owner of the job; empty: any.
    """

    def __init__(
        self,
        url: str,
        job: str,
        lease: float,
        reader: tuple[str, int] = ("", 3),
        project: str = "",
    ) -> None:
        from scrapy_mandelbot.store.redis.address import (  # noqa: PLC0415 -- not everyone needs it
            connect,
            shown_address,
        )

        self.url = shown_address(url)
        self._redis: Redis = connect(url)
        self.key = f"mandelbot:{{{job}}}"
        self._keys = [self.key, *(f"{self.key}:{one}" for one in _KEYS)]
        self._lease = int(lease * 1000)
        self._version, limit = reader
        at_once = " ".join(str(most_at_once(deaths, limit)) for deaths in range(limit))
        self._reader = self._version, at_once
        self._project = project
        self._join, self._leave, self._exchange = map(
            self._script, ("join", "leave", "exchange")
        )
        self._cookies = self._script("cookies")
        self._was_away = False

    @classmethod
    def of(cls, config: Config, spider: Any) -> JobServer:
        """Return the job that the settings name, for this version of the spider."""
        name = config.job_name or str(spider.name)
        project, version = identity_of(spider)
        reader = version, config.job_deliveries
        return cls(
            config.job,
            name,
            config.job_lease,
            reader,
            "" if config.job_name else project,
        )

    def __repr__(self) -> str:
        return f"<JobServer {self.url} {self.key}>"

    def risks(self, spider: Any) -> list[str]:
        """Say what is wrong with Redis, as far as it may be asked.

        StorageError: it evicts any.
        """
        from redis import ResponseError  # noqa: PLC0415 -- not everyone needs it

        risks = []
        about = {}
        with self._connection() as redis:
            with suppress(ResponseError):
                about = redis.info()
            with suppress(ResponseError):  # another node of a cluster may have it
                if not hasattr(spider, "redis_key") and redis.exists(
                    f"{spider.name}:start_urls"
                ):
                    risks.append(
                        f"only a RedisSpider reads {spider.name}:start_urls; {_ADD}"
                    )
        policy = str(about.get("maxmemory_policy")) if about.get("maxmemory") else ""
        if policy.startswith("allkeys-"):
            raise StorageError(
                f"{self.url} evicts any key when it is full, requests too"
                f" (maxmemory-policy {policy}): set noeviction"
            )
        if policy.startswith("volatile-"):
            risks.append(f"maxmemory-policy is {policy}: it evicts what a store holds")
        if about.get("aof_enabled") == 0:
            risks.append("appendonly is off: a crash loses data")
        return risks

    def join(self) -> JoinReply:
        """Join the job, if it has this format and belongs to this project."""
        token = os.urandom(4).hex()
        asked = [VERSION, self._lease, token, self._version, self._project]
        reply: list[Any] = []
        while not reply:
            version, *reply = self._call(self._join, asked)
        if int(version) != VERSION:
            raise StorageError(
                f"the job {self.key} was written by another version (format"
                f" {int(version)})"
            )
        if reply[1:] == []:
            raise StorageError(
                f"the job {self.key} is the project {name(reply[0])!r}'s, and this is"
                f" {self._project!r}: give each its name, as"
                ' MANDELBOT_JOB_OPTIONS = {"name": "…"} does'
            )
        worker, run, waiting, others, born = map(int, reply)
        return JoinReply(worker, run, waiting, others, born, token)

    def exchange(self, exchange: Exchange) -> Reply:
        """Apply an exchange, as a whole or not at all.

        After a StorageError it is unknown whether it was applied: repeat the same one.
        """
        try:
            said = self._call(
                self._exchange,
                exchange.arguments(self._lease, self._reader, was_away=self._was_away),
            )
        except StorageError:
            self._was_away = True
            raise
        self._was_away = False
        return read_answer(said)

    def cookies(
        self, known: int, most: int, limit: int, changes: Iterable[tuple[str, bytes]]
    ) -> CookieReply:
        """Store changed cookies; return up to `most` that changed after `known`.

        `limit`: how many cookies the job stores.
        """
        own = [value for change in changes for value in change]
        said = self._call(self._cookies, [known, most, limit, *own])
        return CookieReply(int(said[0]), bool(said[1]), said[2])

    def sends(self, worker: int, numbers: Iterable[int]) -> None:
        """Record which requests a worker has sent: if it dies, one may be the cause."""
        with self._connection() as redis:
            redis.sadd(f"{self.key}:out:{worker}", *numbers)

    def leave(
        self, worker: int, token: str, left: Iterable[HandedOverSite] = ()
    ) -> None:
        """Leave the job: other workers get its sites.

        `left`: states of sites that it held, for those without another owner by now.
        """
        sites = [one for name, *rest in left for one in (key(name), *rest)]
        while self._call(self._leave, [worker, token, *sites]):
            pass

    # For `scrapy robots job`.

    def exists(self) -> bool:
        with self._connection() as redis:
            return bool(redis.exists(f"{self.key}:meta"))

    def lengths(self) -> dict[str, tuple[int, int]]:
        with self._connection() as redis:
            owned = {*redis.hkeys(f"{self.key}:owner")}
            waiting = {*redis.zrange(f"{self.key}:due", 0, -1)}
            waiting |= {*redis.zrange(f"{self.key}:last", 0, -1)}
            lengths = {}
            for site in sorted(owned | waiting):
                counts: Any = redis.pipeline(transaction=False)
                counts.zcard(self._of_site("q", site)).hlen(self._of_site("c", site))
                lengths[name(site)] = tuple(counts.execute())
        return lengths

    def workers(self) -> dict[int, tuple[float, int]]:
        with self._connection() as redis:
            seconds, microseconds = redis.time()
            now = seconds + microseconds / 1e6
            leases = redis.zrange(f"{self.key}:workers", 0, -1, withscores=True)
            return {
                int(worker): (
                    until / 1000 - now,
                    redis.scard(f"{self.key}:of:{int(worker)}"),
                )
                for worker, until in leases
                if until / 1000 >= now
            }

    def left(self) -> dict[str, bytes]:
        with self._connection() as redis:
            kept = redis.hgetall(f"{self.key}:states")
        return {name(site): bytes(state) for site, state in kept.items()}

    def aside(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        with self._connection() as redis:
            for where, why in redis.hgetall(f"{self.key}:why").items():
                _, _, site = where.partition(b":")
                count = redis.zcard(f"{self.key}:r:".encode() + where)
                reasons = found.setdefault(name(site), {})
                reasons[why.decode()] = reasons.get(why.decode(), 0) + count
        return found

    def requests(self) -> Iterator[Claimed]:
        """Yield all requests, in any order: waiting, claimed and set aside."""
        with self._connection() as redis:
            prefix = f"{self.key}:"
            for found in redis.scan_iter(_escaped(prefix) + "[qcr]:*", count=1000):
                kind, _, site = found[len(key(prefix)) :].partition(b":")
                if kind == b"c":
                    for _, kept in redis.hscan_iter(found, count=1000):
                        priority, _, member = kept.partition(b" ")
                        yield read_request(site, priority, member)
                    continue
                site = site.partition(b":")[2] if kind == b"r" else site
                for member, priority in redis.zscan_iter(found, count=1000):
                    yield read_request(site, b"%r" % priority, member)

    def requeue(self, site: str) -> list[str]:
        """Requeue requests that are set aside, of a site or, if it is empty, of all."""
        return sorted(
            {name(one) for one in self._call(self._script("requeue"), [key(site)])}
        )

    def forget(self) -> None:
        """Delete all keys of the job; a StorageError while a worker has it."""
        prefix = f"{self.key}:"
        script = self._script("forget")
        at = None
        while at != 0:
            with self._connection() as redis:
                at, found = redis.scan(at or 0, f"{_escaped(prefix)}*", 1000)
            kinds = ((one, one[len(key(prefix)) :].partition(b":")[0]) for one in found)
            # not of a store "1"
            own = [one for one, kind in kinds if name(kind) in _ALL_KEYS]
            if self._call(script, own) == [0]:
                raise StorageError("a worker has this job")

    def close(self) -> None:
        self._redis.close()

    def _of_site(self, what: str, site: bytes) -> bytes:
        return f"{self.key}:{what}:".encode() + site

    def _script(self, which: str) -> Any:
        from scrapy_mandelbot.store.redis.script import read_script  # noqa: PLC0415

        return self._redis.register_script(
            read_script("scrapy_mandelbot.fleet", "common", which).text
        )

    def _call(self, script: Any, arguments: list[Any]) -> list[Any]:
        try:
            with self._connection():
                reply: list[Any] = script(keys=self._keys, args=arguments)
        except StorageError:
            # the name may point to another machine by now
            self._redis.connection_pool.disconnect()
            raise
        return reply

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """Turn errors of the server into StorageError."""
        from redis import RedisError  # noqa: PLC0415

        try:
            yield self._redis
        except (RedisError, OSError) as error:
            raise StorageError(f"{type(error).__name__}: {error}") from error


def _escaped(key: str) -> str:
    return "".join(f"\\{one}" if one in "*?[]\\^" else one for one in key)
