"""The file beside a report that keeps what the previous crawl got.

It holds two crawls: the last one, which a run that resumes its job continues, and the
one before, which it is compared with. So the runs of one job count as one crawl.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mandelbot.files import open_regular

from scrapy_mandelbot import events
from scrapy_mandelbot.report.comparison import (
    Crawled,
    CrawledSite,
    comparison,
    crawled_of,
)
from scrapy_mandelbot.report.filled_path import filled_in
from scrapy_mandelbot.report.judgement import FAILING_REASONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scrapy.crawler import Crawler

    from scrapy_mandelbot.events.emitter import Events

LONGEST_FILE = 20_000_000
"""Bytes of the file that are read."""
_FORMAT = "scrapy-mandelbot previous crawl 1"
_STOPPED = FAILING_REASONS | {"shutdown", "cancelled", "process exited"}
"""Reasons of crawls that did not come to their own end: no others are compared with
them.
"""


class PreviousCrawl:
    """Keeps what a spider's crawls got, and compares each with the one before.

    The file is read as the spider opens, and replaced as it closes. A file that is not
    of this spider, or not of this package, is neither used nor replaced.
    """

    def __init__(self, path: Path, spider: str, emitter: Events) -> None:
        self._path = path
        self._spider = spider
        self._events = emitter
        self._last: Crawled | None = None
        self._before: Crawled | None = None
        self._is_ours = False
        """Whether the file may be replaced."""
        self.read_last: Crawled | None = None
        self.read_before: Crawled | None = None
        """The crawls that the file had when the spider opened."""
        self._is_continued = False
        emitter.subscribe(self._continues, events.JOB_HAD_FINISHED)

    def read(self) -> None:
        """Read the file; one that cannot be read is reported in the log."""
        try:
            self._last, self._before = _crawls_in(self._path, self._spider)
        except FileNotFoundError:
            self._is_ours = True
        except (OSError, ValueError, RecursionError) as error:
            why = str(error)
            path = str(self._path)
            self._events.emit(events.NOT_COMPARED, path=path, why=why)
        else:
            self._is_ours = True
        self.read_last = self._last
        self.read_before = self._before

    def ended_before(self, *, is_resumed: bool) -> Crawled | None:
        """Return the last crawl that ended by itself, before this one began."""
        last = self.read_last
        if is_resumed or last is None or last.reason in _STOPPED:
            return self.read_before
        return last

    def earlier_runs(self, job: str) -> Crawled | None:
        """Return what the earlier runs of a job got; None: that is not known."""
        last = self.read_last
        if last is not None and last.job == job:
            return last
        return None

    def compared(
        self, report: Mapping[str, Any], job: str, *, is_resumed: bool
    ) -> dict[str, Any] | None:
        """Return how the crawl of a report differs from the previous one.

        Args:
            report: the data of the report.
            job: the JOBDIR; empty: none.
            is_resumed: whether the run began with requests that another run left.

        Returns:
            None: no previous crawl is known.
        """
        now = crawled_of(report, job)
        last = self._last
        if is_resumed or self._is_continued:
            if last is None or last.job != job:  # its first run is not known
                self._is_ours = False
                return None
            now = last.then(now)
        elif last is not None and last.reason not in _STOPPED:
            self._before = last
        self._last = now
        return None if self._before is None else comparison(self._before, now)

    def write(self, replace: Callable[[Path, Iterable[str]], None]) -> None:
        """Keep the crawl for the next one; raises OSError."""
        if not self._is_ours or self._last is None:
            return
        crawls = {"last": self._last, "before": self._before}
        data = {
            "format": _FORMAT,
            "spider": self._spider,
            **{name: _as_data(one) for name, one in crawls.items()},
        }
        replace(self._path, [json.dumps(data, separators=(",", ":")), "\n"])

    def _continues(self, _values: Mapping[str, Any]) -> None:
        """Note that this run adds to a job that had finished."""
        self._is_continued = True


_ATTRIBUTE = "_scrapy_mandelbot_previous_crawl"


def keep_previous(crawler: Crawler, previous: PreviousCrawl) -> None:
    """Let other components of the crawl find its previous one."""
    setattr(crawler, _ATTRIBUTE, previous)


def previous_of(crawler: Crawler) -> PreviousCrawl | None:
    """Return what keeps the previous crawl; None: nothing does."""
    found = vars(crawler).get(_ATTRIBUTE)
    return found if isinstance(found, PreviousCrawl) else None


def job_of(crawler: Crawler) -> str:
    """Return the absolute path of the JOBDIR; empty: there is none."""
    job = crawler.settings["JOBDIR"]
    return str(Path(job).absolute()) if job else ""


def previous_path(template: str, crawler: Crawler) -> Path:
    """Return the path of the file, given MANDELBOT_REPORT.

    It is the path of the report without ``%(time)s``. The name of the spider is added
    unless the setting has it, so that spiders with one report do not share the file.
    """
    path = Path(filled_in("MANDELBOT_REPORT", template, crawler, time=""))
    stem = path.name.removesuffix(Path(template).suffix)
    parts = [stem.strip("-_. ")]
    if "%(name)" not in template and crawler.spider is not None:
        parts.append(re.sub(r"[^\w.-]", "_", crawler.spider.name))
    name = "-".join(filter(None, parts)) or "report"
    return path.with_name(f"{name}.previous.json")


def _crawls_in(path: Path, spider: str) -> tuple[Crawled | None, Crawled | None]:
    """Return the last crawl in a file, and the one before.

    Raises:
        OSError: the file cannot be read.
        ValueError: it does not hold crawls of this spider.
    """
    with open_regular(path) as file:
        content = file.read(LONGEST_FILE + 1)
    if len(content) > LONGEST_FILE:
        raise ValueError(f"it has more than {LONGEST_FILE:,} bytes")
    data: Any = None
    with suppress(ValueError):
        data = json.loads(content)
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise ValueError("it was not written by this version of scrapy-mandelbot")
    if data.get("spider") != spider:
        raise ValueError(f"it is of the spider {data.get('spider')!r}")
    try:
        return _crawl_in(data["last"]), _crawl_in(data["before"])
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        raise ValueError("it is damaged") from None


def _crawl_in(data: Mapping[str, Any] | None) -> Crawled | None:
    if data is None:
        return None
    sites = {}
    for name, (pages, state, time) in data["sites"].items():
        seconds = None if time is None else _finite(time)
        sites[str(name)] = CrawledSite(int(_finite(pages)), str(state), seconds)
    items = data.get("items")
    if items is not None:
        items = int(items)
    return Crawled(
        ended=str(data["ended"]),
        reason=str(data["reason"]),
        job=str(data["job"]),
        is_whole=bool(data["is_whole"]),
        pages=int(_finite(data["pages"])),
        sites=sites,
        items=items,
    )


def _finite(number: Any) -> float:
    """Return a number as the file has it; raise one of ArithmeticError, ValueError."""
    found = float(number)
    if not isfinite(found):
        raise ValueError
    return found


def _as_data(one: Crawled | None) -> dict[str, Any] | None:
    return None if one is None else one._asdict()
