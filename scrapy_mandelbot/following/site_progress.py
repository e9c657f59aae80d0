"""Which sitemaps of one site were asked for, are being read, and are still to be asked for."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_mandelbot.following.entry_files import Cited, EntryFile


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
class SiteProgress:
    """The sitemaps of one site.

    One is asked for at a time, when no entry of the last one is left: of a site with a thousand
    sitemaps, few are on disk at a time.
    """

    to_ask: deque[Cited] = field(default_factory=deque)
    asked: Cited | None = None
    """The one whose request is in the crawl."""
    files: list[EntryFile] = field(default_factory=list)
    """Those with entries left."""
    known: set[str] = field(default_factory=set)
    """Digests of the URLs of all that the site or its indexes cite, so that none is asked for
    twice."""
    abroad: Abroad = field(default_factory=Abroad)
    in_doubt: list[EntryFile] = field(default_factory=list)
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
        return not (self.to_ask or self.asked or self.files or self.in_doubt)

    @property
    def next_file(self) -> EntryFile | None:
        """The file that is used up next: the last one, but an index after what it lists."""
        pages = (file for file in reversed(self.files) if not file.is_index)
        return next(pages, self.files[-1] if self.files else None)

    def has_come(self, cited: Cited) -> None:
        """Note that a sitemap that was asked for is being read, or cannot be had."""
        if self.asked == cited:
            self.asked = None
