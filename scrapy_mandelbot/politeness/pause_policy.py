"""How long pauses last: exponential backoff, and what the next pause inherits.

Also what may be the cause of a site's refusals, and how much of them chance explains.
"""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import NamedTuple, Protocol

BY_CHANCE = 0.05
"""What is less likely is no chance: that so many probes failed, that a section is
refused.
"""
MOST_BY_CHANCE = 3
"""Failed probes that chance explains, at most: then the site is down, or they were dead
pages.
"""
JITTER = 0.1
"""By so large a part a pause of our own choice is longer at most: crawls come one by
one.
"""
_REMEMBERED = 60.0  # seconds; no pause begins with more


class Mode(Enum):
    """What is known of a site's refusals."""

    RAMP = "ramp"
    CHANCE = "chance"
    LIMIT = "limit"
    SLOW = "slow limit"


class Evidence(Protocol):
    """What the length of a pause needs of what is known: a ``RateControl`` has it."""

    mode: Mode

    def explains(self, failed_probes: int) -> bool:
        """Return whether a limit explains so many probes that failed."""


class Backoff:
    """The lengths of the pauses of one site, in steps of its policy."""

    __slots__ = (
        "_policy",
        "_remembered",
        "_repeats",
        "failed",
        "is_recalled",
        "place",
        "resumed_at",
        "step",
    )

    def __init__(self, policy: PausePolicy) -> None:
        self._policy = policy
        self.step = 0
        """The exponent of the pause."""
        self.failed = 0
        """Probes that failed in a row, in this pause."""
        self.place = 0
        """Probes that failed in all pauses: the next comes from where the last good one
        did.
        """
        self.is_recalled = False
        """Whether this pause has begun where the last one ended."""
        self._repeats = False
        self._remembered = 0.0
        self.resumed_at = -inf
        """When the last pause ended."""

    def begin(self, now: float, rate_control: Evidence | None) -> float | None:
        """Begin a pause.

        Returns its seconds if the last one is remembered, else None.
        """
        self.step = 0
        self.failed = 0
        self._repeats = False
        self.is_recalled = False
        if not self._remembered:
            return None
        passed = max(0.0, now - self.resumed_at)
        self._remembered *= 0.5 ** (passed / self._remembered)
        if rate_control is not None and rate_control.mode is not Mode.RAMP:
            return None
        if not self._recall():
            return None
        # the step below it comes next
        self._repeats = True
        self.is_recalled = True
        return self._remembered

    def lengthen(self, rate_control: Evidence | None) -> None:
        """Note a failed probe."""
        self.failed += 1
        self.place += 1
        if self._repeats:
            self._repeats = False
        elif rate_control is None or not rate_control.explains(self.failed):
            self.step += 1
            self._recall()

    def end(self, now: float, rate_control: Evidence | None) -> None:
        """Note that a probe was answered well."""
        self.resumed_at = now
        if self.is_conclusive(rate_control):
            self._remembered /= 2.0
        else:
            self._remembered = min(self._policy.own_pause(self.step), _REMEMBERED)
        self.failed = 0

    def is_conclusive(self, rate_control: Evidence | None) -> bool:
        """Return whether the site was well at once, or as soon as chance has it."""
        return not self.failed or (
            rate_control is not None and rate_control.explains(self.failed)
        )

    def _recall(self) -> bool:
        """Go on from the last pause, where it is remembered; return whether it is."""
        policy = self._policy
        remembered = self._remembered
        if not remembered or remembered <= policy.first:
            return False
        while (
            policy.own_pause(self.step) < policy.own_pause(self.step + 1) <= remembered
        ):
            self.step += 1
        return True


_GROWTH = 3.0  # of the pause, for each failed probe
_ATTEMPTS_APART = 1.0  # seconds between two final attempts
# of the first pause: when one that may be brief is probed, at least,
_BRIEF = 0.25
_BRIEFEST = 0.05  # and where a rate limit has refused
_PROBES_APART = 15.0  # seconds between two additional probes of an outage
_TRIES_OF_A_PART = 6  # failed probes: some six minutes, its site being well
# between probes of what refuses robots, and how many fail
_HOUR = 3_600.0
_HOURS = 2


class Refusal(NamedTuple):
    """A site said no to a request."""

    now: float
    """When, in seconds."""
    reason: str
    """Why, as text for a log."""
    retry_after: float | None = None
    """Seconds that the server asks for, if it does."""
    jitter: float = 0.0
    """From 0 to 1, by chance: a pause of our own choice is longer by so much of its
    jitter.
    """
    marked: bool | None = None
    """Of an answer that may be meant for robots: whether it has the marks of that."""
    is_outage: bool = False
    """Whether it is a 503 that names no time."""
    is_counted: bool = True
    """False: no site answers, and this one is not to blame."""
    is_stated: bool = True
    """False: a failure that states nothing, an error of the server without a time."""
    is_of_rate: bool = True
    """False: it says nothing of a rate."""


class PausePolicy(NamedTuple):
    """How long pauses last, in seconds, and how many failed probes end in giving up."""

    first: float = 1.0
    """The first pause, of a site that names no time; three times as long after a failed
    probe.
    """
    longest: float = 3600.0
    """No pause of our own choice is longer."""
    retry_after_longest: float = 86400.0
    """No pause that a server asks for is longer."""
    tries: int = 9
    """Failed probes after which the site is given up: 6,880 s in all."""
    unstated_tries: int = 6
    """The same in an outage that the site did not state: 364 s, as for a page."""
    recovers: bool = True
    """Whether the request rate grows slowly after a pause; if not, the site is open at
    once.
    """
    asks_once: bool = True
    """Whether requests not refused twice are sent once more before they fail with their
    site.
    """

    def until(  # noqa: PLR0913 -- all that it depends on
        self,
        refusal: Refusal,
        step: int = 0,
        *,
        own: float | None = None,
        least: float = 0.0,
        is_outage: bool = False,
        is_brief: bool = False,
        is_attempt: bool = False,
    ) -> float:
        """Return when the next request may be sent: a pause's length is decided here.

        A time that the site names counts, else our own choice.

        Args:
            refusal: The last one.
            step: Failed probes, in a row, that made the pause longer.
            own: Seconds of our own choice, in place of those of the step.
            least: Our own choice is no shorter, in seconds.
            is_outage: Whether it is an additional probe of an outage.
            is_brief: Whether it is the first probe of a pause that may be brief.
            is_attempt: Whether it is a final attempt.
        """
        shortest = _ATTEMPTS_APART if is_attempt else 0.0
        if refusal.retry_after is not None:
            seconds = min(refusal.retry_after, self.retry_after_longest)
        elif is_attempt:
            seconds = shortest
        elif is_brief and least:
            seconds = max(_BRIEFEST * self.first, least)
        elif is_brief:
            seconds = _BRIEF * self.first
        elif is_outage:
            seconds = _PROBES_APART * (1 - JITTER * refusal.jitter)
        elif own is not None:
            seconds = max(own, least)
        elif step:
            pause = self.own_pause(step) * (1 + JITTER * refusal.jitter)
            seconds = max(pause, least)
        else:
            seconds = max(self.first, least)
        return refusal.now + max(seconds, shortest)

    def own_pause(self, step: int) -> float:
        """Return the seconds of a pause of our own choice, without jitter."""
        # The exponent is bounded: the pause has long been the longest, and 3**2000 is
        # no float.
        return min(self.first * _GROWTH ** min(step, 64), self.longest)

    def in_all(self, step: int = 0, count: int | None = None) -> float:
        """Return the seconds of several pauses of our own choice, without jitter.

        From a step on so many; None: all of a site that is given up.
        """
        left = self.tries if count is None else count
        seconds = 0.0
        while left > 0:
            pause = self.own_pause(step)
            if pause == self.own_pause(step + 1):  # it grows no more
                return seconds + left * pause
            seconds += pause
            step = step + 1
            left = left - 1
        return seconds

    @property
    def of_a_part(self) -> PausePolicy:
        """The policy for a section whose site is well."""
        return self._replace(tries=min(self.tries, _TRIES_OF_A_PART), recovers=False)

    @property
    def of_robots(self) -> PausePolicy:
        """The policy for a site, or a section, that refuses robots."""
        return self._replace(
            first=_HOUR,
            longest=_HOUR,
            tries=_HOURS,
            recovers=False,
            asks_once=False,
        )


class LeftPause(NamedTuple):
    """A pause, for the next run, worker or crawl that requests its site."""

    until: float
    """Seconds since the epoch; it may have passed: then the site was probed, or on its
    way back.
    """
    reason: str
    failed_probes: int = 0
    """In a row; 0 where they had been too many: whoever has the site next tries as
    often.
    """
    section: str = ""
    """The path of the section to which it applies alone; empty: it is the whole site's.
    """
    refuses_robots: bool = False
    """Whether that section refuses robots."""
