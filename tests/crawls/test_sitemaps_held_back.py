"""While many sitemaps wait to be read, those of further sites wait as URLs."""

from __future__ import annotations

from itertools import cycle

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from dying import Noting, dies, run, run_after
from scrapy import signals as scrapy_signals
from shops import FOLLOW, shop, urlset
from webs import Answer

from scrapy_mandelbot.clock import LoopShare

pytestmark = pytest.mark.usefixtures("loop_is_turned")
MOST = 2  # sitemaps requested or being read at once
SITES = 12
ONE_BY_ONE = {**FOLLOW, "CONCURRENT_REQUESTS": 1}


@pytest.fixture
def sites(webs, monkeypatch):
    """Sites with a sitemap of two pages each."""
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.follower.UNDER_WAY", MOST)
    found = []
    for number in range(SITES):
        web = shop(webs, 2, "/sitemap.xml", host=f"127.0.0.{number + 1}")
        web.pages["/sitemap.xml"] = urlset(f"{web.url}/0", f"{web.url}/1")
        found.append(web)
    return found


@pytest.fixture
def slow_reading(monkeypatch):
    """Let the reading of a sitemap wait for seconds, as beside a busy crawl."""
    monkeypatch.setattr("scrapy_mandelbot.clock._SLICE", 0.0)
    rests = cycle([5.0, 0.0])
    monkeypatch.setattr(LoopShare, "_rest", lambda _: next(rests))


class Unread:
    """Counts the sitemaps that have come and are not read, as each one comes."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def begin(self, crawler) -> None:
        self._crawler = crawler
        crawler.signals.connect(self._came, signal=scrapy_signals.response_received)

    def _came(self, response) -> None:
        if response.url.endswith("/sitemap.xml"):
            read = self._crawler.stats.get_value("mandelbot/sitemaps/read", 0)
            self.counts[response.url] = len(self.counts) + 1 - read


def starts(sites) -> list[str]:
    return [f"{web.url}/" for web in sites]


def pages(sites) -> list[str]:
    return sorted(f"{web.url}/{path}" for web in sites for path in ("", "0", "1"))


@pytest.mark.usefixtures("slow_reading")
@ensureDeferred
async def test_few_sitemaps_have_come_and_are_not_read(sites):
    unread = Unread()
    result = await crawl(
        LinksSpider, ONE_BY_ONE, start_urls=starts(sites), before=unread.begin
    )
    assert result.urls() == pages(sites)
    assert [web.asked("/sitemap.xml", 200) for web in sites] == [1] * SITES
    assert max(unread.counts.values()) <= MOST


@pytest.mark.usefixtures("slow_reading")
@ensureDeferred
async def test_the_reading_never_waits_for_a_sitemap_that_was_held_back(sites):
    """The next one has come before the last one is read."""
    unread = Unread()
    await crawl(LinksSpider, ONE_BY_ONE, start_urls=starts(sites), before=unread.begin)
    assert min(list(unread.counts.values())[1:]) > 1


@ensureDeferred
async def test_none_is_held_back_for_long_while_the_reading_keeps_up(sites):
    """Sites that take a second for their sitemaps: twice as many each time."""
    for web in sites:
        web.pages["/sitemap.xml"].delay = 1.0
    result = await crawl(LinksSpider, FOLLOW, start_urls=starts(sites))
    assert result.urls() == pages(sites)
    assert result.seconds < 5


@ensureDeferred
async def test_sitemaps_that_hang_hold_others_back_for_seconds(sites):
    """None of them ends, so none is read, and no end lets another one be requested."""
    for web in sites[:MOST]:
        web.pages["/sitemap.xml"].delay = 600.0
    settings = {**FOLLOW, "DOWNLOAD_TIMEOUT": 100, "RETRY_ENABLED": False}
    await crawl(LinksSpider, settings, start_urls=starts(sites))
    for web in sites[MOST:]:
        front, page = (
            next(hit.at for hit in web.hits if hit.path == path) for path in ("/", "/0")
        )
        assert page - front < 5


@pytest.mark.usefixtures("slow_reading")
@ensureDeferred
async def test_the_sitemap_of_a_site_with_a_crawl_delay_is_not_held_back(sites):
    """It would come later than when it is read."""
    slow = sites[-1]
    slow.pages["/robots.txt"].body += b"\nCrawl-delay: 7"
    unread = Unread()
    settings = {**ONE_BY_ONE, "MANDELBOT_PACE": "obey"}
    result = await crawl(
        LinksSpider, settings, start_urls=starts(sites), before=unread.begin
    )
    assert result.urls() == pages(sites)
    assert unread.counts[f"{slow.url}/sitemap.xml"] > MOST


class StoppingSpider(LinksSpider):
    """Closes the crawl with the last of the front pages."""

    def parse(self, response):
        yield from super().parse(response)
        self.pages = getattr(self, "pages", 0) + 1
        if self.pages == SITES:
            raise scrapy.exceptions.CloseSpider("enough")


@pytest.mark.usefixtures("slow_reading")
@pytest.mark.parametrize("form", [{}, {"DUPEFILTER_CLASS": "crawling.OwnDupeFilter"}])
@ensureDeferred
async def test_a_sitemap_that_was_held_back_is_read_by_the_next_run(
    sites, tmp_path, form
):
    """In a job, and in Scrapy's own JOBDIR."""
    settings = {**ONE_BY_ONE, **form, "JOBDIR": str(tmp_path)}
    first = await crawl(StoppingSpider, settings, start_urls=starts(sites))
    asked = sum(web.asked("/sitemap.xml", 200) for web in sites)
    assert asked < SITES
    second = await crawl(LinksSpider, settings, start_urls=[])
    assert sorted(first.urls() + second.urls()) == pages(sites)
    assert [web.asked("/sitemap.xml", 200) for web in sites] == [1] * SITES


class DiesSoon(Noting):
    """Dies with the front pages, when most sitemaps are held back."""

    def parse(self, response):
        yield from super().parse(response)
        if len(self.called) == SITES:
            dies(self)


@pytest.mark.usefixtures("slow_reading")
@ensureDeferred
async def test_a_kill_loses_no_sitemap_that_was_held_back(sites, tmp_path, monkeypatch):
    """Nothing else of its site is left in the job then."""
    # What a run in good order keeps by time alone: a kill may be sooner.
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.progress._EVERY", 10**6)
    settings = {**ONE_BY_ONE, "ROBOTSTXT_OBEY": True}
    folder = tmp_path / "job"
    first = await run(DiesSoon, folder, starts(sites), **settings)
    again = await run_after(folder, Noting, **settings)
    spider = first.crawler.spider
    assert len(spider.called_then) < 2 * SITES
    assert {*spider.called_then, *again.crawler.spider.called} == {*pages(sites)}


@ensureDeferred
async def test_sites_that_are_paused_hold_no_other_sitemap_back(sites):
    """Their sitemaps come in an hour."""
    for web in sites[:MOST]:
        web.pages["/sitemap.xml"] = Answer(status=503, headers={"Retry-After": "3600"})
    settings = {**ONE_BY_ONE, "CLOSESPIDER_TIMEOUT": 600}
    result = await crawl(LinksSpider, settings, start_urls=starts(sites))
    assert {*result.urls()} >= {*pages(sites[MOST:])}


@ensureDeferred
async def test_sitemaps_that_do_not_come_hold_no_other_back(sites):
    """Sites that answer all but that."""
    for web in sites[:MOST]:
        web.pages["/sitemap.xml"].delay = 170.0
    settings = {**FOLLOW, "CONCURRENT_REQUESTS": 4, "DOWNLOAD_DELAY": 2}
    result = await crawl(LinksSpider, settings, start_urls=starts(sites))
    assert result.urls() == pages(sites)
    late = [web.hits[-1].at for web in sites[:MOST]]
    others = [hit.at for web in sites[MOST:] for hit in web.hits]
    assert max(others) < min(late) - 60
