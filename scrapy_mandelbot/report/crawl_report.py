"""The report on a crawl, written as JSON and as a page.

``report.schema.json`` describes the fields. Times are ISO 8601 in UTC; durations are
seconds.
"""

from __future__ import annotations

import atexit
import dataclasses
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import isfinite
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from mandelbot.files import replace_file
from mandelbot.formatting import shown
from scrapy.exceptions import NotConfigured

from scrapy_mandelbot import engine, events
from scrapy_mandelbot._version import __version__
from scrapy_mandelbot.fields import Fold
from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report.account import account_of
from scrapy_mandelbot.report.crawl_page import page_of
from scrapy_mandelbot.report.filled_path import filled_in
from scrapy_mandelbot.report.lost_requests import LostFile
from scrapy_mandelbot.report.previous_crawl import (
    PreviousCrawl,
    job_of,
    keep_previous,
    previous_path,
)
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.samples import LoadRecord, QuantileSketch, Timeline
from scrapy_mandelbot.report.summary import CrawlExtension
from scrapy_mandelbot.report.survey import collect_waiting
from scrapy_mandelbot.time_text import iso_time

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.report.crawl_record import CrawlRecord
    from scrapy_mandelbot.report.site_record import SiteRecord

EVERY = 45.0
"""Seconds between two drafts while the crawl runs."""
VERSION = 1
"""Version of the data: it grows when a field changes its meaning or is removed."""
_MOST_RULES = 50  # of all sites: those that forbade most
_MOST_WAITING = 200  # sites


class CrawlReport(CrawlExtension):
    """Writes ``MANDELBOT_REPORT`` when a crawl ends, and a draft every 45 seconds.

    After a ``kill -9`` or a power cut the last draft remains, at most a minute old, and
    says that it is not finished. A failed write is logged as an error and affects
    nothing else. Each file is replaced atomically.
    """

    at_a_time = 100  # sites in one slice: about 15 ms

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        path = self._crawl.config.report
        if path is None:
            raise NotConfigured
        self._recorder = Recorder.of(crawler, watches=True)
        self._path = Path(filled_in("MANDELBOT_REPORT", path, crawler))
        self._lost = LostFile(self._path.with_suffix(".lost.jsonl"), self._crawl.events)
        self._previous: PreviousCrawl | None = None
        spider = crawler.spider
        # The sites of a worker differ in each run.
        if spider is not None and not self._crawl.config.shares_job:
            self._previous = PreviousCrawl(
                previous_path(path, crawler), spider.name, self._crawl.events
            )
            keep_previous(crawler, self._previous)
        self._waiting: list[dict[str, Any]] = []
        self._writer: Thread | None = None
        self._is_open = False
        self._is_writable = True

    def spider_opened(self) -> None:
        """Write a first draft, so that an unwritable path is noticed at once.

        ``scrapy parse`` and the like fetch one page for a person and get no report.
        """
        if not self._crawl.asks_for_more:
            return
        self._is_open = True
        self._lost.open()
        if self._previous is not None:
            self._previous.read()
        engine.before_requests_are_left(self._crawler, self._collect_waiting)
        atexit.register(self._process_exits)
        self._begin_draft()

    def spider_closed(self, reason: str) -> None:
        """Write the final report."""
        if self._is_open:
            self._stop()
            if self._write(self._header(reason, self._waiting)):
                self._crawl.events.emit(events.REPORT_WRITTEN, path=str(self._path))

    def _process_exits(self) -> None:
        """Write the report if the process exits with an open spider (Ctrl-C twice)."""
        if self._is_open:
            self._stop()
            with suppress(Exception):  # parts of the crawl may be gone already
                self._collect_waiting()
            self._write(
                self._header("process exited", self._waiting, is_finished=False)
            )

    def _stop(self) -> None:
        self._is_open = False
        atexit.unregister(self._process_exits)
        self._steps.cancel()
        self._lost.close()
        if self._writer is not None:
            self._writer.join()  # or it would overwrite the final report

    def _collect_waiting(self) -> None:
        self._waiting = []
        for _ in collect_waiting(self._crawl, self._waiting):
            pass

    def _begin_draft(self) -> None:
        report: dict[str, Any] = {}
        self._steps.take(self._drafting(report), lambda: self._write_draft(report))

    def _drafting(self, report: dict[str, Any]) -> Iterator[None]:
        waiting: list[dict[str, Any]] = []
        yield from collect_waiting(self._crawl, waiting)
        header = self._header("not finished", waiting, is_finished=False)
        try:
            yield from filling(report, self._recorder.record, header)
        except Exception as error:  # noqa: BLE001 - a broken report stops nothing
            self._failed(error)

    def _write_draft(self, report: dict[str, Any]) -> None:
        """Write some MB in a thread, as the disk may be slow."""
        call_in_loop = self._crawl.clock.loop()

        def write() -> None:
            try:
                put(self._path, report)
            except Exception as error:  # noqa: BLE001 - as above
                with suppress(RuntimeError):  # the loop has ended
                    call_in_loop(self._failed, error)

        if report and (self._writer is None or not self._writer.is_alive()):
            self._writer = Thread(target=write, name="mandelbot-report", daemon=True)
            self._writer.start()
        self._steps.later(EVERY, self._begin_draft)

    def _header(
        self,
        reason: str,
        waiting: Sequence[Mapping[str, Any]],
        *,
        is_finished: bool = True,
    ) -> ReportHeader:
        spider = self._crawler.spider
        name = "" if spider is None else spider.name
        agent = self._crawler.settings["USER_AGENT"] or ""
        account = account_of(self._crawler)
        header = ReportHeader(
            spider=name,
            agent=str(agent),
            ended=self._crawl.now(),
            reason=reason,
            waiting=waiting,
            is_finished=is_finished,
        )
        if account is None:
            return header
        judged = account.judged(reason)
        said = account.verdict(reason)
        return header._replace(
            from_former_run=account.from_former_run,
            left=account.left,
            result=str(judged.result),
            reasons=judged.reasons,
            unmet=tuple(account.expectations(reason).unmet),
            items=account.project.items,
            verdict=said.line,
            came=said.came,
            missing=said.missing,
            to_do=said.to_do,
        )

    def _write(self, header: ReportHeader) -> bool:
        try:
            report = report_of(self._recorder.record, header)
            self._compare(report)
            put(self._path, report)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)
            return False
        return True

    def _compare(self, report: dict[str, Any]) -> None:
        """Compare the crawl with the previous one, and keep it for the next."""
        previous = self._previous
        if previous is None:
            return
        report["compared"] = previous.compared(
            report,
            job_of(self._crawler),
            is_resumed=report["from_former_run"] > 0,
        )
        try:
            previous.write(_replace)
        except OSError as error:
            self._crawl.events.emit(
                events.PREVIOUS_NOT_KEPT, path=str(error.filename), why=str(error)
            )

    def _failed(self, error: Exception) -> None:
        emitter = self._crawl.events
        values: dict[str, Any] = {"path": str(self._path), "why": str(error)}
        if not isinstance(error, OSError):
            emitter.emit_error(events.REPORT_FAILED, error, **values)
        elif self._is_writable:  # its message says all, once
            self._is_writable = False
            emitter.emit(events.REPORT_FAILED, **values)


class ReportHeader(NamedTuple):
    """The data of a report that does not belong to a site."""

    spider: str
    agent: str
    ended: float
    """Seconds since the epoch; of a running crawl: when the report was made."""
    reason: str
    waiting: Sequence[Mapping[str, Any]] = ()
    """Sites with waiting requests, as `SiteStatus.as_data` returns them."""
    from_former_run: int = 0
    """Requests that the previous run left; they count as accepted by this one."""
    left: int = 0
    """Requests in the queue; of a running crawl: in flight, too."""
    is_finished: bool = True
    """Whether the spider has closed."""
    result: str = ""
    """``OK``, ``INCOMPLETE``, ``FAILED``; empty: not known."""
    reasons: tuple[str, ...] = ()
    """The rules that the word comes from."""
    unmet: tuple[str, ...] = ()
    """The expectations of the project that are not met."""
    items: int | None = None
    """Items that passed the pipelines; None: unknown."""
    verdict: str = ""
    """How it ended, and what to do."""
    came: str = ""
    """Of that, how it ended and what came."""
    missing: tuple[str, ...] = ()
    """What did not, and why."""
    to_do: tuple[str, ...] = ()
    """What to do about it."""


def report_of(record: CrawlRecord, header: ReportHeader) -> dict[str, Any]:
    """Return the report on a crawl, without yielding to the event loop."""
    report: dict[str, Any] = {}
    for _ in filling(report, record, header):
        pass
    return report


def filling(
    report: dict[str, Any], record: CrawlRecord, header: ReportHeader
) -> Iterator[None]:
    """Fill in the report, a site at each step; the crawl may continue between them."""
    now = header.ended
    records = record.in_order()
    in_all = record.folded((), now)
    sites = []
    for one in records:
        sites.append(_site(one, header))
        in_all.fold(one, now)
        yield
    timeline = yield from _all_times(records)
    in_all.count(End.LEFT, header.left)
    total = _site(in_all, header)
    rules = _rules(sites)
    buckets = timeline["buckets"] if timeline else []
    for name, of_buckets in (("all", "answers"), ("errors", "errors")):
        total["answers"][name] = sum(one[of_buckets] for one in buckets)
    report |= {
        "version": VERSION,
        "made_by": f"scrapy-mandelbot {__version__}",
        "spider": shown(header.spider),
        "agent": shown(header.agent),
        "began": iso_time(record.began),
        "ended": iso_time(now),
        "seconds": _rounded(now - record.began),
        "is_finished": header.is_finished,
        "reason": shown(header.reason),
        "result": header.result,
        "reasons": list(header.reasons),
        "unmet": list(header.unmet),
        "verdict": header.verdict,
        "came": header.came,
        "missing": list(header.missing),
        "to_do": list(header.to_do),
        "items": header.items,
        "is_watched": record.is_watched,
        "from_former_run": header.from_former_run,
        "total": {**total, "timeline": timeline},
        "sites": sites,
        "rest": _site(record.rest, header) if record.rest.sites else None,
        "rules": rules[:_MOST_RULES],
        "waiting": [dict(one) for one in header.waiting[:_MOST_WAITING]],
        "sites_waiting": len(header.waiting),
        "compared": None,
    }


def _rules(sites: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules of all sites, the same rule of several sites as one.

    The one that forbade most is the first; of several sites, the one where it did.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    of_all: list[tuple[str, Mapping[str, Any]]] = []
    for one in sites:
        of_all += [(one["site"], rule) for rule in one["rules"]]
    of_all.sort(key=_forbade)
    for site, rule in of_all:
        key = (rule["text"], rule["agent"])
        if key not in found:
            found[key] = {"site": site, "sites": 1, **rule}
            continue
        known = found[key]
        known["sites"] += 1
        known["count"] += rule["count"]
    return sorted(found.values(), key=_most_forbidden)


def _forbade(rule_of: tuple[str, Mapping[str, Any]]) -> tuple[int, str]:
    site, rule = rule_of
    return -rule["count"], site


def _most_forbidden(rule: Mapping[str, Any]) -> tuple[int, str]:
    return -rule["count"], rule["site"]


def _site(one: SiteRecord, header: ReportHeader) -> dict[str, Any]:
    now = header.ended
    data: dict[str, Any] = {
        "site": shown(one.site),
        "sites": one.sites,
        "state": one.state(),
    }
    for about in one.FIELDS.values():
        if about.json:
            value = about.of(one, now)
            is_count = about.fold is Fold.BY_KEY
            data[about.json] = _counts(value) if is_count else _value(value)
    data["ends"] = _named(tuple(one.by_end().items()))
    if one.pace is not None:
        data["pace"]["came_every"] = one.came_every()
    for pause, its in zip(one.pauses, data["pause_list"], strict=True):
        its["seconds"] = _rounded(pause.seconds(now))
    return data


def _value(value: Any) -> Any:
    """Return a value of a site's record as data."""
    convert = _BY_CLASS.get(type(value))
    if convert is not None:
        return convert(value)
    if dataclasses.is_dataclass(value):
        return _part(value)
    return value


def _part(record: Any) -> dict[str, Any]:
    data = {}
    for one in dataclasses.fields(record):
        if one.metadata.get("is_shown", True):
            convert = _BY_ANNOTATION.get(str(one.type), _value)
            data[one.name] = convert(getattr(record, one.name))
    return data


def _values(values: Iterable[Any]) -> list[Any]:
    return [_value(value) for value in values]


def _named_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in values.items()}


def _gaps(sketch: QuantileSketch) -> dict[str, Any]:
    return {
        "count": sketch.count,
        "least": _rounded(sketch.least),
        "median": _rounded(sketch.median),
    }


def _by_load(record: LoadRecord) -> dict[str, Any]:
    groups = [_named_values(group._asdict()) for group in record]
    return {"most": record.most, "times": groups}


def _times(timeline: Timeline) -> dict[str, Any]:
    buckets = []
    for at, bucket in timeline:
        data = {"at": _rounded(at - timeline.began), **_named_values(bucket._asdict())}
        timed = data.pop("timed")
        data["first_byte"] = _rounded(bucket.first_byte / timed) if timed else None
        data["rate"] = data["rate"] or None
        buckets.append(data)
    return {"width": timeline.width, "buckets": buckets}


def _all_times(
    records: Iterable[SiteRecord],
) -> Generator[None, None, dict[str, Any] | None]:
    timelines = [one.timeline for one in records if one.timeline is not None]
    if not timelines:
        return None
    total = Timeline(timelines[0].began)
    # the others are widened
    for timeline in sorted(timelines, key=lambda one: -one.width):
        for at, bucket in timeline:
            total.add(at + timeline.width / 2, bucket)
        yield
    return _times(total)


def _counts(counts: Mapping[Any, int]) -> list[dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return _named(tuple(ordered))


@lru_cache(maxsize=1_024)
def _named(counts: tuple[tuple[Any, int], ...]) -> list[dict[str, Any]]:
    """Return counts as data, which nobody changes: equal ones are one object.

    Most sites of a crawl have the same ones.
    """
    return [{"name": shown(str(name)), "count": count} for name, count in counts]


def _rounded(value: float | None) -> float | None:
    if value is None or not isfinite(value):
        return None
    return round(value, 3)


_BY_CLASS: Mapping[type, Callable[[Any], Any]] = {
    float: _rounded,
    list: _values,
    tuple: _values,
    dict: _named_values,
    QuantileSketch: _gaps,
    LoadRecord: _by_load,
    Timeline: _times,
}
"""What a value becomes in the JSON, by its class; a part becomes its fields."""
_BY_ANNOTATION: Mapping[str, Callable[[Any], Any]] = {
    "Name": shown,
    "Time": iso_time,
    "Time | None": iso_time,
    "dict[str, int]": _counts,
}
"""What a field of a part becomes in the JSON, by its annotation, if not its value."""


def put(path: Path, report: dict[str, Any]) -> None:
    """Write a report to a file ``.json``, or as a page with the data beside it."""
    _replace(path.with_suffix(".json"), _pieces(report))
    if path.suffix == ".html":
        _replace(path, [page_of(report)])


def _pieces(report: dict[str, Any]) -> Iterator[str]:
    """Yield the report as JSON in pieces, so that none blocks the loop for long."""
    mark = "{"
    for name, value in report.items():
        yield f"{mark}{_json(name)}:"
        mark = ","
        if name != "sites":
            yield _json(value)
            continue
        yield "["
        for number, site in enumerate(value):
            yield f"{',' if number else ''}{_json(site)}"
        yield "]"
    yield "}\n"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _replace(path: Path, pieces: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, (piece.encode("ascii") for piece in pieces))
