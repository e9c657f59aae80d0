"""How values are spread: least, most, mean, quantiles; in little room, however many they are."""

from __future__ import annotations

from math import floor, inf, log2

_PARTS = 8  # of an octave; a value is known within 4.5 %
_LEAST, _MOST = 2.0**-14, 2.0**24  # what is beyond counts as these, where it is counted by size


class Spread:
    """Values from 0 up, such as seconds. Quantiles are estimates, within 4.5 % of the value."""

    __slots__ = ("_counts", "count", "least", "most", "total")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self.least = inf
        self.most = 0.0
        self.total = 0.0

    def __repr__(self) -> str:
        return f"<Spread of {self.count} values, {self.least:g} to {self.most:g}>"

    def add(self, value: float) -> None:
        """Take a value in."""
        self.count += 1
        self.total += value
        self.least = min(self.least, value)
        self.most = max(self.most, value)
        part = floor(log2(min(max(value, _LEAST), _MOST)) * _PARTS)
        self._counts[part] = self._counts.get(part, 0) + 1

    def merge(self, other: Spread) -> None:
        """Take in all values of another one."""
        self.count += other.count
        self.total += other.total
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        for part, count in other._counts.items():
            self._counts[part] = self._counts.get(part, 0) + count

    @property
    def mean(self) -> float | None:
        """The mean; None: there is no value."""
        return self.total / self.count if self.count else None

    @property
    def median(self) -> float | None:
        """The median, estimated; None: there is no value."""
        return self.quantile(0.5)

    def quantile(self, share: float) -> float | None:
        """Return the value that so large a share of all is not above, estimated; None: no value."""
        if not self.count:
            return None
        left = share * self.count
        for part in sorted(self._counts):
            left -= self._counts[part]
            if left <= 0:
                break
        middle = float(2.0 ** ((part + 0.5) / _PARTS))
        return min(max(middle, self.least), self.most)
