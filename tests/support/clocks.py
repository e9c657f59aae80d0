"""A clock that the test turns, for all that is given one: waits cost no time."""

from __future__ import annotations

from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.clock import LoopShare

if TYPE_CHECKING:
    from collections.abc import Callable

MIDNIGHT = 20_000 * 86_400.0
_MOST_CALLS = 10_000  # at one moment; more are calls that set each other, for ever


class TurnedCall:
    """Something that is called when the clock is turned so far."""

    def __init__(
        self, clock: TurnedClock, function: Callable[..., object], arguments
    ) -> None:
        self._clock = clock
        self._function = function
        self._arguments = arguments

    def cancel(self) -> None:
        """Cancel the call, if it is still to come, as with the machine's clock."""
        del self._clock.calls[self]

    def run(self) -> None:
        self._function(*self._arguments)


class TurnedClock:
    """Has the shape of `scrapy_mandelbot.clock.Clock`.

    It stands still unless it is turned.
    """

    share = cached_property(LoopShare)

    def __init__(self, now: float = MIDNIGHT) -> None:
        self._now = now
        self._order = count()
        self.calls: dict[TurnedCall, tuple[float, int]] = {}
        """What is to be called, with its time."""
        self.set = 0
        """How often something was to be called later."""
        self.from_threads: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        """What other threads want called, with its arguments; it waits for the test."""

    def now(self) -> float:
        return self._now

    def call_later(self, seconds: float, call: Callable[..., object], *arguments: Any):
        assert seconds >= 0
        self.set += 1
        one = TurnedCall(self, call, arguments)
        self.calls[one] = self._now + seconds, next(self._order)
        return one

    def loop(self) -> Callable[..., None]:
        return lambda call, *arguments: self.from_threads.append((call, arguments))

    def call_from_threads(self) -> None:
        """Call what other threads wanted called until now."""
        while self.from_threads:
            call, arguments = self.from_threads.pop(0)
            call(*arguments)

    def shift(self, seconds: float) -> None:
        """Move to another time; no timer fires, as in a process that was stopped."""
        self._now += seconds

    def turn(self, seconds: float) -> None:
        """Let so many seconds pass; whatever is due on the way is called on time, in
        order.
        """
        self.turn_to(self._now + seconds)

    def turn_to(self, end: float) -> None:
        """Let time pass until then."""
        calls_now = 0
        while self.calls:
            call = min(self.calls, key=self.calls.__getitem__)
            at, _ = self.calls[call]
            if at > end:
                break
            calls_now = calls_now + 1 if at <= self._now else 0
            assert calls_now < _MOST_CALLS, (
                "calls set each other at the same moment, for ever"
            )
            self._now = max(self._now, at)
            del self.calls[call]
            call.run()
        self._now = max(self._now, end)

    def ring_early(self) -> None:
        """Run the one call there is before its time, as a loop's clock may be a hair
        ahead.
        """
        (call,) = self.calls
        del self.calls[call]
        call.run()

    def assert_nothing_left(self) -> None:
        """Hold that nothing is to be called any more."""
        assert not self.calls


def given(clock: TurnedClock) -> type:
    """Return an add-on that gives the clock to a crawler before anything asks it for
    the time.
    """
    from scrapy_mandelbot.crawl import Crawl  # its import takes a reactor

    class Given:
        def __init__(self, crawler) -> None:
            self._crawler = crawler

        @classmethod
        def from_crawler(cls, crawler):
            return cls(crawler)

        def update_settings(self, _settings) -> None:
            Crawl.of(self._crawler, clock)

    return Given
