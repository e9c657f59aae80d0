"""A mapping that holds what was used last, and no more than fits."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values by key, each with a size. What was not used for longest goes when they add up."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[str, tuple[Value, int]] = OrderedDict()
        self.size = 0
        """The sum of the sizes, at most the limit."""

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Recent: {len(self)} values, size {self.size} of {self._limit}>"

    def items(self) -> Iterator[tuple[str, Value]]:
        """Iterate over keys and values, what was used last at the end."""
        for key, (value, _) in self._values.items():
            yield key, value

    def get(self, key: str) -> Value | None:
        """Return the value, which counts as using it, or None."""
        entry = self._values.get(key)
        if entry is None:
            return None
        self._values.move_to_end(key)
        return entry[0]

    def put(self, key: str, value: Value, size: int) -> None:
        """Hold the value in place of an older one. One that alone exceeds the limit is not held."""
        self.discard(key)
        self._values[key] = (value, size)
        self.size += size
        while self.size > self._limit:
            _, (_, dropped) = self._values.popitem(last=False)
            self.size -= dropped

    def discard(self, key: str) -> None:
        """Forget the key, if it is there."""
        entry = self._values.pop(key, None)
        if entry is not None:
            self.size -= entry[1]

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()
        self.size = 0
