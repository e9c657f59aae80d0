"""Where progress outlasts a run: in a file of its own, written at the end, or in a job's commits.

In a job it is there after a crash too. What a sitemap's callback has put on disk is in the commit
that lets go of its request, so either the sitemap comes again or its entries are there. How far
entries were fed, and which sitemaps are known, may be a second old: those since come twice, and
fingerprints stop them.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.sitemap_crawl.entry_files import Cited, EntryFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_mandelbot.crawl import KeptJob


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


logger = logging.getLogger(__name__)

STATE = "state.json"
_IN_JOB = "sitemaps/"
_SITES, _KNOWN, _BEGUN = f"{_IN_JOB}site/", f"{_IN_JOB}known/", f"{_IN_JOB}begun"
_EVERY = 1.0  # seconds between commits that keep how far entries were fed
_LISTS_EVERY = 10.0  # seconds between those that keep long lists, which grow with each sitemap
_LONG = 1_000
_SHARE = 50
"""Lists that took so long to write are not written again before this many times as long."""


@dataclass
class Kept:
    """What a former run has left."""

    sites: dict[str, SiteProgress] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    to_ask_again: list[Cited] = field(default_factory=list)
    """Sitemaps whose entries are not all there any more."""


class ProgressFile:
    """One file, written when the crawl closes and gone when it has begun again.

    After a kill -9 nothing is left, as of what Scrapy writes of its queues.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / STATE

    def load(self) -> Kept:
        """Return what was kept."""
        kept = Kept()
        try:
            state = json.loads(self._path.read_text(encoding="ascii"))
            kept.begun = _digests(state["begun"])
            for site, data in state["sites"].items():
                progress = kept.sites[site] = _site_progress(data, self._folder)
                progress.known = _digests(data["known"])
                for file in (*progress.files, *progress.in_doubt):
                    file.is_complete = True  # nobody adds to it any more
                _leave_out_lost(progress, kept)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, LookupError, TypeError) as error:
            told = shown(repr(error))
            logger.warning(
                "Sitemaps are asked for again, as %s cannot be read: %s", self._path, told
            )
            kept = Kept()
        return kept

    def forget(self) -> None:
        """Delete what was kept."""
        self._path.unlink(missing_ok=True)

    def save(self, sites: dict[str, SiteProgress], begun: set[str]) -> None:
        """Write all of it."""
        data = {
            site: _site_data(progress) | {"known": sorted(progress.known)}
            for site, progress in sites.items()
        }
        new = self._folder / f"{STATE}.new"
        new.write_text(json.dumps({"begun": sorted(begun), "sites": data}), encoding="ascii")
        new.replace(self._path)


class ProgressInJob:
    """A state of the job for each site with sitemaps, written when it has changed."""

    def __init__(self, folder: Path, job: KeptJob, now: Callable[[], float]) -> None:
        self._folder = folder
        self._job = job
        self._now = now
        self._next, self._next_lists = 0.0, 0.0
        self._with_new_lists: set[str] = set()

    def load(self) -> Kept:
        """Return what was kept, in the job or, where it was taken over just now, in a file."""
        rows, former = self._job.kept(_IN_JOB), ProgressFile(self._folder)
        if not rows:
            return former.load()
        former.forget()
        kept = Kept()
        try:
            kept.begun = _digests(json.loads(rows.get(_BEGUN, b"[]")))
            for name, row in rows.items():
                if name.startswith(_SITES):
                    site, data = json.loads(row)
                    progress = kept.sites[site] = _site_progress(data, self._folder)
                    known = rows.get(_KNOWN + name.removeprefix(_SITES), b"[]")
                    progress.known = _digests(json.loads(known))
                    _leave_out_lost(progress, kept)
        except (OSError, ValueError, LookupError, TypeError) as error:
            logger.warning("Sitemaps are asked for again: %s", shown(repr(error)))
            forget_in_job(self._job)
            kept = Kept()
        return kept

    def put(
        self,
        sites: dict[str, SiteProgress],
        begun: set[str],
        changed: set[str],
        *,
        is_wanted: bool,
        is_last: bool,
    ) -> bool:
        """Have in the next commit what has changed, where that is due; return whether it was.

        Args:
            sites: the progress of each.
            begun: digests of sitemaps that were begun.
            changed: the sites that may have changed.
            is_wanted: whether it cannot wait.
            is_last: whether there may be no further commit; then all of it is.
        """
        began = self._now()
        if began < self._next and not (is_wanted or is_last):
            return False
        self._next = began + _EVERY
        for site in changed:
            progress = sites.get(site)
            if progress is None:
                self._job.put(_SITES + digest(site), None)
                self._job.put(_KNOWN + digest(site), None)
            else:
                row = json.dumps([site, _site_data(progress)]).encode()
                self._job.put(_SITES + digest(site), row)
        self._with_new_lists |= changed
        if (began >= self._next_lists or is_last) and self._put_lists(sites, begun) > _LONG:
            ended = self._now()
            self._next_lists = ended + max(_LISTS_EVERY, _SHARE * (ended - began))
        return True

    def _put_lists(self, sites: dict[str, SiteProgress], begun: set[str]) -> int:
        """Have lists in the next commit that may have changed; return how long they are."""
        count = 0
        for site in self._with_new_lists & sites.keys():
            known = sites[site].known
            count += len(known)
            self._job.put(_KNOWN + digest(site), json.dumps(list(known)).encode())
        if self._with_new_lists:
            count += len(begun)
            self._job.put(_BEGUN, json.dumps(list(begun)).encode())
        self._with_new_lists.clear()
        return count


def forget_in_job(job: KeptJob) -> None:
    """Have the next run begin anew."""
    for name in job.kept(_IN_JOB):
        job.put(name, None)


def _leave_out_lost(progress: SiteProgress, kept: Kept) -> None:
    """Have the sitemaps asked for again of which entries are lost."""
    progress.files = [one for one in progress.files if _is_there(one, kept)]
    progress.in_doubt = [one for one in progress.in_doubt if _is_there(one, kept)]


def _is_there(file: EntryFile, kept: Kept) -> bool:
    """Return whether a file is as it was when it was kept, as far as that goes.

    One that was not complete comes again: the request for its sitemap was not settled.
    """
    if not file.is_complete:
        return False
    if _length(file.path) < file.size:  # a power cut, or somebody
        kept.begun.discard(digest(file.cited.url))
        kept.to_ask_again.append(file.cited)
        return False
    file.cut()
    return True


def _length(path: Path) -> int:
    """Return how long a file is; -1: it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1


def _site_data(progress: SiteProgress) -> dict[str, Any]:
    return {
        "to_ask": [asdict(one) for one in progress.to_ask],
        "asked": progress.asked and asdict(progress.asked),
        "spools": [_file_data(one) for one in progress.files],
        "in_doubt": [_file_data(one) for one in progress.in_doubt],
        "abroad": [progress.abroad.cited, sorted(progress.abroad.hosts), progress.abroad.misses],
        "robots_asked": progress.robots_asked,
        "strangers": sorted(progress.strangers),
        "elsewhere": sorted(progress.elsewhere),
    }


def _site_progress(data: dict[str, Any], folder: Path) -> SiteProgress:
    cited, hosts, misses = data.get("abroad", (0, (), 0))
    return SiteProgress(
        to_ask=deque(Cited(**one) for one in data["to_ask"]),
        asked=Cited(**data["asked"]) if data["asked"] else None,
        files=[_file(one, folder) for one in data["spools"]],
        abroad=Abroad(cited, set(hosts), misses),
        in_doubt=[_file(one, folder) for one in data["in_doubt"]],
        robots_asked=data["robots_asked"],
        strangers=set(data["strangers"]),
        elsewhere=set(data["elsewhere"]),
    )


def _file(data: dict[str, Any], folder: Path) -> EntryFile:
    path = folder / data["file"]
    return EntryFile(
        Cited(**data["cited"]),
        data["is_index"],
        path,
        data["offset"],
        is_complete=data.get("is_complete", True),
        pages=data["pages"],
        size=data.get("size", max(0, _length(path))),  # an earlier version did not keep it
    )


def _file_data(file: EntryFile) -> dict[str, Any]:
    data = asdict(file)
    data["file"] = data.pop("path").name
    return data


def _digests(kept: list[str]) -> set[str]:
    """Return what was kept as digests; earlier versions kept URLs."""
    return {digest(one) if ":" in one else one for one in kept}
