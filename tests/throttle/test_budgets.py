"""What counts against a site's budget, without a crawl."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_mandelbot.throttle.budgets import Budgets

SITE = "https://example.com"


class Noted:
    """A budget that notes what it is told."""

    flights = ()
    is_reached = False

    def __init__(self):
        self.answers = []

    def answered(self, _flight, *, is_page, size):
        self.answers.append((is_page, size))


class Counting(Budgets):
    """Budgets without a crawl."""

    def __init__(self):
        self.sitemap_key = "a sitemap"
        self._changed = set()

    def count(self, response, meta=None):
        """Return what a response counts as: whether a page, and of which size."""
        budget = Noted()
        site = SimpleNamespace(name=SITE, budget=budget)
        request = Request(f"{SITE}/page", meta=meta)
        self.answered(SimpleNamespace(site=site, request=request), response)
        assert self._changed == ({SITE} if budget.answers else set())
        return budget.answers


@pytest.mark.parametrize(
    ("status", "is_page"), [(200, True), (204, True), (304, False), (404, False)]
)
def test_good_responses_count_as_pages_all_by_their_size(status, is_page):
    response = Response(SITE, status, body=b"12345")
    assert Counting().count(response) == [(is_page, 5)]


def test_what_comes_from_the_cache_is_a_page_of_no_size():
    """The site has sent nothing."""
    response = Response(SITE, body=b"12345", flags=["cached"])
    assert Counting().count(response) == [(True, 0)]


@pytest.mark.parametrize("meta", [{"dont_obey_budget": True}, {"a sitemap": "x"}])
def test_what_obeys_no_budget_counts_for_none(meta):
    assert Counting().count(Response(SITE, body=b"12345"), meta) == []
