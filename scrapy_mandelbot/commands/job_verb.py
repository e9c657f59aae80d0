"""The verb ``job``: what waits in a job and why; ends pauses, so that sites are requested again."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.commands.invocation import Result
from scrapy_mandelbot.commands.output.terminal_text import UnavailableError, cut, joined
from scrapy_mandelbot.crawl import STORE_FILE
from scrapy_mandelbot.fleet.server import JobServer
from scrapy_mandelbot.fleet.shared_job import SharedJob
from scrapy_mandelbot.job import deliveries, job_file, salvage, site_states
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.sqlite_job import SqliteJob
from scrapy_mandelbot.robots import formatting
from scrapy_mandelbot.robots.formatting import counted
from scrapy_mandelbot.scheduling.round_robin import QueueParts
from scrapy_mandelbot.settings.values import is_server
from scrapy_mandelbot.store.contract import StoredPause
from scrapy_mandelbot.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.invocation import Invocation
    from scrapy_mandelbot.commands.output.terminal_text import TerminalStyle

_HEAD = ("waiting", "in flight", "site", "why it waits")
_MOST = 50  # lines for a terminal
_AT_ONCE = 500  # requests that are added at a time
_LEASE = 30.0  # seconds, of a worker that adds requests
_SITE_WIDTH = 40
_NO_PAUSE = StoredPause(0, "")
_REQUESTS = "FROM requests JOIN lines ON lines.line = abs(requests.line)"

_NewRequest = tuple[str, Any, bytes, int]  # line, place, body and fingerprint


class _Contents(NamedTuple):
    """What is in a job, whether in a file or on Redis."""

    requests: Counter[str]
    """How many, by the name of their queue, without those set aside for good."""
    in_flight: Counter[str]
    """How many of them were in flight at the last commit."""
    states: Mapping[str, bytes]
    """Pauses of sites and sections that had not ended, by site."""
    given_up: Mapping[str, int]
    """How many requests are set aside for good, by the reason."""
    is_running: bool
    pauses: Mapping[str, StoredPause] = {}
    """From the store, by site."""
    turns: Mapping[str, float] = {}
    """When a site's crawl delay ends."""
    workers: Mapping[int, tuple[float, int]] = {}
    """The seconds left of a worker's lease, and how many sites it has."""


class _FileJob:
    """The job in a folder."""

    def __init__(self, place: str) -> None:
        folder = Path(place)
        self.name = str(folder)
        self._path, self._store_path = folder / salvage.FILE, folder / STORE_FILE
        if not self._path.exists():
            raise StorageError(f"there is no job here ({salvage.FILE})")
        self._is_running = salvage.JobLock(folder / salvage.LOCK).is_held()

    def close(self) -> None:
        """Nothing is open between calls."""

    def requests(self) -> Iterator[tuple[str, bytes]]:
        query = f"SELECT name, body, checksum, number {_REQUESTS}"
        with closing(job_file.connect_to_read(self._path)) as database, job_file.as_ours():
            for name, body, *written in database.execute(query):
                yield name, body if job_file.is_as_written(body, *written) else b""

    def requeue(self, wanted: str) -> list[str]:
        if self._is_running:
            raise StorageError("a run has this job; its console can resume a site")
        found = []
        if self._store_path.exists():
            with closing(SqliteStore(self._store_path)) as store:
                found = [site for site in store.get_pauses() if wanted in {"", site}]
                for site in found:
                    store.put_pause(site, None)
        with closing(SqliteJob(self._path)) as job:
            for name in job.get_states(site_states.IN_JOB + wanted):
                site = name.removeprefix(site_states.IN_JOB)
                if wanted in {"", site}:
                    job.put_state(name, None)
                    found.append(site)
            back = deliveries.bring_back(
                job, lambda line, raised: wanted in {"", site_states.site_of_line(line), raised}
            )
            found += [site_states.site_of_line(line) for line in back]
            job.commit()
        return sorted(set(found))

    def forget(self) -> None:
        raise StorageError("delete its folder")

    def add(self, batches: Iterable[list[_NewRequest]]) -> int:
        """Add requests that the job has not seen, and return how many."""
        lock, job = salvage.open_locked(self._path.parent, is_synced=True)
        added = 0
        try:
            with closing(job):
                for batch in batches:
                    for one in batch:
                        if not job.has_seen(one[-1]):
                            job.push_new(*one, None)
                            added += 1
                    job.commit()
        finally:
            lock.release()
        return added

    def contents(self) -> _Contents:
        with closing(job_file.connect_to_read(self._path)) as database, job_file.as_ours():
            claimed = json.loads(job_file.read_state(database, deliveries.CLAIMED) or b"[]")
            why = deliveries.read_aside(job_file.read_state(database, deliveries.ASIDE))
            in_flight = _by_line(database, claimed)
            lines = _by_line(database, None) - _by_line(database, list(why))
            states = job_file.read_states(database, site_states.IN_JOB)
        pauses, turns = {}, {}
        if self._store_path.exists():
            with closing(SqliteStore(self._store_path)) as store:
                pauses, turns = store.get_pauses(), store.get_turns(time.time())
        states = {name.removeprefix(site_states.IN_JOB): state for name, state in states.items()}
        given_up = Counter(why.values())
        return _Contents(lines, in_flight, states, given_up, self._is_running, pauses, turns)


def _by_site(lines: Mapping[str, int]) -> Counter[str]:
    sites: Counter[str] = Counter()
    for name, count in lines.items():
        sites[site_states.site_of_line(name)] += count
    return sites


def _by_line(database: sqlite3.Connection, numbers: list[int] | None) -> Counter[str]:
    query = f"SELECT name, count(*) {_REQUESTS}"
    where, values = "", []
    if numbers is not None:
        where, values = " WHERE number IN (SELECT value FROM json_each(?))", [json.dumps(numbers)]
    return Counter(dict(database.execute(f"{query}{where} GROUP BY name", values)))


class _RedisJob:
    """The job on Redis, ``redis://…#NAME``."""

    def __init__(self, place: str) -> None:
        url, _, name = place.partition("#")
        self.name = formatting.without_credentials(place)
        if not name:
            raise StorageError("add the name of the job to the address: redis://…/0#shops")
        try:
            self._server = JobServer(url, name, _LEASE)
        except ImportError as error:
            raise UnavailableError(f"{error}: pip install scrapy-mandelbot[redis]") from None
        self.close, self.requeue = self._server.close, self._server.requeue
        self.forget = self._server.forget
        if not self._server.exists():
            self.close()
            raise StorageError(f"there is no job {name!r} there")

    def requests(self) -> Iterator[tuple[str, bytes]]:
        return ((one.line, one.body) for one in self._server.requests())

    def add(self, batches: Iterable[list[_NewRequest]]) -> int:
        """As for a file; each batch by a worker without sites, which joins for it."""
        added = 0
        for batch in batches:
            job = SharedJob(self._server.join(), time.time)
            for one in batch:
                job.push_new(*one, None)
            answer = self._server.exchange(job.next_exchange(0, ""))
            self._server.leave(job.worker, job.token)
            if answer.is_lost:
                raise StorageError("Redis was away for too long: some lines are not added")
            added += len(batch) - answer.dropped
        return added

    def contents(self) -> _Contents:
        lengths, workers = self._server.lengths(), self._server.workers()
        return _Contents(
            Counter({site: sum(counts) for site, counts in lengths.items()}),
            Counter({site: claimed for site, (_, claimed) in lengths.items()}),
            self._server.left(),
            sum((Counter(why) for why in self._server.aside().values()), Counter()),
            is_running=bool(workers),
            workers=workers,
        )


def look_at_job(invocation: Invocation) -> Result:
    """Report what waits, export all requests, add some, or end pauses of one site or of all."""
    opts = invocation.opts
    place, site = opts.job, opts.site or ""
    try:
        with closing((_RedisJob if is_server(place) else _FileJob)(place)) as job:
            if opts.export:
                return _exported(job.requests())
            if opts.what == "requeue":
                return _requeued(job.requeue(site), site)
            if opts.what == "forget":
                job.forget()
                return Result(0, {"forgotten": job.name}, f"{job.name} is deleted\n")
            if opts.what == "add":
                with Path(site).open(encoding="utf-8", errors="replace") as lines:
                    return _added(job, lines)
            report = _report(job.contents(), int(invocation.setting("pause_tries")))
    except (StorageError, ValueError, OSError) as error:
        where = formatting.without_credentials(place)
        raise UnavailableError(f"{where}: {error}") from None
    report["folder"] = job.name
    return Result(0, report, _text(report, invocation.terminal.paint))


def _exported(requests: Iterable[tuple[str, bytes]]) -> Result:
    read = [(site_states.site_of_line(line), salvage.outline(body)) for line, body in requests]
    found = [{"site": site, **outline} for site, outline in read if outline is not None]
    unread = len(read) - len(found)
    remarks = [f"{counted(unread, 'request')} cannot be read, and left out"] if unread else []
    lines = "".join(f"{json.dumps(one)}\n" for one in found)
    return Result(1 if unread else 0, {"requests": found}, lines, remarks)


def _added(job: _FileJob | _RedisJob, lines: Iterable[str]) -> Result:
    remarks: list[str] = []
    requests = _read_lines(lines, remarks)
    added = job.add(iter(lambda: [*islice(requests, _AT_ONCE)], []))
    text = f"{counted(added, 'request')} added\n"
    return Result(1 if remarks else 0, {"added": added}, text, remarks)


def _read_lines(lines: Iterable[str], remarks: list[str]) -> Iterator[_NewRequest]:
    for number, line in enumerate(map(str.strip, lines), start=1):
        try:
            if line:
                yield salvage.read_outline(line)
        except (ValueError, RecursionError) as error:  # noqa: PERF203 -- each line by itself
            remarks.append(f"line {number}: {cut(str(error), 200)}")


def _requeued(sites: list[str], wanted: str) -> Result:
    text = "".join(f"the next run requests {cut(site, 200)} again\n" for site in sites)
    remarks = [] if sites else [f"{wanted or 'no site'} is not paused, given up or set aside"]
    return Result(0 if sites else 1, {"requeued": sites}, text, remarks)


def _report(job: _Contents, tries: int) -> dict[str, Any]:
    """Return what waits, the site with most of it first.

    A site is given up after as many failed probes as `tries`.
    """
    now = time.time()
    pauses, sections = {}, {}
    for site, state in job.states.items():
        for one in site_states.read_handover(state):
            if one.section:
                sections[site, one.section] = one.until
            else:
                pauses[site] = StoredPause(one.until, one.reason, one.failed_probes)
    pauses |= job.pauses
    by_section: dict[str, Counter[str]] = defaultdict(Counter)
    for name, count in (job.requests - job.in_flight).items():
        parts = QueueParts.of(name)
        if parts.section:
            by_section[parts.site][parts.section] += count

    def later(seconds: float | None) -> str | None:
        return formatting.moment(seconds).isoformat() if seconds and seconds > now else None

    sites = []
    counts = {**dict.fromkeys(pauses, 0), **_by_site(job.requests)}
    all_in_flight = _by_site(job.in_flight)
    for site, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        pause, in_flight = pauses.get(site, _NO_PAUSE), all_in_flight[site]
        until = later(pause.until)
        sites.append(
            {
                "site": site,
                "waiting": count - in_flight,
                "in_flight": in_flight,
                "paused_until": until,
                "failed_probes": pause.failed_probes,
                "given_up": pause.failed_probes >= tries and until is None,
                "set_aside": [
                    {"section": path, "waiting": some, "until": later(sections.get((site, path)))}
                    for path, some in sorted(by_section[site].items())
                ],
                "reason": pauses[site].reason if site in pauses else None,
                "next_turn": later(job.turns.get(site)),
            }
        )
    in_flight = job.in_flight.total()
    return {
        "waiting": job.requests.total() - in_flight,
        "in_flight": in_flight,
        "sites": sites,
        "running": job.is_running,
        "set_aside": dict(job.given_up),
        "workers": [
            {"worker": worker, "lease": round(lease, 1), "sites": count}
            for worker, (lease, count) in sorted(job.workers.items())
        ],
    }


def _text(report: dict[str, Any], paint: TerminalStyle) -> str:
    run, were = ("a run has it", "are") if report["running"] else ("no run has it", "were")
    sites, requests = counted(len(report["sites"]), "site"), counted(report["waiting"], "request")
    lines = [f"{requests} of {sites} wait, {report['in_flight']:,} {were} in flight ({run})"]
    for why, count in report["set_aside"].items():
        lines.append(f"{counted(count, 'request')} set aside: {cut(why, 200)}")
    rows = [
        (one["waiting"], one["in_flight"], cut(one["site"], _SITE_WIDTH), cut(_why(one), 100))
        for one in report["sites"][:_MOST]
    ]
    if rows:
        head, *table = ("  ".join(cells) for cells in formatting.columns([_HEAD, *rows]))
        lines += ["", paint("strong", head), *table]
    if report["sites"][_MOST:]:
        lines.append(f"And {len(report['sites']) - _MOST:,} more.")
    for one in report["workers"]:
        has = f"worker {one['worker']}: {counted(one['sites'], 'site')}"
        lines.append(f"{has}, its lease ends in {one['lease']} s")
    return joined(lines)


def _why(site: dict[str, Any]) -> str:
    tries = counted(site["failed_probes"], "failed try", "failed tries")
    if site["paused_until"]:
        return f"paused until {_until(site['paused_until'])}, {tries}: {site['reason']}"
    if site["given_up"]:
        return f"given up after {tries}, the next run tries again: {site['reason']}"
    reasons = []
    if site["next_turn"]:
        time_of_day = formatting.without_zone(site["next_turn"], "seconds")
        reasons.append(f"its crawl delay ends at {time_of_day} UTC")
    if site["set_aside"]:
        requests = counted(sum(one["waiting"] for one in site["set_aside"]), "request")
        sections = ", ".join(
            one["section"] + (f" until {_until(one['until'])}" if one["until"] else "")
            for one in site["set_aside"]
        )
        reasons.append(f"{requests} set aside: {sections}")
    return "; ".join(reasons)


def _until(moment: str) -> str:
    return f"{formatting.without_zone(moment, 'minutes')} UTC"
