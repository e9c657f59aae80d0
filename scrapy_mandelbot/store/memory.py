"""A store that ends with the process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Generic, TypeVar

from scrapy_mandelbot.store import CachedRobots, pack, unpack

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pause_policy import LeftPause

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values by key, each with a size.

    Beyond the limit, those unused for longest are dropped.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[str, tuple[Value, int]] = OrderedDict()
        self.size = 0  # the sum of the sizes, at most the limit

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def items(self) -> Iterator[tuple[str, Value]]:
        return ((key, value) for key, (value, _) in self._values.items())

    def get(self, key: str) -> Value | None:
        """Return the value, which counts as using it, or None."""
        entry = self._values.get(key)
        if entry is None:
            return None
        self._values.move_to_end(key)
        return entry[0]

    def put(self, key: str, value: Value, size: int) -> None:
        """Store the value in place of an older one, unless it exceeds the limit."""
        before = self._values.pop(key, None)
        self._values[key] = (value, size)
        self.size += size
        if before is not None:
            self.size -= before[1]
        while self.size > self._limit:
            _, (_, dropped) = self._values.popitem(last=False)
            self.size -= dropped

    def discard(self, key: str) -> None:
        entry = self._values.pop(key, None)
        if entry is not None:
            self.size -= entry[1]

    def clear(self) -> None:
        self._values.clear()
        self.size = 0


LIMIT = 64 * 1024 * 1024  # bytes; some 100,000 sites
_TURNS = 100_000  # sites with a pace
_OVERHEAD = 500  # bytes that a copy costs beside its body


class MemoryStore:
    """Copies in memory, for one run, by one process.

    Memory is bounded: if the copies do not fit, those that were used longest ago are
    dropped, and fetched again when they are needed.
    """

    is_shared = False

    def __init__(self, limit: int = LIMIT) -> None:
        self.packed: Recent[CachedRobots] = Recent(limit)
        self._pauses: dict[str, LeftPause] = {}
        self._turns: Recent[float] = Recent(_TURNS)
        self._runs: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self.packed)

    def get_copy(self, site: str) -> CachedRobots | None:
        packed = self.packed.get(site)
        return None if packed is None else packed._replace(body=unpack(packed.body))

    def put_copy(self, site: str, copy: CachedRobots) -> None:
        body = pack(copy.body)
        validators = copy.etag, copy.last_modified
        packed = CachedRobots(body, copy.status, copy.fetched_at, copy.url, *validators)
        self.packed.put(site, packed, len(body) + _OVERHEAD)

    def copies(self) -> Iterator[tuple[str, CachedRobots]]:
        for site, packed in sorted(self.packed.items(), key=itemgetter(0)):
            yield site, packed._replace(body=unpack(packed.body))

    def drop_copy(self, site: str) -> None:
        self.packed.discard(site)

    def get_pauses(self, after: float = -inf) -> dict[str, LeftPause]:
        return {
            site: pause for site, pause in self._pauses.items() if pause.until > after
        }

    def put_pause(self, site: str, pause: LeftPause | None) -> None:
        if pause is None:
            self._pauses.pop(site, None)
        else:
            self._pauses[site] = pause

    def get_turns(self, after: float) -> dict[str, float]:
        return {site: due for site, due in self._turns.items() if due > after}

    def changed_pauses(self) -> dict[str, LeftPause | None]:
        return {}

    def put_turn(self, site: str, due: float) -> bool:
        self._turns.put(site, due, 1)
        return False

    def claim_turn(
        self,
        site: str,  # noqa: ARG002 -- no other crawl has it
        **_: float,
    ) -> float:
        return 0.0

    def get_run(self, spider: str) -> float | None:
        return self._runs.get(spider)

    def put_run(self, spider: str, began_at: float) -> None:
        self._runs[spider] = began_at

    def close(self) -> None:
        for kept in (self.packed, self._pauses, self._turns, self._runs):
            kept.clear()
