"""Which sitemaps of which site were fetched, are being read, and are still to be fetched.

It outlasts a run: in the commits of a job, else in a file of its own, written when the crawl
closes. In a job it is there after a crash too. What a sitemap's callback has put on disk is in the
commit that lets go of its request, so either the sitemap comes again or its entries are there. How
far entries were fed, and which sitemaps are known, may be a second old: those since come twice, and
fingerprints stop them.
"""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.sitemap_crawl.entry_files import Cited, EntryFile

if TYPE_CHECKING:
    from scrapy_mandelbot.crawl import StoredJob

logger = logging.getLogger(__name__)

_FOLDER, _STATE = "mandelbot.sitemaps", "state.json"
_IN_JOB = "sitemaps/"
_SITES, _KNOWN, _BEGUN = f"{_IN_JOB}site/", f"{_IN_JOB}known/", f"{_IN_JOB}begun"
_EVERY = 1.0  # seconds between commits that keep how far entries were fed
_LISTS_EVERY = 10.0  # seconds between those that keep long lists, which grow with each sitemap
_LONG = 1_000
_SHARE = 50  # lists that took so long to write are not written again before this many times as long

MOST_WAITING = 100  # sitemaps of a site that wait in memory; those behind them wait on disk


def digest(url: str) -> str:
    """Return what stands for a URL where only sameness counts: 16 characters, however long it is.

    Kept for each sitemap of a crawl. Two of a billion are taken for one once in forty crawls.
    """
    return blake2b(url.encode(errors="surrogatepass"), digest_size=8).hexdigest()


@dataclass
class Abroad:
    """What a site has cited of sitemaps on other hosts than its own."""

    cited: int = 0  # how many its robots.txt cites, of those that are fetched
    hosts: set[str] = field(default_factory=set)  # the hosts, those that its indexes name too
    misses: int = 0  # how many of the last ones running were no sitemaps


@dataclass
class SiteProgress:
    """The sitemaps of one site.

    One is fetched at a time, when no entry of the last one is left: of a site with a thousand
    sitemaps, few are on disk at a time.
    """

    to_ask: deque[Cited] = field(default_factory=deque)
    asked: Cited | None = None  # the one whose request is in the crawl
    files: list[EntryFile] = field(default_factory=list)  # those with entries left
    known: set[str] = field(default_factory=set)  # digests of cited URLs: none is fetched twice
    abroad: Abroad = field(default_factory=Abroad)
    in_doubt: list[EntryFile] = field(default_factory=list)
    """Pages of this site in sitemaps of others, until its robots.txt says whether they count."""
    robots_asked: bool = False  # whether the request for that robots.txt is in the crawl
    strangers: set[str] = field(default_factory=set)
    """Other sites whose robots.txt was fetched so for sitemaps of this one, without a yes."""
    elsewhere: set[str] = field(default_factory=set)  # sites that may hold entries of its sitemaps

    @property
    def is_done(self) -> bool:
        return not (self.to_ask or self.asked or self.files or self.in_doubt)

    @property
    def next_file(self) -> EntryFile | None:
        """The file that is used up next: the last one, but an index after what it lists."""
        pages = (file for file in reversed(self.files) if not file.is_index)
        return next(pages, self.files[-1] if self.files else None)

    def has_come(self, cited: Cited) -> None:
        """Note that a sitemap that was requested is being read, or cannot be had."""
        if self.asked == cited:
            self.asked = None

    def state(self) -> dict[str, Any]:
        """Return it without what is known, which grows with each sitemap."""
        return {
            "to_ask": [asdict(one) for one in self.to_ask],
            "asked": self.asked and asdict(self.asked),
            "files": [one.state() for one in self.files],
            "in_doubt": [one.state() for one in self.in_doubt],
            "abroad": [self.abroad.cited, sorted(self.abroad.hosts), self.abroad.misses],
            "robots_asked": self.robots_asked,
            "strangers": sorted(self.strangers),
            "elsewhere": sorted(self.elsewhere),
        }

    @classmethod
    def of_state(cls, state: dict[str, Any], folder: Path) -> SiteProgress:
        cited, hosts, misses = state["abroad"]
        return cls(
            to_ask=deque(Cited(**one) for one in state["to_ask"]),
            asked=Cited(**state["asked"]) if state["asked"] else None,
            files=[EntryFile.of_state(one, folder) for one in state["files"]],
            abroad=Abroad(cited, set(hosts), misses),
            in_doubt=[EntryFile.of_state(one, folder) for one in state["in_doubt"]],
            robots_asked=state["robots_asked"],
            strangers=set(state["strangers"]),
            elsewhere=set(state["elsewhere"]),
        )


class Progress:
    """The progress of all sites, with entries in a folder.

    With JOBDIR it outlasts the run. With a job, its commits keep it, and `now` is needed; else a
    file in the folder does, written at the end and gone when the next run has begun: after a
    kill -9 nothing is left, as of what Scrapy writes of its queues.
    """

    def __init__(
        self, folder: Path, job: StoredJob | None = None, now: Callable[[], float] = float
    ) -> None:
        self._folder = folder
        self._job = job
        self._now = now
        self._next = self._next_lists = 0.0
        self._cannot_wait = False
        self._removed: tuple[list[EntryFile], list[EntryFile]] = [], []
        """Used up since what is kept was written, and since it was written before."""
        self._sites: dict[str, SiteProgress] = {}
        self._begun: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)
        rows = {} if job is None else job.kept(_IN_JOB)
        # A job that was taken over just now has no rows: the file is there until it has some.
        is_in_file = not rows
        lost = self._load(self._rows_of_file() if is_in_file else rows)
        if job is None or not is_in_file:
            (folder / _STATE).unlink(missing_ok=True)
        self._changed = set(self._sites)  # sites that may have changed since they were kept
        self._with_new_lists: set[str] = set()
        self._number = self._clear_folder()
        for cited in lost:
            if cited.depth >= 0:  # else its robots.txt cites them again
                self[cited.site].to_ask.append(cited)

    def __getitem__(self, site: str) -> SiteProgress:
        self._changed.add(site)
        return self._sites.setdefault(site, SiteProgress())

    def get(self, site: str) -> SiteProgress | None:
        """Return a site's progress, if it has one; it is not to be changed."""
        return self._sites.get(site)

    def unfinished(self) -> list[str]:
        return [site for site, progress in self._sites.items() if not progress.is_done]

    def forget_done(self, site: str) -> None:
        """Forget a site of which nothing is left to do."""
        progress = self._sites.get(site)
        if progress is not None and progress.is_done and not progress.elsewhere:
            del self._sites[site]
            self._changed.add(site)

    def forget_oldest(self, most: int) -> None:
        """Forget the sites that came first, down to a number."""
        while len(self._sites) > most:
            del self._sites[next(iter(self._sites))]
        self._changed.clear()

    def put_behind(self, site: str, urls: list[str]) -> None:
        """Add sitemaps of a site's robots.txt that are fetched after all others."""
        file = self.new_file(Cited("", site, "", depth=-1), is_index=True)
        file.write({"loc": url} for url in urls)
        file.is_complete = True
        self[site].files.insert(0, file)

    def begin(self, cited: Cited) -> bool:
        """Note that a sitemap is about to be requested; return whether it is to be.

        One that several sites cite is read once: what it lists of the others is passed on to them.
        """
        if cited.depth:
            return True
        is_new = digest(cited.url) not in self._begun
        self._begun.add(digest(cited.url))
        return is_new

    def reopen(self, sitemap: str) -> None:
        """Let the next site that cites a sitemap read it once more.

        Some of what it lists was left out, though no robots.txt has said that it does not count.
        """
        self._begun.discard(digest(sitemap))

    def new_file(self, cited: Cited, *, is_index: bool) -> EntryFile:
        self._number += 1
        path = self._folder / f"{self._number}.jsonl"
        path.touch()
        return EntryFile(cited, is_index, path, is_complete=False)

    def remove(self, file: EntryFile) -> None:
        """Delete a file of which nothing is wanted, as soon as nothing kept speaks of it."""
        if self._job is None:
            file.remove()
        else:
            self._removed[0].append(file)

    def cannot_wait(self) -> None:
        """Put what has changed into the next commit: a request that led to it is settled then."""
        self._cannot_wait = True

    def before_commit(self, *, is_last: bool) -> None:
        """Put what has changed into the job, where that is due; all of it at the last commit."""
        assert self._job is not None  # noqa: S101 -- a job calls it
        began = self._now()
        if began < self._next and not (self._cannot_wait or is_last):
            return
        self._next = began + _EVERY
        for name, row in self._site_rows(self._changed):
            self._job.put(name, row)
        for site in self._changed - self._sites.keys():
            self._job.put(_SITES + digest(site), None)
            self._job.put(_KNOWN + digest(site), None)
        self._with_new_lists |= self._changed
        self._changed.clear()
        if began >= self._next_lists or is_last:
            self._put_lists(self._job, began)
        self._cannot_wait = False
        for file in self._removed[1]:
            file.remove()
        self._removed = [], self._removed[0]

    def close(self) -> None:
        if self._job is None:
            for progress in self._sites.values():
                for file in (*progress.files, *progress.in_doubt):
                    file.is_complete = True  # nobody adds to it any more
            rows = chain(self._site_rows(self._sites), self._list_rows(self._sites))
            new = self._folder / f"{_STATE}.new"
            new.write_text(json.dumps({name: row.decode() for name, row in rows}), encoding="ascii")
            new.replace(self._folder / _STATE)
        for files in self._removed:
            for file in files:
                file.remove()

    def _site_rows(self, sites: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for site in sites:
            if (progress := self._sites.get(site)) is not None:
                yield _SITES + digest(site), json.dumps([site, progress.state()]).encode()

    def _list_rows(self, sites: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for site in sites:
            if (progress := self._sites.get(site)) is not None:
                yield _KNOWN + digest(site), json.dumps(list(progress.known)).encode()
        yield _BEGUN, json.dumps(list(self._begun)).encode()

    def _put_lists(self, job: StoredJob, began: float) -> None:
        """Put the lists that may have changed into the job; of long ones seldom."""
        if not self._with_new_lists:
            return
        sites = self._with_new_lists & self._sites.keys()
        for name, row in self._list_rows(sites):
            job.put(name, row)
        self._with_new_lists.clear()
        if len(self._begun) + sum(len(self._sites[site].known) for site in sites) > _LONG:
            ended = self._now()
            self._next_lists = ended + max(_LISTS_EVERY, _SHARE * (ended - began))

    def _rows_of_file(self) -> dict[str, bytes]:
        path = self._folder / _STATE
        try:
            kept = json.loads(path.read_text(encoding="ascii"))
            return {name: row.encode() for name, row in kept.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError) as error:
            self._cannot_read(f"{path}: {error!r}")
            return {}

    def _load(self, rows: dict[str, bytes]) -> list[Cited]:
        """Take what was kept; return the sitemaps whose entries are lost."""
        lost: list[Cited] = []
        try:
            self._begun = set(json.loads(rows.get(_BEGUN, b"[]")))
            for name, row in rows.items():
                if name.startswith(_SITES):
                    site, state = json.loads(row)
                    progress = self._sites[site] = SiteProgress.of_state(state, self._folder)
                    progress.known = set(json.loads(rows.get(_KNOWN + digest(site), b"[]")))
                    for files in (progress.files, progress.in_doubt):
                        files[:] = [one for one in files if self._is_there(one, lost)]
        except (OSError, ValueError, LookupError, TypeError) as error:
            self._cannot_read(repr(error))
            return []
        return lost

    def _cannot_read(self, why: str) -> None:
        logger.warning("Sitemaps are asked for again: %s", shown(why))
        self._sites.clear()
        self._begun.clear()
        if self._job is not None:
            _forget_in_job(self._job)

    def _is_there(self, file: EntryFile, lost: list[Cited]) -> bool:
        """Return whether a file is as it was when it was kept, as far as that goes.

        One that was not complete comes again: the request for its sitemap was not settled.
        """
        if not file.is_complete:
            return False
        if file.length < file.size:  # a power cut, or somebody
            self.reopen(file.cited.url)
            lost.append(file.cited)
            return False
        file.cut()
        return True

    def _clear_folder(self) -> int:
        """Delete files that nobody speaks of; return the greatest number of those that are left."""
        named = {
            file.path
            for progress in self._sites.values()
            for file in (*progress.files, *progress.in_doubt)
        }
        for left in set(self._folder.glob("*.jsonl")) - named:  # by a run that was killed
            left.unlink()
        return max((int(path.stem) for path in named if path.stem.isdecimal()), default=0)


def progress_folder(folder: str) -> Path:
    return Path(folder, _FOLDER)


def forget_progress(folder: str, job: StoredJob | None) -> None:
    (progress_folder(folder) / _STATE).unlink(missing_ok=True)
    if job is not None:
        _forget_in_job(job)


def _forget_in_job(job: StoredJob) -> None:
    for name in job.kept(_IN_JOB):
        job.put(name, None)
