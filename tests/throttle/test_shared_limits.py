"""Which sites of a server are refused as one, by a clock that the tests turn."""

from __future__ import annotations

import pytest
from crawling import ensureDeferred
from flights import flight_to

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.pause_policy import Refusal
from scrapy_mandelbot.throttle import shared_limits


@ensureDeferred
@pytest.mark.parametrize(
    ("refused", "well", "are_one"),
    [(1, 0, False), (1, 1, False), (2, 0, True), (2, 2, True), (2, 3, False)],
)
async def test_at_least_half_of_several_sites_are_refused_as_one(
    make_crawler, clock, refused, well, are_one
):
    """One alone has a pause of its own; so has a minority of those that answer."""
    throttle = Crawl.of(make_crawler(MANDELBOT_TOGETHER="domain")).throttle
    limits = throttle.shared_limits
    sites = [
        throttle.sites.of(f"https://{number}.example.com")
        for number in range(refused + well)
    ]
    for site in sites:
        limits.slot_of(site, site.name)
    for site in sites[refused:]:
        flight = flight_to(site)
        flight.sent_at = clock.now()
        site.answered(flight, clock.now(), b"")
    for site in sites[:refused]:
        limits.refused(site, clock.now())
        site.refused(flight_to(site), b"", Refusal(clock.now(), "503"))
    pauses = {id(site.pause) for site in sites[:refused]}
    assert (len(pauses) == 1 < refused) is are_one


@pytest.mark.parametrize(("others", "is_known"), [(2, True), (3, False)])
@ensureDeferred
async def test_of_more_groups_the_oldest_are_forgotten(
    make_crawler, clock, monkeypatch, others, is_known
):
    """Sites that were refused as one are refused so again as long as they are known."""
    monkeypatch.setattr(shared_limits, "_MOST_GROUPED", 3)
    throttle = Crawl.of(make_crawler(MANDELBOT_TOGETHER="domain")).throttle
    limits = throttle.shared_limits
    one, other = map(
        throttle.sites.of, ("https://a.example.com", "https://b.example.com")
    )
    limits.slot_of(one, one.name)
    limits.refused(one, clock.now())
    one.refused(flight_to(one), b"", Refusal(clock.now(), "503"))
    for number in range(others):
        site = throttle.sites.of(f"https://site{number}.com")
        limits.slot_of(site, site.name)
    limits.slot_of(other, other.name)
    limits.refused(other, clock.now())
    assert (other.pause is one.pause) == is_known
