"""What a response means for its site, whatever was asked: a page, a robots.txt, a sitemap.

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
    from mandelbot.answers.retry_after import wait_asked_for  # noqa: PLC0415 -- no page

    wait = None
    pauses = status in pause_statuses
    if not is_own and _CHALLENGE in headers and (terms := terms_of(status, headers)):
        return ResponseMeaning(Kind.TERMS, said=terms)  # waiting does not clear it
    if status in MISSING_STATUSES and not pauses:
        return ResponseMeaning(Kind.MISSING)
    if status >= _FIRST_ERROR or pauses:
        wait, said, unreadable, names_a_time = wait_asked_for(headers.get, now)
        if pauses or (names_a_time and pause_statuses):
            return ResponseMeaning(Kind.NOT_NOW, wait, said, unreadable)
        wait = wait if names_a_time else None
    if not is_own and (terms := terms_of(status, headers)):
        return ResponseMeaning(Kind.TERMS, said=terms)
    if status == _FORBIDDEN and not is_own:
        return ResponseMeaning(Kind.FORBIDDEN)
    return ResponseMeaning(Kind.ERROR, wait) if status >= _FIRST_ERROR else NOTHING


def terms_of(status: int, headers: Any) -> str | None:
    """Return the challenge or price that a response states in place of a page.

    None: neither.
    """
    from mandelbot.preferences.in_pages import stated_terms  # noqa: PLC0415 -- few

    pairs = ((name, value) for name, values in headers.items() for value in values)
    return stated_terms(status, pairs)
