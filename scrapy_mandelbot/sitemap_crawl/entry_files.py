"""A cited sitemap: its origin, its request, and its entries that wait on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mandelbot.files import open_regular
from mandelbot.origins import host_of, robots_url, site_of
from scrapy import Request

from scrapy_mandelbot.downloadermiddlewares.robotstxt import LISTED_IN
from scrapy_mandelbot.fetching.download_limits import CITED

if TYPE_CHECKING:
    from scrapy import Spider


@dataclass(frozen=True)
class CitedSitemap:
    """A sitemap, and which site and index cite it."""

    url: str
    site: str  # whose robots.txt cites it, or the index that lists it
    root: str  # the sitemap or index that this robots.txt cites
    depth: int = 0  # the number of indexes in between
    # whether the site cites none, and the project's settings name it
    is_named: bool = False

    @classmethod
    def of(cls, request: Request) -> CitedSitemap | None:
        """Return the sitemap of a request, or None for any other request."""
        cited = request.meta.get(CITED)
        return None if cited is None else cls(**cited)

    @property
    def host(self) -> str:
        """The host that it is on."""
        return host_of(site_of(urlsplit(self.url)))

    @property
    def is_cross_host(self) -> bool:
        """Whether that is another one than its site's."""
        return self.host != host_of(self.site)

    def cite_for(self, page: Request) -> None:
        """Note on a request for another site what that site has to cite."""
        page.meta[LISTED_IN] = self.root

    def listed(self, url: str) -> CitedSitemap:
        """Return a sitemap that this index, or a deferred list of the site, holds."""
        return CitedSitemap(url, self.site, self.root or url, self.depth + 1)

    def request(self, spider: Spider, *, once: bool = False) -> Request:
        """Return the request for the sitemap; its callbacks are on the spider.

        `once`: the dupe filter applies, as other workers may request the sitemap as
        well.
        """
        headers = {}
        if spider.settings.getbool("COMPRESSION_ENABLED"):
            headers["Accept-Encoding"] = "gzip"  # it is read in steps
        return Request(
            self.url,
            callback=getattr(spider, _READ),
            errback=getattr(spider, _MISSED),
            dont_filter=not once,
            headers=headers,
            # Robot tags of a sitemap concern the file itself, not the pages that it
            # lists.
            meta={
                CITED: asdict(self),
                "allow_offsite": True,
                "dont_obey_robot_tags": True,
            },
        )


_AT_A_TIME = 16_384  # bytes that are read without a break


@dataclass
class EntryFile:
    """Entries in a file, one JSON document per line, taken from the front."""

    cited: CitedSitemap  # their sitemap
    is_index: bool
    path: Path
    offset: int = 0  # of the next entry, in bytes
    # whether the whole sitemap was read, so that no entry is added
    is_complete: bool = True
    pages: int = 0  # listed by the entries; counted only for unconfirmed pages
    size: int = 0  # in bytes

    def write(self, entries: Iterable[dict[str, Any]]) -> int:
        lines = [json.dumps(entry) + "\n" for entry in entries]
        with self.path.open("a", encoding="ascii") as file:
            file.writelines(lines)
        self.size += sum(map(len, lines))
        return len(lines)

    def next_entries(self, most: int) -> list[tuple[dict[str, Any], int]]:
        """Return up to `most` entries from the front without taking them.

        Each comes with the value of :attr:`offset` once it is taken.
        """
        entries: list[tuple[dict[str, Any], int]] = []
        with open_regular(self.path) as file:
            file.seek(self.offset)
            end = self.offset
            last = self.offset + _AT_A_TIME
            while len(entries) < most and end < last:
                line = file.readline()
                if not line.endswith(b"\n"):  # the last one is being written
                    break
                end += len(line)
                entry = _read_entry(line)
                if entry is not None:
                    entries.append((entry, end))
        return entries

    @property
    def length(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return -1

    def state(self) -> dict[str, Any]:
        return {**asdict(self), "path": self.path.name}

    @classmethod
    def of_state(cls, state: dict[str, Any], folder: Path) -> EntryFile:
        cited = CitedSitemap(**state["cited"])
        path = folder / state["path"]
        return cls(**{**state, "cited": cited, "path": path})

    def entries(self) -> Iterator[dict[str, Any]]:
        with open_regular(self.path) as file:
            yield from filter(None, map(_read_entry, file))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _read_entry(line: bytes) -> dict[str, Any] | None:
    """Return an entry as it was written; None: a power cut may leave anything."""
    with suppress(ValueError, RecursionError):
        entry = json.loads(line)
        if isinstance(entry, dict) and isinstance(entry.get("loc"), str):
            return entry
    return None


# meta key of a request for the robots.txt of a site in doubt
UNCONFIRMED = "mandelbot_unconfirmed"
_READ = "_mandelbot_read_sitemap"
_MISSED = "_mandelbot_missed_sitemap"
OWN = frozenset({CITED, UNCONFIRMED})  # meta keys of the requests made here
_ROBOTS = "_mandelbot_robots_known"
_NO_ROBOTS = "_mandelbot_robots_missed"


def install(
    spider: Spider,
    *,
    read: Callable[[Any], Any],
    missed: Callable[[Any], Any],
    robots: Callable[[Any], Any],
) -> None:
    """Put the callbacks on the spider.

    `read` receives the response to a request for a sitemap, `missed` its failure, and
    `robots` the response or failure of a request for a robots.txt.
    """
    callbacks = {_READ: read, _MISSED: missed, _ROBOTS: robots, _NO_ROBOTS: robots}
    for name, callback in callbacks.items():
        setattr(
            spider,
            name,
            MethodType(lambda _, answer, call=callback: call(answer), spider),
        )


def robots_request(spider: Spider, site: str) -> Request:
    """Return a request that ends once the rules of its site are known, or unavailable.

    RobotsTxtMiddleware fetches the rules first, and then answers the request from the
    cache.
    """
    return Request(
        robots_url(site),
        callback=getattr(spider, _ROBOTS),
        errback=getattr(spider, _NO_ROBOTS),
        dont_filter=True,
        meta={UNCONFIRMED: site, "dont_retry": True},
    )
