"""What sitemaps list waits on disk, is fed as there is room, and outlasts runs."""

from __future__ import annotations

import json

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from jobs import SPIDER
from scrapy import signals as scrapy_signals
from scrapy.core.engine import ExecutionEngine
from shops import FOLLOW, index, shop, urls, urlset
from webs import Closed, html

from scrapy_mandelbot.engine import scheduler_length

HOUR = 3_600.0


@pytest.mark.slow
@ensureDeferred
async def test_entries_wait_on_disk(webs):
    """Of a thousand entries no more than a hundred or so are requests at a time."""
    web = shop(webs, 1000, "/index.xml")
    web.pages["/index.xml"] = index(f"{web.url}/a.xml", f"{web.url}/b.xml")
    web.pages["/a.xml"] = urlset(*(f"{web.url}/{number}" for number in range(600)))
    web.pages["/b.xml"] = urlset(
        *(f"{web.url}/{number}" for number in range(600, 1000))
    )
    lengths = []

    def before(crawler) -> None:
        def measure(response) -> None:
            lengths.append(scheduler_length(crawler))

        before.keep = measure
        crawler.signals.connect(measure, signal=scrapy_signals.response_received)

    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"], before=before)

    assert len(result.items) == len(set(result.urls())) == 1001
    assert max(lengths) <= 110


@ensureDeferred
async def test_entries_are_fed_while_more_are_read(webs, monkeypatch):
    """A crawl that is faster than the reading waits for the rest."""
    monkeypatch.setattr("mandelbot.sitemaps.reader._STEP", 1)
    web = shop(webs, 30, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(30)))
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert len(result.items) == len(set(result.urls())) == 31


@pytest.mark.usefixtures("loop_is_turned")
@ensureDeferred
async def test_duplicates_keep_no_crawl_from_its_end(webs, monkeypatch):
    """A sitemap that lists pages again that are known fills no room, and the next is
    read.

    What is left never waits for the engine's heartbeat.
    """
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", HOUR)
    web = shop(webs, 3, "/a.xml", "/b.xml")
    web.pages["/a.xml"] = urlset(*(f"{web.url}/{number % 2}" for number in range(1000)))
    web.pages["/b.xml"] = urlset(f"{web.url}/2")
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 2)])
    assert result.seconds < HOUR


@ensureDeferred
async def test_a_full_scheduler_is_not_fed(webs, monkeypatch):
    """Who was not fed as others had filled it is fed when there is room."""
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.follower._MOST", 5)
    sites = [shop(webs, 30, "/sitemap.xml", host=f"127.0.0.{n}") for n in (1, 2, 3)]
    for web in sites:
        web.pages["/sitemap.xml"] = urlset(
            *(f"{web.url}/{number}" for number in range(30))
        )
    result = await crawl(
        LinksSpider, FOLLOW, start_urls=[web.url + "/" for web in sites]
    )
    assert len(result.items) == len(set(result.urls())) == 93


class Swallowing:
    """A downloader middleware that sends other requests in place of some."""

    def process_request(self, request):
        if request.url.endswith("/swallowed.xml"):
            return scrapy.Request(
                request.url.replace("swallowed", "0"), dont_filter=True
            )
        return None


@ensureDeferred
async def test_a_sitemap_whose_request_is_swallowed_keeps_no_crawl_open(webs):
    """Nobody tells what became of it; the next is read, and the crawl ends."""
    web = shop(webs, 2, "/swallowed.xml", "/sitemap.xml")
    web.pages["/0.xml"] = html()
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/1")
    settings = {**FOLLOW, "DOWNLOADER_MIDDLEWARES": {Swallowing: 500}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert f"{web.url}/1" in result.urls()
    assert result.logged(f"The sitemap {web.url}/swallowed.xml was not read")
    assert result.stats["finish_reason"] == "finished"


FOLLOWING = SPIDER.replace(
    '"DOWNLOAD_DELAY": 0,', '"DOWNLOAD_DELAY": 0, **SITEMAPS,'
).replace(
    "import scrapy", f"import scrapy\nSITEMAPS = {FOLLOW | {'CONCURRENT_REQUESTS': 4}}"
)


@ensureDeferred
async def test_a_restart_goes_on_where_it_stopped(webs, job):
    """Interrupted within a sitemap: over both runs every page exactly once."""
    web = shop(webs, 250, "/a.xml", "/b.xml")
    web.pages["/a.xml"] = urlset(*(f"{web.url}/{number}" for number in range(200)))
    web.pages["/b.xml"] = urlset(*(f"{web.url}/{number}" for number in range(200, 250)))
    web.refuse = closed = Closed(seconds=10**6, after=60, retry_after="1")

    log, _ = await job.run([web.url + "/"], paused="SIGINT", spider=FOLLOWING)
    assert "Closing spider (shutdown)" in log, log
    assert 50 < len(job.items()) < 100
    closed.seconds = 0
    log, _ = await job.run([web.url + "/"], spider=FOLLOWING)

    assert "Closing spider (finished)" in log, log
    both = job.items()
    assert len(both) == 251
    assert both.pop(web.url + "/") in {1, 2}  # Scrapy asks for start URLs again
    assert set(both.values()) == {1}
    assert web.asked("/a.xml", 200) == web.asked("/b.xml", 200) == 1


@ensureDeferred
async def test_books_that_cannot_be_read_are_begun_again(webs, tmp_path):
    """A warning, and the sitemaps are read again."""
    web = shop(webs, 1, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0")
    folder = tmp_path / "mandelbot.sitemaps"
    folder.mkdir()
    (folder / "state.json").write_text(json.dumps({"number": 1, "sites": {"x": 7}}))
    (folder / "9.jsonl").write_text("{}")
    result = await crawl(
        LinksSpider, {**FOLLOW, "JOBDIR": str(tmp_path)}, start_urls=[web.url + "/"]
    )
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])
    assert result.logged("The stored state of sitemaps is unreadable")
    assert [path.name for path in folder.iterdir()] == ["state.json"]


class StoppingSpider(LinksSpider):
    """Closes the crawl with its third page."""

    def parse(self, response):
        yield from super().parse(response)
        self.pages = getattr(self, "pages", 0) + 1
        if self.pages == 3:
            raise scrapy.exceptions.CloseSpider("enough")


@ensureDeferred
async def test_a_stopped_crawl_is_fed_no_further_entry(webs, tmp_path, monkeypatch):
    """Each entry is a turn of the loop: those after the stop wait for the next run, and
    each request that the crawl took in has an end in its account.
    """
    monkeypatch.setattr("scrapy_mandelbot.clock._SLICE", 0.0)
    web = shop(webs, 90, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(90)))
    settings = {**FOLLOW, "JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 2}

    first = await crawl(StoppingSpider, settings, start_urls=[web.url + "/"])

    assert first.stats["finish_reason"] == "enough"
    assert not first.stats.get("log_count/ERROR")
    assert not first.stats.get("log_count/CRITICAL")
    taken_in = first.stats["mandelbot/requests/taken_in"]
    left = first.stats.get("mandelbot/requests/left", 0)
    assert first.stats["scheduler/enqueued"] == taken_in
    assert taken_in == first.stats["mandelbot/requests/page"] + left

    second = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    both = {*first.urls(), *second.urls()}
    assert both == {web.url + "/", *urls(web, *range(90))}
