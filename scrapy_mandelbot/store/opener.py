"""Opens the store of a crawl; each kind is imported only where it is used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_mandelbot.store import Store


def open_store(
    place: Path | None,
    longest: float,
    now: Callable[[], float],
    call_later: Callable[..., Any],
) -> Store:
    """Open the store at the path of a file.

    None: in memory. `longest`: seconds after which a copy is of no use.
    """
    # Each is imported only where it is used.
    if place is None:
        from scrapy_mandelbot.store.memory import MemoryStore  # noqa: PLC0415

        return MemoryStore()
    from scrapy_mandelbot.store.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(place, call_later, now() - longest, now)


def open_to_look(place: Path) -> Store:
    """Open a store without a crawl; a file that is not there is empty, and not made."""
    if not place.exists():
        from scrapy_mandelbot.store.memory import MemoryStore  # noqa: PLC0415

        return MemoryStore()
    from scrapy_mandelbot.store.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(place)
