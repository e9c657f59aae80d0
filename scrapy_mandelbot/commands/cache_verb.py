"""The verb ``cache``: the copies of robots.txt files that a project keeps."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_mandelbot.commands.job import Result
from scrapy_mandelbot.commands.reports import copies
from scrapy_mandelbot.commands.sources import CannotBeHadError, robots_url_of
from scrapy_mandelbot.config import is_server, read_setting
from scrapy_mandelbot.crawl import store_path
from scrapy_mandelbot.shown import without_credentials
from scrapy_mandelbot.stores import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.commands.job import Job
    from scrapy_mandelbot.stores import Store


def look_at_copies(job: Job) -> Result:
    """List, show or drop copies."""
    setting = read_setting(job.settings, "store")
    place = setting if is_server(setting) else store_path(job.settings, setting)
    ttl = read_setting(job.settings, "cache_ttl")
    fresh_for = job.dialect.fresh_for if ttl is None else float(ttl)
    if place is None:
        raise CannotBeHadError("no copies are kept here: run it in a project, or say JOBDIR")
    with _opened(place) as store:
        if job.args[0] == "list":
            kept = store.copies() if store else ()
            report = copies.listed(_shown(place), kept, time.time(), fresh_for)
            return Result(0, report, copies.list_text(report, job.terminal.paint))
        if job.args[0] == "drop":
            return _drop(job, store)
        site = _site(job.args[1])
        copy = store.get_copy(site) if store else None
        if copy is None:
            return Result(1, {"copy": None}, "", [f"no copy of {site} is kept"])
        whole = copies.whole(site, copy, time.time(), fresh_for)
        return Result(0, {"copy": whole}, copies.whole_text(whole, job.terminal.paint))


def _drop(job: Job, store: Store | None) -> Result:
    if job.opts.all:
        gone = [site for site, _ in store.copies()] if store else []
    else:
        site = _site(job.args[1])
        gone = [site] if store and store.get_copy(site) else []
    for site in gone:
        if store:
            store.drop_copy(site)
    text = "".join(f"dropped {site}\n" for site in gone)
    remarks = [] if gone or job.opts.all else [f"no copy of {_site(job.args[1])} is kept"]
    return Result(1 if remarks else 0, {"dropped": gone}, text, remarks)


def _shown(place: str | Path) -> str:
    """Return where copies are kept; of a server's address what tells no password."""
    text = str(place)
    return without_credentials(text.partition("?")[0]) if is_server(text) else text


def _site(url: str) -> str:
    return robots_url_of(url).removesuffix("/robots.txt")


@contextmanager
def _opened(place: str | Path) -> Iterator[Store | None]:
    """Open the store, and raise what it complains of. None: there is no file yet."""
    if not is_server(str(place)) and not Path(place).exists():
        yield None
        return
    complaints = _Complaints()
    logger = logging.getLogger("scrapy_mandelbot.stores")
    logger.addHandler(complaints)
    logger.propagate, propagated = False, logger.propagate
    store = _store(place)
    try:
        yield store
    finally:
        store.close()
        logger.removeHandler(complaints)
        logger.propagate = propagated
    if complaints.messages:
        raise CannotBeHadError(complaints.messages[0])


def _store(place: str | Path) -> Store:
    if not is_server(str(place)):
        return SqliteStore(place)
    # Imported only here: it takes the package of the extra.
    from scrapy_mandelbot.stores.redis.store import RedisStore  # noqa: PLC0415

    return RedisStore(str(place))


class _Complaints(logging.Handler):
    """Keeps what a store has to say."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the place and the error, which are the last two arguments."""
        arguments = record.args if isinstance(record.args, tuple) else ()
        with suppress(ValueError):
            _, place, error = arguments
            self.messages.append(f"{place}: {error}")
