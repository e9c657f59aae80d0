"""A site that is asked through several proxies, and refuses one of them.

The proxies are real, and answer for the site themselves: it needs no address.
"""

from __future__ import annotations

from itertools import cycle, pairwise

import pytest
import scrapy
from crawling import crawl, ensureDeferred
from webs import Answer, Closed, html

from scrapy_mandelbot.testing import TIME

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("loop_is_turned")]

SHOP = "http://shop.test"
PAGES = 24
PER_PROXY = {
    "MANDELBOT_PAUSE_OPTIONS": {"per_proxy": True, "tries": 1000},
}


@pytest.fixture
def proxies(webs):
    both = [webs("127.0.0.1"), webs("127.0.0.2")]
    for proxy in both:
        proxy.pages = {f"{SHOP}/{number}": html() for number in range(PAGES)}
        proxy.pages[f"{SHOP}/robots.txt"] = Answer(b"")
    return both


class ShopSpider(scrapy.Spider):
    """Asks for each page through the proxy that is its turn, or through any."""

    name = "shop"
    proxies: tuple[str, ...] = ()

    async def start(self):
        own = cycle([{"proxy": proxy} for proxy in self.proxies] or [{}])
        for number in range(PAGES):
            yield scrapy.Request(f"{SHOP}/{number}", meta=next(own))

    def parse(self, response):
        yield {"url": response.url}


class Rotating:
    """A downloader middleware that gives each request a proxy, one after the other."""

    asked: list[float] = []

    def __init__(self, crawler) -> None:
        self.asked.clear()
        self._proxies = cycle(crawler.settings["PROXIES"])

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_request(self, request):
        self.asked.append(TIME.elapsed())
        request.meta.setdefault("proxy", next(self._proxies))


def rotating(proxies) -> dict:
    return {
        **PER_PROXY,
        "DOWNLOADER_MIDDLEWARES": {Rotating: 610},
        "PROXIES": [proxy.url for proxy in proxies],
    }


ALL = sorted(f"{SHOP}/{number}" for number in range(PAGES))


@ensureDeferred
async def test_a_proxy_that_is_refused_pauses_no_other(proxies):
    """Its requests wait for it; those through the other go on; all arrive, each once."""
    refused, well = proxies
    refused.refuse = closed = Closed(seconds=2, after=3, retry_after="2", robots_too=False)

    result = await crawl(ShopSpider, PER_PROXY, proxies=[proxy.url for proxy in proxies])

    assert result.urls() == ALL
    assert max(hit.at for hit in well.hits) < closed.began + 2
    assert not [hit for hit in refused.hits if closed.began + 0.5 < hit.at < closed.began + 2]
    assert [heard["site"] for heard in result.signals("site_paused")] == [SHOP]
    (line,) = result.logged("Paused http")
    assert line.startswith(f"Paused {SHOP} via {refused.url} until")
    assert "retry/count" not in result.stats


@ensureDeferred
async def test_without_the_setting_the_whole_site_pauses(proxies):
    """A 503 is the site's, through whichever proxy it came."""
    refused, well = proxies
    refused.refuse = closed = Closed(seconds=1, after=3, retry_after="1", robots_too=False)
    result = await crawl(ShopSpider, proxies=[proxy.url for proxy in proxies])
    assert result.urls() == ALL
    pause = (closed.began + 0.3, closed.began + 1)
    assert not [hit for hit in well.hits if pause[0] < hit.at < pause[1]]


@ensureDeferred
async def test_a_request_is_given_another_proxy(proxies):
    """Where a middleware rotates them: one that is shut for long keeps nothing waiting."""
    refused, _ = proxies
    refused.refuse = Closed(seconds=1000, after=3, retry_after="1000", robots_too=False)

    result = await crawl(ShopSpider, rotating(proxies))

    assert result.urls() == ALL
    assert result.seconds < 10
    assert refused.statuses().count(503) <= 8
    assert result.stats["mandelbot/pause/count"] == 1


class Sticky(Rotating):
    """Gives each proxy once, and then for two seconds always the first."""

    def process_request(self, request):
        super().process_request(request)
        if len(self.asked) > 3 and TIME.elapsed() < self.asked[0] + 2:
            request.meta["proxy"] = self.first

    @property
    def first(self) -> str:
        return self._all[0]

    def __init__(self, crawler) -> None:
        super().__init__(crawler)
        self._all = crawler.settings["PROXIES"]


@ensureDeferred
async def test_a_request_goes_not_round_and_round(proxies):
    """Where it is given a proxy that is shut time and again, it comes back after a while."""
    refused, _ = proxies
    refused.refuse = Closed(seconds=1000, after=1, retry_after="1000", robots_too=False)
    settings = {**rotating(proxies), "DOWNLOADER_MIDDLEWARES": {Sticky: 610}}
    result = await crawl(ShopSpider, settings)
    assert result.urls() == ALL
    assert result.stats["mandelbot/pause/bounced"] <= 6 * PAGES


@ensureDeferred
async def test_a_site_waits_while_all_its_proxies_are_shut(proxies):
    """Its requests stay in the queue meanwhile; none goes round and round."""
    both_shut = [Closed(3, after=3, retry_after="3", robots_too=False) for _ in proxies]
    for proxy, closed in zip(proxies, both_shut, strict=True):
        proxy.refuse = closed

    result = await crawl(ShopSpider, rotating(proxies))

    assert result.urls() == ALL
    shut_at = max(closed.began for closed in both_shut)
    opens_at = min(closed.began for closed in both_shut) + 3
    assert [at for at in Rotating.asked if shut_at + 1 < at < opens_at] == []
    assert "mandelbot/pause/handed_on" not in result.stats


@ensureDeferred
async def test_a_site_whose_proxies_are_all_given_up_is_given_up(proxies):
    """Then its requests get the last 503, and the crawl ends."""
    failed = []

    class Failing(ShopSpider):
        async def start(self):
            async for request in super().start():
                yield request.replace(errback=failed.append)

    for proxy in proxies:
        proxy.refuse = Closed(seconds=1000, after=3, robots_too=False)
    quick = {"MANDELBOT_PAUSE_OPTIONS": {"first": 0.1}}

    result = await crawl(
        Failing,
        {
            **rotating(proxies),
            **quick,
            "MANDELBOT_PAUSE_OPTIONS": {"first": 0.1, "tries": 2},
        },
    )

    assert len(result.items) + len(failed) == PAGES
    assert result.stats["finish_reason"] == "finished"
    assert result.stats["mandelbot/pause/given_up"] == 2


@pytest.mark.parametrize("by", ["the spider", "a middleware"])
@ensureDeferred
async def test_a_pace_is_the_sites_whatever_the_proxy(proxies, by):
    """Its owner counts requests, and does not ask where they come from."""
    pace = {"MANDELBOT_CRAWL_DELAYS": {"shop.test": 0.1}}
    if by == "the spider":
        result = await crawl(
            ShopSpider, {**PER_PROXY, **pace}, proxies=[proxy.url for proxy in proxies]
        )
    else:
        result = await crawl(ShopSpider, {**rotating(proxies), **pace})
    assert result.urls() == ALL
    asked = sorted(hit.at for proxy in proxies for hit in proxy.hits)
    assert min(later - earlier for earlier, later in pairwise(asked)) >= 0.1 - 0.002
