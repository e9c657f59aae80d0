"""Calls of the Redis of a job, in a thread of their own: however slow it is, the crawl goes on.

The thread renews the lease as well when the crawl has said nothing for a while: a callback that
computes for a minute is no dead worker.
"""

from __future__ import annotations

import logging
import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_mandelbot.stores.job import CannotKeepError

if TYPE_CHECKING:
    from collections.abc import Callable

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
