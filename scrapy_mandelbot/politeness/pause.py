"""The pause of a site: may it be asked now, and by how many at once.

Source: Mandelbot, "Temporarily Stop Crawling": a 503 to any request stops the crawl of the site,
which resumes at some later time. How it resumes is ours: one request, the probe, goes first. What
happens is the table of ``pause_table.py``; how long it lasts is said by ``pause_law.py``, and from
one pause to the next by ``lengths.py``.
"""

from __future__ import annotations

from datetime import datetime, timezone
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.politeness.lengths import Lengths
from scrapy_mandelbot.politeness.pause_table import ROWS, Fact, News, PauseState, Said
from scrapy_mandelbot.politeness.recovery import Recovery

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pause_law import PauseLaw, Refusal


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
    """The pause of a site. ``now`` is in seconds, on any clock that only goes forward.

    Args:
        law: how long pauses last.
    """

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
    def is_last_round(self) -> bool:
        """Whether requests are sent once each, as the site would be given up."""
        return self.state in {PauseState.ONCE_EACH, PauseState.LAST_PROBING}

    @property
    def gives_up_at(self) -> float:
        """When the site is given up at the latest unless it answers or names a time."""
        left = self.law.tries - self.failed_probes - 1
        return self.until + self.law.in_all(self.lengths.step + 1, left)

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
        said = Said(now, refusal, has_served)
        for row in ROWS.get((self.state, fact), ()):
            if row.when(self, said):
                self.state = row.to
                return row.news if row.does(self, said) is not False else None
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
