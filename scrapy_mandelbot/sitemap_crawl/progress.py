"""Which sitemaps of which site were asked for, are being read, and are still to be asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_mandelbot.events import SITEMAP_DROPPED
from scrapy_mandelbot.sitemap_crawl.entry_files import OWN, Cited, EntryFile, install
from scrapy_mandelbot.sitemap_crawl.kept_progress import (
    STATE,
    ProgressFile,
    ProgressInJob,
    SiteProgress,
    digest,
    forget_in_job,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_mandelbot.crawl import Crawl, KeptJob

_FOLDER = "mandelbot.sitemaps"

MOST_WAITING = 100
"""Sitemaps of a site that wait in memory; those behind them wait on disk."""


def progress_folder(folder: str) -> Path:
    """Return where progress is kept in JOBDIR, or in a folder that takes its place."""
    return Path(folder, _FOLDER)


def forget_progress(folder: str, job: KeptJob | None) -> None:
    """Have the next run begin anew: what a former one has kept is not so any more."""
    (progress_folder(folder) / STATE).unlink(missing_ok=True)
    if job is not None:
        forget_in_job(job)


class Progress:
    """The progress of all sites, with entries in a folder; with JOBDIR it outlasts the run.

    With a job, its commits keep the rest, and `now` is needed; else a file does, at the end.
    """

    def __init__(
        self, folder: Path, job: KeptJob | None = None, now: Callable[[], float] = float
    ) -> None:
        self._folder = folder
        self._in_job = None if job is None else ProgressInJob(folder, job, now)
        self._changed: set[str] = set()
        """Sites that may have changed since they were kept."""
        self._cannot_wait = False
        self._removed: tuple[list[EntryFile], list[EntryFile]] = [], []
        """Used up since what is kept was written, and since it was written before."""
        folder.mkdir(parents=True, exist_ok=True)
        if self._in_job is not None:
            kept = self._in_job.load()
        else:
            kept = ProgressFile(folder).load()
            ProgressFile(folder).forget()
        self._sites, self._begun = kept.sites, kept.begun
        self._changed.update(self._sites)
        self._number = self._clear_folder()
        for cited in kept.to_ask_again:
            if cited.depth >= 0:  # else its robots.txt says them again
                self[cited.site].to_ask.append(cited)

    def __getitem__(self, site: str) -> SiteProgress:
        self._changed.add(site)
        return self._sites.setdefault(site, SiteProgress())

    def forget_done(self, site: str) -> None:
        """Hold nothing any more of a site of which nothing is left to do."""
        progress = self._sites.get(site)
        if progress is not None and progress.is_done and not progress.elsewhere:
            del self._sites[site]
            self._changed.add(site)

    def put_behind(self, site: str, urls: list[str]) -> None:
        """Have sitemaps that a site's robots.txt cites asked for when the others have been."""
        file = self.new_file(Cited("", site, "", depth=-1), is_index=True)
        file.write({"loc": url} for url in urls)
        file.is_complete = True
        self[site].files.insert(0, file)

    def get(self, site: str) -> SiteProgress | None:
        """Return a site's progress, if it has one; it is not to be changed."""
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

    def remove(self, file: EntryFile) -> None:
        """Delete a file of which nothing is wanted, as soon as nothing kept speaks of it."""
        if self._in_job is None:
            file.remove()
        else:
            self._removed[0].append(file)

    def cannot_wait(self) -> None:
        """Have the next commit keep what has changed: a request that led to it is settled then."""
        self._cannot_wait = True

    def before_commit(self, *, is_last: bool) -> None:
        """Have in the commit of a job what is to be there."""
        assert self._in_job is not None  # noqa: S101 -- a job calls it
        if not self._in_job.put(
            self._sites, self._begun, self._changed, is_wanted=self._cannot_wait, is_last=is_last
        ):
            return
        self._cannot_wait = False
        self._changed.clear()
        for file in self._removed[1]:
            file.remove()
        self._removed = [], self._removed[0]

    def close(self) -> None:
        """Write the progress to its folder, where no job has it."""
        if self._in_job is None:
            ProgressFile(self._folder).save(self._sites, self._begun)
        for files in self._removed:
            for file in files:
                file.remove()

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


class UnfollowedRequests:
    """Drops the requests that only following sitemaps has a use for.

    They are dropped as the site queue is about to hand them out, so that no site is asked. Of a
    project's own queue they come out, and it is their answers that are dropped. The spider gets
    their callbacks: without them Scrapy can read no such request from disk. And without its
    requests, the progress kept in JOBDIR is worth nothing.
    """

    def __init__(self, crawl: Crawl, spider: Spider, folder: str) -> None:
        self._crawl = crawl
        self._events = crawl.events
        self._is_told = False
        self._folder = folder
        install(spider, read=self._drop_answer, missed=self._drop_answer, heard=self._drop_answer)
        crawl.drops = self._drops

    def _drops(self, request: Request) -> bool:
        if OWN.isdisjoint(request.meta):
            return False
        forget_progress(self._folder, self._crawl.job)
        if self._is_told:  # one line will do
            self._events.count(SITEMAP_DROPPED)
        else:
            self._is_told = True
            self._events.tell(SITEMAP_DROPPED, url=request.url)
        return True

    def _drop_answer(self, answer: Response | Failure) -> None:
        self._drops(answer.request)  # type: ignore[union-attr,arg-type]  # both have one
