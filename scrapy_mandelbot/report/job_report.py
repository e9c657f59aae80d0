"""One report of a job that workers share, added up from what each of them has left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from mandelbot.formatting import columns, counted

from scrapy_mandelbot.report import worker_report
from scrapy_mandelbot.report.account import ends_text, result_of
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.crawl_report import ReportHeader, report_of
from scrapy_mandelbot.report.site_record import (
    MOST_PAUSES,
    MOST_ROBOTS,
    MOST_RULES,
    is_pause,
)
from scrapy_mandelbot.report.summary import summary
from scrapy_mandelbot.time_text import duration, iso_time, without_zone

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.tally import End, Tally
    from scrapy_mandelbot.report.samples import PauseRecord
    from scrapy_mandelbot.report.site_record import SiteRecord
    from scrapy_mandelbot.report.worker_report import WorkerReport

_PASSED_ON = frozenset({"overheard", "previous run"})
"""Kinds of pauses that a site's next owner takes over from the last one."""
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
    is_open = is_running or left > 0
    has_forbidden = any(one.is_forbidden for one in record)
    result = result_of(total, is_complete=not (is_open or has_forbidden))
    verdict = _verdict(total, ended - record.began, left, job)
    header = ReportHeader(
        spider=workers[-1].spider,
        agent=workers[-1].agent,
        ended=ended,
        reason="not finished" if is_running else "stopped" if left else "finished",
        waiting=job.waiting,
        left=left,
        is_finished=not is_running,
        result=str(result),
        verdict=verdict,
    )
    rows = [_worker_data(one) for one in workers]
    data = {**report_of(record, header), "workers": rows}
    table = summary(record, ended, most_sites)
    lost = [line for one in workers for line in one.lost]
    text = f"{result}: {verdict}\n\n{table}\n\n{_workers_table(rows)}\n"
    return JobReport(data, text, lost, remarks)


def _added_up(workers: Sequence[WorkerReport]) -> CrawlRecord:
    began = min(one.began for one in workers)
    record = CrawlRecord(began, lambda _: False)
    for worker in workers:
        for site in worker.sites:
            _add(record.of(site.site, site.since), site, worker.ended)
        if worker.rest.sites:
            record.rest.fold(worker.rest, worker.ended)
    return record


def _add(one: SiteRecord, other: SiteRecord, now: float) -> None:
    """Add the record of a worker to that of the job, samples too."""
    in_pauses = one.in_pauses + other.in_pauses  # without those that are open
    one.fold(other, now)
    one.in_pauses = in_pauses
    one.sites = 1
    one.has_robots = one.has_robots or other.has_robots
    reached = one.has_reached_budget or other.has_reached_budget
    one.has_reached_budget = reached
    one.pace = other.pace or one.pace
    one.concurrency = other.concurrency or one.concurrency
    one.limit = other.limit if one.limit is None else one.limit
    pauses = sorted([*one.pauses, *other.pauses], key=attrgetter("since"))
    one.pauses_seen -= _joined(pauses)
    one.pauses = _most(pauses, MOST_PAUSES)
    robots = sorted([*one.robots, *other.robots], key=attrgetter("at"))
    one.robots = _most(robots, MOST_ROBOTS)
    _add_rules(one, other)
    if one.sitemaps is not None and other.sitemaps is not None:
        urls = [*one.sitemaps.urls, *other.sitemaps.urls]
        one.sitemaps.urls = list(dict.fromkeys(urls))


def _joined(pauses: list[PauseRecord]) -> int:
    """Join pauses that a site's next owner took over; return how many there were.

    `pauses`: in the order of their begin.
    """
    joined = 0
    open_ones: dict[str, PauseRecord] = {}
    for pause in list(pauses):
        before = open_ones.get(pause.where)
        if before is not None and pause.kind in _PASSED_ON:
            before.until = pause.until
            before.ended = pause.ended
            before.failed_probes = max(before.failed_probes, pause.failed_probes)
            before.is_given_up = pause.is_given_up
            pauses.remove(pause)
            joined += is_pause(pause.kind)
            pause = before  # noqa: PLW2901 -- it goes on in the other's place
        elif before is not None:  # its end is not known
            before.ended = pause.since
        if pause.ended is None:
            open_ones[pause.where] = pause
        else:
            open_ones.pop(pause.where, None)
    return joined


def _most(samples: list[Any], most: int) -> list[Any]:
    """Return at most so many samples, without those in the middle."""
    if len(samples) <= most:
        return samples
    half = most // 2
    return [*samples[:half], *samples[half - most :]]


def _add_rules(one: SiteRecord, other: SiteRecord) -> None:
    rules = {(rule.line, rule.text, rule.agent): rule for rule in one.rules}
    for rule in other.rules:
        mine = rules.setdefault((rule.line, rule.text, rule.agent), rule)
        if mine is not rule:
            mine.count += rule.count
    ordered = sorted(rules.values(), key=attrgetter("count"), reverse=True)
    one.rules = ordered[:MOST_RULES]


def _verdict(total: Tally, seconds: float, left: int, job: JobState) -> str:
    if job.workers:
        how = f"Running for {duration(round(seconds, 1))}"
        how += f" ({counted(job.workers, 'worker')})"
    else:
        first = "Stopped" if left else "Finished"
        how = f"{first} after {duration(round(seconds, 1))}"
    parts = [f"{how}.", f"{counted(total.pages, 'page')}."]
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
