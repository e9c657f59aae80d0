"""The form of what is known of a site, as a row of values: in a store's file, in a job.

SQLite accepts values of any type in any column, so a row that another program or a
broken disk has written may hold anything; such a row is skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import Any, TypeVar

from mandelbot.formatting import counted

from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.store import CachedRobots, unpack
from scrapy_mandelbot.store.sqlite_file import as_text

logger = logging.getLogger(__name__)

Row = tuple[Any, ...]
Entry = TypeVar("Entry")

# what reading another's row raises
NO_ROW_OF_OURS = (TypeError, ValueError, OverflowError)

COPY_OF = (
    "SELECT body, status, fetched_at, url, etag, last_modified FROM copies WHERE"
    " site = ?"
)
"""What :func:`as_copy` takes a row of."""

_STATUSES = range(100, 600)


def read_rows(
    rows: Iterable[Any], read: Callable[[Any], Entry], where: object
) -> Iterator[Entry]:
    """Yield the readable rows of a store, and log how many are not."""
    odd = 0
    for row in rows:
        try:
            yield read(row)
        except NO_ROW_OF_OURS:  # noqa: PERF203 - each row by itself
            odd += 1
    if odd:
        logger.warning(
            "Skipped %s of %s that cannot be read", counted(odd, "row"), where
        )


def as_copy(row: Row) -> CachedRobots:
    """Return the copy of a row: body, status, time, URL, ETag, Last-Modified."""
    body, status, fetched_at, url, etag, last_modified = row
    if int(status) not in _STATUSES:
        raise ValueError(f"no status: {status}")
    etag = etag and _text(etag)
    last_modified = last_modified and _text(last_modified)
    return CachedRobots(
        unpack(body), int(status), float(fetched_at), _text(url), etag, last_modified
    )


def as_row(packed: CachedRobots) -> Row:
    """Return the row of a copy, without its site."""
    *others, url, etag, last_modified = packed
    validators = (one and as_text(one) for one in (etag, last_modified))
    return (*others, as_text(url), *validators)


def as_pause(row: Sequence[Any]) -> LeftPause:
    """Return the pause of a row: its end, reason, failed probes, and its section.

    A fifth value, true, says that the section refuses robots.
    """
    until, reason, failed_probes, *of_section = row
    pause = LeftPause(as_moment(until), _text(reason), int(failed_probes))
    if not of_section:
        return pause
    section, *refuses_robots = of_section
    return pause._replace(
        section=_text(section), refuses_robots=refuses_robots == [True]
    )


def as_site_pause(row: Sequence[Any]) -> tuple[str, LeftPause | None]:
    """Return a site and its pause; None: it is over."""
    site, *pause = row
    is_over = not pause[0]
    return _text(site), None if is_over else as_pause(pause)


def as_changed_pause(
    row: Row, *, now: float, one_clock: float
) -> tuple[str, LeftPause | None]:
    """Return a site and the pause that another process has just written.

    It is as long as there: what a clock has dated that is ahead is moved back.
    """
    *values, written_at = row
    site, pause = as_site_pause(values)
    ahead = as_moment(written_at) - now
    if pause is None or ahead <= one_clock:
        return site, pause
    return site, pause._replace(until=pause.until - ahead)


def as_turn(row: Row) -> tuple[str, float]:
    site, due = row
    return _text(site), as_moment(due)


def as_moment(value: Any) -> float:
    """Return a moment; a ValueError: it is none."""
    if not isfinite(float(value)):
        raise ValueError("a time without end")
    return float(value)


def seconds_until(moment: Any, now: float, more: float = 0.0) -> float:
    """Return the seconds until a stored moment and some `more`.

    0: it is over, or no time at all.
    """
    try:
        return max(0.0, as_moment(moment) + more - now)
    except NO_ROW_OF_OURS:
        return 0.0


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {type(value).__name__}")
    return value
