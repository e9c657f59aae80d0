"""The verb ``job``: what waits in a job, and why; to have sites asked again that were given up."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_mandelbot.commands.job import Result
from scrapy_mandelbot.commands.reports import waiting
from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.config import is_server, read_setting
from scrapy_mandelbot.crawl import STORE_FILE
from scrapy_mandelbot.jobs.job import CLAIMED, FILE, LOCK
from scrapy_mandelbot.queue.names import key_of_name, section_of_name
from scrapy_mandelbot.shown import without_credentials
from scrapy_mandelbot.stores import SqliteStore
from scrapy_mandelbot.stores.job import CannotKeepError, JobLock, connect_to_read
from scrapy_mandelbot.stores.job.schema import as_ours
from scrapy_mandelbot.stores.shared_job import JobServer
from scrapy_mandelbot.throttle import split_key

if TYPE_CHECKING:
    import sqlite3

    from scrapy_mandelbot.commands.job import Job


def look_at_job(job: Job) -> Result:
    """Tell what waits, or have sites asked again whose pauses a run has left."""
    if is_server(job.args[0]):
        return _look_at_shared(job)
    folder = Path(job.args[0])
    path = folder / FILE
    if not path.exists():
        raise CannotBeHadError(f"{folder}: there is no job of JobScheduler's ({FILE})")
    is_running = JobLock(folder / LOCK).is_held()
    if job.args[1:]:
        return _requeue(folder, job.args[2] if job.args[2:] else None, is_running=is_running)
    try:
        lines, in_flight, aside = _counts(path)
    except CannotKeepError as error:
        raise CannotBeHadError(f"{path}: {error}") from None
    now = time.time()
    waits = waiting.Waits(now, int(read_setting(job.settings, "pause_tries")), aside)
    store = _store(folder)
    if store is not None:
        waits = waits._replace(pauses=store.get_pauses(), turns=store.get_turns(now))
        store.close()
    report = waiting.of_job(lines, in_flight, waits)
    report |= {"folder": str(folder), "running": is_running}
    return Result(0, report, waiting.text(report, job.terminal.paint))


def _look_at_shared(job: Job) -> Result:
    """Tell what waits in a job on Redis, ``redis://…#NAME``."""
    url, _, name = job.args[0].partition("#")
    if not name or job.args[1:]:
        raise CannotBeHadError("a job on Redis is named after its address: redis://…/0#shops")
    try:
        server = JobServer(url, name, 1)
        lengths, workers = server.lengths(), server.workers()
        server.close()
    except (CannotKeepError, ValueError) as error:
        raise CannotBeHadError(f"{without_credentials(url)}: {error}") from None
    except ImportError as error:
        raise CannotBeHadError(f"{error}: pip install scrapy-mandelbot[redis]") from None
    lines = Counter({site: sum(counts) for site, counts in lengths.items()})
    in_flight = Counter({site: claimed for site, (_, claimed) in lengths.items() if claimed})
    waits = waiting.Waits(time.time(), int(read_setting(job.settings, "pause_tries")), {})
    report = waiting.of_job(lines, in_flight, waits)
    report |= {"folder": f"{without_credentials(url)}#{name}", "running": bool(workers)}
    return Result(0, report, waiting.text(report, job.terminal.paint))


def _counts(path: Path) -> tuple[Counter[str], Counter[str], dict[str, Counter[str]]]:
    """Return by site and route how many requests there are, in flight, and aside by section.

    Raises:
        CannotKeepError: the file cannot be read.
    """
    database = connect_to_read(path)
    try:
        with as_ours():
            row = database.execute("SELECT value FROM state WHERE name = ?", (CLAIMED,)).fetchone()
            claimed = json.loads(row[0]) if row else []
            lines, in_flight = _by_line(database, None), _by_line(database, claimed)
    finally:
        database.close()
    aside: dict[str, Counter[str]] = defaultdict(Counter)
    for name, count in (lines - in_flight).items():
        if section := section_of_name(name):
            aside[key_of_name(name)][section] += count
    return _by_key(lines), _by_key(in_flight), aside


def _by_key(lines: Counter[str]) -> Counter[str]:
    keys: Counter[str] = Counter()
    for name, count in lines.items():
        keys[key_of_name(name)] += count
    return keys


def _by_line(database: sqlite3.Connection, numbers: list[int] | None) -> Counter[str]:
    query = "SELECT name, count(*) FROM requests JOIN lines ON lines.line = abs(requests.line)"
    where, values = "", []
    if numbers is not None:
        where, values = " WHERE number IN (SELECT value FROM json_each(?))", [json.dumps(numbers)]
    return Counter(dict(database.execute(f"{query}{where} GROUP BY name", values)))


def _requeue(folder: Path, site: str | None, *, is_running: bool) -> Result:
    if is_running:
        raise CannotBeHadError(f"{folder}: a run has this job; its console can resume a site")
    store = _store(folder)
    pauses = {} if store is None else store.get_pauses()
    keys = [key for key in pauses if site in {None, split_key(key)[0]}]
    if store is not None:
        for key in keys:
            store.put_pause(key, None)
        store.close()
    text = "".join(f"{waiting.named(key)} is asked again by the next run\n" for key in keys)
    remarks = [] if keys else [f"{site or 'no site'} is not paused or given up"]
    return Result(0 if keys else 1, {"requeued": sorted(keys)}, text, remarks)


def _store(folder: Path) -> SqliteStore | None:
    path = folder / STORE_FILE
    return SqliteStore(path) if path.exists() else None
