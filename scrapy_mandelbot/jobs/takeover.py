"""Takes over, once and whole, what Scrapy's own scheduler has left in a JOBDIR."""

from __future__ import annotations

import logging
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.request import request_from_dict

from scrapy_mandelbot.jobs.requests import fingerprint_number
from scrapy_mandelbot.jobs.scrapys_files import (
    QUEUE,
    SEEN,
    Left,
    read_queues,
    read_request,
    read_seen,
)
from scrapy_mandelbot.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider

    from scrapy_mandelbot.stores.job import SqliteJob

logger = logging.getLogger(__name__)

_STATE, _ALL = "taken over", b"all"
_SLICE = 2_000  # requests a commit
_MANY = 500_000  # fingerprints a commit
_NAMED = 10


def take_over(
    folder: Path, store: SqliteJob, spider: Spider, push: Callable[[Request], None]
) -> None:
    """Have the job hold what Scrapy's files hold, and put those aside.

    A run that is killed within goes on with it the next time, and takes nothing twice.

    Args:
        folder: JOBDIR.
        store: the job.
        spider: whose methods the callbacks are.
        push: adds a request to the job.

    Raises:
        CannotKeepError: the job cannot be written.
        OSError: Scrapy's files cannot be read, or put aside.
    """
    if not (folder / QUEUE).exists() and not (folder / SEEN).exists():
        return
    before = store.get_state(_STATE) or b"0"
    if before != _ALL:
        _take_over(folder, store, spider, push, int(before))
    for name in (QUEUE, SEEN):
        if (folder / name).exists():
            (folder / name).rename(_aside(folder / name))
    store.put_state(_STATE, None)
    store.commit()


def _take_over(
    folder: Path, store: SqliteJob, spider: Spider, push: Callable[[Request], None], done: int
) -> None:
    seen = map(fingerprint_number, read_seen(folder / SEEN))
    known = 0
    while many := list(islice(seen, _MANY)):
        store.see_all(many)
        known += len(many)
    left, number, taken = Left(), 0, 0
    for number, octets in enumerate(read_queues(folder / QUEUE, left), start=1):
        if number <= done:
            continue
        try:
            push(request_from_dict(read_request(octets), spider=spider))
        except Exception as error:  # noqa: BLE001 -- whatever a changed spider leads to
            left.unreadable.append(f"request {number} ({shown(repr(error))})")
        else:
            taken += 1
        if not number % _SLICE:
            store.put_state(_STATE, str(number).encode())
            store.commit()
    store.put_state(_STATE, _ALL)
    store.commit()
    logger.info("Took over a job of Scrapy's: %d requests that wait, %d fingerprints", taken, known)
    if not left.was_closed:
        logger.warning(
            "The run that left %s did not close it. What was in flight then is written nowhere: it"
            " is lost, and of the %d fingerprints it cannot be said which are of those.",
            folder,
            known,
        )
    if left.unreadable:
        logger.warning(
            "%d parts of a job of Scrapy's cannot be read, and are kept beside it: %s%s",
            len(left.unreadable),
            ", ".join(left.unreadable[:_NAMED]),
            ", …" if len(left.unreadable) > _NAMED else "",
        )


def _aside(path: Path) -> Path:
    aside = Path(f"{path}.taken-over")
    if aside.exists():
        aside = Path(f"{aside}-{time.time():.0f}")
    return aside
