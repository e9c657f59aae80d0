"""What happened when: counts in a bounded number of equal parts of the time of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BUCKETS = 60
"""Of one site. When there would be more, two become one."""
FIRST_WIDTH = 1.0
"""Seconds of a bucket at first; it doubles, so that those of all sites fit each other."""


class Bucket:
    """What happened at a site in one part of the time."""

    __slots__ = ("answers", "errors", "failures", "first_byte", "rate", "refusals", "sent", "timed")

    def __init__(self) -> None:
        self.sent = 0
        """Requests that left for the site, for its robots.txt too."""
        self.answers = 0
        """Answers, whatever they said."""
        self.errors = 0
        """Of those, 5xx."""
        self.refusals = 0
        """Answers and failures that asked for a pause."""
        self.failures = 0
        """Requests without an answer."""
        self.first_byte = 0.0
        """Seconds from request to answer, summed over those answers that were timed."""
        self.timed = 0
        self.rate = 0.0
        """Requests a second that a recovery allowed when it was looked at last; 0: it had none."""

    def __repr__(self) -> str:
        return f"<Bucket: {self.sent} sent, {self.answers} answers, {self.errors} of them 5xx>"

    def merge(self, later: Bucket) -> None:
        """Take in what happened in the next part of the time."""
        self.sent += later.sent
        self.answers += later.answers
        self.errors += later.errors
        self.refusals += later.refusals
        self.failures += later.failures
        self.first_byte += later.first_byte
        self.timed += later.timed
        self.rate = later.rate or self.rate


class Timeline:
    """Buckets since the crawl began, those in which something happened.

    Args:
        began: when the crawl did, in seconds since the epoch.
    """

    __slots__ = ("_buckets", "began", "width")

    def __init__(self, began: float) -> None:
        self.began = began
        self.width = FIRST_WIDTH
        """Seconds of each bucket."""
        self._buckets: dict[int, Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def __iter__(self) -> Iterator[tuple[float, Bucket]]:
        """Yield when each bucket begins, in seconds since the epoch, and what happened in it."""
        for number in sorted(self._buckets):
            yield self.began + number * self.width, self._buckets[number]

    def at(self, now: float) -> Bucket:
        """Return the bucket of a time."""
        number = max(0, int((now - self.began) / self.width))
        while number >= MOST_BUCKETS:
            self._double()
            number //= 2
        bucket = self._buckets.get(number)
        if bucket is None:
            bucket = self._buckets[number] = Bucket()
        return bucket

    def _double(self) -> None:
        self.width *= 2
        merged: dict[int, Bucket] = {}
        for number in sorted(self._buckets):
            if number // 2 in merged:
                merged[number // 2].merge(self._buckets[number])
            else:
                merged[number // 2] = self._buckets[number]
        self._buckets = merged
