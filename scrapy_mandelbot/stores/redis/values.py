"""How what a store keeps is written in Redis, and read there.

Each value says which form it has, so that a later version can read it, and this one passes by what
is of a later one. Times are by the server's clock; the workers' may differ.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.stores.copies import Copy, KeptPause
from scrapy_mandelbot.stores.packing import pack
from scrapy_mandelbot.stores.rows import NO_ROW_OF_OURS, as_copy, as_pause

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FORM = 1
"""Of all values; the first thing that each of them says."""
FAR = 1e11
"""Seconds since the epoch: an operator's "for ever"."""
_LONGEST_REASON = 300  # characters of what a site is paused for; a URL in it may be longer


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
    until = min(pause.until + ahead, FAR)
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


def read_pauses(values: Iterable[bytes], ahead: float) -> dict[str, KeptPause]:
    """Return the pauses that values are, by key; what is none is passed over."""
    pauses = {}
    for value in values:
        with suppress(*NO_ROW_OF_OURS):
            key, pause = read_pause(value, ahead)
            pauses[key] = pause
    return pauses


def read_turns(values: Sequence[bytes], ahead: float) -> dict[str, float]:
    """Return when sites may be asked next, by name, given names and the server's times in turn."""
    return {
        text_of(name): float(score) - ahead
        for name, score in zip(values[::2], values[1::2], strict=True)
    }


def text_of(name: bytes) -> str:
    """Return a name as text, whatever something else has written in its place."""
    return name.decode("utf-8", "backslashreplace")


def news(sender: bytes, kind: str, name: bytes, detail: Any = None) -> bytes:
    """Return a message to the other workers."""
    return json.dumps([FORM, sender.decode(), kind, name.decode(), detail]).encode()


def read_news(message: bytes, ahead: float) -> tuple[bytes, str, str, Any]:
    """Return the sender of a message, its kind, the site, and what is said of it.

    That is, of a ``pause``, the pause, or None: it is over; of a ``turn``, when the next one is.

    Raises:
        ValueError, TypeError: it is none, or of a later version.
    """
    form, sender, kind, name, detail = _loaded(message)
    _check(form)
    if kind == "turn":
        detail = float(detail) - ahead
    elif kind == "pause" and detail is not None:
        detail = read_pause(str(detail).encode(), ahead)[1]
    return str(sender).encode(), str(kind), str(name), detail


def _loaded(text: bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _check(form: Any) -> None:
    if form != FORM:
        raise ValueError(f"a form of another version: {str(form)[:20]}")
