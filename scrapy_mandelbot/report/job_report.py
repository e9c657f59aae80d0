"""One report of a job that workers share, added up from what each of them has left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from mandelbot.formatting import columns, counted

from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report import worker_report
from scrapy_mandelbot.report.account import came_text, ends_text
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.crawl_report import ReportHeader, report_of
from scrapy_mandelbot.report.judgement import Counts, judge
from scrapy_mandelbot.report.summary import summary
from scrapy_mandelbot.time_text import duration, iso_time, without_zone

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.tally import Tally
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


class JobReport(NamedTuple):
    """The report of a whole job."""

    data: dict[str, Any]
    """As of a crawl (``docs/report.rst``), with `workers`."""
    text: str
    """The verdict and the tables of sites and workers, for a terminal."""
    lost: list[dict[str, str]]
    """Lost requests: the first thousand of each worker."""
    remarks: list[str]


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
    result = judge(_counts(record, total, left, is_running=is_running)).result
    verdict = _verdict(total, ended - record.began, left, job)
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
        verdict=verdict,
    )
    rows = [_worker_data(one) for one in workers]
    data = {**report_of(record, header), "workers": rows}
    table = summary(record, ended, most_sites)
    lost = list(chain.from_iterable(one.lost for one in workers))
    text = f"{result}: {verdict}\n\n{table}\n\n{_workers_table(rows)}\n"
    return JobReport(data, text, lost, remarks)


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


def _verdict(total: Tally, seconds: float, left: int, job: JobState) -> str:
    if job.workers:
        how = f"Running for {duration(round(seconds, 1))}"
        how += f" ({counted(job.workers, 'worker')})"
    else:
        first = "Stopped" if left else "Finished"
        how = f"{first} after {duration(round(seconds, 1))}"
    parts = [f"{how}.", came_text(total)]
    if left:
        parts.append(f"{counted(left, 'request waits', 'requests wait')}.")
    lost: dict[End, int] = {
        end: count for end, count in total.by_end().items() if end in total.LOST
    }
    if lost:
        parts.append(f"{counted(total.lost, 'request')} failed ({ends_text(lost)}).")
    return " ".join(parts)


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
