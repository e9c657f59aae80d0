"""Which sitemaps of which site were asked for, are being read, and are still to be asked for."""

from __future__ import annotations

import json
import logging
from collections import deque
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.following.entry_files import Cited, EntryFile
from scrapy_mandelbot.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

logger = logging.getLogger(__name__)

_FOLDER, _STATE = "mandelbot.sitemaps", "state.json"

MOST_WAITING = 100
"""Sitemaps of a site that wait in memory; those behind them wait on disk."""


def progress_folder(folder: str) -> Path:
    """Return where progress is kept in JOBDIR, or in a folder that takes its place."""
    return Path(folder, _FOLDER)


def forget_progress(folder: str) -> None:
    """Have the next run begin anew: what a former one has kept is not so any more."""
    (progress_folder(folder) / _STATE).unlink(missing_ok=True)


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


class Progress:
    """The progress of all sites, in a folder; with JOBDIR it outlasts the run.

    It is written when the crawl closes and gone when it has begun again, as is what Scrapy
    writes of its queues: after a kill -9 both begin from nothing, and the dupe filter knows what
    is done.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sites: dict[str, SiteProgress] = {}
        self._begun: set[str] = set()
        self._number = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._load()

    def __getitem__(self, site: str) -> SiteProgress:
        return self._sites.setdefault(site, SiteProgress())

    def forget_done(self, site: str) -> None:
        """Hold nothing any more of a site of which nothing is left to do."""
        progress = self._sites.get(site)
        if progress is not None and progress.is_done and not progress.elsewhere:
            del self._sites[site]

    def put_behind(self, site: str, urls: list[str]) -> None:
        """Have sitemaps that a site's robots.txt cites asked for when the others have been."""
        file = self.new_file(Cited("", site, "", depth=-1), is_index=True)
        file.write({"loc": url} for url in urls)
        file.is_complete = True
        self[site].files.insert(0, file)

    def get(self, site: str) -> SiteProgress | None:
        """Return a site's progress, if it has one."""
        return self._sites.get(site)

    def unfinished(self) -> list[str]:
        """Return the sites of which something is left to do."""
        return [site for site, progress in self._sites.items() if not progress.is_done]

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

        Some of what it lists was left out, though no robots.txt has said that it does not count.
        """
        self._begun.discard(digest(sitemap))

    def new_file(self, cited: Cited, *, is_index: bool) -> EntryFile:
        """Return a new, empty file, to which entries are about to be added."""
        self._number += 1
        path = self._folder / f"{self._number}.jsonl"
        path.touch()
        return EntryFile(cited, is_index, path, is_complete=False)

    def save(self) -> None:
        """Write the progress to its folder."""
        sites = {
            site: {
                "to_ask": [asdict(one) for one in progress.to_ask],
                "asked": progress.asked and asdict(progress.asked),
                "spools": [_file_data(one) for one in progress.files],
                "in_doubt": [_file_data(one) for one in progress.in_doubt],
                "known": sorted(progress.known),
                "abroad": [
                    progress.abroad.cited,
                    sorted(progress.abroad.hosts),
                    progress.abroad.misses,
                ],
                "robots_asked": progress.robots_asked,
                "strangers": sorted(progress.strangers),
                "elsewhere": sorted(progress.elsewhere),
            }
            for site, progress in self._sites.items()
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
            self._sites = {site: self._site_progress(data) for site, data in state["sites"].items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, LookupError, TypeError) as error:
            told = shown(repr(error))
            logger.warning("Sitemaps are asked for again, as %s cannot be read: %s", path, told)
            self._sites, self._begun = {}, set()
        path.unlink(missing_ok=True)
        files = {
            file.path
            for progress in self._sites.values()
            for file in (*progress.files, *progress.in_doubt)
        }
        for left in set(self._folder.glob("*.jsonl")) - files:  # by a run that was killed
            left.unlink()

    def _site_progress(self, data: dict[str, Any]) -> SiteProgress:
        return SiteProgress(
            to_ask=deque(Cited(**one) for one in data["to_ask"]),
            asked=Cited(**data["asked"]) if data["asked"] else None,
            files=[self._file(one) for one in data["spools"]],
            known=_digests(data["known"]),
            abroad=_abroad(*data.get("abroad", (0, (), 0))),
            in_doubt=[self._file(one) for one in data["in_doubt"]],
            robots_asked=data["robots_asked"],
            strangers=set(data["strangers"]),
            elsewhere=set(data["elsewhere"]),
        )

    def _file(self, data: dict[str, Any]) -> EntryFile:
        return EntryFile(
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


def _file_data(file: EntryFile) -> dict[str, Any]:
    return {
        "cited": asdict(file.cited),
        "is_index": file.is_index,
        "file": file.path.name,
        "offset": file.offset,
        "pages": file.pages,
    }
