"""Usage preferences of pages: parsers for any headers and any bytes.

No Scrapy, no network, no clock. They read the headers and the head of a page,
``/.well-known/tdmrep.json``, and responses that state terms; ``RobotsTxt.usage`` reads
robots.txt.

>>> from mandelbot.preferences.in_pages import page_usage
>>> page = b'<html><head><meta name="tdm-reservation" content="1"></head>'
>>> usage = page_usage([("Content-Usage", "search=y, train-ai=n")], page, "Examplebot")
>>> usage["search"], usage["train-ai"], usage["ai-input"]
('allowed', 'disallowed', 'unknown')
>>> print(usage.decided_by("tdm"))
tdm disallowed by tdm-reservation: 1 (meta line 1)
"""

from mandelbot.lazy import lazy_names

_HOMES = {
    "HEADERS_READ": ".in_pages",
    "CATEGORIES": ".statements",
    "NOTHING_SAID": ".statements",
    "BYTES_LIMIT": ".tdmrep",
    "TDMREP_PATH": ".tdmrep",
    "TdmFile": ".tdmrep",
    "with_tdm_file": ".tdmrep",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)

TERMS_STATUSES = frozenset({401, 402, 403})
"""Statuses of responses that may state terms in place of a page."""
MARKED_STATUSES = TERMS_STATUSES | {202, 405}
"""Statuses of responses that may be meant for robots."""

__all__ += ["MARKED_STATUSES", "TERMS_STATUSES"]
