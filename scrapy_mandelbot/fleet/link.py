"""Calls to a job's server in a thread, which also renews the lease."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_mandelbot.clock import elapsed
from scrapy_mandelbot.fleet.job_server import ServerAwayError, ServerRefusedError
from scrapy_mandelbot.job.job_store import StorageError

if TYPE_CHECKING:
    Answered = Callable[[Any], None]


logger = logging.getLogger(__name__)

T = TypeVar("T")
# seconds without a call after which the lease is no longer renewed
LONGEST_SILENCE = 600.0
_TRY_AGAIN = 0.25  # seconds, before a crawl


class Link:
    """Calls the server in a thread, and delivers each result in the crawl's thread.

    After `every` seconds of silence it calls `renew`, which renews the lease. `in_loop`
    schedules a call in the crawl's thread.
    """

    def __init__(
        self,
        renew: Callable[[], object],
        every: float,
        in_loop: Callable[..., object],
        now: Callable[[], float],
    ) -> None:
        from scrapy_mandelbot.fleet.redis_thread import RedisThread  # noqa: PLC0415 -- optional

        self._renew = renew
        self._in_loop = in_loop
        self._now = now
        # when the last call began that succeeded
        self.renewed_at = now()
        self._asked_at = self.renewed_at
        # since when the server has refused each call; None: the last one it has not
        self.refused_since: float | None = None
        self.thread = RedisThread(
            "mandelbot-job", lambda: every, self._renew_unless_dead
        )

    def call(self, call: Callable[[], Any], answered: Answered) -> None:
        """Make a call in the thread; `answered` gets its result or a StorageError."""

        def deliver(result: Any) -> None:
            with suppress(RuntimeError):  # the loop is closed
                self._in_loop(answered, result)

        self._put(call, deliver)

    def call_and_wait(self, call: Callable[[], T], seconds: float) -> T:
        """Make a call in the thread and wait: only before a crawl and at its end."""
        answers: SimpleQueue[Any] = SimpleQueue()
        self._put(call, answers.put)
        try:
            answer = answers.get(timeout=seconds)
        except Empty:
            raise StorageError("Redis does not answer") from None
        if isinstance(answer, Exception):
            raise answer
        result: T = answer
        return result

    def call_until_there(self, call: Callable[[], T], seconds: float) -> T:
        """Make a call and wait, again while the server is away: only before a crawl."""
        ends_at = elapsed() + seconds
        was_away = False
        while True:
            left = max(_TRY_AGAIN, ends_at - elapsed())
            try:
                return self.call_and_wait(call, left)
            except ServerAwayError as error:
                if elapsed() + _TRY_AGAIN >= ends_at:
                    raise
                if not was_away:
                    was_away = True
                    logger.info("Waiting for Redis, up to %.0f s: %s", seconds, error)
            time.sleep(_TRY_AGAIN)

    def _put(self, call: Callable[[], Any], deliver: Answered) -> None:
        self._asked_at = self._now()
        self.thread.put(lambda: deliver(self._result_of(call)))

    def _renew_unless_dead(self) -> None:
        if self._now() < self._asked_at + LONGEST_SILENCE:
            self._result_of(self._renew)

    def _result_of(self, call: Callable[[], Any]) -> Any:
        began = self._now()
        try:
            result = call()
        except StorageError as error:
            if not isinstance(error, ServerRefusedError):
                self.refused_since = None
            elif self.refused_since is None:
                self.refused_since = began
            return error
        except Exception as error:  # a dead thread would leave the crawl waiting
            logger.exception("Error while Redis was called")
            return StorageError(repr(error))
        self.refused_since = None
        if not getattr(result, "is_lost", False):
            self.renewed_at = began
        return result
