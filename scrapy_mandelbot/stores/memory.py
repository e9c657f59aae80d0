"""A store that ends with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_mandelbot.stores.copies import Copy


class MemoryStore:
    """Copies in a dict: for one run, by one process."""

    def __init__(self) -> None:
        self._copies: dict[str, Copy] = {}

    def get(self, site: str) -> Copy | None:
        """Return the site's copy, fresh or not."""
        return self._copies.get(site)

    def put(self, site: str, copy: Copy) -> None:
        """Keep the site's copy in place of an older one."""
        self._copies[site] = copy

    def close(self) -> None:
        """Forget all copies."""
        self._copies.clear()
