"""Lost requests in the log: bounded for each site, and in the number of sites."""

from __future__ import annotations

import logging
import tracemalloc
from types import SimpleNamespace

from scrapy import Request

from scrapy_mandelbot.events.emitter import Events
from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report.lost_requests import (
    MOST_OF_A_SITE,
    MOST_SITES,
    LostFile,
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


def test_ten_thousand_lost_requests_take_no_memory(tmp_path):
    """Each is a line of the file at once, and nothing of it stays."""
    stats = SimpleNamespace(inc_value=lambda *_: None)
    emitter = Events(SimpleNamespace(spider=None, stats=stats))
    lost = LostRequests(emitter)
    file = LostFile(tmp_path / "shop.lost.jsonl", emitter)
    file.open()
    error = SitePausedError("down")
    site = "https://first.example"

    def lose(first, count):
        for number in range(first, first + count):
            request = SimpleNamespace(url=f"{site}/{number}", method="GET", meta={})
            lost.report(request, site, End.SITE, error)

    lose(0, 100)
    tracemalloc.start()
    lose(100, 10_000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    file.close()
    assert grown < 20_000
    lines = (tmp_path / "shop.lost.jsonl").read_text().splitlines()
    assert len(lines) == 10_100
    assert lines[-1].startswith(f'{{"url": "{site}/10099"')
