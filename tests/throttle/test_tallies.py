"""What is counted of each site while nobody keeps a record of it."""

from __future__ import annotations

import gc

import pytest

from scrapy_mandelbot.politeness import tally
from scrapy_mandelbot.politeness.pause_policy import PausePolicy
from scrapy_mandelbot.politeness.tally import End, Tally
from scrapy_mandelbot.throttle import site_map
from scrapy_mandelbot.throttle.site_map import Sites

pytestmark = pytest.mark.usefixtures("little_to_collect")


def test_each_site_counts_its_own_pages_without_a_record():
    """The slow start of a site looks at them."""
    sites = Sites(PausePolicy())
    one = sites.of("http://one.example")
    other = sites.of("http://other.example")
    one.tally.pages += 3
    assert other.tally.pages == 0
    assert sites.counted().pages == 3


def test_what_was_counted_outlasts_the_site(monkeypatch):
    """And is counted once, whether the site is forgotten or not."""
    monkeypatch.setattr(site_map, "MOST_SITES", 1)
    sites = Sites(PausePolicy())
    sites.of("http://one.example").tally.pages += 3
    sites.of("http://other.example").tally.pages += 4
    gc.collect()
    assert "http://one.example" not in sites
    assert sites.counted().pages == 7


def test_what_was_counted_before_records_began_is_not_lost():
    """Whoever begins to count by site finds it in the sum."""
    sites = Sites(PausePolicy())
    sites.of("http://one.example").tally.pages += 3
    records: dict[str, Tally] = {}

    def record(name: str) -> Tally:
        return records.setdefault(name, Tally())

    sites.count_by(record, records.values)
    sites.of("http://one.example").tally.pages += 2
    assert sites.counted().pages == 5


def test_sites_share_the_counts_that_are_equal():
    """Most have few ends, and the same ones; no count of one is another's."""
    one = Tally()
    other = Tally()
    for counted in (one, other):
        counted.count_answer(404, is_cached=False)
        counted.count(End.SEEN)
    assert one.statuses is other.statuses
    assert one.ends is other.ends
    other.count_answer(404, is_cached=False)
    other.count(End.SEEN, -1)
    assert (one.statuses, other.statuses) == ({404: 1}, {404: 2})
    assert (one.ends, other.ends) == ({End.SEEN: 1}, {End.SEEN: 0})


def test_counts_that_are_shared_are_bounded(monkeypatch):
    """A site may answer with any status, any number of times."""
    shared = {}
    monkeypatch.setattr(tally, "_SHARED", shared)
    monkeypatch.setattr(tally, "_MOST_SHARED", 5)
    one = Tally()
    for status in range(400, 450):
        one.count_answer(status, is_cached=False)
    assert len(one.statuses) == 50
    assert len(shared) <= 5
