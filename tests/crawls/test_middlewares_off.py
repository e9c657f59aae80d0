"""A middleware of the package that the project sets to None, as Scrapy's docs show."""

from __future__ import annotations

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy.http.request import NO_CALLBACK
from webs import Answer

pytestmark = pytest.mark.usefixtures("loop_is_turned")

RULES = b"User-agent: *\nDisallow: /page/1\n"
ROBOTS = "scrapy_mandelbot.RobotsTxtMiddleware"
PAUSES = "scrapy_mandelbot.PauseMiddleware"
SCRAPYS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
STANDS_IN = "Scrapy's own RobotsTxtMiddleware obeys robots.txt"


@pytest.fixture
def web(webs):
    """Has three pages in a chain, the second of which is forbidden."""
    web = webs()
    web.chain(3)
    web.pages["/robots.txt"] = Answer(RULES)
    return web


@pytest.mark.parametrize(
    ("others", "middlewares", "is_obeyed", "stands_in"),
    [
        ({}, {ROBOTS: None}, True, True),
        ({"ROBOTSTXT_OBEY": True}, {ROBOTS: None}, True, True),
        ({"ROBOTSTXT_OBEY": False}, {ROBOTS: None}, False, False),
        ({}, {ROBOTS: None, SCRAPYS: None}, False, False),
        ({}, {ROBOTS: None, SCRAPYS: 100}, True, False),
    ],
)
@ensureDeferred
async def test_scrapys_own_middleware_takes_the_place_of_ours(
    web, caplog, *, others, middlewares, is_obeyed, stands_in
):
    """Unless the project has switched that one off, too, or obeys no robots.txt."""
    settings = {"DOWNLOADER_MIDDLEWARES": middlewares, **others}
    await crawl(LinksSpider, settings, start_urls=[web.url])
    assert (web.asked("/page/1") == 0) is is_obeyed
    assert (STANDS_IN in caplog.text) is stands_in


@ensureDeferred
async def test_what_scrapys_own_middleware_forbids_is_counted_as_that(web):
    """And its robots.txt is no page of the crawl."""
    settings = {"DOWNLOADER_MIDDLEWARES": {ROBOTS: None}}
    crawled = await crawl(LinksSpider, settings, start_urls=[web.url])
    (line,) = crawled.logged("Requests: ")
    assert line == "Requests: 4 accepted: 3 pages, 1 forbidden by robots.txt"


@ensureDeferred
async def test_a_site_that_scrapys_own_middleware_finds_closed_is_not_ok(web):
    """Its robots.txt forbids all, which the last line says."""
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n")
    settings = {"DOWNLOADER_MIDDLEWARES": {ROBOTS: None}}
    crawled = await crawl(LinksSpider, settings, start_urls=[web.url])
    (line,) = crawled.logged("INCOMPLETE: ")
    assert f"1 site forbade all requests, such as {web.url}." in line


@ensureDeferred
async def test_without_pauses_each_answer_is_counted(web, caplog):
    """A refusal is RetryMiddleware's, as in stock Scrapy, and one line says so."""
    web.pages["/page/2"] = Answer(b"", 503)
    crawled = await crawl(
        LinksSpider,
        {
            "DOWNLOADER_MIDDLEWARES": {PAUSES: None},
            "ROBOTSTXT_OBEY": False,
            "RETRY_TIMES": 2,
        },
        start_urls=[web.url],
    )
    assert crawled.stats["retry/count"] == 2
    assert "no site is paused, and no crawl delay obeyed" in caplog.text
    assert "replaced by a middleware" not in caplog.text


@ensureDeferred
async def test_without_pauses_what_a_callback_awaits_is_counted_too(webs):
    """As a media pipeline sends its requests; not those of the package."""
    web = webs()
    web.chain(2)

    class Awaiting(LinksSpider):
        async def parse(self, response):
            request = scrapy.Request(web.url + "/page/1", callback=NO_CALLBACK)
            await self.crawler.engine.download_async(request)
            yield {"url": response.url}

    settings = {"DOWNLOADER_MIDDLEWARES": {PAUSES: None}}
    result = await crawl(Awaiting, settings, start_urls=[web.url + "/page/0"])
    assert result.stats["mandelbot/requests/page"] == 2
