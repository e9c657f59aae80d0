"""The pause of a site, or of a part of it: a circuit breaker.

Source: Mandelbot, "Temporarily Stop Crawling": a 503 to any request stops the crawl of the site,
which resumes at some later time. How it resumes is ours: one request, the probe, goes first. A late
refusal, one of the burst that caused the pause, escalates nothing, but a longer ``Retry-After``
extends it; and only failed probes lengthen the next one. How long it lasts is said by `PauseLaw`,
and from one pause to the next by `Lengths`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from math import inf
from typing import TYPE_CHECKING

from scrapy_mandelbot.politeness.flight import Purpose
from scrapy_mandelbot.politeness.pause_law import JITTER, LeftPause, Lengths, PauseLaw
from scrapy_mandelbot.politeness.recovery import Recovery
from scrapy_mandelbot.robots.formatting import clock_time

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.pause_law import Refusal

FORGOTTEN_AFTER = 600.0
"""Seconds after its last pause for which it is known how a site refuses."""
_NEWS = 1.0  # seconds by which a pause has to grow for anyone to hear of it
_APART = 1.0  # seconds from one request to the next where each is sent once more
_LAST_TRIES = 50  # requests that are sent once after the site is given up, none answered well


class PauseState(Enum):
    """Where a pause stands."""

    OPEN = "open"
    PAUSED = "paused"
    PROBING = "probing"
    RECOVERING = "recovering"
    ONCE_EACH = "once each"
    """Given up, but what was not refused twice is sent once more, slowly, before it fails."""
    LAST_PROBING = "probing, once each"
    GIVEN_UP = "given up"


_S = PauseState
LAST_ROUND = frozenset({_S.ONCE_EACH, _S.LAST_PROBING})
"""Where requests are sent once each, as their site would be given up."""
_AWAITS_PROBE = {_S.PAUSED: _S.PROBING, _S.ONCE_EACH: _S.LAST_PROBING}
_PROBED = {probing: waiting for waiting, probing in _AWAITS_PROBE.items()}


class News(Enum):
    """What is to be told of a fact."""

    PAUSED = "paused"
    PROLONGED = "prolonged"
    RESUMED = "resumed"
    RECOVERED = "recovered"
    GAVE_UP = "gave up"
    LAST_ATTEMPTS = "asks once each"
    """It would be given up; what was not refused twice is sent once more before that."""
    SET_ASIDE = "set aside"
    """The page alone is refused, its site being well."""
    REFUSES_ROBOTS = "refuses robots"
    """Robots get challenges, prices, bare refusals: there, or from the whole site."""
    SECTION_PAUSED = "section paused"
    """The pages of a section alone are refused, their site being well."""
    SECTION_PROLONGED = "section prolonged"
    SECTION_RESUMED = "section resumed"
    SECTION_GIVEN_UP = "section given up"


class Pause:
    """A circuit breaker. ``now`` is in seconds, on any clock that only goes forward.

    A fact without an effect where the pause stands changes nothing.
    """

    __slots__ = (
        "law",
        "lengths",
        "opened_at",
        "probe",
        "reason",
        "recovery",
        "since",
        "state",
        "until",
    )

    def __init__(self, law: PauseLaw) -> None:
        self.law = law
        self.reset()

    def __repr__(self) -> str:
        return f"<Pause: {self.in_words()}>"

    def reset(self) -> None:
        """Forget everything about the site: it is open, as at first."""
        self.since = inf
        """When it was last open."""
        self.state = PauseState.OPEN
        self.until = 0.0
        """When the site may be asked again, where it is paused."""
        self.reason = ""
        self.probe: Flight | None = None
        """The one request on its way that asks whether it is over."""
        self.opened_at = -inf
        """When a probe was answered well last: what was sent before is no news."""
        self.recovery: Recovery | None = None
        """How fast the site is asked after its first pause, and what its refusals say."""
        self.lengths = Lengths(self.law)
        """How long it is, and the next one."""

    # Asked.

    def in_words(self) -> str:
        """Return where it stands, for people."""
        tries = f"{self.failed_probes} failed probes"
        details = {
            PauseState.OPEN: "",
            PauseState.PAUSED: f" until {clock_time(self.until)}, {tries}: {self.reason}",
            PauseState.PROBING: f", {tries}: {self.reason}",
            PauseState.RECOVERING: f", {self.recovery!r}",
        }
        return self.state.value + details.get(self.state, f" after {tries}: {self.reason}")

    def left(self, section: str = "") -> LeftPause:
        """Return what the next owner of its site is to go on with."""
        failed_probes = 0 if self.is_given_up else self.failed_probes
        return LeftPause(self.until, self.reason, failed_probes, section)

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
        return self.state is PauseState.OPEN or self.state is PauseState.RECOVERING

    @property
    def is_given_up(self) -> bool:
        """Whether nothing is asked again in this run."""
        return self.state is PauseState.GIVEN_UP

    @property
    def is_last_round(self) -> bool:
        """Whether requests are sent once each, as the site would be given up."""
        return self.state in LAST_ROUND

    @property
    def share(self) -> float:
        """The share of requests that is refused by chance; 0: it is not known."""
        return 0.0 if self.recovery is None else self.recovery.share

    def is_faded(self, now: float) -> bool:
        """Return whether nothing would be lost by forgetting it."""
        return self.is_open and self.lengths.is_faded(now, FORGOTTEN_AFTER)

    @property
    def awaits_probe(self) -> bool:
        """Whether the request that goes next is the probe."""
        return self.state in _AWAITS_PROBE

    def due(self, now: float) -> float:
        """Return when the next request may be sent; for ever away, if no time is known."""
        if self.state is PauseState.OPEN:
            return now
        if self.state in _AWAITS_PROBE:
            return max(now, self.until)
        if self.state is PauseState.RECOVERING and self.recovery is not None:
            return max(now, self.recovery.next_at)
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
    def gives_up_at(self) -> float:
        """When the site is given up unless it answers or names a time; sooner by chance."""
        left = self.law.tries - self.failed_probes - 1
        return self.until + self.law.in_all(self.lengths.step + 1, left) * (1 + JITTER)

    # Told of requests.

    def let_pass(self, flight: Flight, now: float) -> None:
        """Let a request go: as the probe, if one is due."""
        if self.state in _AWAITS_PROBE:
            self.state, self.until, self.probe = _AWAITS_PROBE[self.state], now, flight
            flight.reserve(Purpose.PROBE, self.released)
        elif self.state is PauseState.RECOVERING and self.recovery is not None:
            self.recovery.sent(now)

    def answered(self, flight: Flight, now: float) -> News | None:
        """Note a good answer."""
        recovery = self.recovery
        if self.probe is flight:
            self.probe, self.opened_at = None, now
            return self._resume(now)
        if flight.sent_at < self.opened_at:
            return None
        if recovery is not None:
            recovery.good(flight.sent_at, now)
        if self.state is PauseState.RECOVERING and (recovery is None or recovery.answered(now)):
            self.state = PauseState.OPEN
            return News.RECOVERED
        return None

    def refused(
        self,
        flight: Flight,
        refusal: Refusal,
        recent: Iterable[float] = (),
        *,
        has_served: bool = False,
    ) -> News | None:
        """Note a refusal."""
        is_probe, is_late = self.probe is flight, flight.sent_at < self.opened_at
        if is_probe:
            self.probe = None
        elif is_late and refusal.retry_after is None:
            return None  # it was sent before the pause that is over
        if self.recovery is None and self.law.recovers:
            self.recovery = Recovery(recent)
        if self.recovery is not None and not is_late:
            self.recovery.refused(flight.sent_at, refusal.now)
        return self._fail(refusal, has_served=has_served) if is_probe else self.trip(refusal)

    def released(self, flight: Flight, now: float) -> bool:
        """Let another request be the probe, if this one was and has told nothing."""
        if self.probe is not flight:
            return False
        self.probe = None
        if self.state is PauseState.PROBING:
            self.until = now
        self.state = _PROBED.get(self.state, self.state)
        return True

    # Told of the site by whoever knows.

    def trip(self, refusal: Refusal) -> News | None:
        """Leave the site alone, as a request was refused: of this crawl, or of another one."""
        if self.is_passable:
            if self.recovery is None and self.law.recovers:
                self.recovery = Recovery()
            self.since, self.state = refusal.now, PauseState.PAUSED
            self._stay_away(refusal, self.lengths.begin(refusal.now, self.recovery))
            return News.PAUSED
        if refusal.retry_after is None or self.is_given_up or self.state is PauseState.PROBING:
            return None
        before, until = self.until, refusal.now + self.law.pause(0, refusal)
        self.until = max(before, until)
        # The answers of a burst are some milliseconds apart: that is no news.
        return News.PROLONGED if until - before >= _NEWS else None

    def disregard(self, sent: Iterable[float]) -> None:
        """Take refusals, by the time they were sent, for no matter of the site's rate."""
        if self.recovery is not None:
            self.recovery.disregard(sent)

    def be_due(self, now: float) -> None:
        """Let the probe go at once."""
        if self.state is PauseState.PAUSED:
            self.until = now

    def give_up(self, reason: str) -> bool:
        """Ask nothing any more; return whether that is news."""
        if self.is_given_up:
            return False
        self.state, self.probe, self.reason = PauseState.GIVEN_UP, None, reason
        return True

    def go_on(self, now: float, left: LeftPause) -> None:
        """Go on with a pause that was left; one that is over by now ends with a probe as well.

        One that is known already goes on as it is.
        """
        if not self.is_open:
            return
        if self.law.recovers and self.recovery is None:
            self.recovery = Recovery()
        self.since, self.state, self.reason = now, PauseState.PAUSED, left.reason
        self.until = min(left.until, now + max(self.law.longest, self.law.retry_after_longest))
        self.lengths.restore(left.failed_probes)

    def _stay_away(self, refusal: Refusal, seconds: float | None = None) -> None:
        self.reason = refusal.reason
        if seconds is None or refusal.retry_after is not None:
            seconds = self.law.pause(self.lengths.step, refusal)
        if refusal.retry_after is None and self.recovery is not None:
            seconds = max(seconds, self.recovery.least_pause)
        self.until = refusal.now + seconds

    def _resume(self, now: float) -> News | None:
        """Go by a good answer to the probe."""
        recovery, lengths = self.recovery, self.lengths
        if self.state not in _PROBED:
            return None
        if recovery is not None:
            is_telling = lengths.is_telling(recovery)
            recovery.resume(now, is_telling=is_telling, is_short=not lengths.is_recalled)
        lengths.end(now, recovery)
        self.state = PauseState.OPEN if recovery is None else PauseState.RECOVERING
        return News.RESUMED

    def _fail(self, refusal: Refusal, *, has_served: bool) -> News | None:
        """Go by a refused probe: wait for longer, ask once each, or give up."""
        law, tried = self.law, self.failed_probes + 1
        if self.state is PauseState.PROBING and tried < law.tries:
            self.state = PauseState.PAUSED
            self.lengths.lengthen(self.recovery)
            self._stay_away(refusal)
            return News.PROLONGED
        if self.state not in _PROBED:
            return None
        was_last_round = self.is_last_round
        self.lengths.failed += 1
        self.lengths.place += 1
        is_over = not (law.asks_once and has_served)
        if was_last_round:
            is_over = tried >= law.tries + _LAST_TRIES
        if is_over:
            self.give_up(refusal.reason)
            return News.GAVE_UP
        self.state, self.reason = PauseState.ONCE_EACH, refusal.reason
        named = min(refusal.retry_after or 0.0, law.retry_after_longest)
        self.until = max(self.until, refusal.now + max(_APART, named))
        return None if was_last_round else News.LAST_ATTEMPTS


NO_PAUSE = Pause(PauseLaw())
"""Of all sites that were never in trouble; a site has a pause of its own before it writes any."""
