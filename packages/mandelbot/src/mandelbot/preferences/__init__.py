"""Usage preferences of pages: parsers for any headers and any bytes.

No Scrapy, no network, no clock. They read the headers and the head of a page,
``/.well-known/tdmrep.json``, responses that state terms, and robots.txt.

>>> from mandelbot import page_usage
>>> page = b'<html><head><meta name="tdm-reservation" content="1"></head>'
>>> usage = page_usage([("Content-Usage", "search=y, train-ai=n")], page, "Examplebot")
>>> usage["search"], usage["train-ai"], usage["ai-input"]
('allowed', 'disallowed', 'unknown')
>>> print(usage.decided_by("tdm"))
tdm disallowed by tdm-reservation: 1 (meta line 1)
"""

TERMS_STATUSES = frozenset({401, 402, 403})
"""Statuses of responses that may state terms in place of a page."""
MARKED_STATUSES = TERMS_STATUSES | {202, 405}
"""Statuses of responses that may be meant for robots."""
