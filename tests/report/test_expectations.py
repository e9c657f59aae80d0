"""What a project expects of a crawl, compared with what came."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.politeness.tally import Tally
from scrapy_mandelbot.report.comparison import Crawled
from scrapy_mandelbot.report.expectations import Came, judged, sums_by_place

CAME = Came(pages=90, items=60, lost=2, failed=1, callbacks=3, unwritten=4)
BEFORE = Crawled("", "finished", "", is_whole=True, pages=100, sites={}, items=100)


@pytest.mark.parametrize(
    ("expected", "unmet"),
    [
        ({"pages": 90, "items": 60}, []),
        ({"pages": 91}, ["90 pages, at least 91 expected"]),
        ({"items": 61}, ["60 items, at least 61 expected"]),
        ({"lost": 2, "failed": 1, "callbacks": 3, "unwritten": 4}, []),
        ({"lost": 1}, ["2 lost requests, at most 1 expected"]),
        ({"failed": 0}, ["1 failed pages, at most 0 expected"]),
        ({"callbacks": 0}, ["3 failed callbacks, at most 0 expected"]),
        ({"unwritten": 0}, ["4 items not written, at most 0 expected"]),
        ({"of_last_time": 0.6}, []),
        ({"of_last_time": 0.8}, ["60 items, 100 last time, 80% of it expected"]),
    ],
)
def test_what_is_not_met_is_named_with_both_figures(expected, unmet):
    """Pages and items are at least, and failures at most, what is expected."""
    assert judged(expected, CAME, BEFORE, {}) == (unmet, [])


def test_what_cannot_be_judged_is_no_failure():
    """A first crawl has no previous one; a job without a report no earlier runs."""
    expected = {"pages": 100, "of_last_time": 0.9}
    unmet, unknown = judged(expected, CAME._replace(pages=None), None, {})
    assert unmet == []
    assert unknown == [
        "pages of the earlier runs of the job",
        "the previous crawl (MANDELBOT_REPORT keeps it)",
    ]


def test_a_domain_is_judged_with_all_its_hosts_and_a_missing_site_has_no_page():
    """A sitemap that is gone takes all pages of its site along."""
    sites = []
    for name in ("https://a.shop.example", "https://b.shop.example"):
        one = Tally()
        one.pages = 5
        sites.append((one, name))
    places = (".shop.example", "other.example")
    sums = dict(sums_by_place(places, sites, Tally()))
    expected = {
        "sites": {".shop.example": {"pages": 10}, "other.example": {"pages": 1}}
    }
    unmet, _ = judged(expected, CAME, None, sums)
    assert unmet == ["0 pages of other.example, at least 1 expected"]
