"""Where copies of robots.txt files are kept. I/O lives here; Scrapy does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_mandelbot.store.contract import Store

_SERVERS = frozenset({"redis", "rediss", "unix", "valkey", "valkeys"})


def is_server(place: str) -> bool:
    """Return whether a setting names a Redis or Valkey server."""
    return ":" in place and place.partition(":")[0] in _SERVERS


def open_store(
    place: str | Path | None,
    longest: float,
    now: Callable[[], float],
    call_later: Callable[..., Any],
    loop: Callable[[], Callable[..., object]],
) -> Store:
    """Open the store in a file, or on a server whose URL is given; None: in memory.

    `longest`: seconds after which a copy is of no use. `loop` returns a function that calls another
    in the loop that runs now.
    """
    # Each is imported only where it is used; Redis takes the package of the extra.
    if place is None:
        from scrapy_mandelbot.store.memory import MemoryStore  # noqa: PLC0415

        return MemoryStore()
    if is_server(str(place)):
        from scrapy_mandelbot.store.redis.redis_store import RedisStore  # noqa: PLC0415

        return RedisStore(str(place), loop, longest, now)
    from scrapy_mandelbot.store.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(place, call_later, now() - longest, now)
