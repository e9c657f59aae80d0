"""The gate of a site: may it be asked now, and by how many at once.

Source: Mandelbot, "Temporarily Stop Crawling": a 503 to any request stops the crawl of the site,
which resumes at some later time. How it resumes is ours: one request, the probe, goes first.

::

    event              open      closed    probing              recovering       given up
    -----------------  --------  --------  -------------------  ---------------  --------
    refused            closed    closed    probing              closed           given up
    probe sent         -         probing   -                    -                -
    probe answered     -         -         recovering (open)    -                -
    probe refused      -         -         closed / given up    -                -
    probe lost         -         -         closed, due now      -                -
    answered           -         -         -                    recovering/open  -
    give up            given up, from every state

A late refusal is one of the burst that caused the pause: it escalates nothing, but a longer
``Retry-After`` extends the pause. Only failed probes lengthen the next one.
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

    def pause(self, failed_probes: int, retry_after: float | None, jitter: float) -> float:
        """Return the seconds to leave the site alone.

        Args:
            failed_probes: failed in a row since the site was open.
            retry_after: seconds that the server asks for, if it does.
            jitter: a number from -0.1 to 0.1, by which a pause of our own choice is longer.
        """
        if retry_after is not None:
            return min(retry_after, self.retry_after_longest)
        if not failed_probes:
            return self.first
        return self._grown(self.base, failed_probes) * (1 + jitter)

    def pause_for_one(self, times: int, retry_after: float | None) -> float:
        """Return the seconds to leave the site alone for the sake of one request.

        Args:
            times: how often the site has refused this request, and none but this.
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

    __slots__ = ("_closed_at", "_law", "failed_probes", "reason", "recovery", "state", "until")

    def __init__(self, law: PauseLaw) -> None:
        self._law = law
        self._closed_at = 0.0
        self.state = GateState.OPEN
        self.failed_probes = 0
        self.until = 0.0
        """When the site may be asked again, where the gate is closed."""
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
        return f"<Gate {self.state.value}{details[self.state]}>"

    def window(self, now: float) -> int | None:
        """Return how many requests the site may be sent at ``now``; None: any number."""
        if self.state is GateState.OPEN:
            return None
        return int(self.due(now) <= now)

    def due(self, now: float) -> float:
        """Return when the next request may be sent; for ever away, if no time is known."""
        if self.state is GateState.OPEN:
            return now
        if self.state is GateState.CLOSED:
            return self.until
        if self.state is GateState.RECOVERING and self.recovery is not None:
            return max(now, self.recovery.next_at)
        return inf

    def sent(self, now: float) -> None:
        """Note that a request was sent that is no probe."""
        if self.recovery is not None:
            self.recovery.sent(now)

    def answered(self, now: float) -> bool:
        """Note that the site answered a request well; return whether it has recovered."""
        if self.state is not GateState.RECOVERING or self.recovery is None:
            return False
        if self.recovery.answered(now):
            self.state = GateState.OPEN
            self.recovery = None
            return True
        return False

    def refused(
        self,
        now: float,
        reason: str,
        retry_after: float | None = None,
        jitter: float = 0.0,
        *,
        good_rate: float = 0.0,
    ) -> Transition | None:
        """Note that the site refused a request other than the probe.

        Args:
            now: seconds.
            reason: why, in words for a log.
            retry_after: seconds that the server asks for, if it does.
            jitter: a number from -0.1 to 0.1.
            good_rate: good answers a second that the site gave lately.
        """
        if self.state in {GateState.OPEN, GateState.RECOVERING}:
            if self.recovery is not None:
                self.recovery.refused(now)
            elif self._law.recovers:
                self.recovery = Recovery(good_rate)
            self.failed_probes = 0
            self._closed_at = now
            self._close(now, reason, self._law.pause(0, retry_after, jitter))
            return Transition.PAUSED
        if self.state is GateState.CLOSED and retry_after is not None:
            before, until = self.until, now + self._law.pause(0, retry_after, jitter)
            self.until = max(before, until)
            # The answers of a burst are some milliseconds apart: that is no news.
            if until - before >= _NEWS:
                return Transition.PROLONGED
        return None

    def probe_sent(self) -> None:
        """Note that the one request that a due gate lets through is on its way."""
        self.state = GateState.PROBING

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

    def probe_refused(
        self,
        now: float,
        reason: str,
        retry_after: float | None = None,
        jitter: float = 0.0,
        *,
        times_alone: int = 0,
    ) -> Transition | None:
        """Note that the probe was refused: the site is closed again, for longer.

        Args:
            now: seconds.
            reason: why, in words for a log.
            retry_after: seconds that the server asks for, if it does.
            jitter: a number from -0.1 to 0.1.
            times_alone: how often this request was refused while the site answered all others
                well. Then the URL is to blame: the site is not given up for it. 0: the site is.
        """
        if self.state is not GateState.PROBING:
            return None
        if times_alone:
            self._close(now, reason, self._law.pause_for_one(times_alone, retry_after))
            return Transition.PROLONGED
        self.failed_probes += 1
        if self.failed_probes >= self._law.tries:
            self.state = GateState.GIVEN_UP
            self.reason = reason
            return Transition.GAVE_UP
        self._close(now, reason, self._law.pause(self.failed_probes, retry_after, jitter))
        return Transition.PROLONGED

    def probe_lost(self, now: float) -> None:
        """Note that the probe ended without an answer from the site: another may go at once."""
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
        self.failed_probes = failed_probes
        self._close(now, reason, until - now)

    def give_up(self, reason: str) -> None:
        """Ask the site no more, whatever the law says."""
        self.state = GateState.GIVEN_UP
        self.reason = reason

    def paused_for(self, now: float) -> float:
        """Return the seconds since the gate was last open."""
        return max(0.0, now - self._closed_at)

    def _close(self, now: float, reason: str, seconds: float) -> None:
        self.state = GateState.CLOSED
        self.reason = reason
        self.until = now + seconds
