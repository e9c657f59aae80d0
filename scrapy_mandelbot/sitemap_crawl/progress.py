"""The state of each site's sitemaps: fetched, being read, still to be fetched.

It persists between runs: in the commits of a job, otherwise in a file that is written
when the crawl closes. A job keeps it even in a crash. The commit that acknowledges a
sitemap's request holds the entries that its callback has written, so either the sitemap
comes again or its entries are there. The offset of fed entries and the list of known
sitemaps may be a second old: what came since comes twice, and the dupe filter drops it.
"""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mandelbot.files import open_regular, replace_file
from mandelbot.formatting import shown

from scrapy_mandelbot import events
from scrapy_mandelbot.sitemap_crawl.entry_files import (
    OWN,
    CitedSitemap,
    EntryFile,
    install,
)

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_mandelbot.crawl import Crawl, StoredJob

logger = logging.getLogger(__name__)

_FOLDER = "mandelbot.sitemaps"
_STATE = "state.json"
_IN_JOB = "sitemaps/"
_SITES = f"{_IN_JOB}site/"
_KNOWN = f"{_IN_JOB}known/"
_BEGUN = f"{_IN_JOB}begun"
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading a damaged state leads to."""
_EVERY = 1.0  # seconds between commits of offsets
# seconds between commits of long lists, which grow with each sitemap
_LISTS_EVERY = 10.0
_LONG = 1_000
_SHARE = 50  # writing lists takes at most this fraction of the time, 1/50

MOST_WAITING = 100  # sitemaps of a site that wait in memory; further ones wait on disk


def _digest(url: str) -> str:
    """Return 16 characters that identify a URL of any length.

    Stored for each sitemap of a crawl. Two of a billion collide in one of forty crawls.
    """
    return blake2b(url.encode(errors="surrogatepass"), digest_size=8).hexdigest()


@dataclass
class CrossHostSitemaps:
    """The sitemaps on other hosts that a site has cited."""

    cited: int = 0  # the number of fetched ones that its robots.txt cites
    # including those that its indexes name
    hosts: set[str] = field(default_factory=set)
    misses: int = 0  # the number of the last consecutive ones that were not sitemaps


@dataclass
class SiteProgress:
    """The sitemaps of one site.

    One is fetched at a time, once no entry of the last one is left: of a site with a
    thousand sitemaps, few are on disk.
    """

    to_request: deque[CitedSitemap] = field(default_factory=deque)
    requested: CitedSitemap | None = None  # the one that is scheduled
    files: list[EntryFile] = field(default_factory=list)  # those with entries left
    known: set[str] = field(default_factory=set)  # digests of cited URLs
    cross_host: CrossHostSitemaps = field(default_factory=CrossHostSitemaps)
    unconfirmed: list[EntryFile] = field(default_factory=list)
    """Pages of this site in sitemaps of other sites, until its robots.txt is known."""
    robots_requested: bool = False  # whether that robots.txt is scheduled
    strangers: set[str] = field(default_factory=set)
    """Other sites whose robots.txt was requested for this site's sitemaps, and cites
    none.
    """
    # sites that may hold entries of its sitemaps
    elsewhere: set[str] = field(default_factory=set)

    @property
    def is_done(self) -> bool:
        return not (self.to_request or self.requested or self.files or self.unconfirmed)

    @property
    def next_file(self) -> EntryFile | None:
        """The next file to take entries from: an index comes after what it lists."""
        for file in reversed(self.files):
            if not file.is_index:
                return file
        return self.files[-1] if self.files else None

    @property
    def room(self) -> int:
        """How many more sitemaps may wait in memory."""
        return max(0, MOST_WAITING - len(self.to_request))

    def knows(self, cited: CitedSitemap) -> bool:
        return _digest(cited.url) in self.known

    def accept(self, cited: CitedSitemap) -> None:
        """Note that a sitemap is going to be requested."""
        self.known.add(_digest(cited.url))
        if cited.is_cross_host:
            self.cross_host.hosts.add(cited.host)
            self.cross_host.cited += not cited.depth

    def arrived(self, cited: CitedSitemap) -> None:
        """Note that the requested sitemap is being read, or has failed."""
        if self.requested == cited:
            self.requested = None

    def state(self) -> dict[str, Any]:
        """Return the state without `known`, which grows with each sitemap."""
        cross_host = self.cross_host
        return {
            "to_request": [asdict(one) for one in self.to_request],
            "requested": self.requested and asdict(self.requested),
            "files": [one.state() for one in self.files],
            "unconfirmed": [one.state() for one in self.unconfirmed],
            "cross_host": [
                cross_host.cited,
                sorted(cross_host.hosts),
                cross_host.misses,
            ],
            "robots_requested": self.robots_requested,
            "strangers": sorted(self.strangers),
            "elsewhere": sorted(self.elsewhere),
        }

    @classmethod
    def of_state(cls, state: dict[str, Any], folder: Path) -> SiteProgress:
        cited, hosts, misses = state["cross_host"]
        requested = None
        if state["requested"]:
            requested = CitedSitemap(**state["requested"])
        return cls(
            to_request=deque(CitedSitemap(**one) for one in state["to_request"]),
            requested=requested,
            files=[EntryFile.of_state(one, folder) for one in state["files"]],
            cross_host=CrossHostSitemaps(cited, set(hosts), misses),
            unconfirmed=[
                EntryFile.of_state(one, folder) for one in state["unconfirmed"]
            ],
            robots_requested=state["robots_requested"],
            strangers=set(state["strangers"]),
            elsewhere=set(state["elsewhere"]),
        )


class Progress:
    """The progress of all sites, with entries in a folder.

    With JOBDIR it persists. With a job, its commits hold the state, and `now` is
    required; without one, a file in the folder does. That file is written at the end
    and deleted when the next run begins: as with Scrapy's own queues, nothing survives
    a kill -9.
    """

    def __init__(
        self,
        folder: str | Path,
        job: StoredJob | None = None,
        now: Callable[[], float] = float,
    ) -> None:
        self._folder = Path(folder, _FOLDER)
        self._job = job
        self._now = now
        self._next = 0.0
        self._next_lists = 0.0
        self._cannot_wait = False
        self._removed: tuple[list[EntryFile], list[EntryFile]] = [], []
        """Files used up since the last commit, and since the one before."""
        self._sites: dict[str, SiteProgress] = {}
        self._begun: set[str] = set()
        self._folder.mkdir(parents=True, exist_ok=True)
        rows = {} if job is None else job.kept(_IN_JOB)
        # A job converted from JOBDIR has no rows yet: the file stays until it has some.
        is_in_file = not rows
        if is_in_file:
            rows = self._rows_of_file()
        lost = self._load(rows)
        if job is None or not is_in_file:
            (self._folder / _STATE).unlink(missing_ok=True)
        # sites that may have changed since the last commit
        self._changed = set(self._sites)
        self._with_new_lists: set[str] = set()
        self._number = self._clear_folder()
        for cited in lost:
            if cited.depth >= 0:  # otherwise its robots.txt cites them again
                self[cited.site].to_request.append(cited)

    def __getitem__(self, site: str) -> SiteProgress:
        self._changed.add(site)
        return self._sites.setdefault(site, SiteProgress())

    def get(self, site: str) -> SiteProgress | None:
        """Return a site's progress, if it has one, for reading only."""
        return self._sites.get(site)

    def unfinished(self) -> list[str]:
        return [site for site, progress in self._sites.items() if not progress.is_done]

    def forget_done(self, site: str) -> None:
        """Forget a site that has no work left."""
        progress = self._sites.get(site)
        if progress is not None and progress.is_done and not progress.elsewhere:
            del self._sites[site]
            self._changed.add(site)

    def forget_oldest(self, most: int) -> None:
        """Forget the oldest sites until `most` are left."""
        while len(self._sites) > most:
            del self._sites[next(iter(self._sites))]
        self._changed.clear()

    def defer(self, site: str, urls: list[str]) -> None:
        """Store sitemaps of a site's robots.txt that are fetched after all others."""
        file = self.new_file(CitedSitemap("", site, "", depth=-1), is_index=True)
        file.write({"loc": url} for url in urls)
        file.is_complete = True
        self[site].files.insert(0, file)

    def begin(self, cited: CitedSitemap) -> bool:
        """Return whether to request a sitemap, and note that it is requested.

        One that several sites cite is read once: its pages of the other sites are
        passed on to them.
        """
        if cited.depth:
            return True
        is_new = _digest(cited.url) not in self._begun
        self._begun.add(_digest(cited.url))
        return is_new

    def reopen(self, sitemap: str) -> None:
        """Let the next site that cites a sitemap read it again.

        Some of its pages were left out although no robots.txt has rejected them.
        """
        self._begun.discard(_digest(sitemap))

    def new_file(self, cited: CitedSitemap, *, is_index: bool) -> EntryFile:
        self._number += 1
        path = self._folder / f"{self._number}.jsonl"
        path.touch()
        return EntryFile(cited, is_index, path, is_complete=False)

    def remove(self, file: EntryFile) -> None:
        """Delete a used-up file, as soon as no stored state refers to it."""
        if self._job is None:
            file.remove()
        else:
            self._removed[0].append(file)

    def cannot_wait(self) -> None:
        """Put changes into the next commit, with the request that led to them."""
        self._cannot_wait = True

    def before_commit(self, *, is_last: bool) -> None:
        """Put changes into the job when they are due; all at the last commit."""
        assert self._job is not None  # noqa: S101 -- a job calls it
        began = self._now()
        if began < self._next and not (self._cannot_wait or is_last):
            return
        self._next = began + _EVERY
        for name, row in self._site_rows(self._changed):
            self._job.put(name, row)
        for site in self._changed - self._sites.keys():
            self._job.put(_SITES + _digest(site), None)
            self._job.put(_KNOWN + _digest(site), None)
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
                for file in (*progress.files, *progress.unconfirmed):
                    file.is_complete = True  # no entry is added any more
            rows = chain(self._site_rows(self._sites), self._list_rows(self._sites))
            state = json.dumps({name: row.decode() for name, row in rows})
            replace_file(self._folder / _STATE, [state.encode("ascii")])
        for files in self._removed:
            for file in files:
                file.remove()

    def _site_rows(self, sites: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for site in sites:
            if (progress := self._sites.get(site)) is not None:
                yield (
                    _SITES + _digest(site),
                    json.dumps([site, progress.state()]).encode(),
                )

    def _list_rows(self, sites: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for site in sites:
            if (progress := self._sites.get(site)) is not None:
                yield _KNOWN + _digest(site), json.dumps(list(progress.known)).encode()
        yield _BEGUN, json.dumps(list(self._begun)).encode()

    def _put_lists(self, job: StoredJob, began: float) -> None:
        """Put changed lists into the job; long ones less often."""
        if not self._with_new_lists:
            return
        sites = self._with_new_lists & self._sites.keys()
        for name, row in self._list_rows(sites):
            job.put(name, row)
        self._with_new_lists.clear()
        if (
            len(self._begun) + sum(len(self._sites[site].known) for site in sites)
            > _LONG
        ):
            ended = self._now()
            self._next_lists = ended + max(_LISTS_EVERY, _SHARE * (ended - began))

    def _rows_of_file(self) -> dict[str, bytes]:
        path = self._folder / _STATE
        try:
            with open_regular(path) as file:
                rows = json.load(file)
            return {name: row.encode() for name, row in rows.items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._cannot_read(f"{path}: {error!r}")
            with suppress(OSError):  # it is not in the way of the next one
                path.rename(path.with_name(f"{path.name}.damaged"))
        except _DAMAGE as error:
            self._cannot_read(f"{path}: {error!r}")
        return {}

    def _load(self, rows: dict[str, bytes]) -> list[CitedSitemap]:
        """Load the stored state; return the sitemaps whose entries are lost."""
        lost: list[CitedSitemap] = []
        try:
            self._begun = set(json.loads(rows.get(_BEGUN, b"[]")))
            for name, row in rows.items():
                if name.startswith(_SITES):
                    site, state = json.loads(row)
                    progress = self._sites[site] = SiteProgress.of_state(
                        state, self._folder
                    )
                    progress.known = set(
                        json.loads(rows.get(_KNOWN + _digest(site), b"[]"))
                    )
                    for files in (progress.files, progress.unconfirmed):
                        files[:] = [one for one in files if self._is_there(one, lost)]
        except _DAMAGE as error:
            self._cannot_read(repr(error))
            return []
        return lost

    def _cannot_read(self, why: str) -> None:
        logger.warning(
            "The stored state of sitemaps is unreadable; they are read again: %s",
            shown(why),
        )
        self._sites.clear()
        self._begun.clear()
        if self._job is not None:
            _forget_in_job(self._job)

    def _is_there(self, file: EntryFile, lost: list[CitedSitemap]) -> bool:
        """Return whether a file holds what the stored state expects.

        An incomplete one is written again: the request for its sitemap was not
        acknowledged.
        """
        if not file.is_complete:
            return False
        if file.length < file.size:  # after a power failure, or deleted by a user
            self.reopen(file.cited.url)
            lost.append(file.cited)
            return False
        os.truncate(file.path, file.size)
        return True

    def _clear_folder(self) -> int:
        """Delete files without an owner; return the highest number of the others."""
        named = set()
        for progress in self._sites.values():
            named |= {file.path for file in (*progress.files, *progress.unconfirmed)}
        # by a run that was killed
        for left in set(self._folder.glob("*.jsonl")) - named:
            left.unlink()
        numbers = [path.stem for path in named if path.stem.isdecimal()]
        return max(map(int, numbers), default=0)


def _forget_in_job(job: StoredJob) -> None:
    for name in job.kept(_IN_JOB):
        job.put(name, None)


class UnfollowedRequests:
    """Drops requests of a previous run that only a sitemap follower can use.

    The site queue drops them before they are sent. With a custom queue they are sent,
    and their responses are dropped. The spider gets the callbacks, without which Scrapy
    cannot read such a request from disk. The progress in JOBDIR is useless without
    these requests, and deleted.
    """

    def __init__(self, crawl: Crawl, spider: Spider, folder: str) -> None:
        self._crawl = crawl
        self._is_told = False
        self._folder = Path(folder, _FOLDER)
        install(
            spider,
            read=self._drop_answer,
            missed=self._drop_answer,
            robots=self._drop_answer,
        )
        crawl.drops = self._drops

    def _drops(self, request: Request) -> bool:
        if OWN.isdisjoint(request.meta):
            return False
        (self._folder / _STATE).unlink(missing_ok=True)
        if self._crawl.job is not None:
            _forget_in_job(self._crawl.job)
        emit = self._crawl.events.count if self._is_told else self._crawl.events.emit
        self._is_told = True  # one line will do
        emit(events.SITEMAP_DROPPED, url=request.url)
        return True

    def _drop_answer(self, answer: Response | Failure) -> None:
        self._drops(answer.request)  # type: ignore[union-attr,arg-type]  # both have one
