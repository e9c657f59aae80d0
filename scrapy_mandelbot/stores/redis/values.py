"""How what a store keeps is written in Redis, and read there.

Each value says which form it has, so that a later version can read it, and this one passes by what
is of a later one. Times are by the server's clock; the workers' may differ.
"""

from __future__ import annotations

import json
from typing import Any

from scrapy_mandelbot.stores.copies import Copy, KeptPause
from scrapy_mandelbot.stores.packing import pack
from scrapy_mandelbot.stores.rows import as_copy, as_pause

FORM = 1
"""Of all values; the first thing that each of them says."""
_LONGEST_REASON = 300  # characters of what a site is paused for; a URL in it may be longer
_FAR = 1e11  # seconds since the epoch: an operator's "for ever"


def name_of(site: str) -> bytes:
    """Return a site, spider or proxy as it is written. It may hold what is no UTF-8."""
    return site.encode("utf-8", "backslashreplace")


def copy_value(copy: Copy, ahead: float) -> bytes:
    """Return a copy as it is written.

    Args:
        copy: by the worker's clock.
        ahead: seconds by which the server's clock is ahead of it.
    """
    head = [FORM, copy.status, copy.fetched_at + ahead, copy.url, copy.etag, copy.last_modified]
    return json.dumps(head).encode() + b"\n" + pack(copy.body)


def read_copy(value: bytes, ahead: float) -> Copy:
    """Return the copy that a value is, by the worker's clock.

    Raises:
        ValueError, TypeError: it is none, or of a later version.
    """
    head, _, packed = value.partition(b"\n")
    form, status, fetched_at, url, etag, last_modified = _loaded(head)
    _check(form)
    return as_copy((packed, status, fetched_at - ahead, url, etag, last_modified))


def pause_value(key: str, pause: KeptPause, ahead: float) -> tuple[float, bytes]:
    """Return when a pause ends, by the server's clock, and all of it as it is written."""
    until = min(pause.until + ahead, _FAR)
    value = [
        FORM,
        name_of(key).decode(),
        until,
        pause.reason[:_LONGEST_REASON],
        pause.failed_probes,
    ]
    return until, json.dumps(value).encode()


def read_pause(value: bytes, ahead: float) -> tuple[str, KeptPause]:
    """Return the key and the pause that a value is, by the worker's clock.

    Raises:
        ValueError, TypeError: it is none, or of a later version.
    """
    form, *row = _loaded(value)
    _check(form)
    key, pause = as_pause(tuple(row))
    return key, KeptPause(pause.until - ahead, pause.reason, pause.failed_probes)


def news(sender: bytes, kind: str, *details: Any) -> bytes:
    """Return a message to the other workers."""
    return json.dumps([FORM, sender.decode(), kind, *details]).encode()


def read_news(message: bytes) -> tuple[bytes, str, list[Any]]:
    """Return the sender of a message, its kind and what it says.

    Raises:
        ValueError, TypeError: it is none, or of a later version.
    """
    form, sender, kind, *details = _loaded(message)
    _check(form)
    return str(sender).encode(), str(kind), details


def _loaded(text: bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _check(form: Any) -> None:
    if form != FORM:
        raise ValueError(f"a form of another version: {str(form)[:20]}")
