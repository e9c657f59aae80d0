"""What a worker of a shared job leaves, so that there is one report of the whole job.

It has the sums and samples of the worker's sites, without times: JSON, compressed. A
worker writes it every minute into an exchange that it makes anyway, and at its end.
``job_report.py`` adds up those of all workers.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scrapy.exceptions import NotConfigured

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.fields import Fold
from scrapy_mandelbot.fleet.worker import JobWorker
from scrapy_mandelbot.report.account import account_of
from scrapy_mandelbot.report.lost_requests import lost_line
from scrapy_mandelbot.report.project_errors import ProjectRecord
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.site_record import SiteRecord
from scrapy_mandelbot.report.summary import CrawlExtension

if TYPE_CHECKING:
    from collections import Counter

    from scrapy.crawler import Crawler

    from scrapy_mandelbot.fields import Field
    from scrapy_mandelbot.report.crawl_record import CrawlRecord

Part = TypeVar("Part")

EVERY = 60.0
"""Seconds between two reports of a worker."""
MOST_SITES = 1_000
"""Sites in a worker's report: the most troubled and largest; the others are added up.
"""
MOST_LOST = 1_000
"""Lost requests in a worker's report."""
MOST_BYTES = 16 * 1024 * 1024
"""Of a worker's report, as it is read."""
VERSION = 2

_NUMBER = (int, float)
_TYPES: Mapping[str, Any] = {
    "str": str,
    "bool": bool,
    "int": int,
    "float": _NUMBER,
    "int | None": (int, NoneType),
    "float | None": (*_NUMBER, NoneType),
    "Name": str,
    "Time": _NUMBER,
    "Time | None": (*_NUMBER, NoneType),
    "list[str]": list,
    "dict[str, int]": dict,
}
"""Types of JSON by the annotations of the parts of a record."""


class WorkerReport(NamedTuple):
    """What one worker has left."""

    worker: int
    """Its number; after a lost lease, its last one."""
    spider: str
    agent: str
    began: float
    """Seconds since the epoch, by the worker's clock."""
    ended: float
    """When the report was written."""
    has_ended: bool
    """Whether it is the last one: False for a worker that works, or has died."""
    sites: list[SiteRecord]
    rest: SiteRecord
    """The sums of all other sites; its `sites` is 0 if there are none."""
    lost: list[dict[str, str]]
    """The first lost requests, as in the file of lost requests."""
    project: ProjectRecord | None = None
    """What came of the project's own code; None: an older version did not say."""


class SharedReport(CrawlExtension):
    """Leaves the report of a worker with its job, every minute and at the end."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not (self._crawl.config.shares_job and self._crawl.asks_for_more):
            raise NotConfigured
        self._recorder = Recorder.of(crawler)
        self._lost: list[dict[str, str]] = []
        self._crawl.events.subscribe(self._note_lost, events.REQUEST_LOST)

    def spider_opened(self) -> None:
        """Begin with the first report in a minute."""
        engine.before_requests_are_left(self._crawler, self._leave_last)
        self._steps.later(EVERY, self._begin)

    def spider_closed(self) -> None:
        """Write no more."""
        self._steps.cancel()

    def _note_lost(self, values: Mapping[str, Any]) -> None:
        if len(self._lost) < MOST_LOST:
            self._lost.append(lost_line(values))

    def _begin(self) -> None:
        data: dict[str, Any] = {}
        self._steps.take(self._filling(data), lambda: self._leave(data))

    def _leave_last(self) -> None:
        self._steps.cancel()
        data: dict[str, Any] = {}
        for _ in self._filling(data, has_ended=True):
            pass
        self._write(data)

    def _leave(self, data: dict[str, Any]) -> None:
        self._write(data)
        self._steps.later(EVERY, self._begin)

    def _write(self, data: dict[str, Any]) -> None:
        worker = JobWorker.of(self._crawler)
        if worker is not None:
            data["worker"] = worker.job.worker
            worker.leave_report(compressed(data))

    def _filling(
        self, data: dict[str, Any], *, has_ended: bool = False
    ) -> Iterator[None]:
        spider = self._crawler.spider
        data |= {
            "spider": "" if spider is None else spider.name,
            "agent": str(self._crawler.settings["USER_AGENT"] or ""),
            "began": self._recorder.record.began,
            "ended": self._crawl.now(),
            "has_ended": has_ended,
            "lost": list(self._lost),
        }
        account = account_of(self._crawler)
        if account is not None:
            data["project"] = vars(account.project)
        yield from filling(data, self._recorder.record, self._crawl.now())


def filling(data: dict[str, Any], record: CrawlRecord, now: float) -> Iterator[None]:
    """Fill in what a report has of sites, one at each step."""
    sites = record.in_order()
    data["sites"] = []
    for one in sites[:MOST_SITES]:
        data["sites"].append(_site_data(one))
        yield
    data["rest"] = _site_data(record.folded(sites[MOST_SITES:], now))


def compressed(data: Mapping[str, Any]) -> bytes:
    """Return a report as it is left."""
    return zlib.compress(json.dumps({"version": VERSION, **data}).encode())


def read(body: bytes) -> WorkerReport:
    """Read what a worker has left.

    ValueError: it is none, of another version, or too large.
    """
    try:
        unpacked = zlib.decompressobj().decompress(body, MOST_BYTES)
        data = json.loads(unpacked)
        if data["version"] != VERSION:
            raise ValueError(f"a report of version {data['version']}")
        return WorkerReport(
            worker=_of(int, data["worker"]),
            spider=_of(str, data["spider"]),
            agent=_of(str, data["agent"]),
            began=_of(_NUMBER, data["began"]),
            ended=_of(_NUMBER, data["ended"]),
            has_ended=_of(bool, data["has_ended"]),
            sites=[_read_site(one) for one in data["sites"]],
            rest=_read_site(data["rest"]),
            lost=[_read_lost(one) for one in data["lost"]],
            project=_read_project(data.get("project")),
        )
    except (zlib.error, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"no report of a worker: {error!r:.200}") from error


def _site_data(one: SiteRecord) -> dict[str, Any]:
    """Return what a report has of a site: the fields with other than initial values."""
    data: dict[str, Any] = {"site": one.site}
    has = vars(one)
    for about in one.FIELDS.values():
        value = has.get(about.name)
        if not about.is_left or value is None:
            continue
        if about.fold is Fold.BY_KEY:
            data[about.name] = {str(key): count for key, count in value.items()}
        elif about.fold is Fold.SAMPLE:
            data[about.name] = [_fields(part) for part in value]
        elif is_dataclass(value):
            data[about.name] = _fields(value)
        else:
            data[about.name] = value
    return data


def _fields(part: Any) -> list[Any]:
    return [getattr(part, field.name) for field in dataclasses.fields(part)]


def _read_lost(data: Mapping[str, Any]) -> dict[str, str]:
    return {_of(str, name): _of(str, value) for name, value in data.items()}


def _read_site(data: Mapping[str, Any]) -> SiteRecord:
    """Return the record of a site; what this version does not know is left out."""
    one = SiteRecord(_of(str, data["site"]), _of(_NUMBER, data["since"]))
    for about in one.FIELDS.values():
        value = data.get(about.name)
        if about.is_left and value is not None:
            setattr(one, about.name, _read_value(about, value))
    return one


def _read_project(data: Mapping[str, Any] | None) -> ProjectRecord | None:
    if data is None:
        return None
    record = ProjectRecord(items=_of(int, data["items"]))
    for name in ("callbacks", "failed_items", "unwritten"):
        errors: Counter[str] = getattr(record, name)
        for error, count in data[name].items():
            errors[_of(str, error)] = _of(int, count)
    return record


def _read_value(about: Field, value: Any) -> Any:
    if about.fold is Fold.BY_KEY:
        return {
            about.key(_of(str, name)): _of(int, count) for name, count in value.items()
        }
    if about.fold is Fold.SAMPLE:
        return [_read_part(about.kind, values) for values in value]
    if is_dataclass(about.kind):
        return _read_part(about.kind, value)
    kind = _NUMBER if about.kind is float else about.kind
    return _of(kind, value)


def _read_part(kind: type[Part], values: list[Any]) -> Part:
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]  # all of them are some
    if len(fields) != len(values):
        raise ValueError(f"{len(values)} values for {kind.__name__}")
    return kind(
        *(
            _of(_TYPES[str(field.type)], value)
            for field, value in zip(fields, values, strict=True)
        )
    )


def _of(kind: Any, value: Any) -> Any:
    """Return a value if it is of a type; raise ValueError if not."""
    if not isinstance(value, kind):
        raise ValueError(f"{value!r:.100} in a report")  # noqa: TRY004 -- a format
    return value
