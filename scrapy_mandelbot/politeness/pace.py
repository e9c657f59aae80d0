"""The pace of a site: how often it may be asked, and at which times of the day.

Sources: Mandelbot, "Crawl Delay", for the delay set manually; "An Extended Standard for
Robot Exclusion", Request-rate and Visit-time; Moderatobot, "Crawl-delay directive",
which names the two readings of that line: a pause between two requests (Yandex), or a
window of so many seconds in which there is one request (Bing).

A delay runs from the end of one answer to the next request, as Yandex defines it. So
the times at which requests reach the server are never closer than asked, however long
each was on its way. Requests that could have been sent and were not are never caught
up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import floor, inf, isfinite
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mandelbot import Agent, RequestRate, RobotsTxt, TimeWindow

_DAY = 86_400  # seconds; the times of a robots.txt are UTC, and a UTC day has no more
_MINUTES = 1_440  # of a day
_THUMB_DELAY = 10.0  # seconds; Request-rate, "the following rule of thumb"
_THUMB_FACTOR = 2.0  # times "the amount of time it took to retrieve the document"
_NAMED = 4  # of the values that a file has


class PacePolicy(NamedTuple):
    """How a project reads what the files say."""

    longest: float = 60.0
    """Seconds; a longer delay in robots.txt is cut to this."""
    delay_is_window: bool = False
    """Whether ``Crawl-delay: 5`` is one request in each 5 seconds of the day, as Bing
    reads it.
    """
    by_fetch_time: bool = False
    """Whether a file that names no rate is read as asking for the rule of thumb."""


@dataclass(frozen=True)
class Pace:
    """What a site's owner asks for, all times being seconds and UTC."""

    delay: float = 0.0
    """From the end of an answer to the next request, at all times."""
    window: float = 0.0
    """There is one request in each window of so many seconds; 0: there are no windows.
    """
    rates: tuple[RequestRate, ...] = ()
    visits: tuple[TimeWindow, ...] = ()
    """The parts of the day in which the site may be crawled; empty: at all times."""
    by_fetch_time: bool = False
    """Whether the delay is at least 10 s and twice the time that the last answer took.
    """
    longest: float = inf
    """No rate asks for a longer delay, nor does the time that an answer took."""
    source: str = ""
    """Its source, as text."""
    asked: float = 0.0
    """The longest delay that was asked for, before it was cut to the longest."""

    def __str__(self) -> str:
        return ", ".join(self._parts()) or "no pace"

    @cached_property
    def is_free(self) -> bool:
        """Whether it asks for nothing."""
        if self.visits or self.by_fetch_time or self.window:
            return False
        return all(delay <= 0 for _, _, delay in self._day)

    @property
    def visits_text(self) -> str:
        """The visit times, as the reason of a pause."""
        return f"Visit-time {_listed(self.visits)}"

    def due(self, now: float, since: float = -inf, fetch_seconds: float = 0.0) -> float:
        """Return the first time, from now on, at which the next request may be sent.

        The last answer ended at `since`, ``-inf`` if there was none, and took
        `fetch_seconds`.
        """
        least = self._thumb(fetch_seconds)
        if self.window and isfinite(since):
            now = max(now, (floor(since / self.window) + 1) * self.window)
        # The first time in each part of the day, with the delay that holds in that
        # part.
        return min(
            _first_within(max(now, since + max(delay, least)), start, end)
            for start, end, delay in self._day
        )

    def opens(self, now: float) -> float:
        """Return the first time, from now on, within the visit times: now, mostly."""
        return min(_first_within(now, start, end) for start, end, _ in self._day)

    def is_free_at(self, now: float) -> bool:
        """Return whether any number of requests may be sent now."""
        second = now % _DAY
        if self.by_fetch_time or self.window:
            return False
        return any(
            start <= second < end and delay <= 0 for start, end, delay in self._day
        )

    def _thumb(self, fetch_seconds: float) -> float:
        if not self.by_fetch_time:
            return 0.0
        return min(max(_THUMB_DELAY, _THUMB_FACTOR * fetch_seconds), self.longest)

    @cached_property
    def _day(self) -> tuple[tuple[int, int, float], ...]:
        """The parts of a day in which it may be crawled: first second, end, delay."""
        # Of several rates for the same time the slowest counts.
        slowest = {
            rate.window: rate.delay
            for rate in sorted(self.rates, key=attrgetter("delay"))
        }
        always = slowest.pop(None, 0.0)
        if not slowest and not self.visits:
            return ((0, _DAY, max(self.delay, min(always, self.longest))),)
        minutes = [always] * _MINUTES
        # A rate for a part of the day goes before one for all times; the slowest is
        # painted last.
        for window, delay in sorted(slowest.items(), key=itemgetter(1)):
            if window is not None:
                for part in _minutes_of(window):
                    minutes[part] = [delay] * len(minutes[part])
        is_open = bytearray([not self.visits]) * _MINUTES
        for window in set(self.visits):
            for part in _minutes_of(window):
                is_open[part] = b"\1" * len(is_open[part])
        day = []
        start = 0
        for (may_come, delay), same in groupby(zip(is_open, minutes, strict=True)):
            end = start + 60 * len(list(same))
            if may_come:
                day.append((start, end, max(self.delay, min(delay, self.longest))))
            start = end
        return tuple(day)

    def _parts(self) -> Iterator[str]:
        if self.delay:
            yield f"{self.delay:g} s between requests"
        if self.window:
            yield f"one request in each {self.window:g} s"
        if self.rates:
            yield f"Request-rate {_listed(self.rates)}"
        if self.by_fetch_time:
            yield "10 s or twice the fetch time between requests"
        if self.visits:
            yield self.visits_text


def pace_by_hand(
    delay: float, robots: RobotsTxt | None = None, agent: Agent = ""
) -> Pace:
    """Return the project's pace: seconds between requests, whatever the file says.

    Of the file only Visit-time still applies: a manual delay says how often, not when.
    """
    visits = () if robots is None else robots.visit_times(agent)
    return Pace(delay, visits=visits, source="set manually", asked=delay)


def pace_of_file(robots: RobotsTxt, agent: Agent, policy: PacePolicy) -> Pace:
    """Return the pace that a robots.txt asks of an agent.

    What cannot be read asks for nothing.
    """
    delay = robots.crawl_delay(agent)
    rates = robots.request_rates(agent)
    held = min(delay or 0.0, policy.longest)
    window = 0.0
    if policy.delay_is_window:
        window = held
        held = 0.0
    return Pace(
        delay=held,
        window=window,
        rates=rates,
        visits=robots.visit_times(agent),
        by_fetch_time=policy.by_fetch_time and not rates and delay is None,
        longest=policy.longest,
        source=_source(robots, agent),
        asked=max(delay or 0.0, *(rate.delay for rate in rates), 0.0),
    )


def unreadable_lines(robots: RobotsTxt, agent: Agent) -> tuple[int, ...]:
    """Return the lines for the agent about a pace that are ignored as nonsense."""
    return tuple(_lines(robots, agent, are_readable=False))


def _lines(robots: RobotsTxt, agent: Agent, *, are_readable: bool) -> list[int]:
    from mandelbot.robotstxt.times import TIME_READERS  # noqa: PLC0415 -- where paced

    found = []
    for field, read in TIME_READERS.items():
        for number, value in robots.values_for(agent, field):
            is_readable = read(value) is not None
            if is_readable is are_readable:
                found.append(number)
    return sorted(found)


def _source(robots: RobotsTxt, agent: Agent) -> str:
    lines = _lines(robots, agent, are_readable=True)
    if not lines:
        return "its robots.txt asks for none"
    return f"robots.txt line{'s' * (len(lines) > 1)} {_listed(lines)}"


def _listed(values: Sequence[object]) -> str:
    return ", ".join([*map(str, values[:_NAMED]), *["…"] * (len(values) > _NAMED)])


def _minutes_of(window: TimeWindow) -> tuple[slice, ...]:
    """Return the minutes of the day in a window: two parts if it passes midnight."""
    if window.start <= window.end:
        return (slice(window.start, window.end + 1),)
    return slice(window.start, _MINUTES), slice(0, window.end + 1)


def _first_within(moment: float, start: int, end: int) -> float:
    """Return the first time from a moment on that is in a part of the day."""
    day, second = divmod(moment, _DAY)
    if second < start:
        return day * _DAY + start
    if second < end:
        return moment
    return (day + 1) * _DAY + start
