"""The pause of a site: may it be asked now, and by how many at once.

Source: Mandelbot, "Temporarily Stop Crawling": a 503 to any request stops the crawl of the site,
which resumes at some later time. How it resumes is ours: one request, the probe, goes first. What
happens is the table of ``pause_table.py``; how long it lasts is said by `PauseLaw`, and from one
pause to the next by `Lengths`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from math import inf
from typing import NamedTuple

from scrapy_mandelbot.sites.pause_table import LAST_ROUND, ROWS, Fact, FactDetails, News, PauseState
from scrapy_mandelbot.sites.recovery import Mode, Recovery

_REMEMBERED = 60.0  # seconds; no pause begins with more


class Lengths:
    """The lengths of the pauses of one site, in steps of its law."""

    __slots__ = (
        "_law",
        "_remembered",
        "_repeats",
        "failed",
        "is_recalled",
        "place",
        "resumed_at",
        "step",
    )

    def __init__(self, law: PauseLaw) -> None:
        self._law = law
        self.step = 0
        """Of the pause, in the law."""
        self.failed = 0
        """Probes that failed in a row, in this pause."""
        self.place = 0
        """Probes that failed in all pauses: the next comes from where the last good one did."""
        self.is_recalled = False
        """Whether this pause has begun where the last one ended."""
        self._repeats = False
        self._remembered = 0.0
        self.resumed_at = -inf
        """When the last pause ended."""

    def begin(self, now: float, recovery: Recovery | None) -> float | None:
        """Begin a pause; return its seconds where the last one is remembered, else None."""
        self.step = self.failed = 0
        self._repeats = self.is_recalled = False
        if self._remembered:
            passed = max(0.0, now - self.resumed_at)
            self._remembered *= 0.5 ** (passed / self._remembered)
        if recovery is not None and recovery.mode is not Mode.RAMP:
            return None
        if not self._recall():
            return None
        self._repeats = self.is_recalled = True  # the step of the law below it comes next
        return self._remembered

    def lengthen(self, recovery: Recovery | None) -> None:
        """Note a failed probe."""
        self.failed += 1
        self.place += 1
        if self._repeats:
            self._repeats = False
        elif recovery is None or not recovery.explains(self.failed):
            self.step += 1
            self._recall()

    def end(self, now: float, recovery: Recovery | None) -> None:
        """Note that a probe was answered well."""
        self.resumed_at = now
        if self.is_telling(recovery):
            self._remembered /= 2.0
        else:
            self._remembered = min(self._law.own_pause(self.step), _REMEMBERED)
        self.failed = 0

    def restore(self, failed: int) -> None:
        """Go on with the pause of a former run."""
        self.failed = self.step = failed

    def is_telling(self, recovery: Recovery | None) -> bool:
        """Return whether the site was well at once, or as soon as chance has it."""
        return not self.failed or (recovery is not None and recovery.explains(self.failed))

    def is_faded(self, now: float, seconds: float) -> bool:
        """Return whether the last pause ended that long ago, if there was one."""
        return self.resumed_at < now - seconds

    def _recall(self) -> bool:
        """Go on from the last pause, where it is remembered; return whether it is."""
        law, remembered = self._law, self._remembered
        if not remembered or remembered <= law.first:
            return False
        while law.own_pause(self.step) < law.own_pause(self.step + 1) <= remembered:
            self.step += 1
        return True


_GROWTH = 3.0  # of the pause, for each failed probe
_TRIES_OF_A_PART = 6  # failed probes: some six minutes, its site being well
_HOUR, _HOURS = 3_600.0, 2  # between probes of what refuses robots, and how many fail


JITTER = 0.1
"""By so large a part a pause of our own choice is longer at most: crawls do not knock together."""


class Refusal(NamedTuple):
    """A site said no to a request."""

    now: float
    """When, in seconds."""
    reason: str
    """Why, in words for a log."""
    retry_after: float | None = None
    """Seconds that the server asks for, if it does."""
    jitter: float = 0.0
    """From 0 to `JITTER`: by which a pause of our own choice is longer."""
    marked: bool | None = None
    """Of an answer that may be meant for robots: whether it has the marks of that."""


@dataclass(frozen=True)
class PauseLaw:
    """How long pauses last, in seconds, and how many failed probes end in giving up."""

    first: float = 1.0
    """The first pause, of a site that names no time; three times as long after a failed probe."""
    longest: float = 3600.0
    """No pause of our own choice is longer."""
    retry_after_longest: float = 86400.0
    """No pause that a server asks for is longer."""
    tries: int = 9
    """Failed probes after which the site is given up: 6,880 s in all."""
    recovers: bool = True
    """Whether a site is asked at a growing rate after a pause; if not, it is open at once."""
    asks_once: bool = True
    """Whether requests not refused twice are sent once more before they fail with their site."""
    base: float | None = None
    """The pause after the first failed probe, which doubles then; None: they triple. Deprecated."""

    def pause(self, step: int, refusal: Refusal) -> float:
        """Return the seconds to leave the site alone, after the last refusal.

        `step`: failed probes, in a row, that made the pause longer.
        """
        if refusal.retry_after is not None:
            return min(refusal.retry_after, self.retry_after_longest)
        if not step:
            return self.first
        return self.own_pause(step) * (1 + refusal.jitter)

    def own_pause(self, step: int) -> float:
        """Return the seconds of a pause that no server names a time for, jitter left out."""
        # The exponents are bounded: the pause has long been the longest, and 3**2000 is no float.
        if self.base is not None and step:
            return min(self.base * 2.0 ** min(step - 1, 64), self.longest)
        return min(self.first * _GROWTH ** min(step, 64), self.longest)

    def in_all(self, step: int = 0, count: int | None = None) -> float:
        """Return the seconds of some pauses that no server names a time for, jitter left out.

        From a step on so many; None: all of a site that is given up.
        """
        left, seconds = self.tries if count is None else count, 0.0
        while left > 0:
            pause = self.own_pause(step)
            if pause == self.own_pause(step + 1):  # it grows no more
                return seconds + left * pause
            seconds += pause
            step, left = step + 1, left - 1
        return seconds

    @cached_property
    def of_a_part(self) -> PauseLaw:
        """The law for a part of a site that is well else."""
        return replace(self, tries=min(self.tries, _TRIES_OF_A_PART), recovers=False)

    @cached_property
    def of_robots(self) -> PauseLaw:
        """The law for a site, or a part of it, that refuses robots."""
        return PauseLaw(
            _HOUR, _HOUR, self.retry_after_longest, _HOURS, recovers=False, asks_once=False
        )


class LeftPause(NamedTuple):
    """A pause that was not over when a run, or a worker, left its site."""

    route: str
    until: float
    """Seconds since the epoch; it may have passed: then the site was probed, or on its way back."""
    reason: str
    failed_probes: int
    """In a row; 0 where they had been too many: whoever has the site next tries as often."""
    section: str = ""
    """The path of the section to which it applies alone; empty: it is the whole site's."""


class Pause:
    """The pause of a site. ``now`` is in seconds, on any clock that only goes forward."""

    __slots__ = ("law", "lengths", "reason", "recovery", "since", "state", "until")

    def __init__(self, law: PauseLaw) -> None:
        self.law = law
        self.since = inf
        """When it was last open."""
        self.state = PauseState.OPEN
        self.until = 0.0
        """When the site may be asked again, where it is paused."""
        self.reason = ""
        self.recovery: Recovery | None = None
        """How fast the site is asked after its first pause, and what its refusals say."""
        self.lengths = Lengths(law)
        """How long it is, and the next one."""

    def __repr__(self) -> str:
        return f"<Pause: {self.in_words()}>"

    def in_words(self) -> str:
        """Return where it stands, for people."""
        tries = f"{self.failed_probes} failed probes"
        details = {
            PauseState.OPEN: "",
            PauseState.PAUSED: f" until {clock_time(self.until)}, {tries}: {self.reason}",
            PauseState.PROBING: f", {tries}: {self.reason}",
            PauseState.RECOVERING: f", {self.recovery!r}",
            PauseState.ONCE_EACH: f" after {tries}: {self.reason}",
            PauseState.LAST_PROBING: f" after {tries}: {self.reason}",
            PauseState.GIVEN_UP: f" after {tries}: {self.reason}",
        }
        return f"{self.state.value}{details[self.state]}"

    def left(self, route: str, section: str = "") -> LeftPause:
        """Return what the next owner of its site is to go on with."""
        failed_probes = 0 if self.state is PauseState.GIVEN_UP else self.failed_probes
        return LeftPause(route, self.until, self.reason, failed_probes, section)

    @property
    def failed_probes(self) -> int:
        """How many probes failed in a row."""
        return self.lengths.failed

    @property
    def is_open(self) -> bool:
        """Whether it holds nothing back."""
        return self.state is PauseState.OPEN

    @property
    def is_passable(self) -> bool:
        """Whether the site is asked, be it at the rate of a recovery."""
        return self.state in {PauseState.OPEN, PauseState.RECOVERING}

    def due(self, now: float) -> float:
        """Return when the next request may be sent; for ever away, if no time is known."""
        if self.state is PauseState.OPEN:
            return now
        if self.state is PauseState.PAUSED:
            return max(now, self.until)
        if self.state is PauseState.RECOVERING and self.recovery is not None:
            return max(now, self.recovery.next_at)
        if self.state is PauseState.ONCE_EACH:
            return max(now, self.until)
        return inf

    def lasted(self, now: float) -> float:
        """Return the seconds since the site was last open; 0, if it was never paused."""
        return max(0.0, now - self.since)

    @property
    def others_go_until(self) -> float:
        """Until when a request that was refused with its site lets others go first."""
        least = 0.0 if self.recovery is None else self.recovery.others_go
        return max(self.until, self.lengths.resumed_at) + max(self.law.first, least)

    @property
    def is_last_round(self) -> bool:
        """Whether requests are sent once each, as the site would be given up."""
        return self.state in LAST_ROUND

    @property
    def gives_up_at(self) -> float:
        """When the site is given up unless it answers or names a time; sooner by chance."""
        left = self.law.tries - self.failed_probes - 1
        return self.until + self.law.in_all(self.lengths.step + 1, left) * (1 + JITTER)

    def take(
        self, fact: Fact, now: float, refusal: Refusal | None = None, *, has_served: bool = False
    ) -> News | None:
        """Go by a fact, as the table says.

        Args:
            fact: what has happened. Of the request whose state is asked in between: the glue says
                which one is the probe.
            now: seconds.
            refusal: what is known of it, where the fact is one.
            has_served: whether the site answered anything well in this run.

        Returns:
            What is to be told of it.
        """
        said = FactDetails(now, refusal, has_served)
        for row in ROWS.get((self.state, fact), ()):
            if row.when is None or row.when(self, said):
                self.state = row.to
                is_news = row.does is None or row.does(self, said) is not False
                return row.news if is_news else None
        return None

    def go_on(self, now: float, left: LeftPause) -> None:
        """Go on with a pause that was left; one that is over by now ends with a probe as well.

        One that is known already goes on as it is.
        """
        if self.state is not PauseState.OPEN:
            return
        if self.law.recovers and self.recovery is None:
            self.recovery = Recovery()
        self.since = now
        self.state = PauseState.PAUSED
        self.until = min(left.until, now + max(self.law.longest, self.law.retry_after_longest))
        self.reason = left.reason
        self.lengths.restore(left.failed_probes)


def clock_time(seconds: float) -> str:
    """Return a time for people."""
    try:
        return f"{datetime.fromtimestamp(seconds, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):  # further away than there are dates
        return f"{seconds:g}"
