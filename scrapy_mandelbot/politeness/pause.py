"""The pause of a site, or of a part of it: a circuit breaker.

Theory of operation. Everything that changes the state of a pause is here. It has one of
six states. Facts come in by methods: a request was let pass, answered, refused or
released without an answer; the operator, another crawl or the previous run said
something. A method works out *which* fact of the table that is (a refused probe is the
last one, or is not), does its arithmetic, and hands the fact to ``_take``: the only
place that writes the state. It returns the effect, which the caller reports. A fact
without a row changes nothing.

Before a site that has served is given up, *final attempts* are made: each is a probe, a
second after the last one, and one good answer resumes the site. Nothing is sent any
more once it is given up.

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
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy_mandelbot.politeness.flight import Purpose
from scrapy_mandelbot.politeness.pause_policy import (
    JITTER,
    Backoff,
    LeftPause,
    PausePolicy,
)
from scrapy_mandelbot.time_text import clock_time

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.pause_policy import Refusal
    from scrapy_mandelbot.politeness.rate_control import RateControl

FORGOTTEN_AFTER = 600.0
"""Seconds after its last pause for which it is known how a site refuses."""
_STEP_CUT_OFF = 2  # of the backoff, 9 s by default, while no site answers
_NEWS = 1.0  # seconds; a pause that grows by less is not reported
# good answers before the first refusal; then a 503 is an outage, not a limit or a ban
_WELL = 50
_OUTAGE = 300.0  # seconds of it with additional probes
_LAST_TRIES = 50  # final attempts of a pause that is given up, none answered well


class PauseState(Enum):
    """Where a pause stands."""

    OPEN = "open"
    PAUSED = "paused"
    PROBING = "probing"
    RECOVERING = "recovering"
    LAST_ATTEMPTS = "making final attempts"
    GIVEN_UP = "given up"


class PauseEffect(Enum):
    """What a fact changed: it is reported."""

    PAUSED = "paused"
    PROLONGED = "prolonged"
    RESUMED = "resumed"
    RECOVERED = "recovered"
    GAVE_UP = "gave up"
    LAST_ATTEMPTS = "makes final attempts"
    """What was not refused twice is sent once more before it is given up."""
    SET_ASIDE = "set aside"
    """The page alone is refused, its site being well."""
    REFUSES_ROBOTS = "refuses robots"
    """Robots get challenges or prices: there, or from the whole site."""
    MAY_REFUSE_ROBOTS = "may refuse robots"
    """Many pages are forbidden: a ban, or private pages. Nothing is paused."""
    SECTION = "section"
    """The pause of a section began, is longer, or is over: its pages alone are refused.
    """
    DOUBTED = "doubted"
    """Several pages failed: it is asked whether the site is out. Nothing is paused."""


class Fact(Enum):
    """What may change the state of a pause."""

    REFUSED = "refused"
    ASKS_FOR_LONGER = "refused, asks for longer"
    SENT = "sent"
    PROBE_ANSWERED = "probe answered well"
    PROBE_REFUSED = "probe refused"
    PROBES_USED_UP = "last probe refused, final attempts are left"
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
    (_S.PROBING, Fact.PROBES_USED_UP): (_S.LAST_ATTEMPTS, _E.LAST_ATTEMPTS),
    (_S.PROBING, Fact.LAST_PROBE_REFUSED): (_S.GIVEN_UP, _E.GAVE_UP),
    (_S.PROBING, Fact.PROBE_LOST): (_S.PAUSED, None),
    (_S.RECOVERING, Fact.REFUSED): (_S.PAUSED, _E.PAUSED),
    (_S.RECOVERING, Fact.RECOVERED): (_S.OPEN, _E.RECOVERED),
    (_S.LAST_ATTEMPTS, Fact.ASKS_FOR_LONGER): (_S.LAST_ATTEMPTS, _E.PROLONGED),
    (_S.LAST_ATTEMPTS, Fact.SENT): (_S.LAST_ATTEMPTS, None),
    (_S.LAST_ATTEMPTS, Fact.PROBE_ANSWERED): (_S.RECOVERING, _E.RESUMED),
    (_S.LAST_ATTEMPTS, Fact.PROBE_REFUSED): (_S.LAST_ATTEMPTS, None),
    (_S.LAST_ATTEMPTS, Fact.LAST_PROBE_REFUSED): (_S.GIVEN_UP, _E.GAVE_UP),
    (_S.LAST_ATTEMPTS, Fact.PROBE_LOST): (_S.LAST_ATTEMPTS, None),
    **{
        (any_other, Fact.GIVE_UP): (_S.GIVEN_UP, _E.GAVE_UP)
        for any_other in _S
        if any_other is not _S.GIVEN_UP
    },
}
"""By state and fact: the next state, and the effect. ``docs/pauses.rst`` shows it."""
_KEEPS_PROBE = frozenset({Fact.SENT, Fact.ASKS_FOR_LONGER})
_PASSABLE = frozenset({PauseState.OPEN, PauseState.RECOVERING})
_WAITING = frozenset({PauseState.PAUSED, PauseState.LAST_ATTEMPTS})


class Pause:
    """A circuit breaker. ``now`` is in seconds, on any clock that only goes forward.

    A fact without an effect where the pause stands changes nothing.
    """

    __slots__ = (
        "_is_first",
        "_is_outage",
        "_is_stated",
        "_own_until",
        "_was_first",
        "backoff",
        "final_attempts",
        "late_probes",
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
        self._own_until = 0.0  # the same, without additional probes
        self._is_outage = False
        self._is_stated = True  # by any refusal of this pause
        # it is as long as a first pause, and none of its probes failed
        self._is_first = False
        self._was_first = False  # the same of the last pause, at its end
        self.reason = ""
        self.late_probes = 0
        """How many requests running were the probe, and took too long."""
        self.probe: Flight[Any] | None = None
        """The one request in flight that shows whether it is over."""
        self.final_attempts = 0
        """How many are left, where they are made."""
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
        if self.state is PauseState.OPEN:
            details = ""
        elif self.state is PauseState.PAUSED:
            details = f" until {clock_time(self.until)}, {tries}: {self.reason}"
        elif self.state is PauseState.PROBING:
            details = f", {tries}: {self.reason}"
        elif self.state is PauseState.RECOVERING:
            details = f", {self.rate_control!r}"
        elif self.state is PauseState.LAST_ATTEMPTS:
            left = f"{self.final_attempts} left"
            details = f" after {tries}, {left}: {self.reason}"
        else:
            details = f" after {tries}: {self.reason}"
        return self.state.value + details

    def left(self) -> LeftPause:
        """Return what the next run or worker restores."""
        failed_probes = 0 if self.is_given_up else self.failed_probes
        return LeftPause(self.until, self.reason, failed_probes)

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
        return self.state in _PASSABLE

    @property
    def is_given_up(self) -> bool:
        """Whether nothing is asked again in this run."""
        return self.state is PauseState.GIVEN_UP

    @property
    def makes_final_attempts(self) -> bool:
        """Whether what was not refused twice is sent once more."""
        return self.state is PauseState.LAST_ATTEMPTS

    @property
    def share(self) -> float:
        """The share of requests that is refused by chance; 0: it is not known."""
        if self.rate_control is None:
            return 0.0
        return self.rate_control.share

    def is_faded(self, now: float) -> bool:
        """Return whether nothing would be lost by forgetting it."""
        return self.is_open and self.backoff.resumed_at < now - FORGOTTEN_AFTER

    @property
    def awaits_probe(self) -> bool:
        """Whether the request that goes next is the probe."""
        if self.state is PauseState.PAUSED:
            return True
        return self.state is PauseState.LAST_ATTEMPTS and self.probe is None

    def due(self, now: float) -> float:
        """Return when the next request may be sent; ``inf``: no time is known."""
        if self.state is PauseState.OPEN:
            return now
        if self.state is PauseState.PAUSED:
            return max(now, self.until)
        if self.state is PauseState.RECOVERING and self.rate_control is not None:
            return max(now, self.rate_control.next_at)
        if self.awaits_probe:  # a final attempt
            return max(now, self.until)
        return inf

    @property
    def others_go_until(self) -> float:
        """Until when a request that was refused with its site lets others go first."""
        least = 0.0 if self.rate_control is None else self.rate_control.others_go
        return max(self.until, self.backoff.resumed_at) + max(self.policy.first, least)

    @property
    def gives_up_at(self) -> float:
        """When the site is given up unless it answers or names a time.

        By chance, it may be sooner.
        """
        left = self._tries - self.failed_probes - 1
        until = max(self.until, self._own_until)
        return until + self.policy.in_all(self.backoff.step + 1, left) * (1 + JITTER)

    @property
    def _tries(self) -> int:
        """Failed probes after which it is given up."""
        if self._is_stated:
            return self.policy.tries
        return min(self.policy.tries, self.policy.unstated_tries)

    def _take(self, fact: Fact) -> PauseEffect | None:
        """Change the state as the table says, and return the effect.

        Nothing else changes it.
        """
        self.state, effect = TABLE.get((self.state, fact), (self.state, None))
        if fact not in _KEEPS_PROBE:
            self.probe = None
        return effect

    # Requests.

    def let_pass(self, flight: Flight[Any], now: float) -> None:
        """Let a request go: as the probe, if one is due."""
        if self.awaits_probe:
            self._take(Fact.SENT)
            self.until = now
            self.probe = flight
            flight.reserve(Purpose.PROBE, self.released)
        elif self.state is PauseState.RECOVERING and self.rate_control is not None:
            self.rate_control.sent(now)

    def answered(self, flight: Flight[Any], now: float) -> PauseEffect | None:
        """Note a good answer."""
        rates = self.rate_control
        if self.probe is flight:
            self.late_probes = 0
            self.opened_at = now
            self._is_outage = False
            self._was_first = self._is_first
            effect = self._take(Fact.PROBE_ANSWERED)
            if rates is not None:
                is_short = not self.backoff.is_recalled
                is_conclusive = self.backoff.is_conclusive(rates)
                rates.resume(
                    now,
                    is_conclusive=is_conclusive,
                    is_short=is_short,
                    is_first=self._is_first,
                )
                if not self._is_stated and now < self._own_until:
                    rates.resume_at_once(now)  # it was out for a moment
            self.backoff.end(now, rates)
            if rates is None:
                self._take(Fact.RECOVERED)
            return effect
        if flight.sent_at < self.opened_at or rates is None:
            return None
        rates.good(flight.sent_at, now)
        if self.state is PauseState.RECOVERING and rates.answered(now):
            return self._take(Fact.RECOVERED)
        return None

    def refused(
        self,
        flight: Flight[Any],
        refusal: Refusal,
        recent: Iterable[float] = (),
        *,
        has_served: bool = False,
    ) -> PauseEffect | None:
        """Note a refusal.

        Args:
            flight: The request.
            refusal: What the site said.
            recent: When its last good answers were sent.
            has_served: Whether the site has answered well in this run. If not, there
                are no final attempts.
        """
        is_probe = self.probe is flight
        is_late = flight.sent_at < self.opened_at
        if is_late and not is_probe and refusal.retry_after is None:
            return None  # it was sent before the pause that is over
        if self.rate_control is None and self.policy.recovers:
            from scrapy_mandelbot.politeness.rate_control import (  # noqa: PLC0415 -- few
                RateControl,
            )

            good = tuple(recent)
            self.rate_control = RateControl(good)
            self._is_outage = len(good) >= _WELL
        if self.rate_control is not None and not is_late:
            if refusal.is_of_rate:
                self.rate_control.refused(flight.sent_at, refusal.now)
            else:
                self.rate_control.interrupted(refusal.now)
        if not is_probe:
            return self.trip(refusal)
        if self.state is PauseState.LAST_ATTEMPTS:
            return self._fail_finally(refusal)
        return self._fail(flight.sent_at, refusal, has_served=has_served)

    def released(self, flight: Flight[Any], now: float) -> bool:
        """Let another request be the probe if this one was it and had no answer.

        Returns whether it was.
        """
        if self.probe is not flight:
            return False
        self.until = max(self.until, now)
        self._take(Fact.PROBE_LOST)
        return True

    # The site as a whole.

    def trip(self, refusal: Refusal) -> PauseEffect | None:
        """Leave the site alone: it refused a request of this crawl or of another."""
        if self.state in _PASSABLE:
            if self.rate_control is None and self.policy.recovers:
                from scrapy_mandelbot.politeness.rate_control import (  # noqa: PLC0415 -- few
                    RateControl,
                )

                self.rate_control = RateControl()
            self.since = refusal.now
            self._is_stated = refusal.is_stated
            seconds = None
            if self.backoff.resumed_at > -inf:  # else it is the first one
                seconds = self.backoff.begin(refusal.now, self.rate_control)
            self._stay_away(refusal, seconds)
            self._is_first = self._own_until <= refusal.now + self.policy.first
            return self._take(Fact.REFUSED)
        if refusal.retry_after is None:
            return None
        if self.state not in _WAITING:
            return None  # it has no end
        before = self.until
        until = self.policy.until(refusal)
        self.until = max(before, until)
        self._is_first = False
        # The answers of a burst are some milliseconds apart: that is no news.
        if until - before >= _NEWS:
            return self._take(Fact.ASKS_FOR_LONGER)
        return None

    def be_due(self, now: float) -> None:
        """Let the probe go at once."""
        if self.state is PauseState.PAUSED:
            self.until = now
            self._own_until = now

    def network_is_back(self, now: float) -> None:
        """Let the probe go at once; what failed meanwhile makes no pause longer."""
        self.backoff.step = min(self.backoff.step, self.backoff.failed)
        self.be_due(now)

    def give_up(self, reason: str) -> bool:
        """Send nothing more; return whether that is news.

        The cause stands first: what was refused, then why nothing waits any longer.
        """
        if self._take(Fact.GIVE_UP) is None:
            return False
        if self.reason and reason not in self.reason:
            reason = f"{self.reason}; {reason}"
        self.reason = reason
        return True

    def restore(self, now: float, left: LeftPause) -> None:
        """Restore a pause; one that has ended meanwhile still ends with a probe.

        A pause that is known already stays as it is.
        """
        if not self.is_open:
            return
        if self.policy.recovers and self.rate_control is None:
            from scrapy_mandelbot.politeness.rate_control import (  # noqa: PLC0415 -- few
                RateControl,
            )

            self.rate_control = RateControl()
        self.since = now
        self._is_first = False
        self.reason = left.reason
        self._take(Fact.REFUSED)
        self.until = min(
            left.until, now + max(self.policy.longest, self.policy.retry_after_longest)
        )
        self.backoff.failed = left.failed_probes
        self.backoff.step = self.backoff.failed

    def _stay_away(self, refusal: Refusal, seconds: float | None = None) -> None:
        self.reason = refusal.reason
        self.late_probes = 0
        least = 0.0
        if refusal.retry_after is None and self.rate_control is not None:
            least = self.rate_control.least_pause
        self._own_until = self.policy.until(
            refusal, self.backoff.step, own=seconds, least=least
        )
        if refusal.retry_after is None:
            self._probe_sooner(refusal)
        else:  # the site has said when
            self.until = self._own_until

    def _probe_sooner(self, refusal: Refusal) -> None:
        """End the pause by its backoff, or sooner where it may be over.

        Such probes lengthen no pause.
        """
        self.until = self._own_until
        least = self._least_if_brief(refusal)
        if least is not None:
            sooner = self.policy.until(refusal, least=least, is_brief=True)
            self.until = min(self.until, sooner)
        elif (
            self._is_outage and refusal.is_outage and refusal.now < self.since + _OUTAGE
        ):
            sooner = self.policy.until(refusal, is_outage=True)
            self.until = min(self.until, sooner)

    def _least_if_brief(self, refusal: Refusal) -> float | None:
        """Return how long a pause is at least that begins now, and may be brief.

        A site that stated nothing may be well in a moment. A limit of its rate lets
        requests through again as soon as its bucket is empty; unless the last pause
        was longer than that. None: there is no reason to think it brief.
        """
        if refusal.is_stated and not self._was_first:
            return None
        if not self.is_passable or self.backoff.is_recalled:
            return None
        rates = self.rate_control
        if not refusal.is_stated:
            is_by_count = rates is not None and rates.counts
            return None if is_by_count else 0.0
        if rates is None:
            return None
        return rates.drained_in()

    def _fail(
        self, sent_at: float, refusal: Refusal, *, has_served: bool
    ) -> PauseEffect | None:
        """Prolong the pause, or give up: the probe was refused."""
        was_brief = self._is_first and self.rate_control is not None
        self._is_first = False
        if not refusal.is_counted:
            self.backoff.step = max(self.backoff.step, _STEP_CUT_OFF)
            self._stay_away(refusal)
            return self._take(Fact.PROBE_REFUSED)
        self._is_stated = self._is_stated or refusal.is_stated
        is_additional = refusal.now < self._own_until
        if not self.failed_probes:  # the early one of an outage may be answered late
            is_additional = sent_at < self._own_until
        names_no_time = refusal.is_outage or (was_brief and refusal.retry_after is None)
        if is_additional and names_no_time:
            self._probe_sooner(refusal)
            return self._take(Fact.PROBE_REFUSED)
        if self.failed_probes + 1 < self._tries:
            self.backoff.lengthen(self.rate_control)
            self._stay_away(refusal)
            return self._take(Fact.PROBE_REFUSED)
        self._count_failure(refusal)
        if not (self.policy.asks_once and has_served):
            return self._take(Fact.LAST_PROBE_REFUSED)
        self.final_attempts = _LAST_TRIES
        self._wait_for_next_attempt(refusal)
        return self._take(Fact.PROBES_USED_UP)

    def _fail_finally(self, refusal: Refusal) -> PauseEffect | None:
        """Count a final attempt that was refused."""
        self._count_failure(refusal)
        self.final_attempts -= 1
        if not self.final_attempts:
            return self._take(Fact.LAST_PROBE_REFUSED)
        self._wait_for_next_attempt(refusal)
        return self._take(Fact.PROBE_REFUSED)

    def _count_failure(self, refusal: Refusal) -> None:
        """Note a refused probe after which the pause grows no more."""
        self.backoff.failed += 1
        self.backoff.place += 1
        self.reason = refusal.reason

    def _wait_for_next_attempt(self, refusal: Refusal) -> None:
        next_at = self.policy.until(refusal, is_attempt=True)
        self.until = max(self.until, next_at)


Pause.NONE = Pause(PausePolicy())
