"""Where copies of robots.txt files are kept. I/O lives here; Scrapy does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_mandelbot.store.contract import Store


def open_store(
    place: str | Path | None,
    longest: float,
    now: Callable[[], float],
    call_later: Callable[..., Any],
    loop: Callable[[], Callable[..., object]],
) -> Store:
    """Open the store at the path of a file, or on the server with a URL.

    None: in memory. `longest`: seconds after which a copy is of no use. `loop` returns
    a function that calls another in the loop that runs now.
    """
    # Each is imported only where it is used; Redis takes the package of the extra.
    if place is None:
        from scrapy_mandelbot.store.memory import MemoryStore  # noqa: PLC0415

        return MemoryStore()
    if isinstance(place, str):
        from scrapy_mandelbot.store.redis.redis_store import RedisStore  # noqa: PLC0415

        return RedisStore(place, loop, longest, now)
    from scrapy_mandelbot.store.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(place, call_later, now() - longest, now)


def open_to_look(place: str | Path) -> Store:
    """Open a store without a crawl; a file that is not there is empty, and not made."""
    if isinstance(place, str):
        from scrapy_mandelbot.store.redis.redis_store import RedisStore  # noqa: PLC0415

        return RedisStore(place)
    if not place.exists():
        from scrapy_mandelbot.store.memory import MemoryStore  # noqa: PLC0415

        return MemoryStore()
    from scrapy_mandelbot.store.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(place)
