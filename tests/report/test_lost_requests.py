"""Lost requests in the log: bounded for each site, and in the number of sites."""

from __future__ import annotations

import logging
from types import SimpleNamespace

from scrapy import Request

from scrapy_mandelbot.events.emitter import Events
from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report.lost_requests import (
    MOST_OF_A_SITE,
    MOST_SITES,
    LostRequests,
)
from scrapy_mandelbot.throttle.in_flight import SitePausedError


def test_the_log_stays_bounded_whatever_is_lost(caplog):
    """Of a thousand sites at the most, and ten requests of each, then one line more."""
    stats = SimpleNamespace(inc_value=lambda *_: None)
    crawler = SimpleNamespace(spider=None, stats=stats)
    lost = LostRequests(Events(crawler))
    error = SitePausedError("down")
    with caplog.at_level(logging.WARNING):
        for number in range(100):
            request = Request(f"https://first.example/{number}")
            lost.report(request, "https://first.example", End.SITE, error)
        assert len(caplog.messages) == MOST_OF_A_SITE + 1
        for number in range(MOST_SITES * 2):
            site = f"https://site-{number}.example"
            lost.report(Request(site), site, End.SITE, error)
    assert len(caplog.messages) == MOST_OF_A_SITE + 1 + MOST_SITES - 1
