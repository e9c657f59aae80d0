"""The pause of a site, or of a part of it: a circuit breaker.

All changes of its state are here. Theory of operation. A pause has one of five states.
Facts come in by methods: a request was let pass, answered, refused or released without
an answer; the operator, another crawl or the previous run said something. A method
works out *which* fact of the table that is (a refused probe is the last one, or is
not), does its arithmetic, and hands the fact to ``_take``: the only place that writes
the state. It returns the effect, which the caller reports; a fact without a row changes
nothing.

Source: Mandelbot, "Temporarily Stop Crawling": a 503 to any request stops the crawl of
the site, which resumes at some later time. How it resumes is ours: one request, the
probe, goes first. A late refusal, one of the burst that caused the pause, escalates
nothing, but a longer ``Retry-After`` extends it; and only failed probes lengthen the
next one. `PausePolicy` says how long it lasts, and `Backoff` what carries over to the
next one.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, ClassVar

from mandelbot.formatting import clock_time

from scrapy_mandelbot.politeness.flight import Purpose
from scrapy_mandelbot.politeness.pause_policy import Backoff, LeftPause, PausePolicy
from scrapy_mandelbot.politeness.rate_control import RateControl

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.pause_policy import Refusal

FORGOTTEN_AFTER = 600.0
"""Seconds after its last pause for which it is known how a site refuses."""
_NEWS = 1.0  # seconds; a pause that grows by less is not reported
# good answers before the first refusal; then a 503 is an outage, not a limit or a ban
_WELL = 50
# seconds of it with additional probes, and between two of them
_OUTAGE = 300.0
_MOST_APART = 15.0


class PauseState(Enum):
    """Where a pause stands."""

    OPEN = "open"
    PAUSED = "paused"
    PROBING = "probing"
    RECOVERING = "recovering"
    GIVEN_UP = "given up"


class PauseEffect(Enum):
    """What a fact changed: it is reported."""

    PAUSED = "paused"
    PROLONGED = "prolonged"
    RESUMED = "resumed"
    RECOVERED = "recovered"
    GAVE_UP = "gave up"
    SET_ASIDE = "set aside"
    """The page alone is refused, its site being well."""
    REFUSES_ROBOTS = "refuses robots"
    """Robots get challenges, prices, bare refusals: there, or from the whole site."""
    SECTION = "section"
    """The pause of a section began, is longer, or is over: its pages alone are refused.
    """


class Fact(Enum):
    """What may change the state of a pause."""

    REFUSED = "refused"
    ASKS_FOR_LONGER = "refused, asks for longer"
    SENT = "sent"
    PROBE_ANSWERED = "probe answered well"
    PROBE_REFUSED = "probe refused"
    LAST_PROBE_REFUSED = "last probe refused"
    PROBE_LOST = "probe lost"
    RECOVERED = "has recovered"
    GIVE_UP = "give up"


_S = PauseState
_E = PauseEffect
TABLE: dict[tuple[PauseState, Fact], tuple[PauseState, PauseEffect | None]] = {
    (_S.OPEN, Fact.REFUSED): (_S.PAUSED, _E.PAUSED),
    (_S.PAUSED, Fact.ASKS_FOR_LONGER): (_S.PAUSED, _E.PROLONGED),
    (_S.PAUSED, Fact.SENT): (_S.PROBING, None),
    (_S.PROBING, Fact.PROBE_ANSWERED): (_S.RECOVERING, _E.RESUMED),
    (_S.PROBING, Fact.PROBE_REFUSED): (_S.PAUSED, _E.PROLONGED),
    (_S.PROBING, Fact.LAST_PROBE_REFUSED): (_S.GIVEN_UP, _E.GAVE_UP),
    (_S.PROBING, Fact.PROBE_LOST): (_S.PAUSED, None),
    (_S.RECOVERING, Fact.REFUSED): (_S.PAUSED, _E.PAUSED),
    (_S.RECOVERING, Fact.RECOVERED): (_S.OPEN, _E.RECOVERED),
    **{
        (any_, Fact.GIVE_UP): (_S.GIVEN_UP, _E.GAVE_UP)
        for any_ in _S
        if any_ is not _S.GIVEN_UP
    },
}
"""By state and fact: the state that follows, and the effect. ``docs/pauses.rst`` shows
it.
"""


class Pause:
    """A circuit breaker. ``now`` is in seconds, on any clock that only goes forward.

    A fact without an effect where the pause stands changes nothing.
    """

    __slots__ = (
        "_is_outage",
        "_own_until",
        "backoff",
        "opened_at",
        "policy",
        "probe",
        "rate_control",
        "reason",
        "since",
        "state",
        "until",
    )

    NONE: ClassVar[Pause]
    """Of all sites that were never in trouble; a site has its own before it writes any.
    """

    def __init__(self, policy: PausePolicy) -> None:
        self.policy = policy
        self.reset()

    def __repr__(self) -> str:
        return f"<Pause: {self.as_text()}>"

    def reset(self) -> None:
        """Forget everything about the site: it is open, as at first."""
        self.since = inf
        """When it was last open."""
        self.state = PauseState.OPEN
        self.until = 0.0
        """When the probe may be sent, where the site is paused."""
        self._own_until = 0.0  # the same, without the additional probes of an outage
        self._is_outage = False
        self.reason = ""
        self.probe: Flight | None = None
        """The one request in flight that shows whether it is over."""
        self.opened_at = -inf
        """When a probe was answered well last: what was sent before is no news."""
        self.rate_control: RateControl | None = None
        """How fast requests are sent after the first pause, and what refusals say about
        limits.
        """
        self.backoff = Backoff(self.policy)
        """How long it is, and the next one."""

    # State.

    def as_text(self) -> str:
        """Return where it stands, for people."""
        tries = f"{self.failed_probes} failed probes"
        details = {
            PauseState.OPEN: "",
            PauseState.PAUSED: (
                f" until {clock_time(self.until)}, {tries}: {self.reason}"
            ),
            PauseState.PROBING: f", {tries}: {self.reason}",
            PauseState.RECOVERING: f", {self.rate_control!r}",
        }
        return self.state.value + details.get(
            self.state, f" after {tries}: {self.reason}"
        )

    def left(self, section: str = "") -> LeftPause:
        """Return what the next run or worker restores."""
        failed_probes = 0 if self.is_given_up else self.failed_probes
        return LeftPause(self.until, self.reason, failed_probes, section)

    @property
    def failed_probes(self) -> int:
        """How many probes failed in a row."""
        return self.backoff.failed

    @property
    def is_open(self) -> bool:
        """Whether it holds nothing back."""
        return self.state is PauseState.OPEN

    @property
    def is_passable(self) -> bool:
        """Whether requests are sent, be it at the rate of a recovery."""
        return self.state is PauseState.OPEN or self.state is PauseState.RECOVERING

    @property
    def is_given_up(self) -> bool:
        """Whether nothing is asked again in this run."""
        return self.state is PauseState.GIVEN_UP

    @property
    def share(self) -> float:
        """The share of requests that is refused by chance; 0: it is not known."""
        return 0.0 if self.rate_control is None else self.rate_control.share

    def is_faded(self, now: float) -> bool:
        """Return whether nothing would be lost by forgetting it."""
        return self.is_open and self.backoff.resumed_at < now - FORGOTTEN_AFTER

    @property
    def awaits_probe(self) -> bool:
        """Whether the request that goes next is the probe."""
        return self.state is PauseState.PAUSED

    def due(self, now: float) -> float:
        """Return when the next request may be sent; for ever away, if no time is known."""
        if self.state is PauseState.OPEN:
            return now
        if self.state is PauseState.PAUSED:
            return max(now, self.until)
        if self.state is PauseState.RECOVERING and self.rate_control is not None:
            return max(now, self.rate_control.next_at)
        return inf

    @property
    def others_go_until(self) -> float:
        """Until when a request that was refused with its site lets others go first."""
        least = 0.0 if self.rate_control is None else self.rate_control.others_go
        return max(self.until, self.backoff.resumed_at) + max(self.policy.first, least)

    @property
    def gives_up_at(self) -> float:
        """When the site is given up unless it answers or names a time; sooner by chance."""
        left = self.policy.tries - self.failed_probes - 1
        until = max(self.until, self._own_until)
        return until + self.policy.in_all(self.backoff.step + 1, left) * (
            1 + self.policy.JITTER
        )

    def _take(self, fact: Fact) -> PauseEffect | None:
        """Change the state as the table says, and return the effect.

        Nothing else changes it.
        """
        self.state, effect = TABLE.get((self.state, fact), (self.state, None))
        if self.state is not PauseState.PROBING:
            self.probe = None
        return effect

    # Requests.

    def let_pass(self, flight: Flight, now: float) -> None:
        """Let a request go: as the probe, if one is due."""
        if self.awaits_probe:
            self._take(Fact.SENT)
            self.until = now
            self.probe = flight
            flight.reserve(Purpose.PROBE, self.released)
        elif self.state is PauseState.RECOVERING and self.rate_control is not None:
            self.rate_control.sent(now)

    def answered(self, flight: Flight, now: float) -> PauseEffect | None:
        """Note a good answer."""
        rates = self.rate_control
        if self.probe is flight:
            self.opened_at = now
            self._is_outage = False
            effect = self._take(Fact.PROBE_ANSWERED)
            if rates is not None:
                is_short = not self.backoff.is_recalled
                is_conclusive = self.backoff.is_conclusive(rates)
                rates.resume(now, is_conclusive=is_conclusive, is_short=is_short)
            self.backoff.end(now, rates)
            if rates is None:
                self._take(Fact.RECOVERED)
            return effect
        if flight.sent_at < self.opened_at or rates is None:
            return None
        rates.good(flight.sent_at, now)
        is_back = self.state is PauseState.RECOVERING and rates.answered(now)
        return self._take(Fact.RECOVERED) if is_back else None

    def refused(
        self, flight: Flight, refusal: Refusal, recent: Iterable[float] = ()
    ) -> PauseEffect | None:
        """Note a refusal."""
        is_probe = self.probe is flight
        is_late = flight.sent_at < self.opened_at
        if is_late and not is_probe and refusal.retry_after is None:
            return None  # it was sent before the pause that is over
        if self.rate_control is None and self.policy.recovers:
            self.rate_control = RateControl(recent := tuple(recent))
            self._is_outage = len(recent) >= _WELL
        if self.rate_control is not None and not is_late:
            self.rate_control.refused(flight.sent_at, refusal.now)
        return self._fail(refusal) if is_probe else self.trip(refusal)

    def released(self, flight: Flight, now: float) -> bool:
        """Let another request be the probe, if this one was it and ended without an answer."""
        if self.probe is not flight:
            return False
        self.until = now
        self._take(Fact.PROBE_LOST)
        return True

    # The site as a whole.

    def trip(self, refusal: Refusal) -> PauseEffect | None:
        """Leave the site alone, as a request was refused: of this crawl, or of another one."""
        if self.is_passable:
            if self.rate_control is None and self.policy.recovers:
                self.rate_control = RateControl()
            self.since = refusal.now
            self._stay_away(refusal, self.backoff.begin(refusal.now, self.rate_control))
            return self._take(Fact.REFUSED)
        if refusal.retry_after is None or not self.awaits_probe:
            return None
        before = self.until
        until = refusal.now + self.policy.pause(0, refusal)
        self.until = max(before, until)
        # The answers of a burst are some milliseconds apart: that is no news.
        return self._take(Fact.ASKS_FOR_LONGER) if until - before >= _NEWS else None

    def be_due(self, now: float) -> None:
        """Let the probe go at once."""
        if self.state is PauseState.PAUSED:
            self.until = self._own_until = now

    def give_up(self, reason: str) -> bool:
        """Send nothing more; return whether that is news."""
        if self.is_given_up:
            return False
        self.reason = reason
        self._take(Fact.GIVE_UP)
        return True

    def restore(self, now: float, left: LeftPause) -> None:
        """Restore a pause; one that has ended meanwhile still ends with a probe.

        A pause that is known already stays as it is.
        """
        if not self.is_open:
            return
        if self.policy.recovers and self.rate_control is None:
            self.rate_control = RateControl()
        self.since = now
        self.reason = left.reason
        self._take(Fact.REFUSED)
        self.until = min(
            left.until, now + max(self.policy.longest, self.policy.retry_after_longest)
        )
        self.backoff.failed = self.backoff.step = left.failed_probes

    def _stay_away(self, refusal: Refusal, seconds: float | None = None) -> None:
        self.reason = refusal.reason
        if seconds is None or refusal.retry_after is not None:
            seconds = self.policy.pause(self.backoff.step, refusal)
        if refusal.retry_after is None and self.rate_control is not None:
            seconds = max(seconds, self.rate_control.least_pause)
        self._own_until = refusal.now + seconds
        self._probe_sooner(refusal)

    def _probe_sooner(self, refusal: Refusal) -> None:
        """End the pause by its backoff, or sooner in an outage: such probes lengthen no pause."""
        self.until = self._own_until
        if self._is_outage and refusal.is_outage and refusal.now < self.since + _OUTAGE:
            apart = _MOST_APART * (1 - self.policy.JITTER * refusal.jitter)
            self.until = min(self.until, refusal.now + apart)

    def _fail(self, refusal: Refusal) -> PauseEffect | None:
        """Prolong the pause, or give up: the probe was refused."""
        if self.failed_probes + 1 >= self.policy.tries:
            self.backoff.failed += 1
            self.backoff.place += 1
            self.reason = refusal.reason
            return self._take(Fact.LAST_PROBE_REFUSED)
        if self._is_outage and refusal.now < self._own_until and refusal.is_outage:
            self._probe_sooner(refusal)
        else:
            self.backoff.lengthen(self.rate_control)
            self._stay_away(refusal)
        return self._take(Fact.PROBE_REFUSED)


Pause.NONE = Pause(PausePolicy())
