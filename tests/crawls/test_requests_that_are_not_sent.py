"""A request that is never sent fails with an error; no response is made up for it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import scrapy
from crawling import FailuresSpider, crawl, ensureDeferred
from scrapy.utils.defer import deferred_from_coro
from webs import Answer, Closed, site

from scrapy_mandelbot import SitePausedError
from scrapy_mandelbot.downloadermiddlewares import pause
from scrapy_mandelbot.politeness.tally import End

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
async def test_the_http_cache_stores_nothing_for_it(webs, tmp_path):
    """The first run gives the site up; in the next one all is well, and the page is
    fetched.
    """
    web = site(webs, 0)
    web.pages["/page"] = Answer(b"page")
    web.refuse = lambda path: (
        Answer(b"of robots.txt", 500) if path == "/robots.txt" else None
    )
    settings = {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path),
        "MANDELBOT_STORE": "memory",
        "MANDELBOT_PAUSE_OPTIONS": {"tries": 3},
    }
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/page"])
    (failure,) = result.failures
    assert failure.check(SitePausedError)
    assert str(failure.value).startswith(f"{web.url} is given up: robots.txt: 500")
    assert web.asked("/page") == 0

    web.refuse = lambda _path: None
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/page"])
    assert result.urls() == [web.url + "/page"]
    assert result.items[0]["status"] == 200


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (End.SITE, "https://example.com is given up: 503"),
        (End.SECTION, "https://example.com/shelf is given up: 403"),
        (End.WAITED, "https://example.com is paused for too long: 503"),
    ],
)
def test_its_error_names_what_is_given_up(monkeypatch, end, text):
    """A section and its own reason, or the whole site."""
    monkeypatch.setattr(pause, "fate_of", lambda *_: end)
    section = SimpleNamespace(path="/shelf", pause=SimpleNamespace(reason="403"))
    site = SimpleNamespace(
        name="https://example.com",
        pause=SimpleNamespace(reason="503"),
        faults=SimpleNamespace(of=lambda _: section),
    )
    request = scrapy.Request("https://example.com/shelf/1")
    fates = {}
    in_flight = SimpleNamespace(fates=fates)
    crawl = SimpleNamespace(throttle=SimpleNamespace(in_flight=in_flight))
    flight = SimpleNamespace(site=site, request=request)
    assert str(pause.not_sent(crawl, flight)) == text
    assert fates == {request: end}


class Waits:
    """An extension that downloads a page while the spider is busy elsewhere."""

    def __init__(self, crawler):
        self.crawler = crawler
        crawler.signals.connect(self.opened, signal=scrapy.signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def opened(self, spider):
        request = scrapy.Request(spider.token)
        download = deferred_from_coro(self.crawler.engine.download_async(request))
        download.addBoth(spider.got.append)


@ensureDeferred
async def test_the_spider_stays_open_while_an_extensions_download_waits(webs):
    """Its site is paused for 5 s; the spider has one page of another site."""
    paused, other = site(webs, 0), site(webs, 0, "127.0.0.2")
    paused.pages["/token"] = Answer(b"token")
    paused.refuse = Closed(seconds=5, retry_after="5", robots_too=False)
    got = []

    class Spider(FailuresSpider):
        token = paused.url + "/token"

    Spider.got = got
    result = await crawl(
        Spider, {"EXTENSIONS": {Waits: 1}}, start_urls=[other.url + "/"]
    )
    assert result.stats["finish_reason"] == "finished"
    (response,) = got
    assert (response.status, response.body) == (200, b"token")
