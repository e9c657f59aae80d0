"""The status of a crawl: the waiting requests of each site, and the reason they wait.

Data and its text for people. ``survey.py`` collects it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum

from mandelbot.formatting import columns, counted, shown

from scrapy_mandelbot.time_text import clock_time


class Reason(Enum):
    """The reason why the requests of a site wait, or that they do not."""

    GIVEN_UP = "given up"
    MANUAL = "paused manually"
    PAUSED = "paused"
    PROBED = "probed"
    LAST_ROUND = "asked once more"
    VISIT_TIME = "closed"
    SECTION = "section set aside"
    PAGE = "page set aside"
    ROBOTS_TXT = "robots.txt pending"
    RECOVERING = "recovering"
    PACE = "pace"
    BUDGET = "budget reached"
    AT_ONCE = "enough at once"
    SLOT_FULL = "slot full"
    ASKED = "asked"
    NEXT = "next"

    def __str__(self) -> str:
        return str(self.value)


SHUT = frozenset(
    {
        Reason.GIVEN_UP,
        Reason.MANUAL,
        Reason.PAUSED,
        Reason.PROBED,
        Reason.VISIT_TIME,
        Reason.SECTION,
        Reason.PAGE,
        Reason.BUDGET,
    }
)
"""Reasons for which nothing is sent to a site now, however much room the crawl has."""
WAITS = SHUT | {Reason.PACE}
_IN_ONE_LINE = {
    Reason.SECTION: "with a section set aside",
    Reason.PAGE: "with pages set aside",
    Reason.PACE: "waiting for a crawl delay",
}


MOST_LISTED = 20
"""Sites in the printed table; :attr:`CrawlStatus.sites` has all."""
_REASON_SHOWN = 80  # characters
_SITE_SHOWN = 60


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """The status of one site."""

    site: str
    """Its name, such as ``https://example.com``."""
    reason: Reason
    """The reason why its requests wait."""
    until: datetime | None
    """The end of the wait (UTC); ``datetime.max``: until :func:`resume_site`; None:
    with an answer, or not in this run.
    """
    details: str
    """Printable text: the answer of the site, its crawl delay, the path of a section.
    """
    waiting: int
    """Its waiting requests, in the queue and outside."""
    under_way: int
    """Its requests in flight, or about to be sent."""

    def __str__(self) -> str:
        return f"{self.site}: {self.as_text()} ({_waiting(self.waiting)})"

    def as_text(self) -> str:
        """Return as text why its requests wait, and until when."""
        details = f": {self.details}" if self.details else ""
        if self.until is None:
            return f"{self.reason}{details}"
        until = "resumed" if self.until == _FOR_EVER else clock_time(self.until)
        return f"{self.reason} until {until}{details}"

    def as_data(self) -> dict[str, object]:
        """Return plain data for JSON."""
        return {
            "site": self.site,
            "reason": str(self.reason),
            "until": None if self.until is None else self.until.isoformat(),
            "details": self.details,
            "waiting": self.waiting,
            "under_way": self.under_way,
        }


@dataclass(frozen=True, slots=True)
class CrawlStatus:
    """The status of a crawl."""

    at: datetime
    """The time of the status (UTC)."""
    sites: tuple[SiteStatus, ...]
    """Sites with requests, and those that nothing is sent to; in the order of
    :class:`Reason`, then by the number of waiting requests.
    """
    elsewhere: int = 0
    """Requests in a third-party scheduler, whose sites are unknown."""
    no_answer_since: datetime | None = None
    """Since when no site answers: the network may be down; None: sites answer."""

    def __str__(self) -> str:
        return f"{clock_time(self.at)}: {self.as_text()}\n\n{self.table()}".rstrip()

    __repr__ = __str__

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return sum(one.waiting for one in self.sites) + self.elsewhere

    @property
    def under_way(self) -> int:
        """The number of requests in flight, or about to be sent."""
        return sum(one.under_way for one in self.sites)

    @property
    def by_reason(self) -> dict[Reason, int]:
        """The number of sites by reason."""
        return in_order(Counter(one.reason for one in self.sites))

    @property
    def is_idle(self) -> bool:
        """Whether requests wait and none may be sent now."""
        if not self.waiting or self.under_way:
            return False
        return all(one.reason is not Reason.NEXT for one in self.sites if one.waiting)

    @property
    def next(self) -> SiteStatus | None:
        """The waiting site whose time comes first."""
        timed = [one for one in self.sites if one.until is not None and one.waiting]
        return min(timed, key=lambda one: one.until or self.at, default=None)

    def as_text(self) -> str:
        """Return one line for a log."""
        first = self.next
        until = None if first is None else first.until
        site = "" if first is None else first.site
        line = in_one_line(self.by_reason, self.waiting, until, site, self.at)
        if self.no_answer_since is None:
            return line
        since = _time_of_day(self.no_answer_since, self.at)
        return f"No site answers since {since}: is the network up? {line}"

    def table(self, most: int = MOST_LISTED) -> str:
        """Return a table of at most `most` sites, and the number of the others."""
        if not self.sites:
            return ""
        rows: list[Sequence[object]] = [("SITE", "WAIT", "UNDER WAY", "UNTIL", "WHY")]
        for one in self.sites[:most]:
            words = f"{one.reason}: {one.details}" if one.details else str(one.reason)
            until = None if one.until is None else _time_of_day(one.until, self.at)
            site = shown(one.site, _SITE_SHOWN)
            rows.append(
                (site, one.waiting, one.under_way, until, shown(words, _REASON_SHOWN))
            )
        lines = ["  ".join(cells).rstrip() for cells in columns(rows)]
        if len(self.sites) > most:
            rest = self.sites[most:]
            waiting = _waiting(sum(one.waiting for one in rest))
            lines.append(f"and {counted(len(rest), 'more site')} for which {waiting}")
        return "\n".join(lines)

    def as_data(self) -> dict[str, object]:
        """Return plain data for JSON."""
        return {
            "at": self.at.isoformat(),
            "waiting": self.waiting,
            "under_way": self.under_way,
            "elsewhere": self.elsewhere,
            "is_idle": self.is_idle,
            "no_answer_since": (
                None
                if self.no_answer_since is None
                else self.no_answer_since.isoformat()
            ),
            "by_reason": {
                str(reason): count for reason, count in self.by_reason.items()
            },
            "sites": [one.as_data() for one in self.sites],
        }


def in_order(found: dict[Reason, int]) -> dict[Reason, int]:
    """Return counts in the order of the reasons."""
    return {reason: found[reason] for reason in Reason if found.get(reason)}


def in_one_line(
    by_reason: dict[Reason, int],
    waiting: int,
    until: datetime | None,
    site: str,
    now: datetime,
) -> str:
    """Return one line: how many sites wait and why, and which is next."""
    sites = [
        f"{counted(count, 'site')} {_IN_ONE_LINE.get(reason, reason)}"
        for reason, count in in_order(by_reason).items()
    ]
    parts = [*sites, _waiting(waiting)]
    if until is not None:
        parts.append(f"next at {_time_of_day(until, now)}: {site}")
    return ", ".join(parts)


def _waiting(count: int) -> str:
    return f"{counted(count, 'request')} wait{'s' if count == 1 else ''}"


def _time_of_day(until: datetime, now: datetime) -> str:
    if until == _FOR_EVER:
        return "resumed"
    if until.date() == now.date():
        return f"{until:%H:%M:%S} UTC"
    return clock_time(until)


_FOR_EVER = datetime.max.replace(tzinfo=timezone.utc)
