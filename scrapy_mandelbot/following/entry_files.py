"""The entries of one sitemap, on disk until the crawl has room for them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
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
    size: int = 0
    """How long it is, in bytes."""

    @property
    def bytes_left(self) -> int:
        """How much of it was not taken."""
        return self.size - self.offset

    def write(self, entries: Iterable[dict[str, Any]]) -> int:
        """Add entries at the end; return how many they were."""
        lines = [json.dumps(entry) + "\n" for entry in entries]
        with self.path.open("a", encoding="ascii") as file:
            file.writelines(lines)
        self.size += sum(map(len, lines))
        return len(lines)

    def take(self, most: int) -> list[dict[str, Any]]:
        """Take so many entries from the front, or as many as there are."""
        entries = self.next_entries(most)
        for _, self.offset in entries:
            pass
        return [entry for entry, _ in entries]

    def next_entries(self, most: int) -> list[tuple[dict[str, Any], int]]:
        """Return so many entries from the front, or as many as there are, and take none.

        Each comes with what :attr:`offset` is to be when it is taken.
        """
        entries: list[tuple[dict[str, Any], int]] = []
        with self.path.open("rb") as file:
            file.seek(self.offset)
            while len(entries) < most and (line := file.readline()).endswith(b"\n"):
                with suppress(ValueError):  # a power cut may leave anything
                    entries.append((json.loads(line), file.tell()))
        return entries

    def cut(self) -> None:
        """Have nothing in it but what it had when its size was kept."""
        os.truncate(self.path, self.size)

    def entries(self) -> Iterator[dict[str, Any]]:
        """Iterate over all entries from the front, taking none."""
        with self.path.open("rb") as file:
            for line in file:
                yield json.loads(line)

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)
