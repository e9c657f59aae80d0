"""Which sitemaps of which site were asked for, are being read, and are still to be asked for."""

from __future__ import annotations

import json
import logging
from collections import deque
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.following.spool import Cited, Spool
from scrapy_mandelbot.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

logger = logging.getLogger(__name__)

_FOLDER, _STATE = "mandelbot.sitemaps", "state.json"

MOST_WAITING = 100
"""Sitemaps of a site that wait in memory; those behind them wait on disk."""


def books_folder(folder: str) -> Path:
    """Return where books are kept in JOBDIR, or in a folder that takes its place."""
    return Path(folder, _FOLDER)


def forget_books(folder: str) -> None:
    """Have the next run begin anew: what books of a former one say is not so any more."""
    (books_folder(folder) / _STATE).unlink(missing_ok=True)


def digest(url: str) -> str:
    """Return what stands for a URL where only sameness counts: 16 characters, however long it is.

    Kept for each sitemap of a crawl. Two of a billion are taken for one once in forty crawls.
    """
    return blake2b(url.encode(errors="surrogatepass"), digest_size=8).hexdigest()


@dataclass
class Abroad:
    """What a site has cited of sitemaps on other hosts than its own."""

    cited: int = 0
    """How many its robots.txt cites, of those that are asked for."""
    hosts: set[str] = field(default_factory=set)
    """The hosts, those that its indexes name too."""
    misses: int = 0
    """How many of the last ones running were no sitemaps."""


@dataclass
class SiteBook:
    """The sitemaps of one site.

    One is asked for at a time, when no entry of the last one is left: of a site with a thousand
    sitemaps, few are on disk at a time.
    """

    to_ask: deque[Cited] = field(default_factory=deque)
    asked: Cited | None = None
    """The one whose request is in the crawl."""
    spools: list[Spool] = field(default_factory=list)
    """Those with entries left."""
    known: set[str] = field(default_factory=set)
    """Digests of the URLs of all that the site or its indexes cite, so that none is asked for
    twice."""
    abroad: Abroad = field(default_factory=Abroad)
    in_doubt: list[Spool] = field(default_factory=list)
    """Pages of this site in sitemaps of others, until its robots.txt says whether they count."""
    robots_asked: bool = False
    """Whether the request that asks for that robots.txt is in the crawl."""
    strangers: set[str] = field(default_factory=set)
    """Other sites that were asked so for what sitemaps of this one list, and have not said yes."""
    elsewhere: set[str] = field(default_factory=set)
    """Other sites that may have something left of what sitemaps of this one list."""

    @property
    def is_done(self) -> bool:
        """Whether nothing of the site is left to ask for or to feed."""
        return not (self.to_ask or self.asked or self.spools or self.in_doubt)

    @property
    def next_spool(self) -> Spool | None:
        """The spool that is used up next: the last one, but an index after what it lists."""
        pages = (spool for spool in reversed(self.spools) if not spool.is_index)
        return next(pages, self.spools[-1] if self.spools else None)

    def has_come(self, cited: Cited) -> None:
        """Note that a sitemap that was asked for is being read, or cannot be had."""
        if self.asked == cited:
            self.asked = None


class Books:
    """The books of all sites, in a folder; with JOBDIR they outlast the run.

    They are written when the crawl closes and gone when it has begun again, as is what Scrapy
    writes of its queues: after a kill -9 both begin from nothing, and the dupe filter knows what
    is done.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sites: dict[str, SiteBook] = {}
        self._begun: set[str] = set()
        self._number = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._load()

    def __getitem__(self, site: str) -> SiteBook:
        return self._sites.setdefault(site, SiteBook())

    def forget_done(self, site: str) -> None:
        """Hold nothing any more of a site of which nothing is left to do."""
        book = self._sites.get(site)
        if book is not None and book.is_done and not book.elsewhere:
            del self._sites[site]

    def put_behind(self, site: str, urls: list[str]) -> None:
        """Have sitemaps that a site's robots.txt cites asked for when the others have been."""
        spool = self.new_spool(Cited("", site, "", depth=-1), is_index=True)
        spool.write({"loc": url} for url in urls)
        spool.is_complete = True
        self[site].spools.insert(0, spool)

    def get(self, site: str) -> SiteBook | None:
        """Return a site's book, if it has one."""
        return self._sites.get(site)

    def unfinished(self) -> list[str]:
        """Return the sites of which something is left to do."""
        return [site for site, book in self._sites.items() if not book.is_done]

    def begin(self, cited: Cited) -> bool:
        """Note that a sitemap is about to be asked for; return whether that is to be.

        One that several sites cite is read once: what it lists of the others is passed on to them.
        """
        if cited.depth:
            return True
        is_new = digest(cited.url) not in self._begun
        self._begun.add(digest(cited.url))
        return is_new

    def reopen(self, sitemap: str) -> None:
        """Let the next site that cites a sitemap have it read once more.

        Some of what it lists was left out, though nobody has said that it does not count.
        """
        self._begun.discard(digest(sitemap))

    def new_spool(self, cited: Cited, *, is_index: bool) -> Spool:
        """Return a new, empty spool, to which entries are about to be added."""
        self._number += 1
        path = self._folder / f"{self._number}.jsonl"
        path.touch()
        return Spool(cited, is_index, path, is_complete=False)

    def save(self) -> None:
        """Write the books to their folder."""
        sites = {
            site: {
                "to_ask": [asdict(one) for one in book.to_ask],
                "asked": book.asked and asdict(book.asked),
                "spools": [_spool_data(one) for one in book.spools],
                "in_doubt": [_spool_data(one) for one in book.in_doubt],
                "known": sorted(book.known),
                "abroad": [book.abroad.cited, sorted(book.abroad.hosts), book.abroad.misses],
                "robots_asked": book.robots_asked,
                "strangers": sorted(book.strangers),
                "elsewhere": sorted(book.elsewhere),
            }
            for site, book in self._sites.items()
        }
        state = {"number": self._number, "begun": sorted(self._begun), "sites": sites}
        new = self._folder / f"{_STATE}.new"
        new.write_text(json.dumps(state), encoding="ascii")
        new.replace(self._folder / _STATE)

    def _load(self) -> None:
        path = self._folder / _STATE
        try:
            state = json.loads(path.read_text(encoding="ascii"))
            self._number, self._begun = state["number"], _digests(state["begun"])
            self._sites = {site: self._book(data) for site, data in state["sites"].items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, LookupError, TypeError) as error:
            told = shown(repr(error))
            logger.warning("Sitemaps are asked for again, as %s cannot be read: %s", path, told)
            self._sites, self._begun = {}, set()
        path.unlink(missing_ok=True)
        files = {
            spool.path for book in self._sites.values() for spool in (*book.spools, *book.in_doubt)
        }
        for left in set(self._folder.glob("*.jsonl")) - files:  # by a run that was killed
            left.unlink()

    def _book(self, data: dict[str, Any]) -> SiteBook:
        return SiteBook(
            to_ask=deque(Cited(**one) for one in data["to_ask"]),
            asked=Cited(**data["asked"]) if data["asked"] else None,
            spools=[self._spool(one) for one in data["spools"]],
            known=_digests(data["known"]),
            abroad=_abroad(*data.get("abroad", (0, (), 0))),
            in_doubt=[self._spool(one) for one in data["in_doubt"]],
            robots_asked=data["robots_asked"],
            strangers=set(data["strangers"]),
            elsewhere=set(data["elsewhere"]),
        )

    def _spool(self, data: dict[str, Any]) -> Spool:
        return Spool(
            Cited(**data["cited"]),
            data["is_index"],
            self._folder / data["file"],
            data["offset"],
            pages=data["pages"],
        )


def _digests(kept: list[str]) -> set[str]:
    """Return what was kept as digests; earlier versions kept URLs."""
    return {digest(one) if ":" in one else one for one in kept}


def _abroad(cited: int, hosts: Iterable[str], misses: int) -> Abroad:
    return Abroad(cited, set(hosts), misses)


def _spool_data(spool: Spool) -> dict[str, Any]:
    return {
        "cited": asdict(spool.cited),
        "is_index": spool.is_index,
        "file": spool.path.name,
        "offset": spool.offset,
        "pages": spool.pages,
    }
