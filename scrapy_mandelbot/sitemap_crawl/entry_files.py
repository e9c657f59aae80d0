"""The entries of one sitemap: from its response, a turn at a time, to disk until there is room."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import MethodType
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot.crawl import CITED
from scrapy_mandelbot.robots.origins import robots_url
from scrapy_mandelbot.robots.sitemaps import SitemapReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from scrapy import Spider
    from scrapy.http import Response

    from scrapy_mandelbot.config import Config
    from scrapy_mandelbot.robots.sitemaps import SitemapEntry


async def others_turn() -> None:
    """Let others have a turn of the loop."""
    turn: Deferred[None] = Deferred()
    call_later(0, turn.callback, None)
    await maybe_deferred_to_future(turn)


def entry_data(entry: SitemapEntry, sitemap: str) -> dict[str, Any]:
    """Return an entry as ``sitemap_filter`` and ``meta["sitemap_entry"]`` have it.

    What SitemapSpider's entries have is as there: ``loc``, ``lastmod`` (as written),
    ``changefreq``, ``priority``, ``alternate`` (a list of URLs). Beside that ``modified``
    (``lastmod`` in the form of ISO 8601, with a time zone), ``hreflang`` (URLs by language),
    ``extensions`` and ``sitemap`` (its URL). What the sitemap does not say is not there.
    """
    data: dict[str, Any] = {
        "loc": entry.loc,
        "lastmod": entry.lastmod_text,
        "modified": entry.lastmod and entry.lastmod.isoformat(),
        "changefreq": entry.changefreq,
        "priority": entry.priority,
        "alternate": [url for _, url in entry.alternates],
        "hreflang": {language: url for language, url in entry.alternates if language},
        "extensions": entry.extensions,
        "sitemap": sitemap,
    }
    return {name: value for name, value in data.items() if value not in (None, "", [], {})}


class SitemapSelection:
    """Which entries a spider wants, and where their responses go.

    ``sitemap_rules``, ``sitemap_follow``, ``sitemap_filter`` and ``sitemap_alternate_links`` mean
    what they mean for SitemapSpider; of a spider without them, all goes to ``parse``.

    Raises:
        AttributeError: a callback of ``sitemap_rules`` is no method of the spider.
        re.error: a pattern is no regular expression.
    """

    def __init__(self, spider: Spider) -> None:
        rules = getattr(spider, "sitemap_rules", [("", "parse")])
        self._rules = [(re.compile(pattern), _method(spider, name)) for pattern, name in rules]
        self._follow = [re.compile(pattern) for pattern in getattr(spider, "sitemap_follow", [""])]
        self._filter = getattr(spider, "sitemap_filter", None)
        self._takes_alternates = getattr(spider, "sitemap_alternate_links", False)

    @property
    def has_filter(self) -> bool:
        """Whether the spider has a ``sitemap_filter``."""
        return self._filter is not None

    def chosen(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Return the entries that the spider's ``sitemap_filter`` lets through."""
        return iter(entries if self._filter is None else self._filter(entries) or ())

    def follows(self, sitemap: str) -> bool:
        """Return whether the spider wants a sitemap that an index lists."""
        return any(pattern.search(sitemap) for pattern in self._follow)

    def pages(self, entry: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Return the URLs of an entry that are wanted, and where their responses go."""
        urls = [entry["loc"], *(entry.get("alternate", ()) if self._takes_alternates else ())]
        for url in urls:
            for pattern, callback in self._rules:
                if pattern.search(url):
                    yield url, callback
                    break

    def requests(self, entry: dict[str, Any]) -> Iterator[Request]:
        """Return the requests for the pages of an entry."""
        for url, callback in self.pages(entry):
            yield Request(url, callback=callback, meta={"sitemap_entry": entry})


def _method(spider: Spider, callback: Any) -> Callable[..., Any]:
    return getattr(spider, callback) if isinstance(callback, str) else callback  # type: ignore[no-any-return]


_PIECE = 65_536  # bytes


class SitemapReading:
    """One sitemap, while it is read. Entries that were modified before `since` are left out."""

    def __init__(self, response: Response, config: Config, since: float | None) -> None:
        self.url = response.url
        self._body = response.body
        self._since = since
        self.reader = SitemapReader(
            response.url, max_bytes=config.sitemap_max_bytes, max_entries=config.sitemap_max_entries
        )
        self.older = 0
        """How many entries were left out as they were modified before."""

    @property
    def is_index(self) -> bool:
        """Whether its entries are sitemaps themselves. Known from the first entry on."""
        return self.reader.kind == "index"

    def turns(self) -> Iterator[list[dict[str, Any]]]:
        """Read on; yield what each turn finds that is new enough, which often is nothing.

        A turn takes some milliseconds, whatever the sitemap holds.
        """
        for start in range(0, len(self._body), _PIECE):
            self.reader.feed(self._body[start : start + _PIECE])
            yield from self._steps()
            if self.reader.stopped:
                return
        self.reader.close()
        yield from self._steps()

    def _steps(self) -> Iterator[list[dict[str, Any]]]:
        while (entries := self.reader.step()) is not None:
            yield [entry_data(entry, self.url) for entry in entries if self._is_new_enough(entry)]

    def _is_new_enough(self, entry: SitemapEntry) -> bool:
        modified = entry.lastmod
        if self._since is None or not modified or modified.timestamp() >= self._since:
            return True
        self.older += 1
        return False


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
OWN = frozenset({CITED, _DOUBTED})
"""Meta keys that requests have which are made here."""
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
    """Return the sitemap that a request is for; None: it is for no sitemap."""
    cited = request.meta.get(CITED)
    return None if cited is None else Cited(**cited)


def doubted_site(request: Request) -> str:
    """Return the site whose robots.txt is asked for."""
    return str(request.meta[_DOUBTED])


def _without_spider(callback: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda _spider, answer: callback(answer)
