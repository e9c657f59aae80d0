"""A server that is taken down in the middle of a crawl, and brought up again."""

from __future__ import annotations

import pytest
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from scrapy import signals as scrapy_signals
from webs import Answer, Closed, Web, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")

QUICK = {"MANDELBOT_PAUSE_OPTIONS": {"first": 0.2}, "CONCURRENT_REQUESTS": 8}


def outage(web: Web, after: int, seconds: float):
    """Take the server down after so many items, and up again on the same port."""
    from twisted.internet import reactor

    scraped = []

    def item_scraped(item):
        scraped.append(item)
        if len(scraped) == after:
            web.drop()
            reactor.callLater(seconds, web.listen_again)

    def before(crawler):
        crawler.signals.connect(
            item_scraped, signal=scrapy_signals.item_scraped, weak=False
        )

    return before


@ensureDeferred
async def test_a_server_that_is_down_for_a_while_loses_nothing(webs):
    """Every page once, none by errback: the site pauses as for a 503."""
    web = site(webs, 60, delay=0.02)

    before = outage(web, after=5, seconds=2)
    result = await crawl(
        FailuresSpider, QUICK, before=before, start_urls=[web.url + "/"]
    )

    assert len(result.urls()) == len(set(result.urls())) == 61
    assert result.failures == []
    paused = result.signals("site_paused")
    assert len(paused) == len(result.signals("site_resumed")) >= 1
    assert "connection" in paused[0]["reason"]


@ensureDeferred
async def test_a_site_that_never_answered_is_left_to_scrapy(webs):
    """RetryMiddleware does what it always does, and the crawl ends."""
    web = webs()
    url = web.url
    web.close()
    settings = {**QUICK, "ROBOTSTXT_OBEY": False, "RETRY_TIMES": 2}

    result = await crawl(FailuresSpider, settings, start_urls=[url])

    assert len(result.failures) == 1
    assert result.stats["retry/count"] == 2
    assert "mandelbot/pause/count" not in result.stats


@ensureDeferred
async def test_a_url_that_alone_gets_no_answer_is_left_to_scrapy(webs):
    """A page that hangs while others arrive is a page that hangs, not a site that is
    down.
    """
    web = site(webs, 20, delay=0.02)
    web.pages["/page/0"] = Answer(b"", delay=30)

    settings = {**QUICK, "DOWNLOAD_TIMEOUT": 1, "RETRY_TIMES": 1}
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])

    assert len(result.items) == 20
    assert len(result.failures) == 1


@ensureDeferred
async def test_a_pause_outlasts_the_run(webs, tmp_path):
    """With a store the next run waits for the time that the site has named."""
    web = site(webs, 10, delay=0.02)
    web.refuse = closed = Closed(seconds=1.5, after=3, retry_after="3")
    settings = {
        "JOBDIR": str(tmp_path),
        "MANDELBOT_PAUSE_IDLE": 0,
    }
    first = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert first.stats["finish_reason"] == "sites_paused"
    assert first.seconds < 2
    knocks = len(web.hits)

    settings["MANDELBOT_PAUSE_IDLE"] = "wait"
    second = await crawl(LinksSpider, settings, start_urls=[])

    assert second.stats["mandelbot/pause/restored"] == 1
    assert sum(" is still paused until " in one for one in second.messages) == 1
    assert web.hits[knocks].at >= closed.began + 2.9
    assert sorted(first.urls() + second.urls()) == web.urls(10)
