"""Detects sites that refuse robots."""

from __future__ import annotations

from scrapy_mandelbot.politeness.faults import MOST_SECTIONS, paths_around

_MARKED = 5  # pages in a row, with the marks of a challenge or a price
_BARE = 10  # pages in a row
_PLACES = 3  # those are of so many: first segments of their paths
_TURNED_AWAY = 32  # pages that are counted


class BotBlockDetector:
    """Detects sites that answer robots with challenges or prices.

    One such page says nothing of others. Several with the marks of a challenge or a
    price, without a good page between, do: of the section that has all of them, or of
    the site. Many bare 403s from several places may mean a ban, or that these pages are
    private: no more than a log line follows.
    """

    __slots__ = ("_all", "_marked")

    def __init__(self) -> None:
        self._marked: dict[str, set[bytes]] = {}
        """Those with marks, by the section: since its last good page."""
        self._all: dict[bytes, str] = {}
        """All, and the place of each."""

    def note(self, url: str, fingerprint: bytes, *, is_marked: bool) -> str | None:
        """Note one; return the path of the section that refuses robots, or None.

        `is_marked`: the answer has the marks of a challenge or a price.
        """
        if len(self._all) < _TURNED_AWAY:
            self._all[fingerprint] = place_of(url)
        if not is_marked:
            return None
        return self._refusing(list(paths_around(url)), fingerprint)

    @property
    def suggests_block(self) -> bool:
        """Whether many pages of several places were refused, and none good since."""
        return len(self._all) >= _BARE and len(set(self._all.values())) >= _PLACES

    def well(self, url: str) -> None:
        """Note a good page."""
        self._all.clear()
        for path in paths_around(url):
            self._marked.pop(path, None)

    def _refusing(self, paths: list[str], fingerprint: bytes) -> str | None:
        """Return the outermost section with enough of them.

        If one within it has all of them, that one.
        """
        for path in paths:
            if path in self._marked or len(self._marked) < MOST_SECTIONS:
                pages = self._marked.setdefault(path, set())
                if len(pages) < _TURNED_AWAY:
                    pages.add(fingerprint)
        counts = {path: len(self._marked.get(path, ())) for path in paths}
        most = next((count for count in counts.values() if count >= _MARKED), None)
        return max(
            (path for path in paths if counts[path] == most), key=len, default=None
        )


def place_of(url: str) -> str:
    """Return the first segment of the path of a URL."""
    return url.partition("://")[2].partition("/")[2].partition("/")[0]
