"""``CONCURRENT_REQUESTS_PER_DOMAIN`` is kept, counted at the site."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Answer

from scrapy_mandelbot.testing import TIME

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
@pytest.mark.parametrize("limit", [1, 2, 4, 8])
@pytest.mark.parametrize("concurrency", ["fixed", "measured"])
async def test_a_site_has_no_more_requests_at_once_than_the_setting_permits(
    webs, limit, concurrency
):
    ends = []
    inside = []

    def count(path):
        if path == "/robots.txt":
            return None
        now = TIME.elapsed()
        ends[:] = [one for one in ends if one > now]
        ends.append(now + 0.06)
        inside.append(len(ends))
        return Answer(b"<html>page</html>", delay=0.06)

    web = webs()
    web.refuse = count
    settings = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": limit,
        "MANDELBOT_CONCURRENCY": concurrency,
    }
    urls = [f"{web.url}/page/{number}" for number in range(60)]
    result = await crawl(LinksSpider, settings, start_urls=urls)
    assert len(result.items) == 60
    assert max(inside) == limit


@ensureDeferred
async def test_a_number_that_is_lowered_during_the_crawl_holds_at_once(webs):
    """As somebody does who looks at a crawl by the console or an extension."""
    ends = []
    inside = []

    def count(path):
        if path == "/robots.txt":
            return None
        now = TIME.elapsed()
        ends[:] = [one for one in ends if one > now]
        ends.append(now + 0.06)
        inside.append(len(ends))
        return Answer(b"<html>page</html>", delay=0.06)

    class Lowering(LinksSpider):
        def parse(self, response):
            if response.url.endswith("/20"):
                for slot in self.crawler.engine.downloader.slots.values():
                    slot.concurrency = 2
                self.lowered_at = len(inside)
            yield from super().parse(response)

    web = webs()
    web.refuse = count
    urls = [f"{web.url}/page/{number}" for number in range(80)]
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 8}
    result = await crawl(Lowering, settings, start_urls=urls)
    assert len(result.items) == 80
    before = inside[: result.spider.lowered_at]
    after = inside[result.spider.lowered_at :]
    assert max(before) == 8
    assert max(after[8:]) == 2  # the first eight had been handed out
