"""The entries of one sitemap, on disk until the crawl has room for them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import MethodType
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_mandelbot.crawl import CITED
from scrapy_mandelbot.robots.origins import robots_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from scrapy import Spider


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


_DOUBTED = "mandelbot_in_doubt"  # meta key of a request for the robots.txt of a site in doubt
_READ, _MISSED = "_mandelbot_read_sitemap", "_mandelbot_missed_sitemap"
_HEARD, _UNHEARD = "_mandelbot_heard_site", "_mandelbot_unheard_site"


def install(
    spider: Spider,
    *,
    read: Callable[[Any], Any],
    missed: Callable[[Any], Any],
    heard: Callable[[Any], Any],
) -> None:
    """Put the callbacks on the spider.

    Args:
        spider: the spider of the crawl.
        read: called with the response to a sitemap's request.
        missed: called with the failure of one.
        heard: called with the response to the request for a robots.txt, or its failure.
    """
    callbacks = {_READ: read, _MISSED: missed, _HEARD: heard, _UNHEARD: heard}
    for name, callback in callbacks.items():
        setattr(spider, name, MethodType(_without_spider(callback), spider))


def sitemap_request(spider: Spider, cited: Cited, *, once: bool = False) -> Request:
    """Return the request for a sitemap.

    Args:
        spider: has the callbacks.
        cited: the sitemap.
        once: whether the dupe filter is to know it: where others may ask for it as well.
    """
    return Request(
        cited.url,
        callback=getattr(spider, _READ),
        errback=getattr(spider, _MISSED),
        dont_filter=not once,
        # Tags of a sitemap say that no search is to find it, and nothing of what it lists.
        meta={CITED: asdict(cited), "allow_offsite": True, "dont_obey_robot_tags": True},
    )


def robots_request(spider: Spider, site: str) -> Request:
    """Return a request that ends when the rules of its site are known, or cannot be had.

    By then the middleware that obeys them has asked for them, and it answers from the copy.
    """
    return Request(
        robots_url(site),
        callback=getattr(spider, _HEARD),
        errback=getattr(spider, _UNHEARD),
        dont_filter=True,
        meta={_DOUBTED: site, "dont_retry": True},
    )


def is_own(request: Request) -> bool:
    """Return whether a request is one of these."""
    return CITED in request.meta or _DOUBTED in request.meta


def cited_of(request: Request) -> Cited | None:
    """Return the sitemap that a request is for; None: it is for no sitemap."""
    cited = request.meta.get(CITED)
    return None if cited is None else Cited(**cited)


def doubted_site(request: Request) -> str:
    """Return the site whose robots.txt is asked for."""
    return str(request.meta[_DOUBTED])


def _without_spider(callback: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda _spider, answer: callback(answer)
