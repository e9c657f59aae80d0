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
