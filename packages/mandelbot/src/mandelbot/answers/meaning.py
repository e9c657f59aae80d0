"""What a response means for its site: of a page, a robots.txt or a sitemap.

One function: no I/O, no clock, no state. What follows from a meaning is decided by its
receivers: ``downloadermiddlewares/pause.py`` for pages, ``outcome.py`` for robots.txt.
"""

from __future__ import annotations

from collections.abc import Container
from enum import Enum
from typing import Any, NamedTuple

MISSING_STATUSES = (404, 410)
"""Statuses that pause nothing even if they name a time: waiting does not change them.
"""
_FIRST_ERROR = 400
_SERVER_ERRORS = range(500, 600)
_FORBIDDEN = 403
_CHALLENGE = "cf-mitigated"  # clear with any status; other terms have theirs


class Kind(Enum):
    """What a response says about its site."""

    PAGE = "page"
    NOT_NOW = "not now"
    """The site is paused, and the request is sent again."""
    TERMS = "terms"
    """A challenge or a price; several refuse robots."""
    FORBIDDEN = "forbidden"
    """A bare 403; many refuse robots."""
    MISSING = "missing"
    ERROR = "error"
    FAILED = "failed"
    """A 5xx without a time: the page failed, or the server behind it."""


class ResponseMeaning(NamedTuple):
    """What a response means for its site, and what it says about that."""

    kind: Kind
    wait: float | None = None
    """Seconds that it asks for; None: it names no time."""
    said: str = ""
    """What it said, in a line for a log: the header that counts."""
    unreadable: str = ""
    """A ``Retry-After`` that is none, as received."""


NOTHING = ResponseMeaning(Kind.PAGE)
"""Of a plain page, and of a response that was reported before."""
GOES_BACK = ResponseMeaning(Kind.NOT_NOW)
"""Of a request that is sent again although its answer pauses nothing."""


def meaning_of(
    status: int,
    headers: Any,
    pause_statuses: Container[int],
    now: float,
    *,
    is_own: bool = False,
) -> ResponseMeaning:
    """Return what a response means.

    `headers` are as in Scrapy. `pause_statuses` pause a site; if there are none,
    nothing does. `is_own`: the package asked, which cannot agree to terms.
    """
    from mandelbot.answers.retry_after import wait_asked_for  # noqa: PLC0415 -- not for a page

    if not is_own and _CHALLENGE in headers:
        terms = terms_of(status, headers)
        if terms is not None:  # waiting does not clear it
            return ResponseMeaning(Kind.TERMS, said=terms)
    pauses = status in pause_statuses
    if status in MISSING_STATUSES and not pauses:
        return ResponseMeaning(Kind.MISSING)
    wait = None
    if status >= _FIRST_ERROR or pauses:
        asked = wait_asked_for(headers.get, now, status)
        if pauses or (asked.names_a_time and pause_statuses):
            said = (asked.seconds, asked.said, asked.unreadable)
            return ResponseMeaning(Kind.NOT_NOW, *said)
        if asked.names_a_time:
            wait = asked.seconds
    meaning = _without_a_pause(status, headers, wait, is_own=is_own)
    if meaning.kind is Kind.ERROR and status in _SERVER_ERRORS and pause_statuses:
        return ResponseMeaning(Kind.FAILED)
    return meaning


def _without_a_pause(
    status: int, headers: Any, wait: float | None, *, is_own: bool
) -> ResponseMeaning:
    if not is_own:
        terms = terms_of(status, headers)
        if terms is not None:
            return ResponseMeaning(Kind.TERMS, said=terms)
        if status == _FORBIDDEN:
            return ResponseMeaning(Kind.FORBIDDEN)
    if status >= _FIRST_ERROR:
        return ResponseMeaning(Kind.ERROR, wait)
    return NOTHING


def terms_of(status: int, headers: Any) -> str | None:
    """Return the challenge or price that a response states in place of a page.

    None: neither.
    """
    from mandelbot.preferences.in_pages import stated_terms  # noqa: PLC0415 -- few sites

    pairs = ((name, value) for name, values in headers.items() for value in values)
    return stated_terms(status, pairs)
