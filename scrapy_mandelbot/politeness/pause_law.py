"""How long the pauses of a site are by the settings, and when it is given up.

A pause that the server names no time for lasts a second, and three times as long after each failed
probe: 1, 3, 9, 27 ... 3,600 s. (Doubling never outruns a server that bans for twice as long who
knocks too early.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_GROWTH = 3.0  # of the pause, for each failed probe
_TRIES_OF_A_PART = 6  # failed probes: some six minutes, its site being well


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
    """From 0 to 0.1: by which a pause of our own choice is longer."""


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
    """Whether requests that were never sent are sent once before they fail with their site."""
    base: float | None = None
    """The pause after the first failed probe, which doubles then; None: they triple. Deprecated."""

    def pause(self, step: int, refusal: Refusal) -> float:
        """Return the seconds to leave the site alone.

        Args:
            step: failed probes, in a row, that made the pause longer.
            refusal: the last one.
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

        Args:
            step: of the first.
            count: how many; None: all of a site that is given up.
        """
        left, seconds = self.tries if count is None else count, 0.0
        while left > 0:
            pause = self.own_pause(step)
            if pause == self.own_pause(step + 1):  # it grows no more
                return seconds + left * pause
            seconds += pause
            step, left = step + 1, left - 1
        return seconds

    def of_a_part(self) -> PauseLaw:
        """Return the law for a part of a site that is well else."""
        return replace(self, tries=min(self.tries, _TRIES_OF_A_PART), recovers=False)
