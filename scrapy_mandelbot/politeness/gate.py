"""The gate of a site: may it be asked now, and by how many at once.

Source: Mandelbot, "Temporarily Stop Crawling": a 503 to any request stops the crawl of the site,
which resumes at some later time. How it resumes is ours: one request, the probe, goes first.

::

    event              open      closed    probing              recovering       given up
    -----------------  --------  --------  -------------------  ---------------  --------
    refused            closed    closed    probing              closed           given up
    sent               open      probing   -                    recovering       -
    probe answered     -         -         recovering (open)    -                -
    probe refused      -         -         closed / given up    -                -
    probe lost         -         -         closed, due now      -                -
    answered           -         -         -                    recovering/open  -
    give up            given up, from every state

A late refusal is one of the burst that caused the pause: it escalates nothing, but a longer
``Retry-After`` extends the pause. Only failed probes lengthen the next one.

Beside all that the operator may hold the gate: in whatever state it is, nothing is sent before the
hold ends, and then it is in the state that it has come to meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf

from scrapy_mandelbot.politeness.recovery import Recovery

_NEWS = 1.0  # seconds by which a pause has to grow for anyone to hear of it
_LONGEST_FOR_ONE = 5  # first pauses; one broken page must not keep a crawl open for minutes


class GateState(Enum):
    """Where a gate stands."""

    OPEN = "open"
    CLOSED = "closed"
    PROBING = "probing"
    RECOVERING = "recovering"
    GIVEN_UP = "given up"


class Transition(Enum):
    """What an event did that the world should hear of."""

    PAUSED = "paused"
    PROLONGED = "prolonged"
    RESUMED = "resumed"
    GAVE_UP = "gave up"


@dataclass(frozen=True)
class Refusal:
    """A site said no to a request."""

    now: float
    """When, in seconds."""
    reason: str
    """Why, in words for a log."""
    retry_after: float | None = None
    """Seconds that the server asks for, if it does."""
    jitter: float = 0.0
    """From -0.1 to 0.1: by which a pause of our own choice is longer."""


@dataclass(frozen=True)
class PauseLaw:
    """How long pauses last, in seconds, and how many failed probes end in giving up."""

    first: float = 1.0
    """The first pause, of a site that names no time."""
    base: float = 60.0
    """The pause after the first failed probe; each further one doubles it."""
    longest: float = 3600.0
    """No pause of our own choice is longer."""
    retry_after_longest: float = 86400.0
    """No pause that a server asks for is longer."""
    tries: int = 8
    """Failed probes after which the site is given up."""
    recovers: bool = True
    """Whether a site is asked at a pace after a pause; if not, it is open at once."""

    def pause(self, failed_probes: int, refusal: Refusal) -> float:
        """Return the seconds to leave the site alone.

        Args:
            failed_probes: failed in a row since the site was open.
            refusal: the last one.
        """
        if refusal.retry_after is not None:
            return min(refusal.retry_after, self.retry_after_longest)
        if not failed_probes:
            return self.first
        return self._grown(self.base, failed_probes) * (1 + refusal.jitter)

    def pause_of_one(self, times: int, retry_after: float | None) -> float:
        """Return the seconds to set a request aside that alone is refused, its site being well.

        Args:
            times: how often the site has refused it.
            retry_after: seconds that the server asks for, if it does.
        """
        if retry_after is not None:
            return min(retry_after, self.retry_after_longest)
        return min(self._grown(self.first, times), _LONGEST_FOR_ONE * self.first)

    def _grown(self, first: float, times: int) -> float:
        # The exponent is bounded: the pause has long been the longest, and 2**2000 is no float.
        return min(first * 2.0 ** min(times - 1, 64), self.longest)


class Gate:
    """The gate of one site. ``now`` is in seconds, on any clock that only goes forward."""

    __slots__ = (
        "_closed_at",
        "_held_at",
        "_law",
        "failed_probes",
        "held_until",
        "reason",
        "recovery",
        "state",
        "until",
    )

    def __init__(self, law: PauseLaw) -> None:
        self._law = law
        self._closed_at = inf
        self._held_at = 0.0
        self.state = GateState.OPEN
        self.failed_probes = 0
        self.until = 0.0
        """When the site may be asked again, where the gate is closed."""
        self.held_until = -inf
        """When the operator lets the site be asked again."""
        self.reason = ""
        self.recovery: Recovery | None = None
        """The pace of the site, from its first pause until it is as open as before."""

    def __repr__(self) -> str:
        details = {
            GateState.OPEN: "",
            GateState.CLOSED: f" until {self.until:.1f}, {self.failed_probes} failed probes",
            GateState.PROBING: f", {self.failed_probes} failed probes",
            GateState.RECOVERING: f", {self.recovery!r}",
            GateState.GIVEN_UP: f" after {self.failed_probes} failed probes",
        }
        held = f", held until {self.held_until:.1f}" if self.is_held else ""
        return f"<Gate {self.state.value}{details[self.state]}{held}>"

    @property
    def is_held(self) -> bool:
        """Whether the operator holds it, or did until lately."""
        return self.held_until != -inf

    def due(self, now: float) -> float:
        """Return when the next request may be sent; for ever away, if no time is known."""
        return max(self._due(now), self.held_until)

    def _due(self, now: float) -> float:
        if self.state is GateState.OPEN:
            return now
        if self.state is GateState.CLOSED:
            return max(now, self.until)
        if self.state is GateState.RECOVERING and self.recovery is not None:
            return max(now, self.recovery.next_at)
        return inf

    def sent(self, now: float) -> bool:
        """Note that a request is sent, a due one; return whether it is the probe."""
        if self.state is GateState.CLOSED:
            self.state = GateState.PROBING
            return True
        if self.recovery is not None:
            self.recovery.sent(now)
        return False

    def answered(self, now: float) -> bool:
        """Note that the site answered a request well; return whether it has recovered."""
        if self.state is not GateState.RECOVERING or self.recovery is None:
            return False
        if self.recovery.answered(now):
            self.state = GateState.OPEN
            self.recovery = None
            return True
        return False

    def refused(self, refusal: Refusal, good_rate: float = 0.0) -> Transition | None:
        """Note that the site refused a request other than the probe.

        Args:
            refusal: what is known of it.
            good_rate: good answers a second that the site gave lately.
        """
        if self.state in {GateState.OPEN, GateState.RECOVERING}:
            if self.recovery is not None:
                self.recovery.refused(refusal.now)
            elif self._law.recovers:
                self.recovery = Recovery(good_rate)
            self.failed_probes = 0
            self._closed_at = refusal.now
            self._close(refusal)
            return Transition.PAUSED
        if self.state is GateState.CLOSED and refusal.retry_after is not None:
            before, until = self.until, refusal.now + self._law.pause(0, refusal)
            self.until = max(before, until)
            # The answers of a burst are some milliseconds apart: that is no news.
            if until - before >= _NEWS:
                return Transition.PROLONGED
        return None

    def probe_answered(self, now: float) -> Transition | None:
        """Note that the probe was answered well: the site is well again."""
        if self.state is not GateState.PROBING:
            return None
        self.failed_probes = 0
        if self.recovery is None:
            self.state = GateState.OPEN
        else:
            self.state = GateState.RECOVERING
            self.recovery.resume(now)
        return Transition.RESUMED

    def probe_refused(self, refusal: Refusal) -> Transition | None:
        """Note that the probe was refused: the site is closed again, for longer."""
        if self.state is not GateState.PROBING:
            return None
        self.failed_probes += 1
        if self.failed_probes >= self._law.tries:
            self.give_up(refusal.reason)
            return Transition.GAVE_UP
        self._close(refusal)
        return Transition.PROLONGED

    def end_pause(self, now: float) -> None:
        """Let the probe go at once, as the operator knows that the site is well."""
        if self.state is GateState.CLOSED:
            self.until = now

    def probe_lost(self, now: float) -> None:
        """Note that the probe ended and told nothing of the site: another may go at once."""
        if self.state is GateState.PROBING:
            self.state = GateState.CLOSED
            self.until = now

    def restore(self, now: float, until: float, reason: str, failed_probes: int) -> None:
        """Go on with the pause of a former run, if it is not over."""
        until = min(until, now + max(self._law.longest, self._law.retry_after_longest))
        if self.state is not GateState.OPEN or until <= now:
            return
        if self._law.recovers:
            self.recovery = Recovery(0.0)
        self._closed_at = now
        self.state = GateState.CLOSED
        self.until = until
        self.reason = reason
        self.failed_probes = failed_probes

    def give_up(self, reason: str) -> None:
        """Ask the site no more, whatever the law says."""
        self.state = GateState.GIVEN_UP
        self.reason = reason

    def hold(self, now: float, until: float) -> None:
        """Have nothing sent before ``until``, in whatever state the gate is; now: end the hold."""
        if not self.is_held:
            self._held_at = now
        self.held_until = until

    def end_hold(self, now: float) -> float | None:
        """Return how long the hold was that is over now; None: there is none, or it is not over."""
        if not self.is_held or now < self.held_until:
            return None
        self.held_until = -inf
        return now - self._held_at

    def paused_for(self, now: float) -> float:
        """Return the seconds since the gate was last open; 0, if it was never closed."""
        return max(0.0, now - self._closed_at)

    def _close(self, refusal: Refusal) -> None:
        self.state = GateState.CLOSED
        self.reason = refusal.reason
        self.until = refusal.now + self._law.pause(self.failed_probes, refusal)
