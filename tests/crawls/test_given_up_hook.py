"""The hook that receives a site which is given up."""

from __future__ import annotations

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Closed, html

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
async def test_a_site_that_is_given_up_is_reported_with_what_is_lost(webs, tmp_path):
    """Once; with a JOBDIR nothing is lost, and a hook may still yield requests."""
    received = []

    class Spider(LinksSpider):
        async def start(self):
            for number in range(7):
                yield scrapy.Request(f"{self.url}/page/{number}")

        def site_given_up(self, site, reason, lost):
            received.append((site, reason, lost))
            yield scrapy.Request(self.other.url + "/")

    for job, expected in ((None, 7), (str(tmp_path / "job"), 0)):
        received.clear()
        web, Spider.other = webs(), webs("127.0.0.2")
        Spider.other.pages["/"] = html()
        web.refuse = Closed(seconds=10**6, robots_too=False)
        Spider.url = web.url
        settings = {"MANDELBOT_PAUSE_OPTIONS": {"tries": 3}, "JOBDIR": job}
        result = await crawl(Spider, settings)
        ((where, reason, lost),) = received
        assert (where, lost) == (web.url, expected)
        assert reason.startswith("503 for <GET ")
        assert result.stats.get("mandelbot/requests/lost", 0) == expected
        assert Spider.other.asked("/") == 1


@ensureDeferred
async def test_a_host_that_never_answers_is_given_up(webs):
    """With the request that failed."""
    received = []

    class Spider(LinksSpider):
        def site_given_up(self, site, reason, lost):
            received.append((site, lost))

    gone = webs()
    gone_url = gone.url
    gone.close()
    await crawl(Spider, start_urls=[gone_url + "/"])
    assert received == [(gone_url, 1)]
