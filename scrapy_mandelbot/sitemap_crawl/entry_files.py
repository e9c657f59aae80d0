"""A sitemap: how the crawl came to it, its request, and its entries on disk until there is room."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_mandelbot.crawl import CITED
from scrapy_mandelbot.events import SITEMAP_DROPPED
from scrapy_mandelbot.robots.origins import robots_url

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_mandelbot.crawl import Crawl, StoredJob


@dataclass(frozen=True)
class Cited:
    """A sitemap, and how we came to it."""

    url: str
    site: str  # whose robots.txt cites it, or cites the index that it is in
    root: str  # the sitemap that is cited there
    depth: int = 0  # how many indexes lie between


@dataclass
class EntryFile:
    """Entries in a file, one JSON document a line, taken from the front."""

    cited: Cited  # where they come from
    is_index: bool
    path: Path
    offset: int = 0  # where the next entry begins, in bytes
    is_complete: bool = True  # whether the whole sitemap was read: no entry will be added
    pages: int = 0  # how many pages the entries came with, where that may have to be told
    size: int = 0  # how long it is, in bytes

    @property
    def bytes_left(self) -> int:
        return self.size - self.offset

    def write(self, entries: Iterable[dict[str, Any]]) -> int:
        lines = [json.dumps(entry) + "\n" for entry in entries]
        with self.path.open("a", encoding="ascii") as file:
            file.writelines(lines)
        self.size += sum(map(len, lines))
        return len(lines)

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

    @property
    def length(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return -1

    def cut(self) -> None:
        os.truncate(self.path, self.size)

    def state(self) -> dict[str, Any]:
        return {**asdict(self), "path": self.path.name}

    @classmethod
    def of_state(cls, state: dict[str, Any], folder: Path) -> EntryFile:
        cited, path = Cited(**state["cited"]), folder / state["path"]
        return cls(**{**state, "cited": cited, "path": path})

    def entries(self) -> Iterator[dict[str, Any]]:
        with self.path.open("rb") as file:
            for line in file:
                yield json.loads(line)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


_DOUBTED = "mandelbot_in_doubt"  # meta key of a request for the robots.txt of a site in doubt
_READ = "_mandelbot_read_sitemap"
_MISSED = "_mandelbot_missed_sitemap"
OWN = frozenset({CITED, _DOUBTED})  # meta keys that requests have which are made here
_HEARD, _UNHEARD = "_mandelbot_heard_site", "_mandelbot_unheard_site"


def install(
    spider: Spider,
    *,
    read: Callable[[Any], Any],
    missed: Callable[[Any], Any],
    heard: Callable[[Any], Any],
) -> None:
    """Put the callbacks on the spider.

    `read` hears the response to a sitemap's request, `missed` the failure of one, and `heard` the
    response to the request for a robots.txt, or its failure.
    """
    callbacks = {_READ: read, _MISSED: missed, _HEARD: heard, _UNHEARD: heard}
    for name, callback in callbacks.items():
        setattr(spider, name, MethodType(_without_spider(callback), spider))


def sitemap_request(spider: Spider, cited: Cited, *, once: bool = False) -> Request:
    """Return the request for a sitemap, of a spider with the callbacks.

    `once`: the dupe filter is to know it, where others may ask for it as well.
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


def cited_of(request: Request) -> Cited | None:
    cited = request.meta.get(CITED)
    return None if cited is None else Cited(**cited)


def doubted_site(request: Request) -> str:
    return str(request.meta[_DOUBTED])


def _without_spider(callback: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda _spider, answer: callback(answer)


class UnfollowedRequests:
    """Drops the requests that only following sitemaps has a use for.

    They are dropped as the site queue is about to hand them out, so that no site is asked. Of a
    project's own queue they come out, and it is their answers that are dropped. The spider gets
    their callbacks: without them Scrapy can read no such request from disk. And without its
    requests, the progress kept in JOBDIR is worth nothing: `forget` deletes it.
    """

    def __init__(
        self, crawl: Crawl, spider: Spider, forget: Callable[[StoredJob | None], None]
    ) -> None:
        self._crawl = crawl
        self._events = crawl.events
        self._is_told = False
        self._forget = forget
        install(spider, read=self._drop_answer, missed=self._drop_answer, heard=self._drop_answer)
        crawl.drops = self._drops

    def _drops(self, request: Request) -> bool:
        if OWN.isdisjoint(request.meta):
            return False
        self._forget(self._crawl.job)
        if self._is_told:  # one line will do
            self._events.count(SITEMAP_DROPPED)
        else:
            self._is_told = True
            self._events.tell(SITEMAP_DROPPED, url=request.url)
        return True

    def _drop_answer(self, answer: Response | Failure) -> None:
        self._drops(answer.request)  # type: ignore[union-attr,arg-type]  # both have one
