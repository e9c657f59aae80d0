"""How long the pauses of a site are that names no time.

A pause is three times as long as the one before it after each failed probe, unless chance explains
that the probe failed. The next one begins where the last one ended, as a site that was down is
likely to be down as long again; that fades with service. A site that is known to have a limit, or
to refuse by chance, is asked sooner once.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_mandelbot.politeness.recovery import Mode

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pause_law import PauseLaw
    from scrapy_mandelbot.politeness.recovery import Recovery

_REMEMBERED = 60.0  # seconds; no pause begins with more
_FAINT = 1.5  # first pauses; less is not remembered


class Lengths:
    """The lengths of the pauses of one site, in steps of its law.

    Args:
        law: how long pauses last.
    """

    __slots__ = ("_law", "_remembered", "_repeats", "_resumed_at", "failed", "is_recalled", "step")

    def __init__(self, law: PauseLaw) -> None:
        self._law = law
        self.step = 0
        """Of the pause, in the law."""
        self.failed = 0
        """Probes that failed in a row, in this pause."""
        self.is_recalled = False
        """Whether this pause has begun where the last one ended."""
        self._repeats = False
        self._remembered = 0.0
        self._resumed_at = -inf

    def begin(self, now: float, recovery: Recovery | None) -> float | None:
        """Begin a pause; return its seconds where the last one is remembered, else None."""
        self.step = self.failed = 0
        self._repeats = self.is_recalled = False
        if self._remembered:
            passed = max(0.0, now - self._resumed_at)
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
        if self._repeats:
            self._repeats = False
        elif recovery is None or not recovery.explains(self.failed):
            self.step += 1
            self._recall()

    def end(self, now: float, recovery: Recovery | None) -> None:
        """Note that a probe was answered well."""
        self._resumed_at = now
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
        return self._resumed_at < now - seconds

    @property
    def resumed_at(self) -> float:
        """When the last pause ended."""
        return self._resumed_at

    def _recall(self) -> bool:
        """Go on from the last pause, where it is remembered; return whether it is."""
        law, remembered = self._law, self._remembered
        if not remembered or remembered < _FAINT * law.first:
            return False
        while law.own_pause(self.step) < law.own_pause(self.step + 1) <= remembered:
            self.step += 1
        return True
