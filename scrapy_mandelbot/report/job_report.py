"""One report of a job that workers share, added up from what each of them has left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from mandelbot.formatting import columns, counted

from scrapy_mandelbot.politeness.tally import End, Tally
from scrapy_mandelbot.report import worker_report
from scrapy_mandelbot.report.account import came_text, ends_text
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.crawl_report import ReportHeader, report_of
from scrapy_mandelbot.report.expectations import Came, judged, sums_by_place
from scrapy_mandelbot.report.judgement import (
    Counts,
    Found,
    Judgement,
    Result,
    Verdict,
    judge,
)
from scrapy_mandelbot.report.project_errors import ProjectRecord
from scrapy_mandelbot.report.summary import summary
from scrapy_mandelbot.time_text import duration, iso_time, without_zone

if TYPE_CHECKING:
    from scrapy_mandelbot.report.worker_report import WorkerReport

_HEAD = ("WORKER", "PAGES", "LOST", "FROM (UTC)", "TO (UTC)", "")


class JobState(NamedTuple):
    """What the job itself knows, when the report is asked for."""

    now: float
    """Seconds since the epoch."""
    waiting: Sequence[Mapping[str, Any]]
    """Sites with waiting requests, as `SiteStatus.as_data` returns them."""
    workers: int
    """Workers that are alive."""
    unreported: int
    """Workers whose reports are gone, as there were too many."""
    expected: Mapping[str, Any] = MappingProxyType({})
    """What the project expects of the whole job (``MANDELBOT_EXPECT``)."""
    failing: Sequence[str] = ()
    """What it takes for a failure (``MANDELBOT_EXIT_STATUS``)."""


class JobReport(NamedTuple):
    """The report of a whole job."""

    data: dict[str, Any]
    """As of a crawl (``report.schema.json``), with `workers`."""
    text: str
    """The verdict and the tables of sites and workers, for a terminal."""
    lost: list[dict[str, str]]
    """Lost requests: the first thousand of each worker."""
    remarks: list[str]
    has_failed: bool
    """Whether the job has ended in a way that the project takes for a failure."""


def job_report(
    bodies: Iterable[bytes], job: JobState, most_sites: int
) -> JobReport | None:
    """Return the report of a job; None: no worker has left any.

    `most_sites`: in the table.
    """
    workers: list[WorkerReport] = []
    remarks = []
    for body in bodies:
        try:
            workers.append(worker_report.read(body))
        except ValueError as error:  # noqa: PERF203 -- there are a few
            remarks.append(f"a worker's report cannot be read: {error}")
    if job.unreported:
        gone = counted(job.unreported, "worker")
        remarks.append(f"the reports of {gone} are gone: there were too many")
    if not workers:
        return None
    workers.sort(key=attrgetter("began", "worker"))
    record = _added_up(workers)
    total = record.folded(record, job.now)
    left = sum(one["waiting"] + one["under_way"] for one in job.waiting)
    is_running = job.workers > 0
    ended = job.now if is_running else max(one.ended for one in workers)
    project = _project_of(workers)
    found = Found([], [])
    if not (is_running or left):
        found = _expectations(job.expected, record, total, project)
    its = _counts(record, total, left, is_running=is_running)
    its = its._replace(unmet=len(found.unmet))
    if project is not None:
        its = project.joined_with(its)
    judgement = judge(its)
    result = judgement.result
    missing = list(_missing(total, left))
    if project is not None:
        missing += project.sentences()
    missing += found.sentences()
    failures = [] if is_running else _failures(job.failing, judgement)
    if failures:
        result = Result.FAILED
        names = " and ".join(map(repr, failures))
        missing.append(f"Exit status 1: MANDELBOT_EXIT_STATUS names {names}.")
    came = _came(total, ended - record.began, left, job)
    verdict = Verdict(came, tuple(missing))
    reason = "stopped" if left else "finished"
    if is_running:
        reason = "not finished"
    header = ReportHeader(
        spider=workers[-1].spider,
        agent=workers[-1].agent,
        ended=ended,
        reason=reason,
        waiting=job.waiting,
        left=left,
        is_finished=not is_running,
        result=str(result),
        reasons=judgement.reasons,
        unmet=tuple(found.unmet),
        items=None if project is None else project.items,
        verdict=verdict.line,
        came=came,
        missing=verdict.missing,
    )
    rows = [_worker_data(one) for one in workers]
    data = {**report_of(record, header), "workers": rows}
    table = summary(record, ended, most_sites)
    lost = list(chain.from_iterable(one.lost for one in workers))
    text = f"{result}: {verdict.line}\n\n{table}\n\n{_workers_table(rows)}\n"
    return JobReport(data, text, lost, remarks, bool(failures))


def _project_of(workers: Sequence[WorkerReport]) -> ProjectRecord | None:
    """Return what came of the project's own code; None: not all workers know."""
    whole = ProjectRecord()
    for worker in workers:
        if worker.project is None:
            return None
        whole.add(worker.project)
    return whole


def _expectations(
    expected: Mapping[str, Any],
    record: CrawlRecord,
    total: Tally,
    project: ProjectRecord | None,
) -> Found:
    if not expected:
        return Found([], [])
    came = Came(
        pages=total.pages + total.cached,
        items=None if project is None else project.items,
        lost=total.lost,
        failed=total.by_end().get(End.PAGE_FAILED, 0),
        callbacks=0 if project is None else project.callbacks.total(),
        unwritten=0 if project is None else project.unwritten.total(),
    )
    tallies = [(one, one.site) for one in record]
    sites = dict(sums_by_place(expected.get("sites", ()), tallies, Tally()))
    known = {name: its for name, its in expected.items() if name != "of_last_time"}
    found = judged(known, came, None, sites)
    if "of_last_time" in expected:
        found.unknown.append("the previous crawl, of which a job on Redis keeps none")
    return found


def _failures(kinds: Sequence[str], judgement: Judgement) -> list[str]:
    """Return which of these kinds of ends the job has come to."""
    return [
        kind
        for kind in kinds
        if kind in judgement.reasons or (kind == "incomplete" and judgement.reasons)
    ]


def _added_up(workers: Sequence[WorkerReport]) -> CrawlRecord:
    began = min(one.began for one in workers)
    record = CrawlRecord(began, lambda _: False)
    for worker in workers:
        for site in worker.sites:
            record.of(site.site, site.since).join(site)
        if worker.rest.sites:
            record.rest.fold(worker.rest, worker.ended)
    return record


def _counts(
    record: CrawlRecord, total: Tally, left: int, *, is_running: bool
) -> Counts:
    return Counts(
        requested=total.taken,
        answers=total.handed_on,
        pages=total.pages + total.cached,
        lost=total.lost,
        left=left,
        unknown_hosts=total.by_end().get(End.NO_HOST, 0),
        forbidden_sites=sum(one.is_forbidden for one in record),
        denied_sites=sum(one.is_denied for one in record),
        is_running=is_running,
        is_stopped=left > 0,
    )


def _came(total: Tally, seconds: float, left: int, job: JobState) -> str:
    if job.workers:
        how = f"Running for {duration(round(seconds, 1))}"
        how += f" ({counted(job.workers, 'worker')})"
    else:
        first = "Stopped" if left else "Finished"
        how = f"{first} after {duration(round(seconds, 1))}"
    return f"{how}. {came_text(total)}"


def _missing(total: Tally, left: int) -> Iterator[str]:
    if left:
        yield f"{counted(left, 'request waits', 'requests wait')}."
    lost: dict[End, int] = {
        end: count for end, count in total.by_end().items() if end in total.LOST
    }
    if lost:
        yield f"{counted(total.lost, 'request')} failed ({ends_text(lost)})."


def _worker_data(one: WorkerReport) -> dict[str, Any]:
    records = [*one.sites, one.rest]
    return {
        "worker": one.worker,
        "pages": sum(site.pages for site in records),
        "lost": sum(site.lost for site in records),
        "began": iso_time(one.began),
        "ended": iso_time(one.ended),
        "has_ended": one.has_ended,
    }


def _workers_table(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        (
            row["worker"],
            row["pages"],
            row["lost"] or None,
            without_zone(row["began"], "seconds"),
            without_zone(row["ended"], "seconds"),
            "" if row["has_ended"] else "its last report: it works, or has died",
        )
        for row in rows
    ]
    return "\n".join("  ".join(row).rstrip() for row in columns([_HEAD, *cells]))
