"""For how long a copy of a robots.txt serves, and how it is asked for again.

Source: Mandelbot, "Changing robots.txt" (48 hours); RFC 9309, section 2.4; RFC 9110, sections
13.1.2 and 13.1.3 for the conditions, 13.1.1 for validators.
"""

from __future__ import annotations

_SKEW = 60.0  # seconds by which two machines' clocks may differ

IMPOSSIBLE_PATH = "/scrapy-mandelbot-asks-for-a-page-that-is-not-there"
"""No site has this page: what it answers for it is what it says instead of 404."""


def is_fresh(now: float, fetched_at: float, ttl: float) -> bool:
    """Return whether a copy serves without its site being asked.

    A copy from the future does not: the clock that wrote it was wrong, and would keep it for ever.

    Args:
        now: seconds since the epoch.
        fetched_at: when the copy was fetched, or confirmed, by the same count.
        ttl: seconds for which it serves.
    """
    return -_SKEW <= now - fetched_at < ttl


def conditions(etag: str | None, last_modified: str | None) -> dict[str, str]:
    """Return the headers that ask for a file only if it has changed."""
    headers = {"If-None-Match": etag, "If-Modified-Since": last_modified}
    return {name: value for name, value in headers.items() if value}
