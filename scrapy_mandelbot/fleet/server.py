"""A job on Redis, as its scripts are called. The calls block for some seconds at most."""

from __future__ import annotations

import logging
import os
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scrapy_mandelbot.fleet.changes import Exchange, Reply, key, name, read_answer
from scrapy_mandelbot.job.job_store import CannotKeepError
from scrapy_mandelbot.store.redis.scripts import read_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redis import Redis

if TYPE_CHECKING:
    Answered = Callable[[Any], None]

logger = logging.getLogger(__name__)

T = TypeVar("T")

LONGEST_SILENCE = 600.0
"""Seconds for which a crawl's lease is renewed that says nothing: then it is taken for dead."""


class Link:
    """One call after the other, each answered in the crawl's own thread.

    Args:
        renew: a call that renews the lease, called in the thread.
        every: seconds of silence after which it is.
        in_loop: has something called in the crawl's own thread.
        now: returns seconds, by a clock that only goes forward.
    """

    def __init__(
        self,
        renew: Callable[[], object],
        every: float,
        in_loop: Callable[..., object],
        now: Callable[[], float],
    ) -> None:
        self._renew = renew
        self._every = every
        self._in_loop = in_loop
        self._now = now
        self._calls: SimpleQueue[tuple[Callable[[], Any], Answered] | None] = SimpleQueue()
        self.renewed_at = now()
        """When the last call began that succeeded."""
        self._asked_at = now()
        self._thread = threading.Thread(target=self._run, name="mandelbot-job", daemon=True)
        self._thread.start()

    def call(self, call: Callable[[], Any], answered: Answered) -> None:
        """Call something in the thread; its result or CannotKeepError is the answer."""
        self._asked_at = self._now()

        def deliver(result: Any) -> None:
            self._in_loop(answered, result)

        self._calls.put((call, deliver))

    def call_and_wait(self, call: Callable[[], T], seconds: float) -> T:
        """Call something in the thread, and wait for it: before the crawl begins, and at its end.

        Raises:
            CannotKeepError: as the call does, or as it takes too long.
        """
        answers: SimpleQueue[Any] = SimpleQueue()
        self._asked_at = self._now()
        self._calls.put((call, answers.put))
        try:
            answer = answers.get(timeout=seconds)
        except Empty:
            raise CannotKeepError("Redis does not answer") from None
        if isinstance(answer, Exception):
            raise answer
        result: T = answer
        return result

    def close(self, last: Callable[[], Any] = lambda: None) -> None:
        """Call something for the last time, and end the thread; do not wait for that."""
        self._calls.put((last, lambda _: None))
        self._calls.put(None)

    def _run(self) -> None:
        while True:
            try:
                asked = self._calls.get(timeout=self._every)
            except Empty:
                if self._now() < self._asked_at + LONGEST_SILENCE:
                    self._do(self._renew)
                continue
            if asked is None:
                return
            call, deliver = asked
            result = self._do(call)
            try:
                deliver(result)
            except RuntimeError:  # the loop is closed
                return

    def _do(self, call: Callable[[], Any]) -> Any:
        began = self._now()
        try:
            result = call()
        except CannotKeepError as error:
            return error
        except Exception as error:  # a thread that ends would have the crawl wait for ever
            logger.exception("Error while Redis was called")
            return CannotKeepError(repr(error))
        if not getattr(result, "is_lost", False):
            self.renewed_at = began
        return result


VERSION = 1
"""Of the form in which a job is kept."""

LeftSite = tuple[str, bytes, str]
"""A site, how it is to be asked, and milliseconds for which it is left alone, or ``inf``."""


class Joined(NamedTuple):
    """What a worker is told that joins a job."""

    worker: int
    """Its number, which no other one of the job has or had, as far as the server knows."""
    run: int
    waiting: int
    """How many sites wait for a worker."""
    others: int
    """How many workers there are beside it."""
    born: int
    """When the job began: another time is another job, of which this one knows nothing."""
    token: str
    """What tells it from one of its number, which a server gives again that was set back."""


class JobServer:
    """A job on a Redis.

    Args:
        url: of the server, as MANDELBOT_JOB has it.
        job: its name; all its keys begin with ``mandelbot:{NAME}:``.
        lease: seconds after which a worker that says nothing has lost its sites.

    Raises:
        ImportError: redis-py is not installed.
    """

    def __init__(self, url: str, job: str, lease: float) -> None:
        from scrapy_mandelbot.store.redis.address import (  # noqa: PLC0415 -- not everyone needs it
            connect,
            shown_address,
        )

        self.url = shown_address(url)
        self._redis: Redis = connect(url)
        self.key = f"mandelbot:{{{job}}}"
        self._lease = int(lease * 1000)
        self._join, self._leave, self._exchange = map(self._script, ("join", "leave", "exchange"))
        self._was_away = False

    def __repr__(self) -> str:
        return f"<JobServer {self.url} {self.key}>"

    def join(self) -> Joined:
        """Become a worker of the job.

        Raises:
            CannotKeepError: the server cannot be reached, or the job has another form.
        """
        token = os.urandom(4).hex()
        version, *told = self._call(self._join, [VERSION, self._lease, token])
        if int(version) != VERSION:
            raise CannotKeepError(
                f"the job {self.key} was written by another version (format {int(version)})"
            )
        worker, run, waiting, others, born = map(int, told)
        return Joined(worker, run, waiting, others, born, token)

    def exchange(self, exchange: Exchange) -> Reply:
        """Say and ask for all that an exchange has, at once or not at all.

        Raises:
            CannotKeepError: it is not known whether it was done; the same one is to be made again.
        """
        try:
            said = self._call(
                self._exchange, exchange.arguments(self._lease, was_away=self._was_away)
            )
        except CannotKeepError:
            self._was_away = True
            raise
        self._was_away = False
        return read_answer(said)

    def leave(self, worker: int, token: str, left: Iterable[LeftSite] = ()) -> None:
        """Be a worker no longer: what it has is others'.

        Args:
            worker: its number.
            token: that it was given with that.
            left: what is to be known of sites that it held, if nobody else has them by now.

        Raises:
            CannotKeepError: the server cannot be reached; it is so when the lease has ended.
        """
        sites = [one for name, *rest in left for one in (key(name), *rest)]
        self._call(self._leave, [worker, token, *sites])

    def lengths(self) -> dict[str, tuple[int, int]]:
        """Return how many requests of each site wait, and how many are claimed.

        Raises:
            CannotKeepError: the server cannot be reached.
        """
        from redis import RedisError  # noqa: PLC0415

        try:
            sites = {*self._redis.zrange(f"{self.key}:due", 0, -1)}
            sites |= {*self._redis.hkeys(f"{self.key}:owner")}
            lengths = {}
            for site in sorted(sites):
                counts: Any = self._redis.pipeline(transaction=False)
                counts.zcard(self._of_site("q", site)).hlen(self._of_site("c", site))
                waiting, claimed = counts.execute()
                lengths[name(site)] = waiting, claimed
        except (RedisError, OSError) as error:
            raise CannotKeepError(f"{type(error).__name__}: {error}") from error
        return lengths

    def workers(self) -> int:
        """Return how many workers there are whose leases have not ended.

        Raises:
            CannotKeepError: the server cannot be reached.
        """
        from redis import RedisError  # noqa: PLC0415

        try:
            seconds, microseconds = self._redis.time()
            now = seconds * 1000 + microseconds // 1000
            return int(self._redis.zcount(f"{self.key}:workers", now, "+inf"))
        except (RedisError, OSError) as error:
            raise CannotKeepError(f"{type(error).__name__}: {error}") from error

    def states(self) -> dict[str, bytes]:
        """Return all that is kept by name.

        Raises:
            CannotKeepError: the server cannot be reached.
        """
        from redis import RedisError  # noqa: PLC0415

        try:
            kept: Any = self._redis.hgetall(f"{self.key}:state")
        except (RedisError, OSError) as error:
            raise CannotKeepError(f"{type(error).__name__}: {error}") from error
        return {name(what): bytes(value) for what, value in kept.items()}

    def close(self) -> None:
        """Let go of the connection."""
        self._redis.close()

    def _of_site(self, what: str, site: bytes) -> bytes:
        return f"{self.key}:{what}:".encode() + site

    def _script(self, which: str) -> Any:
        return self._redis.register_script(
            read_script("scrapy_mandelbot.fleet", "common", which).text
        )

    def _call(self, script: Any, arguments: list[Any]) -> list[Any]:
        from redis import RedisError  # noqa: PLC0415

        try:
            told: list[Any] = script(keys=[self.key], args=arguments)
        except (RedisError, OSError) as error:
            self._redis.connection_pool.disconnect()  # the name may be another machine's by now
            raise CannotKeepError(f"{type(error).__name__}: {error}") from error
        return told
