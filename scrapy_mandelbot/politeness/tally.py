"""The ways in which requests end, counted for each site.

Each accepted request ends in exactly one way: requests that ended, wait or are in
flight add up to the requests accepted. An end is counted once, where the request is
settled.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from scrapy_mandelbot.fields import (
    Column,
    Fold,
    Tile,
    add_fields,
    computed,
    field,
    recorded,
)

if TYPE_CHECKING:
    from scrapy_mandelbot.fields import Field


class End(Enum):
    """A way in which a request ends; its value names it in stats and reports."""

    PAGE = "page"
    OTHER = "other_answer"
    CACHED = "cached"
    FORBIDDEN = "forbidden"
    USE = "use_disallowed"
    SEEN = "seen"
    DROPPED = "dropped"
    TRIED_AGAIN = "tried_again"
    REPLACED = "replaced"
    CANCELLED = "cancelled"
    NO_HOST = "no_such_host"
    NETWORK = "no_answer"
    SITE = "site_given_up"
    SECTION = "section_given_up"
    URL = "page_given_up"
    WAITED = "waited_too_long"
    SITE_FAILED = "site_failed"
    ERROR = "error"
    PAGE_FAILED = "page_failed"
    BUDGET = "above_budget"
    LEFT = "left"

    def __str__(self) -> str:
        return str(self.value)


SUCCESSES = range(200, 300)
"""Statuses of the answers that are counted as pages."""
DENIED = (401, 403, 407)
"""Statuses with which a site, or a proxy, does not let the crawler in."""
DENIED_SHARE = 3
"""One of so many answers, if it is one of these, is too many."""
_ANSWERED = (End.SITE_FAILED, End.PAGE_FAILED)  # after an answer, unlike the others
_ERROR = 400

Key = TypeVar("Key")


_MOST_SHARED = 1_000  # mappings
_SHARED: dict[tuple[tuple[Any, int], ...], Mapping[Any, int]] = {}


def with_more(counts: Mapping[Key, int], key: Key, more: int = 1) -> Mapping[Key, int]:
    """Return counts by key with a larger one.

    Nobody changes what is returned: equal counts are one object, as most sites have few
    of them, and the same ones. A dict of each would take 200 bytes.
    """
    found = {**counts, key: counts.get(key, 0) + more}
    if len(_SHARED) >= _MOST_SHARED:
        _SHARED.clear()
    return _SHARED.setdefault(tuple(found.items()), found)


@recorded
class Tally:
    """How many requests to a site were accepted, and how they ended.

    Class attributes hold the initial values, so a quiet site takes little memory.
    """

    FIELDS: ClassVar[Mapping[str, Field]] = {}
    """What is known of each field, by its name, in the order of the JSON."""
    LOST = frozenset(
        {
            End.NETWORK,
            End.SITE,
            End.SECTION,
            End.URL,
            End.WAITED,
            End.SITE_FAILED,
            End.ERROR,
        }
    )
    """Ends of requests that failed though a patient visitor could have had their pages.
    """

    taken = field(0, "requests", Fold.SUM, json="taken_in")
    """Requests that entered the queue, or passed the middlewares without it."""
    pages = field(
        0,
        "answers",
        Fold.SUM,
        json="pages",
        column=Column("PAGES", 10, shows_zero=True),
        page=[Column("Pages", 10)],
        tile=Tile("Pages", 20),
    )
    """Answers of 2xx. They are counted for each page: a number is faster than a table.
    """
    others = field(
        0,
        "answers",
        Fold.SUM,
        json="others",
        page=[Column("Other answers", 35)],
        is_detailed=True,
    )
    """All other answers that cause no pause: redirects, 4xx, 5xx that do not pause."""
    statuses: Mapping[int, int] = field(
        MappingProxyType({}),
        "answers",
        Fold.BY_KEY,
        key=int,
        json="statuses",
        is_detailed=True,
    )
    """The other answers, by status."""
    cached = field(0, "answers", Fold.SUM)
    """Answers of the HTTP cache, and copies of robots.txt."""
    unchanged = field(0, "answers", Fold.SUM, json="unchanged")
    """Of the pages, those of which a site has said by 304 that the copy is good."""
    ends: Mapping[End, int] = field(
        MappingProxyType({}), "requests", Fold.BY_KEY, key=End
    )
    """All other ends."""

    @property
    @computed(
        "requests",
        json="lost",
        after="taken_in",
        column=Column("LOST", 20),
        page=[Column("Lost", 20)],
        tile=Tile("Lost", 30, "error"),
    )
    def lost(self) -> int:
        """How many requests failed whose pages a patient visitor could have had."""
        return sum(count for end, count in self.ends.items() if end in self.LOST)

    @property
    def ended(self) -> int:
        """How many requests have ended."""
        return sum(self.by_end().values())

    @computed("requests", json="ends", after="lost")
    def by_end(self) -> dict[End, int]:
        """Return how many requests ended in each way, in the order of the ways."""
        others = self.others - sum(self.ends.get(end, 0) for end in _ANSWERED)
        counts = {End.PAGE: self.pages, End.OTHER: others, End.CACHED: self.cached}
        counts |= self.ends
        return {end: counts[end] for end in End if counts.get(end)}

    def accept(self) -> None:
        """Count a request that enters the queue, or passes the middlewares without."""
        self.taken += 1

    def return_to_queue(self) -> None:
        """Count a request no more that returns to its queue, which accepts it anew."""
        self.taken -= 1

    def count(self, end: End, requests: int = 1) -> None:
        """Count requests that end so; less than 0: that do not, after all."""
        self.ends = with_more(self.ends, end, requests)

    def count_answer(self, status: int, *, is_cached: bool) -> None:
        """Count an answer that is handed on."""
        if is_cached:
            self.cached += 1
        elif status in SUCCESSES:
            self.pages += 1
        else:
            self.others += 1
            self.statuses = with_more(self.statuses, status)

    def count_unchanged(self, status: int) -> None:
        """Count a 304 that is handed on as a copy with this status."""
        before = self.pages
        self.count_answer(status, is_cached=False)
        self.unchanged += self.pages - before

    @property
    def handed_on(self) -> int:
        """How many answers have come, those of a cache included."""
        return self.pages + self.others + self.cached

    @property
    def errors(self) -> dict[int, int]:
        """The answers of 4xx and 5xx by status, the commonest first."""
        found = [one for one in self.statuses.items() if one[0] >= _ERROR and one[1]]
        return dict(sorted(found, key=_commonest))

    @property
    def denied(self) -> int:
        """How many answers were 401, 403 or 407: the crawler is not let in."""
        return sum(self.statuses.get(status, 0) for status in DENIED)

    @property
    def is_denied(self) -> bool:
        """Whether these are a third of its answers or more."""
        return bool(self.denied) and self.denied * DENIED_SHARE >= self.handed_on

    add = add_fields

    def left(self, now: float) -> None:
        """Note that a request leaves for a site with a pace, or ends without one."""

    def ignored_delay(self) -> str:
        """Return the crawl delay that is not obeyed, and the rate; empty: none."""
        return ""


def _commonest(status_and_count: tuple[int, int]) -> tuple[int, int]:
    status, count = status_and_count
    return -count, status
