"""Answers by which a site states terms instead of giving a page: 401, 402, 403 with a word to it.

Sources: RSL 1.0, "Crawler Authorization Protocol": 401 or 402 with ``WWW-Authenticate: License``;
Cloudflare, "Pay per crawl" (July 2025): 402 with ``crawler-price``; Cloudflare, "Detect a challenge
page response": ``cf-mitigated: challenge``. Nothing is ever paid, and no challenge is taken up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.agents import header_text
from scrapy_mandelbot.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

TERMS_STATUSES = frozenset({401, 402, 403})
_SHOWN = 200  # characters of a header


def stated_terms(status: int, headers: Iterable[tuple[str | bytes, str | bytes]]) -> str | None:
    """Return the site's word on terms, for a log; None: the answer is an ordinary refusal."""
    if status not in TERMS_STATUSES:
        return None
    for name, value in headers:
        field, text = header_text(name).strip().lower(), header_text(value).strip()
        if field == "www-authenticate" and text.lower().partition(" ")[0] == "license":
            return shown(f"WWW-Authenticate: {text}", _SHOWN)
        if field == "crawler-price":
            return shown(f"crawler-price: {text}", _SHOWN)
        if field == "cf-mitigated" and text.lower() == "challenge":
            return "cf-mitigated: challenge"
    return "402 Payment Required" if status == 402 else None  # noqa: PLR2004 - its very meaning
