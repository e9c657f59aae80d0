"""What ``scrapy robots job`` reads of a job on Redis, a thousand rows a command."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_mandelbot.fleet.changes import key, name, read_request
from scrapy_mandelbot.fleet.redis_connection import ALL_KINDS
from scrapy_mandelbot.job.job_store import StorageError

if TYPE_CHECKING:
    from scrapy_mandelbot.fleet.changes import Claimed
    from scrapy_mandelbot.fleet.redis_connection import RedisConnection

Row = TypeVar("Row")

AT_ONCE = 1_000  # rows of a command, and commands of a pipeline
_LEFT = b"="  # begins WHO of pages that a run gave up: they wait for the next one


class RedisJobView:
    """What ``scrapy robots job`` reads of a job, and does to it."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._prefix = f"{connection.key}:"

    def exists(self) -> bool:
        return self.version() is not None

    def version(self) -> int | None:
        """Return the number of the form of the job; None: there is no job."""
        with self._connection.commands() as redis:
            number = redis.hget(self._key("meta"), "version")
        return None if number is None else int(number)

    def lengths(self) -> dict[str, tuple[int, int]]:
        lengths: dict[str, tuple[int, int]] = {}
        with self._connection.commands() as redis:
            owned = (site for site, _ in self._rows(redis, "owner"))
            due = (site for site, _ in self._scores(redis, "due"))
            last = (site for site, _ in self._scores(redis, "last"))
            sites = sorted({*chain(owned, due, last)})
            for part in _parts(sites):
                counts = redis.pipeline(transaction=False)
                for site in part:
                    counts.zcard(self._of_site("q", site))
                    counts.hlen(self._of_site("c", site))
                pairs = zip(*[iter(counts.execute())] * 2, strict=True)
                lengths.update(zip(map(name, part), pairs, strict=True))
            for who, where, _, count in self._set_aside(redis):
                if who.startswith(_LEFT):
                    waiting, claimed = lengths.get(where, (0, 0))
                    lengths[where] = waiting + count, claimed
        return lengths

    def workers(self) -> dict[int, tuple[float, int]]:
        with self._connection.commands() as redis:
            seconds, microseconds = redis.time()
            now = seconds + microseconds / 1e6
            found = {}
            for worker, until in self._scores(redis, "workers"):
                left = until / 1000 - now
                if left >= 0:
                    sites = redis.scard(self._key(f"of:{int(worker)}"))
                    found[int(worker)] = (left, sites)
            return found

    def known(self) -> dict[str, bytes]:
        with self._connection.commands() as redis:
            return {
                name(site): bytes(state) for site, state in self._rows(redis, "states")
            }

    def aside(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        with self._connection.commands() as redis:
            for who, site, why, count in self._set_aside(redis):
                if not who.startswith(_LEFT):
                    reasons = found.setdefault(site, {})
                    reasons[why] = reasons.get(why, 0) + count
        return found

    def _set_aside(self, redis: Any) -> Iterator[tuple[bytes, str, str, int]]:
        """Yield what is set aside: WHO, the site, why, and how many requests."""
        for part in _parts(sorted(self._rows(redis, "why"))):
            counts = redis.pipeline(transaction=False)
            for where, _ in part:
                counts.zcard(self._of_site("r", where))
            for (where, why), count in zip(part, counts.execute(), strict=True):
                who, _, site = where.partition(b":")
                yield who, name(site), why.decode(), count

    def requests(self) -> Iterator[Claimed]:
        with self._connection.commands() as redis:
            pattern = f"{_escaped(self._prefix)}[qcr]:*"
            for found in redis.scan_iter(pattern, count=AT_ONCE):
                kind, _, site = found[len(key(self._prefix)) :].partition(b":")
                if kind == b"c":
                    for _, kept in redis.hscan_iter(found, count=AT_ONCE):
                        priority, _, member = kept.partition(b" ")
                        yield read_request(site, priority, member)
                    continue
                if kind == b"r":
                    site = site.partition(b":")[2]
                for member, priority in redis.zscan_iter(found, count=AT_ONCE):
                    yield read_request(site, b"%r" % priority, member)

    def reports(self) -> tuple[list[bytes], int]:
        with self._connection.commands() as redis:
            gone = redis.hget(self._key("meta"), "unreported") or 0
            return [body for _, body in self._rows(redis, "reports")], int(gone)

    def requeue(self, wanted: str) -> list[str]:
        found: set[str] = set()
        for which in ("refused", "rest"):
            cursor: Any = 0
            is_over = False
            while not is_over:
                asked = [key(wanted), which, cursor]
                more, cursor, sites = self._connection.run("requeue", asked)
                found.update(map(name, sites))
                is_over = not more
        return sorted(found)

    def forget(self) -> None:
        cursor = None
        while cursor != 0:
            with self._connection.commands() as redis:
                pattern = f"{_escaped(self._prefix)}*"
                cursor, found = redis.scan(cursor or 0, pattern, AT_ONCE)
            own = [one for one in found if self._is_own(one)]
            if self._connection.run("forget", own) == [0]:
                raise StorageError("a worker has this job")

    def _is_own(self, found: bytes) -> bool:
        """Return whether a key is the job's, and not that of a store named like it."""
        kind = found[len(key(self._prefix)) :].partition(b":")[0]
        return name(kind) in ALL_KINDS

    def _key(self, what: str) -> str:
        return self._prefix + what

    def _of_site(self, what: str, site: bytes) -> bytes:
        return key(f"{self._prefix}{what}:") + site

    def _rows(self, redis: Any, what: str) -> Iterator[tuple[bytes, bytes]]:
        rows: Iterator[tuple[bytes, bytes]] = redis.hscan_iter(
            self._key(what), count=AT_ONCE
        )
        return rows

    def _scores(self, redis: Any, what: str) -> Iterator[tuple[bytes, float]]:
        rows: Iterator[tuple[bytes, float]] = redis.zscan_iter(
            self._key(what), count=AT_ONCE
        )
        return rows


def _parts(rows: list[Row]) -> Iterator[list[Row]]:
    for start in range(0, len(rows), AT_ONCE):
        yield rows[start : start + AT_ONCE]


def _escaped(text: str) -> str:
    return "".join(f"\\{one}" if one in "*?[]\\^" else one for one in text)
