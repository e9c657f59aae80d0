"""The Scrapy that is to come, with a throttler in place of download slots, by stand-ins."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from everything import crawl_a_bit_of_everything
from scrapy.crawler import Crawler
from throttled import (
    PUBLIC,
    PUBLIC_OF_A_SCOPE,
    BackoffMiddleware,
    ScopeManager,
    ThrottledDownloader,
    Throttler,
)
from webs import Answer, Closed, site

from scrapy_mandelbot import engine

THROTTLED = {"DOWNLOADER": ThrottledDownloader}


def with_throttler(crawler: Crawler) -> None:
    crawler.throttler = Throttler(crawler)


@pytest.fixture(autouse=True)
def asked_for(monkeypatch) -> list[str]:
    """What was asked of the downloader that is deprecated there."""
    asked: list[str] = []
    monkeypatch.setattr(ThrottledDownloader, "asked_for", asked)
    return asked


@ensureDeferred
async def test_a_crawl_with_a_throttler_ends_as_without(webs, tmp_path, asked_for):
    """The same code runs, and asks for nothing that is deprecated."""
    await crawl_a_bit_of_everything(webs, tmp_path, before=with_throttler, **THROTTLED)
    assert asked_for == []


@pytest.mark.parametrize("order", [120, 555, 940])
@ensureDeferred
async def test_the_backoff_middleware_sees_no_status_that_pauses(webs, order):
    """A 503 goes back to the queue before; a 502, which pauses nothing, it acts upon."""
    web = site(webs, 6)
    web.refuse = Closed(seconds=0.5, after=2, retry_after="1", robots_too=False)
    web.pages["/page/5"] = Answer(status=502)
    settings = {
        **THROTTLED,
        "DOWNLOADER_MIDDLEWARES": {BackoffMiddleware: order},
        "RETRY_ENABLED": False,
    }
    result = await crawl(LinksSpider, settings, before=with_throttler, start_urls=[web.url + "/"])
    assert result.urls() == [url for url in web.urls(6) if not url.endswith("/5")]
    assert result.stats["mandelbot/pause/count"] == 1
    assert result.crawler.backoff.seen == [502]


@ensureDeferred
async def test_a_site_that_pauses_costs_no_page(webs):
    """Each page comes, and no errback hears of it: no part of a pause is left to the throttler."""
    web = site(webs, 30)
    web.refuse = Closed(seconds=0.5, after=10, retry_after="1", robots_too=False)
    result = await crawl(LinksSpider, THROTTLED, before=with_throttler, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(30)
    assert len(result.urls()) == 31
    assert result.stats["mandelbot/pause/count"] == 1
    assert not result.logged("Error"), result.logged("Error")


def offered(of: type) -> dict[str, str]:
    """Return the public methods of a class, and how each is called."""
    own = {name: one for name, one in vars(of).items() if not name.startswith("_")}
    return {name: str(inspect.signature(one)) for name, one in own.items()}


def test_the_stand_ins_have_the_shape_of_the_pull_request():
    """What is not in it cannot be asked for here either."""
    assert offered(Throttler) == PUBLIC
    assert offered(ScopeManager) == PUBLIC_OF_A_SCOPE


@ensureDeferred
async def test_what_a_request_says_to_the_throttler_is_kept(webs):
    """``delay`` and ``dont_throttle``, also of a request that has waited for a pause to end."""
    web = site(webs, 2)
    web.refuse = Closed(seconds=0.5, after=1, retry_after="1", robots_too=False)

    class Spider(LinksSpider):
        def parse(self, response):
            meta = {"delay": 0.1, "dont_throttle": True, "throttling_scopes": "mine"}
            for path in ("/page/0", "/page/1"):
                yield response.follow(path, self.parse_page, meta=meta)

        def parse_page(self, response):
            meta = response.meta
            yield {"url": response.url, "told": (meta["dont_throttle"], meta["throttling_scopes"])}

    result = await crawl(Spider, THROTTLED, before=with_throttler, start_urls=[web.url + "/"])
    assert [item["told"] for item in result.items] == [(True, "mine")] * 2
    assert result.stats["mandelbot/pause/count"] == 1


@pytest.fixture
def crawler() -> Crawler:
    crawler = Crawler(scrapy.Spider)
    with_throttler(crawler)
    return crawler


def test_a_slot_is_named_where_a_throttler_names_none(crawler):
    """As Scrapy does without one; a throttler of a project's own may have any shape."""
    crawler.throttler = object()
    request = scrapy.Request("https://example.com/1")
    assert engine.slot_key(crawler, request) == "example.com"


def test_concurrency_is_that_of_the_scope():
    """As its own settings say, else as those for all scopes do, the newer one if it is set."""
    settings = {
        "THROTTLING_SCOPES": {"fast.example": {"concurrency": 32}, "late.example": {"delay": 1}},
        "DOWNLOAD_SLOTS": {"mine": {"concurrency": 2}},
    }
    crawler = Crawler(scrapy.Spider, settings)
    crawler.engine = SimpleNamespace(downloader=None)
    with_throttler(crawler)
    names = ("fast.example", "late.example", "mine")
    assert [engine.slot_concurrency(crawler, name) for name in names] == [32, 8, 2]
    crawler.settings.set("THROTTLING_SCOPE_CONCURRENCY", 1)
    assert engine.slot_concurrency(crawler, "late.example") == 1


def test_what_waits_for_the_throttler_is_under_way(crawler):
    """Though no downloader has it yet: the engine does."""
    request, ended = (
        scrapy.Request("https://example.com/1"),
        scrapy.Request("https://example.com/2"),
    )
    crawler.engine = SimpleNamespace(
        downloader=SimpleNamespace(active=set()), _slot=SimpleNamespace(inprogress={request})
    )
    assert engine.is_under_way(crawler, request)
    assert not engine.is_under_way(crawler, ended)
