"""Compares a crawl with the one before it, site by site.

Everything here is computed from the data of reports (``report.schema.json``), so it
needs no crawl, no clock and no files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

CLOSED_STATES = frozenset({"forbidden", "unreachable", "given up"})
"""States of a site from which a crawl gets nothing more."""
MOST_COMPARED = 10_000
"""Sites of a crawl that are kept for the comparison, the most troubled first."""
CHANGES = ("closed", "gone", "fewer pages", "slower", "open again", "new")
"""Kinds of changes, the worst first."""
_MOST_CHANGES = 20  # sites listed of each kind of change
_SLOWER = 1.5  # times the median time to the first byte
NOTICED = 0.1
"""Seconds to the first byte: what takes less is not called slower, whatever it took."""
_FEWER = 0.5  # of the pages of the previous crawl
_LEAST_PAGES = 10  # of a site whose time or number of pages is compared


class CrawledSite(NamedTuple):
    """What a crawl got from one site."""

    pages: int
    state: str
    time: float | None
    """The median of the seconds to the first byte; None: unknown."""


class Crawled(NamedTuple):
    """What a crawl, of one run or several, got from its sites."""

    ended: str
    """The end of its last run, in ISO 8601."""
    reason: str
    """The finish reason of its last run."""
    job: str
    """The JOBDIR; empty: none."""
    is_whole: bool
    """Whether `sites` has all of its sites."""
    pages: int
    sites: Mapping[str, CrawledSite]
    items: int | None = None
    """None: unknown."""

    def then(self, later: Crawled) -> Crawled:
        """Return this crawl with a later run that resumed it."""
        sites = dict(self.sites)
        for name, one in later.sites.items():
            known = sites.get(name)
            if known is not None:
                time = known.time if one.time is None else one.time
                one = CrawledSite(known.pages + one.pages, one.state, time)  # noqa: PLW2901
            sites[name] = one
        items = None
        if self.items is not None and later.items is not None:
            items = self.items + later.items
        return later._replace(
            items=items,
            is_whole=self.is_whole and later.is_whole,
            pages=self.pages + later.pages,
            sites=sites,
        )


def crawled_of(report: Mapping[str, Any], job: str) -> Crawled:
    """Return what the crawl of a report got."""
    kept = report["sites"][:MOST_COMPARED]
    is_whole = report["rest"] is None and len(kept) == len(report["sites"])
    sites = {
        one["site"]: CrawledSite(one["pages"], one["state"], one["answers"]["time"])
        for one in kept
    }
    pages = report["total"]["pages"]
    return Crawled(
        ended=report["ended"],
        reason=report["reason"],
        job=job,
        is_whole=is_whole,
        pages=pages,
        sites=sites,
        items=report["items"],
    )


def comparison(before: Crawled, now: Crawled) -> dict[str, Any]:
    """Return as data for the report how a crawl differs from the previous one."""
    found = _changes(before, now)
    changes = []
    for kind, sites in found.items():
        for site in sites[:_MOST_CHANGES]:
            was = before.sites.get(site)
            is_now = now.sites.get(site)
            changes.append(_as_data(kind, site, was, is_now))
    return {
        "previous_ended": before.ended,
        "previous_pages": before.pages,
        "pages": now.pages,
        "counts": [
            {"name": kind, "count": len(sites)} for kind, sites in found.items()
        ],
        "changes": changes,
    }


def _as_data(
    kind: str, site: str, was: CrawledSite | None, is_now: CrawledSite | None
) -> dict[str, Any]:
    return {
        "change": kind,
        "site": site,
        "previous_pages": None if was is None else was.pages,
        "pages": None if is_now is None else is_now.pages,
        "state": None if is_now is None else is_now.state,
        "previous_time": None if was is None else was.time,
        "time": None if is_now is None else is_now.time,
    }


def _changes(before: Crawled, now: Crawled) -> dict[str, list[str]]:
    """Return the sites that changed, by kind of change."""
    found: dict[str, list[str]] = {kind: [] for kind in CHANGES}
    for name, one in now.sites.items():
        was = before.sites.get(name)
        if was is not None:
            kind = _change(was, one)
        else:
            kind = "new" if before.is_whole else None
        if kind is not None:
            found[kind].append(name)
    if now.is_whole:
        for name, was in before.sites.items():
            if name not in now.sites and was.pages:
                found["gone"].append(name)
    return found


def _change(was: CrawledSite, one: CrawledSite) -> str | None:
    """Return how a site of both crawls has changed; None: it has not."""
    was_open = was.state not in CLOSED_STATES
    if one.state in CLOSED_STATES:
        if was_open and was.pages:
            return "closed"
        return None
    if not was_open and one.pages:
        return "open again"
    if was.pages >= _LEAST_PAGES and one.pages < _FEWER * was.pages:
        return "fewer pages"
    return "slower" if _is_slower(was, one) else None


def _is_slower(was: CrawledSite, one: CrawledSite) -> bool:
    if was.time is None or one.time is None:
        return False
    if min(was.pages, one.pages) < _LEAST_PAGES:
        return False
    return one.time >= NOTICED and one.time > _SLOWER * was.time
