"""Usage preferences of pages: parsers for any headers and any bytes.

No Scrapy, no network, no clock. They read the headers and the head of a page,
``/.well-known/tdmrep.json``, and responses that state terms; ``RobotsTxt.usage`` reads robots.txt.

>>> page = b'<html><head><meta name="tdm-reservation" content="1"></head>'
>>> usage = page_usage([("Content-Usage", "search=y, train-ai=n")], page, "Examplebot")
>>> usage["search"], usage["train-ai"], usage["ai-input"]
('allowed', 'disallowed', 'unknown')
>>> print(usage.decided_by("tdm"))
tdm disallowed by tdm-reservation: 1 (meta line 1)
"""

from scrapy_mandelbot.robots.preferences.in_pages import (
    HEADERS_READ,
    MARKED_STATUSES,
    TERMS_STATUSES,
    page_usage,
    stated_terms,
)
from scrapy_mandelbot.robots.preferences.statements import (
    CATEGORIES,
    NOTHING_SAID,
    Statement,
    Terms,
    Usage,
)
from scrapy_mandelbot.robots.preferences.tdmrep import TDMREP_PATH, TdmFile, with_tdm_file

__all__ = [
    "CATEGORIES",
    "HEADERS_READ",
    "MARKED_STATUSES",
    "NOTHING_SAID",
    "TDMREP_PATH",
    "TERMS_STATUSES",
    "Statement",
    "TdmFile",
    "Terms",
    "Usage",
    "page_usage",
    "stated_terms",
    "with_tdm_file",
]
