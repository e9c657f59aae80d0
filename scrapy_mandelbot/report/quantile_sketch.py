"""Quantiles of many values in little memory."""

from __future__ import annotations

from math import floor, inf, log2

_PARTS = 8  # per octave: values are known within 4.5 %
# values outside fall into the first or last bucket
_LEAST = 2.0**-14
_MOST = 2.0**24


class QuantileSketch:
    """Counts values from 0 up in logarithmic buckets; quantiles are within 4.5 %."""

    __slots__ = ("_counts", "count", "least", "most")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self.least = inf
        self.most = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        self.count += 1
        self.least = min(self.least, value)
        self.most = max(self.most, value)
        part = floor(log2(min(max(value, _LEAST), _MOST)) * _PARTS)
        self._counts[part] = self._counts.get(part, 0) + 1

    def merge(self, other: QuantileSketch) -> None:
        """Add all values of another sketch."""
        self.count += other.count
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        for part, count in other._counts.items():
            self._counts[part] = self._counts.get(part, 0) + count

    @property
    def median(self) -> float | None:
        """The estimated median; None: no values."""
        return self.quantile(0.5)

    def quantile(self, share: float) -> float | None:
        """Return the estimated quantile for a share from 0 to 1; None: no values."""
        if not self.count:
            return None
        left = share * self.count
        for part in sorted(self._counts):
            left -= self._counts[part]
            if left <= 0:
                break
        return self._middle(part)

    def mean(self, most: float) -> float:
        """Return the estimated mean of its values; larger ones count as `most`."""
        counts = self._counts.items()
        total = sum(min(self._middle(part), most) * count for part, count in counts)
        return total / self.count

    def _middle(self, part: int) -> float:
        return min(max(float(2.0 ** ((part + 0.5) / _PARTS)), self.least), self.most)
