"""A site that a worker owns: how many of its requests it claims at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST = 4  # requests that are claimed of a site that is new to a worker
_FEWEST = 2
MOST_HELD = 32  # requests that are claimed of a site at a time
# seconds in which that many were handed out
_SOON = 1.0
_LATE = 10.0


@dataclass(slots=True)
class HeldSite:
    """A site that this worker owns.

    It claims as many requests at a time as it sends in a few seconds, so that the rest
    stays available to other workers, and the next batch before the last one is used up.
    """

    name: str
    when: float  # when requests were claimed last
    # claimed requests, waiting or handed out
    numbers: set[int] = field(default_factory=set)
    waiting: int = 0  # requests that are claimed, and may be handed out
    batch: int = FIRST
    asked: int = 0  # how many are being claimed
    has_more: bool = True  # whether more wait than were claimed, as far as known
    said: tuple[bytes, str] = b"", "0"  # reported for its next owner

    @property
    def is_low(self) -> bool:
        return not self.waiting or (self.has_more and self.waiting <= self.batch // 4)

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing of it waits, here or on the server, as far as known."""
        return not self.waiting and not self.has_more and not self.asked

    def begin_claim(self, now: float) -> int:
        """Return how many requests to claim, and note that they are on their way."""
        passed = now - self.when
        self.when = now
        if self.has_more and passed < _SOON:
            self.batch = min(2 * self.batch, MOST_HELD)
        elif passed > _LATE:
            self.batch = max(self.batch // 2, _FEWEST)
        self.asked = max(1, self.batch - self.waiting)
        return self.asked

    def arrived(self, count: int) -> None:
        self.has_more = count >= self.asked
        self.asked = 0
