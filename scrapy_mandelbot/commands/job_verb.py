"""The verb ``job``: what waits in a job and why; ends pauses, repairs on request."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mandelbot.cli.invocation import Result
from mandelbot.cli.output import UnavailableError
from mandelbot.files import replace_file
from mandelbot.formatting import without_credentials

from scrapy_mandelbot.commands import stored_report
from scrapy_mandelbot.fleet.server_job import open_job_at
from scrapy_mandelbot.job.job_file import CorruptError, damage_text
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.outline import fingerprinter_of, read_outline
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.report import crawl_report, job_report

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_mandelbot.commands.project import ProjectInvocation
    from scrapy_mandelbot.job.opened_job import NewRequest, OpenedJob, StoredOutline

_AT_ONCE = 500  # requests that are added at a time


def look_at_job(invocation: ProjectInvocation) -> Result:
    """Report what waits, export or add requests, or end the pauses of some sites."""
    place = invocation.opts.job
    try:
        with closing(open_job_at(place)) as job:
            return _looked_at(job, invocation)
    except ImportError as error:
        raise UnavailableError(
            f"{error}: pip install scrapy-mandelbot[redis]"
        ) from None
    except CorruptError as error:
        raise UnavailableError(damage_text(Path(place), error)) from None
    except (StorageError, ValueError, OSError) as error:
        raise UnavailableError(f"{without_credentials(place)}: {error}") from None


def _looked_at(job: OpenedJob, invocation: ProjectInvocation) -> Result:
    opts = invocation.opts
    site = opts.site or ""
    if opts.export:
        return _exported(job.outlines())
    if opts.report is not None:
        return _reported(job, opts.report, invocation)
    if opts.what:
        return _ACTS[opts.what](job, site, invocation)
    report, text = _report(invocation, job)
    return Result(0, {"folder": job.name, **report}, text)


def _report(
    invocation: ProjectInvocation, job: OpenedJob
) -> tuple[dict[str, Any], str]:
    """Return what waits in a job, as data and as text."""
    paint = invocation.terminal.paint
    contents = job.contents()
    if invocation.opts.only_unfinished:
        contents = contents.without_complete()
    return stored_report.job_report(contents, _tries(invocation), time.time(), paint)


def _tries(invocation: ProjectInvocation) -> int:
    return int(invocation.setting("pause_tries") or PausePolicy().tries)


def _reported(job: OpenedJob, file: str, invocation: ProjectInvocation) -> Result:
    """Report on a whole job, to a file too if there is one."""
    path = Path(file)
    if file and path.suffix not in {".json", ".html"}:
        raise UnavailableError(f"--report takes a file .json or .html, not {file}")
    bodies, unreported = job.reports()
    contents = job.contents()
    state = job_report.JobState(
        now=time.time(),
        waiting=stored_report.waiting_data(contents, _tries(invocation), time.time()),
        workers=len(contents.workers),
        unreported=unreported,
        expected=invocation.setting("expect"),
        failing=invocation.setting("exit_status"),
    )
    made = job_report.job_report(bodies, state, int(invocation.setting("summary")))
    if made is None:
        return Result(1, {}, "", ["no worker of its last run has left a report"])
    text = made.text
    if file:
        crawl_report.put(path, made.data)
        lost = path.with_suffix(".lost.jsonl")
        if made.lost:
            replace_file(lost, (f"{json.dumps(one)}\n".encode() for one in made.lost))
        else:
            lost.unlink(missing_ok=True)
    code = 1 if made.remarks or made.has_failed else 0
    return Result(code, made.data, text, made.remarks)


def _exported(requests: Iterable[StoredOutline]) -> Result:
    read = list(requests)
    found = [{"site": one.site, **one.about} for one in read if one.about is not None]
    unread = len(read) - len(found)
    remarks = [stored_report.unread_text(unread)] if unread else []
    lines = "".join(f"{json.dumps(one)}\n" for one in found)
    code = 1 if unread else 0
    return Result(code, {"requests": found}, lines, remarks)


def _added(job: OpenedJob, file: str, invocation: ProjectInvocation) -> Result:
    with Path(file).open(encoding="utf-8-sig", errors="replace") as lines:
        return _added_lines(job, lines, invocation.settings)


def _added_lines(job: OpenedJob, lines: Iterable[str], settings: Settings) -> Result:
    fingerprint, why_not = fingerprinter_of(settings)
    remarks = []
    if why_not:
        remarks = [stored_report.fingerprints_text(why_not)]

    def read_lines() -> Iterator[NewRequest]:
        lost: set[int] = set()
        for number, line in enumerate(map(str.strip, lines), start=1):
            if not line:
                continue
            try:
                request = read_outline(line, fingerprint)
            except Exception as error:  # noqa: BLE001 -- each line, and a project's code
                remarks.append(f"line {number}: {error}")
                continue
            if not request.is_lost:
                yield request
            elif request.fingerprint not in lost:  # the job does not filter it
                lost.add(request.fingerprint)
                yield request

    requests = read_lines()
    added = job.add(iter(lambda: [*islice(requests, _AT_ONCE)], []))
    text = stored_report.added_text(added)
    code = 1 if remarks else 0
    return Result(code, {"added": added}, text, remarks)


def _repaired(job: OpenedJob, _: str, __: ProjectInvocation) -> Result:
    found = job.repair()
    if found is None:
        text = f"{job.name} is not damaged; nothing was changed\n"
        return Result(0, {"repair": None}, text)
    data = {
        "requests": found.requests,
        "fingerprints": found.fingerprints,
        "lost": found.lost,
        "damaged_file": str(found.aside),
    }
    return Result(0, {"repair": data}, stored_report.repaired_text(found))


def _forgotten(job: OpenedJob, _: str, __: ProjectInvocation) -> Result:
    job.forget()
    return Result(0, {"forgotten": job.name}, f"{job.name} is deleted\n")


def _requeued(job: OpenedJob, wanted: str, _: ProjectInvocation) -> Result:
    sites = job.requeue(wanted)
    if sites:
        remarks = []
    else:
        remarks = [f"{wanted or 'no site'} is not paused, given up or set aside"]
    text = stored_report.requeued_text(sites)
    code = 0 if sites else 1
    return Result(code, {"requeued": sites}, text, remarks)


_ACTS = {
    "requeue": _requeued,
    "add": _added,
    "forget": _forgotten,
    "repair": _repaired,
}
"""What a command does to a job."""
