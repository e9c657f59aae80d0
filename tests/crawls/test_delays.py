"""The meta key ``delay`` in whole crawls."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy import Request
from webs import Closed, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
async def test_a_page_is_polled_until_it_is_there(webs):
    """A callback asks for its page again; other pages are crawled meanwhile."""
    web = site(webs, 5)

    class Polls(LinksSpider):
        async def start(self):
            yield Request(web.url + "/")
            yield Request(web.url + "/page/4", self.poll, meta={"delay": 30})

        def poll(self, response):
            if len(response.meta["delayed"]) < 3:
                again = response.request.replace(dont_filter=True)
                again.meta["delay"] = 30
                yield again
            else:
                yield {"url": "polled"}

    result = await crawl(Polls, {"MANDELBOT_STORE": "memory"})
    assert {item["url"] for item in result.items} >= {"polled", web.url + "/page/0"}
    assert 90 <= result.seconds < 100


@ensureDeferred
async def test_a_delayed_request_that_is_refused_is_not_lost(webs):
    web = site(webs, 3)
    web.refuse = Closed(seconds=5, after=1)

    class Later(LinksSpider):
        async def start(self):
            for page in range(3):
                yield Request(f"{web.url}/page/{page}", meta={"delay": 10 + page})

    result = await crawl(Later, {"MANDELBOT_STORE": "memory"})
    assert set(web.urls(3)[1:]) <= set(result.urls())
