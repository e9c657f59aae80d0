"""The entries of one sitemap, on disk until the crawl has room for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Cited:
    """A sitemap, and how we came to it."""

    url: str
    site: str
    """Whose robots.txt cites it, or cites the index that it is in."""
    root: str
    """The sitemap that is cited there."""
    depth: int = 0
    """How many indexes lie between."""


@dataclass
class EntryFile:
    """Entries in a file, one JSON document a line, taken from the front."""

    cited: Cited
    """Where they come from."""
    is_index: bool
    path: Path
    offset: int = 0
    """Where the next entry begins, in bytes."""
    is_complete: bool = True
    """Whether the whole sitemap was read: no entry will be added."""
    pages: int = 0
    """How many pages the entries came with, where that may have to be told."""

    @property
    def bytes_left(self) -> int:
        """How much of it was not taken."""
        return self.path.stat().st_size - self.offset

    def write(self, entries: Iterable[dict[str, Any]]) -> int:
        """Add entries at the end; return how many they were."""
        lines = [json.dumps(entry) + "\n" for entry in entries]
        with self.path.open("a", encoding="ascii") as file:
            file.writelines(lines)
        return len(lines)

    def take(self, most: int) -> list[dict[str, Any]]:
        """Take so many entries from the front, or as many as there are."""
        taken: list[dict[str, Any]] = []
        with self.path.open("rb") as file:
            file.seek(self.offset)
            while len(taken) < most and (line := file.readline()).endswith(b"\n"):
                taken.append(json.loads(line))
            self.offset = file.tell()
        return taken

    def entries(self) -> Iterator[dict[str, Any]]:
        """Iterate over all entries from the front, taking none."""
        with self.path.open("rb") as file:
            for line in file:
                yield json.loads(line)

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)
