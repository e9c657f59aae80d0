"""A job on Redis as its workers have it, whose exchanges are made when a test asks for
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.fleet.job_server import JobTerms
from scrapy_mandelbot.fleet.redis_job import RedisJobServer
from scrapy_mandelbot.fleet.shared_job import SharedJob
from scrapy_mandelbot.job.site_states import site_of_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.fleet.changes import Reply
    from scrapy_mandelbot.job.job_store import StoredRequest

LEASE = 60.0  # seconds; no test waits for it


class Worker(SharedJob):
    """A worker, and what its last exchange was answered."""

    def __init__(
        self, url, name="job", *, lease=LEASE, version="a", project="", limit=3
    ) -> None:
        from redis import Redis

        self.server = RedisJobServer(
            url, JobTerms(name, lease, version, limit, project)
        )
        self.view = self.server.view()
        self.redis = Redis.from_url(url)
        """What the test asks of the server, and does to it, beside the worker."""
        self.time = 1_000.0
        self.answer: Reply | None = None
        self.lost = None
        self.arrived = None
        super().__init__(self.server.join(), lambda: self.time)

    def exchange(self, take: int = 0, idle: str = "") -> Reply:
        """Say all that there is to say, and ask for so many sites."""
        out = self.claimed()  # what is handed out is sent
        self.answer = self.server.exchange(self.next_exchange(take, idle, out))
        if self.answer.is_lost:
            self.lost = self.lose(self.answer.last)
        else:
            self.arrived = self.take_answer(self.answer)
        return self.answer

    def claimed(self) -> Iterator[int]:
        """Yield the numbers of the requests that were handed out."""
        waiting = (number for heap in self._lines.values() for _, number, _ in heap)
        yield from self._claimed.keys() - set(waiting)

    def close(self) -> None:
        """Let go of the connection, as a process does that dies."""
        self.server.close()
        self.redis.close()

    def leave(self) -> None:
        """Be a worker no longer."""
        self.server.leave(self.worker, self.token)
        self.close()


class Past:
    """All that a server holds now, to which it can be set back."""

    def __init__(self, redis) -> None:
        self._redis = redis
        self._values = {key: redis.dump(key) for key in redis.keys("*")}

    def come_back(self) -> None:
        """Bring that state back, as a replica does that takes over and was behind."""
        self._redis.flushall()
        for key, value in self._values.items():
            self._redis.restore(key, 0, value)


class OneWorker(Worker):
    """A worker without others, whose exchanges are made as soon as it wants to know
    anything.
    """

    def lengths(self) -> dict[str, int]:
        """Return how many requests of each line wait, here and there."""
        self.commit()
        lengths = super().lengths()
        for site in self.redis.zrange(f"{self.server.key}:due", 0, -1) + [
            site.encode("utf-8", "surrogatepass") for site in self.sites
        ]:
            for member in self.redis.zrange(
                f"{self.server.key}:q:".encode() + site, 0, -1
            ):
                length, _, rest = member[17:].partition(b" ")[2].partition(b":")
                line = (site + rest[: int(length)]).decode("utf-8", "surrogatepass")
                lengths[line] = lengths.get(line, 0) + 1
        return lengths

    def claim(self, line: str) -> StoredRequest | None:
        """Take the next request of a line, of those that came here in order."""
        kept = super().claim(line)
        if kept is None:
            self.commit()
            if site_of_line(line) in self.sites:
                self.poll_dry([site_of_line(line)])
            else:
                self.request_site(site_of_line(line))
            self.exchange()
            kept = super().claim(line)
        return kept

    def commit(self) -> None:
        """Say all that there is to say."""
        while self.uncommitted:
            self.exchange()
