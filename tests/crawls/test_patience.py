"""A crawl whose only work left is of paused sites."""

from __future__ import annotations

import pytest
import scrapy
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from scrapy import signals as scrapy_signals
from scrapy.spidermiddlewares.httperror import HttpError
from webs import Closed, site

from scrapy_mandelbot import SitePausedError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("loop_is_turned")]


@ensureDeferred
async def test_the_run_waits_no_longer_than_it_may(webs):
    """MANDELBOT_PAUSE_OPTIONS["total"]: then paused sites are as given up, and the
    crawl ends.
    """
    web, healthy = site(webs, 8), site(webs, 8, "127.0.0.2")
    web.refuse = Closed(seconds=1000, after=3, retry_after="1000")

    starts = [web.url + "/", healthy.url + "/"]
    result = await crawl(
        FailuresSpider, {"MANDELBOT_PAUSE_OPTIONS": {"total": 1}}, start_urls=starts
    )

    assert len(result.items) + len(result.failures) == 18
    assert all(failure.check(SitePausedError, HttpError) for failure in result.failures)
    assert 1 <= result.seconds < 10
    assert web.statuses().count(503) <= 8
    (line,) = result.logged("Gave up http")
    cause, _, ends = line.partition("; ")
    assert ": 503 for <GET " in cause
    assert "MANDELBOT_PAUSE_OPTIONS['total'] is over" in ends


@ensureDeferred
async def test_waits_are_added_up(webs):
    """Two pauses of a second each are within three seconds, and nothing is given up."""
    web = site(webs, 8)
    closed = [Closed(1, after=1, retry_after="1"), Closed(1, after=3, retry_after="1")]
    web.refuse = lambda path: closed[0](path) or closed[1](path)
    result = await crawl(
        LinksSpider,
        {"MANDELBOT_PAUSE_OPTIONS": {"total": 3.5}},
        start_urls=[web.url + "/"],
    )
    assert len(result.items) == 9
    assert result.stats["mandelbot/pause/count"] >= 2
    assert "mandelbot/pause/given_up" not in result.stats


@ensureDeferred
async def test_batch_feeders_hear_that_only_paused_work_is_left(webs):
    """MANDELBOT_PAUSE_IDLE: spider_idle comes while the site is paused, and new work is
    done.
    """
    web, healthy = site(webs, 8), site(webs, 8, "127.0.0.2")
    web.refuse = closed = Closed(seconds=2, after=3, retry_after="2")

    class Batches(LinksSpider):
        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.idle, signal=scrapy_signals.spider_idle)
            spider.fed = False
            return spider

        def idle(self):
            if not self.fed:
                self.fed = True
                self.crawler.engine.crawl(scrapy.Request(healthy.url + "/"))

    result = await crawl(
        Batches, {"MANDELBOT_PAUSE_IDLE": "signal"}, start_urls=[web.url + "/"]
    )

    assert len(result.items) == 18
    assert max(hit.at for hit in healthy.hits) < closed.began + 2
    assert result.stats["finish_reason"] == "finished"
