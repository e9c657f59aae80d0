"""The keys of a store in Redis, and what the server does in one step.

All keys have one prefix, and all expire. A site's name, which any page can choose, is
part of a key only if the value expires by itself; elsewhere it is a member of a set of
bounded size.

=====================  =======================================================
``…:copy:SITE``        its cached robots.txt; expires when it can no longer be used
``…:copies``           sorted set: sites that have one, by when they were fetched
``…:pauses``           sorted set: sites that are paused, by when the pause ends
``…:pause``            hash: the pause of each of those
``…:turns``            sorted set: sites with a crawl delay, by their next turn
``…:run:SPIDER``       when its last run that finished began
``…:fetch:SITE``       lease: which worker fetches its robots.txt
``…:probe:SITE``       lease: which worker probes a paused site
``…:turn:SITE``        lease: which worker sends to a site with a delay
``…:news``             the channel on which workers announce changes
=====================  =======================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.store.contract import CachedRobots, StoredPause
from scrapy_mandelbot.store.redis.script import read_script
from scrapy_mandelbot.store.rows import as_copy, as_pause, pack, read_rows

if TYPE_CHECKING:
    from scrapy_mandelbot.store.contract import Lease

FORM = 1  # of all values; the first thing that each of them says
FAR = 1e11  # seconds since the epoch: an operator's "for ever"
# characters of what a site is paused for; a URL in it may be longer
_LONGEST_REASON = 300


def name_of(site: str) -> bytes:
    """Return a site, spider or proxy as it is written, even if it is not UTF-8."""
    return site.encode("utf-8", "backslashreplace")


def copy_value(copy: CachedRobots, ahead: float) -> bytes:
    head = [
        FORM,
        copy.status,
        copy.fetched_at + ahead,
        copy.url,
        copy.etag,
        copy.last_modified,
    ]
    return json.dumps(head).encode() + b"\n" + pack(copy.body)


def read_copy(value: bytes, ahead: float) -> CachedRobots:
    """Return the stored copy, its time converted to this worker's clock.

    Raises one of NO_ROW_OF_OURS if the value is not a copy.
    """
    head, _, packed = value.partition(b"\n")
    status, fetched_at, url, etag, last_modified = _loaded(head)
    return as_copy((packed, status, fetched_at - ahead, url, etag, last_modified))


def pause_value(
    key: str, pause: StoredPause | None, ahead: float
) -> tuple[float | str, bytes]:
    """Return a pause's end by the server's clock, and the pause as it is written."""
    if pause is None:
        return "", b""
    until = min(pause.until + ahead, FAR)
    value = [
        FORM,
        name_of(key).decode(),
        until,
        pause.reason[:_LONGEST_REASON],
        pause.failed_probes,
    ]
    return until, json.dumps(value).encode()


def read_pause(value: bytes, ahead: float) -> tuple[str, StoredPause]:
    """Return key and pause, its time converted to this worker's clock.

    Raises one of NO_ROW_OF_OURS if the value is not a pause.
    """
    key, pause = as_pause(tuple(_loaded(value)))
    return key, StoredPause(pause.until - ahead, pause.reason, pause.failed_probes)


def read_pauses(values: Iterable[bytes], ahead: float) -> dict[str, StoredPause]:
    return dict(
        read_rows(values, lambda value: read_pause(value, ahead), PAUSE.decode())
    )


def read_turns(values: Sequence[bytes], ahead: float) -> dict[str, float]:
    """Return the next turns by site, from alternating names and server times."""
    return {
        text_of(name): float(score) - ahead
        for name, score in zip(values[::2], values[1::2], strict=True)
    }


def text_of(name: bytes) -> str:
    """Return a name as text, whatever something else has written in its place."""
    return name.decode("utf-8", "backslashreplace")


def news(sender: bytes, kind: str, name: bytes, detail: Any = None) -> bytes:
    return json.dumps([FORM, sender.decode(), kind, name.decode(), detail]).encode()


def read_news(message: bytes, ahead: float) -> tuple[bytes, str, str, Any]:
    """Return the sender of a message, its kind, the site, and the pause or turn.

    A pause is None when it is over; a turn is the time of the next one. Raises one of
    NO_ROW_OF_OURS for any other message, or one of a later version.
    """
    sender, kind, name, detail = _loaded(message)
    if kind == "turn":
        detail = float(detail) - ahead
    elif kind == "pause" and detail is not None:
        detail = read_pause(str(detail).encode(), ahead)[1]
    return str(sender).encode(), str(kind), str(name), detail


def _loaded(text: bytes) -> Any:
    try:
        form, *values = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if form != FORM:
        raise ValueError(f"a form of another version: {str(form)[:20]}")
    return values


PREFIX = b"mandelbot:{1}:"  # with a hash tag: one node of a cluster has all of them
COPIES = PREFIX + b"copies"
PAUSES = PREFIX + b"pauses"
PAUSE = PREFIX + b"pause"
TURNS = PREFIX + b"turns"
NEWS = PREFIX + b"news"

MOST_COPIES = 1_000_000
"""Sites of which a copy is kept in Redis; those fetched longest ago go first."""
# sites of which a pause is kept in Redis; those that end first go first
MOST_PAUSES = 50_000
# sites of which a turn is kept in Redis; those that are due first go first
MOST_TURNS = 100_000
RUN_FOR = 400 * 86_400  # seconds for which it is known when a spider ran


def copy_key(site: bytes) -> bytes:
    return PREFIX + b"copy:" + site


def lease_key(lease: Lease, site: bytes) -> bytes:
    return PREFIX + lease.value.encode() + b":" + site


def run_key(spider: bytes) -> bytes:
    return PREFIX + b"run:" + spider


SCRIPTS = tuple(
    read_script("scrapy_mandelbot.store.redis", name)
    for name in (
        "put_copy",
        "drop_copy",
        "find_copy",
        "put_pause",
        "get_pauses",
        "put_turn",
        "claim",
        "release",
    )
)
PUT_COPY, DROP_COPY, FIND_COPY, PUT_PAUSE, GET_PAUSES, PUT_TURN, CLAIM, RELEASE = (
    SCRIPTS
)
