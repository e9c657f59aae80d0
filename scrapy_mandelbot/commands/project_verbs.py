"""The verbs ``cache`` and ``settings``: what a project stores, and its settings."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import TYPE_CHECKING

from mandelbot.cli.invocation import Result
from mandelbot.cli.output import UnavailableError, joined
from mandelbot.cli.sources import Url
from mandelbot.formatting import columns, without_credentials

from scrapy_mandelbot.commands import stored_report
from scrapy_mandelbot.crawl import store_path
from scrapy_mandelbot.settings.config import settings_in_force
from scrapy_mandelbot.store.opener import open_to_look

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.project import ProjectInvocation
    from scrapy_mandelbot.store import Store

_MOST_LOGGED = 1_000  # records of a store


def look_at_copies(invocation: ProjectInvocation) -> Result:
    """List, show or drop copies."""
    place = store_path(invocation.settings, invocation.setting("store"))
    if place is None:
        raise UnavailableError(
            "there is no cache here: run it in a project, or set JOBDIR"
        )
    now = time.time()
    fresh_for = invocation.fresh_for
    paint = invocation.terminal.paint
    url = getattr(invocation.opts, "url", None)
    with _opened(place) as store:
        if invocation.opts.word == "list":
            rows = [
                stored_report.copy_data(*one, now, fresh_for) for one in store.copies()
            ]
            report = {"store": str(place), "copies": rows}
            return Result(0, report, stored_report.copies_text(report, paint))
        site = ""
        if url:
            site = Url(url).robots_url.removesuffix("/robots.txt")
        if invocation.opts.word == "drop":
            return _drop(store, site)
        copy = store.get_copy(site)
        if copy is None:
            return Result(1, {"copy": None}, "", [f"no robots.txt of {site} is cached"])
        text = copy.body.decode("utf-8", "backslashreplace")
        whole = {**stored_report.copy_data(site, copy, now, fresh_for), "text": text}
        return Result(0, {"copy": whole}, stored_report.copy_text(whole, paint))


def _drop(store: Store, wanted: str) -> Result:  # empty: all
    sites = [wanted] if wanted else [site for site, _ in store.copies()]
    gone = [site for site in sites if store.get_copy(site)]
    for site in gone:
        store.drop_copy(site)
    text = "".join(f"dropped {site}\n" for site in gone)
    remarks = []
    if wanted and not gone:
        remarks = [f"no robots.txt of {wanted} is cached"]
    return Result(len(remarks), {"dropped": gone}, text, remarks)


@contextmanager
def _opened(place: Path) -> Iterator[Store]:
    """Open the store, or an empty one if there is no file yet; raise its errors."""
    logged = BufferingHandler(_MOST_LOGGED)
    logged.setLevel(logging.WARNING)
    logger = logging.getLogger("scrapy_mandelbot.store")
    logger.addHandler(logged)
    propagated = logger.propagate
    logger.propagate = False
    try:
        with closing(open_to_look(place)) as store:
            yield store
    finally:
        logger.removeHandler(logged)
        logger.propagate = propagated
    for record in logged.buffer:
        match record.args:
            case (_, where, error):
                raise UnavailableError(f"{where}: {error}")


def show_settings(invocation: ProjectInvocation) -> Result:
    """List each setting as in a crawl; those of a spider are not included."""
    rows = [
        {**row._asdict(), "value": _plain(row.value)}
        for row in settings_in_force(invocation.crawl_settings)
    ]
    lines = [(str(row["name"]), repr(row["value"]), str(row["source"])) for row in rows]
    text = joined("  ".join(line).rstrip() for line in columns(lines))
    return Result(0, {"settings": rows}, text)


def _plain(value: object) -> object:
    """Return a value as JSON has it, without passwords."""
    if isinstance(value, str):
        return without_credentials(value)
    if isinstance(value, int | float | list | dict | None):
        return value
    return str(value)
