"""What a project expects of a crawl (``MANDELBOT_EXPECT``), and what of it came.

Pure: it knows numbers alone. `pages` and `items` are at least what is expected; `lost`,
`failed`, `callbacks` and `unwritten` are at most that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report.judgement import Found

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.tally import Tally
    from scrapy_mandelbot.report.comparison import Crawled

AT_LEAST = ("pages", "items")
AT_MOST = ("lost", "failed", "callbacks", "unwritten")
OF_SITES = ("pages", "lost", "failed")
"""What is known of single sites."""


class Came(NamedTuple):
    """What is known of a crawl; None: a part of it is not known."""

    pages: int | None
    items: int | None
    lost: int
    failed: int
    """Pages that failed though their site was well."""
    callbacks: int
    unwritten: int


def judged(
    expected: Mapping[str, Any],
    came: Came,
    before: Crawled | None,
    sites: Mapping[str, Tally],
) -> Found:
    """Compare what came with what is expected.

    `before`: the last crawl that ended by itself; None: none is known. `sites`: sums of
    what came of the sites of each entry of ``sites``.
    """
    found = Found([], [])
    _compare(found, expected, came._asdict(), "")
    for place, its in expected.get("sites", {}).items():
        tally = sites[place]
        values = {
            "pages": tally.pages + tally.cached,
            "lost": tally.lost,
            "failed": tally.by_end().get(End.PAGE_FAILED, 0),
        }
        _compare(found, its, values, f" of {place}")
    share = expected.get("of_last_time")
    if share is not None:
        _compare_with_before(found, share, came, before)
    return found


def _compare(
    found: Found, expected: Mapping[str, Any], came: Mapping[str, Any], where: str
) -> None:
    for name in (*AT_LEAST, *AT_MOST):
        bound = expected.get(name)
        if bound is None:
            continue
        value = came[name]
        what = f"{_WORDS.get(name, name)}{where}"
        if value is None:
            found.unknown.append(f"{what} of the earlier runs of the job")
        elif name in AT_LEAST and value < bound:
            found.unmet.append(f"{value:,} {what}, at least {bound:,} expected")
        elif name in AT_MOST and value > bound:
            found.unmet.append(f"{value:,} {what}, at most {bound:,} expected")


def _compare_with_before(
    found: Found, share: float, came: Came, before: Crawled | None
) -> None:
    if before is None:
        found.unknown.append("the previous crawl (MANDELBOT_REPORT keeps it)")
        return
    for name, value, last in (
        ("pages", came.pages, before.pages),
        ("items", came.items, before.items),
    ):
        if value is None or last is None:
            continue
        if value < ceil(share * last):
            found.unmet.append(
                f"{value:,} {name}, {last:,} last time, {share:.0%} of it expected"
            )


def sums_by_place(
    places: Iterable[str], sites: Iterable[tuple[Tally, str]], total: Tally
) -> Iterator[tuple[str, Tally]]:
    """Yield the sums of the sites that each place has: a site, a host or a domain."""
    from scrapy_mandelbot.settings.values import PerSite  # noqa: PLC0415 -- few

    known = list(sites)
    for place in places:
        its = PerSite({place: True})
        whole = type(total)()
        for tally, name in known:
            if its.of(name):
                whole.add(tally)
        yield place, whole


_WORDS = {
    "lost": "lost requests",
    "failed": "failed pages",
    "callbacks": "failed callbacks",
    "unwritten": "items not written",
}
