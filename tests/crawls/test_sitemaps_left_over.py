"""A JOBDIR of a run that followed sitemaps, resumed by one that does not."""

from __future__ import annotations

import pytest
import scrapy
from crawling import SCRAPYS_FORM, LinksSpider, ensureDeferred
from crawling import crawl as crawl_with
from families import cite, crawl, pages, site
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.spiders import SitemapSpider
from shops import urlset
from webs import Closed

pytestmark = pytest.mark.usefixtures("loop_is_turned")

LINE = "Sitemaps are not followed in this run"


@pytest.fixture
def left(webs, tmp_path):
    """Return what leaves two such requests in JOBDIR, and the settings to resume with.

    One is for a sitemap of a paused site; one asks a paused site whether it cites a
    sitemap.
    """
    settings = {"JOBDIR": str(tmp_path)}
    web, other, busy = (
        site(webs, 1, 3, "/map.xml"),
        site(webs, 2, 1, "/map.xml"),
        site(webs, 3, 1),
    )
    web.pages["/map.xml"] = urlset(*pages(web, 3))
    other.pages["/map.xml"] = urlset(*pages(busy, 1))
    cite(busy, f"{other.url}/map.xml")
    web.refuse = Closed(10**6, after=1, retry_after="1", robots_too=False)
    busy.refuse = Closed(10**6, retry_after="1")

    async def first_run(form=None):
        result = await crawl(
            settings | {"MANDELBOT_PAUSE_IDLE": 0, **(form or {})},
            start_urls=[web.url + "/", other.url + "/"],
        )
        assert result.stats["finish_reason"] == "sites_paused"
        assert web.asked("/map.xml", 503) == 1
        web.refuse = busy.refuse = lambda _: None
        del web.hits[:], other.hits[:], busy.hits[:]
        return web, other, busy

    return first_run, settings


class NoMore(LinksSpider):
    """One that has opted out."""

    custom_settings = {"MANDELBOT_SITEMAPS": "off"}


class Stock(SitemapSpider):
    """One that reads sitemaps itself."""

    name = "links"

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url)

    def parse(self, response):
        yield {"url": response.url}


@pytest.mark.parametrize(
    ("spider", "settings"),
    [
        (LinksSpider, {}),
        (NoMore, {}),
        (Stock, {"MANDELBOT_SITEMAPS": "follow"}),
        (
            LinksSpider,
            {
                "MANDELBOT_INNER_SCHEDULER": "scrapy.core.scheduler.Scheduler",
                "SCHEDULER": "scrapy_mandelbot.ParkingScheduler",
            },
        ),
    ],
    ids=[
        "the setting has changed",
        "the spider opts out",
        "SitemapSpider",
        "another scheduler",
    ],
)
@ensureDeferred
async def test_requests_for_sitemaps_are_dropped_and_the_crawl_goes_on(
    left, spider, settings
):
    """One line and a stat tell of them; nothing is asked for, no error is logged, pages
    come.
    """
    first_run, job = left
    web, other, busy = await first_run(
        SCRAPYS_FORM if "SCHEDULER" in settings else None
    )
    result = await crawl_with(spider, {**job, **settings}, start_urls=[web.url + "/1"])
    assert result.urls() == [web.url + "/1"]
    assert [hit.path for one in (web, other, busy) for hit in one.hits] == ["/1"]
    assert result.stats["mandelbot/sitemaps/dropped"] == 2
    (account,) = result.logged("Requests: ")
    assert account == "Requests: 3 accepted: 1 page, 2 dropped by other components"
    (line,) = result.logged(LINE)
    assert "left by the previous run" in line
    assert "log_count/ERROR" not in result.stats
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_a_run_that_follows_again_reads_what_was_dropped(left):
    """It asks for those sitemaps anew, as its sites cite them still."""
    first_run, job = left
    web, other, busy = await first_run()
    await crawl_with(LinksSpider, job, start_urls=[web.url + "/1"])
    result = await crawl(job, start_urls=[web.url + "/", other.url + "/"])
    assert {*pages(web, 3), *pages(busy, 1)} - {f"{web.url}/1"} <= set(result.urls())
    assert result.stats["mandelbot/sitemaps/read"] == 2


class OwnQueue(DownloaderAwarePriorityQueue):
    """A project's own, which takes the place of ours."""


@ensureDeferred
async def test_what_another_queue_hands_out_is_read_by_nobody(left):
    """It is asked for, and its answer is dropped; a failure as well as a page."""
    first_run, job = left
    web, other, _ = await first_run(SCRAPYS_FORM)
    web.pages["/map.xml"].status = 404
    settings = {**job, "SCHEDULER_PRIORITY_QUEUE": OwnQueue}
    result = await crawl_with(LinksSpider, settings, start_urls=[other.url + "/0"])
    assert result.urls() == [other.url + "/0"]
    assert result.stats["mandelbot/sitemaps/dropped"] == 2
    assert "mandelbot/sitemaps/read" not in result.stats
    assert len(result.logged(LINE)) == 1
    assert "log_count/ERROR" not in result.stats


@ensureDeferred
async def test_a_job_without_them_hears_nothing_of_it(webs, tmp_path):
    """Neither a line nor a stat."""
    web = site(webs, 1, 1)
    result = await crawl_with(
        LinksSpider, {"JOBDIR": str(tmp_path)}, start_urls=[web.url + "/"]
    )
    assert len(result.items) == 1
    assert not result.logged(LINE)
    assert "mandelbot/sitemaps/dropped" not in result.stats
