"""The verb ``job``: what waits in a job, and why; to have sites asked again that were given up."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.commands.invocation import Result
from scrapy_mandelbot.commands.output.terminal_text import PLAIN, cut, joined
from scrapy_mandelbot.commands.terminal import UnavailableError
from scrapy_mandelbot.crawl import STORE_FILE
from scrapy_mandelbot.fleet.server import JobServer
from scrapy_mandelbot.job.deliveries import ASIDE, CLAIMED, bring_back, read_aside
from scrapy_mandelbot.job.job_file import (
    as_ours,
    connect_to_read,
    is_as_written,
    read_state,
    read_states,
)
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.salvage import FILE, LOCK, JobLock, outline
from scrapy_mandelbot.job.site_states import IN_JOB, read_handover, site_of_line
from scrapy_mandelbot.job.sqlite_job import SqliteJob
from scrapy_mandelbot.robots.formatting import (
    columns,
    counted,
    moment,
    without_credentials,
    without_zone,
)
from scrapy_mandelbot.scheduling.storage import parts_of_name
from scrapy_mandelbot.settings.values import is_server
from scrapy_mandelbot.store.contract import StoredPause
from scrapy_mandelbot.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.invocation import Invocation
    from scrapy_mandelbot.commands.output.terminal_text import Paint
    from scrapy_mandelbot.politeness.pause_law import LeftPause

_HEAD = ("waiting", "in flight", "site", "why it waits")
_MOST = 50  # lines for a terminal
_SITE_WIDTH = 40


class Waits(NamedTuple):
    """Why sites wait."""

    now: float
    """Seconds since the epoch."""
    tries: int
    """After so many failed probes a site is given up."""
    aside: Mapping[str, Mapping[str, int]] = {}
    """How many requests are set aside, by site and by the path of their section."""
    pauses: Mapping[str, StoredPause] = {}
    """As a run has left them, by site."""
    turns: Mapping[str, float] = {}
    """When sites may next be asked at their pace."""
    sections: Mapping[tuple[str, str], float] = {}
    """Until when sections are set aside, by site and path."""


def of_job(lines: Mapping[str, int], in_flight: Mapping[str, int], waits: Waits) -> dict[str, Any]:
    """Return what waits, the site with most of it first.

    `lines` says how many requests there are, by site, and `in_flight` how many of those
    were in flight at the last commit.
    """
    sites = []
    for site in sorted({*lines, *waits.pauses}, key=lambda site: (-lines.get(site, 0), site)):
        pause, turn = waits.pauses.get(site), waits.turns.get(site)
        is_paused = pause is not None and pause.until > waits.now
        has_failed = pause is not None and pause.failed_probes >= waits.tries
        sites.append(
            {
                "site": site,
                "waiting": lines.get(site, 0) - in_flight.get(site, 0),
                "in_flight": in_flight.get(site, 0),
                "paused_until": moment(pause.until).isoformat()
                if pause is not None and is_paused
                else None,
                "failed_probes": 0 if pause is None else pause.failed_probes,
                "given_up": has_failed and not is_paused,
                "set_aside": [
                    {
                        "section": section,
                        "waiting": count,
                        "until": _later(waits.sections.get((site, section)), waits.now),
                    }
                    for section, count in sorted(waits.aside.get(site, {}).items())
                ],
                "reason": None if pause is None else pause.reason,
                "next_turn": None if turn is None else moment(turn).isoformat(),
            }
        )
    return {
        "waiting": sum(lines.values()) - sum(in_flight.values()),
        "in_flight": sum(in_flight.values()),
        "sites": sites,
    }


def text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return it for a terminal."""
    run = "a run has it" if report["running"] else "no run has it"
    were = "are" if report["running"] else "were"
    sites = counted(len(report["sites"]), "site")
    requests = counted(report["waiting"], "request")
    told = [f"{requests} of {sites} wait, {report['in_flight']:,} {were} in flight ({run})"]
    told += [
        f"{counted(count, 'request')} set aside: {cut(why, 200)}"
        for why, count in report["set_aside"].items()
    ]
    shown = report["sites"][:_MOST]
    if not shown:
        return joined(told)
    rows = [
        (
            one["waiting"],
            one["in_flight"],
            cut(one["site"], _SITE_WIDTH),
            _why(one),
        )
        for one in shown
    ]
    head, *lines = ("  ".join(cells) for cells in columns([_HEAD, *rows]))
    told += ["", paint("strong", head), *lines]
    left = len(report["sites"]) - len(shown)
    return joined([*told, *([f"And {left:,} more."] if left else [])])


def _why(site: dict[str, Any]) -> str:
    if site["paused_until"] is not None:
        tries = counted(site["failed_probes"], "failed try", "failed tries")
        until = without_zone(site["paused_until"], "minutes")
        return cut(f"paused until {until} UTC, {tries}: {site['reason']}", 100)
    if site["given_up"]:
        tries = counted(site["failed_probes"], "failed try", "failed tries")
        return cut(f"given up after {tries}, the next run asks again: {site['reason']}", 100)
    told = []
    if site["next_turn"] is not None:
        told.append(f"its turn is at {site['next_turn'][:19].replace('T', ' ')} UTC")
    if site["set_aside"]:
        requests = counted(sum(one["waiting"] for one in site["set_aside"]), "request")
        sections = ", ".join(map(_aside, site["set_aside"]))
        told.append(f"{requests} set aside: {sections}")
    return cut("; ".join(told), 100)


def _aside(one: dict[str, Any]) -> str:
    until = f" until {without_zone(one['until'], 'minutes')} UTC" if one["until"] else ""
    return f"{one['section']}{until}"


def _later(seconds: float | None, now: float) -> str | None:
    return None if seconds is None or seconds <= now else moment(seconds).isoformat()


def look_at_job(invocation: Invocation) -> Result:
    """Tell what waits, or have sites asked again whose pauses a run has left."""
    if is_server(invocation.args[0]):
        return _look_at_shared(invocation)
    folder = Path(invocation.args[0])
    path = folder / FILE
    if not path.exists():
        raise UnavailableError(f"{folder}: there is no job of JobScheduler's ({FILE})")
    is_running = JobLock(folder / LOCK).is_held()
    if invocation.args[1:] and is_running:
        raise UnavailableError(f"{folder}: a run has this job; its console can resume a site")
    if invocation.args[1:]:
        return _requeued(
            _forget_pauses(folder, invocation.args[2] if invocation.args[2:] else None), invocation
        )
    try:
        if invocation.opts.export:
            return _exported(_bodies(path))
        found = _read(path)
    except StorageError as error:
        raise UnavailableError(f"{path}: {error}") from None
    waits = _waits_of(found.left, int(invocation.setting("pause_tries")), found.aside)
    store = _store(folder)
    if store is not None:
        pauses = {**waits.pauses, **store.get_pauses()}
        waits = waits._replace(pauses=pauses, turns=store.get_turns(waits.now))
        store.close()
    report = of_job(found.lines, found.in_flight, waits)
    report |= {"folder": str(folder), "running": is_running, "workers": []}
    report["set_aside"] = found.given_up
    return Result(0, report, text(report, invocation.terminal.paint))


def _look_at_shared(invocation: Invocation) -> Result:
    """Do the same for a job on Redis, ``redis://…#NAME``."""
    url, _, name = invocation.args[0].partition("#")
    if not name:
        raise UnavailableError("a job on Redis is named after its address: redis://…/0#shops")
    try:
        with closing(JobServer(url, name, 1)) as server:
            if not server.exists():
                raise StorageError(f"there is no job {name!r} there")  # noqa: TRY301
            if invocation.opts.export:
                return _exported((one.line, one.body) for one in server.requests())
            if invocation.args[1:]:
                return _requeued(
                    server.requeue(invocation.args[2] if invocation.args[2:] else ""), invocation
                )
            return _shared(server, f"{without_credentials(url)}#{name}", invocation)
    except (StorageError, ValueError) as error:
        raise UnavailableError(f"{without_credentials(url)}: {error}") from None
    except ImportError as error:
        raise UnavailableError(f"{error}: pip install scrapy-mandelbot[redis]") from None


def _shared(server: JobServer, folder: str, invocation: Invocation) -> Result:
    lengths, workers, aside = server.lengths(), server.workers(), server.aside()
    lines = Counter({site: sum(counts) for site, counts in lengths.items()})
    in_flight = Counter({site: claimed for site, (_, claimed) in lengths.items() if claimed})
    left = ((site, one) for site, state in server.left().items() for one in read_handover(state))
    waits = _waits_of(list(left), int(invocation.setting("pause_tries")), {})
    report = of_job(lines, in_flight, waits)
    reasons: Counter[str] = sum((Counter(why) for why in aside.values()), Counter())
    report |= {"folder": folder, "running": bool(workers), "set_aside": dict(reasons)}
    report["workers"] = [
        {"worker": worker, "lease": round(lease, 1), "sites": sites}
        for worker, (lease, sites) in sorted(workers.items())
    ]
    told = "".join(
        f"worker {one['worker']}: {counted(one['sites'], 'site')}, its lease ends in"
        f" {one['lease']} s\n"
        for one in report["workers"]
    )
    return Result(0, report, text(report, invocation.terminal.paint) + told)


def _waits_of(
    left: list[tuple[str, LeftPause]], tries: int, aside: Mapping[str, Mapping[str, int]]
) -> Waits:
    """Return why sites wait, as their last owners have left them."""
    pauses = {
        site: StoredPause(one.until, one.reason, one.failed_probes)
        for site, one in left
        if not one.section
    }
    sections = {(site, one.section): one.until for site, one in left if one.section}
    return Waits(time.time(), tries, aside, pauses, sections=sections)


def _exported(requests: Iterable[tuple[str, bytes]]) -> Result:
    """Print requests as other crawlers can take them; those that cannot be read are counted."""
    lines, unread = [], 0
    for line, body in requests:
        its = outline(body)
        if its is None:
            unread += 1
        else:
            lines.append(json.dumps({"site": site_of_line(line), **its}))
    remarks = [f"{counted(unread, 'request')} cannot be read, and left out"] if unread else []
    told = "".join(f"{line}\n" for line in lines)
    return Result(1 if unread else 0, {"requests": [*map(json.loads, lines)]}, told, remarks)


class _JobContents(NamedTuple):
    """What there is in a job."""

    lines: Counter[str]
    """How many requests, by site."""
    in_flight: Counter[str]
    """Of those, at the last commit."""
    aside: dict[str, Counter[str]]
    """Of those that wait, by section."""
    left: list[tuple[str, LeftPause]]
    """Sites, and their pauses that were not over."""
    given_up: dict[str, int]
    """Why requests are set aside for good, and how many; they are in none of the above."""


def _read(path: Path) -> _JobContents:
    """Return what there is in the file of a job; StorageError: it cannot be read."""
    with closing(connect_to_read(path)) as database, as_ours():
        claimed = json.loads(read_state(database, CLAIMED) or b"[]")
        why = read_aside(read_state(database, ASIDE))
        in_flight, poisonous = _by_line(database, claimed), _by_line(database, list(why))
        lines = _by_line(database, None) - poisonous
        kept = read_states(database, IN_JOB)
    aside: dict[str, Counter[str]] = defaultdict(Counter)
    for name, count in (lines - in_flight).items():
        parts = parts_of_name(name)
        if parts.section:
            aside[parts.site][parts.section] += count
    left = [
        (name.removeprefix(IN_JOB), one)
        for name, state in kept.items()
        for one in read_handover(state)
    ]
    given_up = dict(Counter(why.values()))
    return _JobContents(_by_site(lines), _by_site(in_flight), aside, left, given_up)


def _by_site(lines: Counter[str]) -> Counter[str]:
    sites: Counter[str] = Counter()
    for name, count in lines.items():
        sites[parts_of_name(name).site] += count
    return sites


def _by_line(database: sqlite3.Connection, numbers: list[int] | None) -> Counter[str]:
    query = "SELECT name, count(*) FROM requests JOIN lines ON lines.line = abs(requests.line)"
    where, values = "", []
    if numbers is not None:
        where, values = " WHERE number IN (SELECT value FROM json_each(?))", [json.dumps(numbers)]
    return Counter(dict(database.execute(f"{query}{where} GROUP BY name", values)))


def _bodies(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the line and body of each request in the file of a job; StorageError as above."""
    query = (
        "SELECT name, body, checksum, number FROM requests"
        " JOIN lines ON lines.line = abs(requests.line)"
    )
    with closing(connect_to_read(path)) as database, as_ours():
        for name, body, *written in database.execute(query):
            yield name, body if is_as_written(body, *written) else b""


def _requeued(keys: list[str], invocation: Invocation) -> Result:
    sites = (cut(key, 200) for key in keys)
    text = "".join(f"{site} is asked again by the next run\n" for site in sites)
    site = invocation.args[2] if invocation.args[2:] else "no site"
    remarks = [] if keys else [f"{site} is not paused, given up or set aside"]
    return Result(0 if keys else 1, {"requeued": keys}, text, remarks)


def _forget_pauses(folder: Path, site: str | None) -> list[str]:
    """Forget the pauses of one site, or of all; return of which sites there were any."""
    keys = []
    store = _store(folder)
    if store is not None:
        keys = [key for key in store.get_pauses() if site in {None, key}]
        for key in keys:
            store.put_pause(key, None)
        store.close()
    try:
        with closing(SqliteJob(folder / FILE)) as job:
            for name in job.get_states(IN_JOB if site is None else IN_JOB + site):
                kept = name.removeprefix(IN_JOB)
                if site in {None, kept}:
                    job.put_state(name, None)
                    keys.append(kept)
            lines = bring_back(job, lambda line: site in {None, site_of_line(line)})
            keys += [parts_of_name(line)[0] for line in lines]
            job.commit()
    except StorageError as error:
        raise UnavailableError(f"{folder / FILE}: {error}") from None
    return sorted(set(keys))


def _store(folder: Path) -> SqliteStore | None:
    path = folder / STORE_FILE
    return SqliteStore(path) if path.exists() else None
