"""Requests that never were in the queue wait for their site, and do not loop."""

from __future__ import annotations

from itertools import pairwise

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.task import deferLater
from webs import Answer, Closed, site

from scrapy_mandelbot import SitePausedError

pytestmark = pytest.mark.usefixtures("loop_is_turned")


def files_site(webs, files: int):
    web = site(webs, 0)
    for number in range(files):
        web.pages[f"/file/{number}.bin"] = Answer(b"content %d" % number)
    return web


class FilesSpider(scrapy.Spider):
    """One item, with so many files of the site."""

    name = "files"

    def parse(self, response):
        yield {
            "file_urls": [response.urljoin(f"/file/{n}.bin") for n in range(self.files)]
        }


def files_in(folder) -> dict[str, object]:
    """Return settings that have files stored there."""
    pipelines = {"scrapy.pipelines.files.FilesPipeline": 1}
    return {"ITEM_PIPELINES": pipelines, "FILES_STORE": str(folder)}


@ensureDeferred
async def test_files_of_a_paused_site_arrive(webs, tmp_path):
    """FilesPipeline, a site that answers 503 for a while: no loop, and every file
    arrives.
    """
    web = files_site(webs, 5)
    web.refuse = closed = Closed(seconds=2, after=1, retry_after="2", robots_too=False)

    result = await crawl(
        FilesSpider, files_in(tmp_path), start_urls=[web.url + "/"], files=5
    )

    (item,) = result.items
    assert len(item["files"]) == 5
    stored = sorted((tmp_path / file["path"]).read_bytes() for file in item["files"])
    assert stored == [b"content %d" % number for number in range(5)]
    assert len([hit for hit in web.hits if hit.status == 503]) <= 5
    assert [h for h in web.hits if closed.began + 0.5 < h.at < closed.began + 2] == []
    assert result.stats["mandelbot/pause/waited"] >= 1


@ensureDeferred
async def test_the_slot_sends_nothing_more_once_its_site_has_refused(webs):
    """It is free for its next request sooner than middlewares see the answer to the one
    before.
    """
    from twisted.internet import reactor

    web = files_site(webs, 4)
    web.refuse = closed = Closed(
        seconds=2, after=1, retry_after="2", robots_too=False, delay=0.2
    )

    class Spider(scrapy.Spider):
        name = "inline"
        start_urls = [web.url + "/"]

        def download(self, number):
            request = scrapy.Request(
                f"{web.url}/file/{number}.bin", callback=NO_CALLBACK
            )
            return deferred_from_coro(self.crawler.engine.download_async(request))

        async def parse(self, response):
            first = self.download(0)
            await maybe_deferred_to_future(deferLater(reactor, 0.1, lambda: None))
            for file in (first, *map(self.download, (1, 2, 3))):
                yield {"url": (await maybe_deferred_to_future(file)).url}

    result = await crawl(Spider, {"CONCURRENT_REQUESTS_PER_DOMAIN": 1})

    assert len(result.items) == 4
    assert web.statuses().count(503) == 1
    assert [
        hit for hit in web.hits if closed.began + 0.5 < hit.at < closed.began + 2
    ] == []


@ensureDeferred
async def test_waiting_requests_hold_no_place_of_other_sites(webs, tmp_path):
    """More files than fit at once wait for a paused site; another one goes on
    meanwhile.
    """
    web = files_site(webs, 12)
    web.refuse = closed = Closed(seconds=3, after=1, retry_after="3", robots_too=False)
    healthy = site(webs, 30, "127.0.0.2")

    class Spider(LinksSpider):
        def parse(self, response):
            if response.url == web.url + "/":
                yield {
                    "url": response.url,
                    "file_urls": [
                        response.urljoin(f"/file/{n}.bin") for n in range(12)
                    ],
                }
                yield scrapy.Request(healthy.url + "/", super().parse)
            else:
                yield from super().parse(response)

    settings = {**files_in(tmp_path), "CONCURRENT_REQUESTS": 4}
    result = await crawl(Spider, settings, start_urls=[web.url + "/"])

    assert len(result.items) == 1 + 31
    assert max(hit.at for hit in healthy.hits) < closed.began + 3
    files = next(item["files"] for item in result.items if "file_urls" in item)
    assert len(files) == 12


@ensureDeferred
async def test_an_inline_request_waits_and_is_answered(webs):
    """``await engine.download_async()`` in a callback gets its page when the pause is
    over.
    """
    web = files_site(webs, 1)
    web.refuse = Closed(seconds=1, after=1, retry_after="1", robots_too=False)

    class Spider(scrapy.Spider):
        name = "inline"
        start_urls = [web.url + "/"]

        async def parse(self, response):
            request = scrapy.Request(
                response.urljoin("/file/0.bin"), callback=NO_CALLBACK
            )
            file = await self.crawler.engine.download_async(request)
            yield {"url": file.url, "status": file.status, "body": file.body}

    result = await crawl(Spider)

    assert result.items == [
        {"url": web.url + "/file/0.bin", "status": 200, "body": b"content 0"}
    ]
    assert web.asked("/file/0.bin") == 2


@ensureDeferred
async def test_a_request_beside_the_queue_goes_by_no_rules_that_have_expired(webs):
    """Three hours later the site forbids its files: its robots.txt is read anew."""
    web = files_site(webs, 1)

    class Spider(scrapy.Spider):
        name = "late"
        start_urls = [web.url + "/"]

        async def parse(self, response):
            from twisted.internet import reactor

            url = response.urljoin("/file/0.bin")
            request = scrapy.Request(url, callback=NO_CALLBACK)
            file = await self.crawler.engine.download_async(request)
            yield {"url": file.url, "status": file.status}
            web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /file/\n")
            later = deferLater(reactor, 10_800, lambda: None)
            await maybe_deferred_to_future(later)
            try:
                await self.crawler.engine.download_async(request.copy())
            except IgnoreRequest as error:
                yield {"url": url, "error": str(error)}

    result = await crawl(Spider, {"MANDELBOT_CACHE": {"ttl": 7_200}})

    first, second = result.items
    assert first["status"] == 200
    assert "robots.txt" in second["error"]
    assert web.asked("/robots.txt") == 2
    assert web.asked("/file/0.bin") == 1


@ensureDeferred
async def test_the_longest_wait_ends_with_the_503_or_an_error(webs):
    """After MANDELBOT_PAUSE_OPTIONS["wait"] a request gets its 503; one never sent
    fails.
    """
    web = files_site(webs, 2)
    web.refuse = Closed(seconds=1000, after=1, retry_after="1000", robots_too=False)

    class Spider(scrapy.Spider):
        name = "impatient"
        start_urls = [web.url + "/"]

        async def parse(self, response):
            for number in range(2):
                url = response.urljoin(f"/file/{number}.bin")
                request = scrapy.Request(url, callback=NO_CALLBACK)
                try:
                    file = await self.crawler.engine.download_async(request)
                    yield {"url": file.url, "status": file.status}
                except SitePausedError as error:
                    yield {"url": url, "error": str(error)}

    result = await crawl(Spider, {"MANDELBOT_PAUSE_OPTIONS": {"wait": 0.3}})

    first, second = result.items
    assert first == {"url": web.url + "/file/0.bin", "status": 503}
    assert second["error"].startswith(f"{web.url} is paused for too long: 503 for")
    assert web.asked("/file/0.bin") == 1
    assert web.asked("/file/1.bin") == 0
    assert "retry/count" not in result.stats


@ensureDeferred
async def test_files_come_at_the_pace_of_a_recovering_site(webs, tmp_path):
    """After a pause files are asked for one by one, as pages are, not all at once."""
    web = files_site(webs, 12)
    web.refuse = closed = Closed(seconds=1, after=1, retry_after="1", robots_too=False)

    result = await crawl(
        FilesSpider, files_in(tmp_path), start_urls=[web.url + "/"], files=12
    )

    assert len(result.items[0]["files"]) == 12
    after = [hit.at for hit in web.hits if hit.at > closed.began + 1]
    gaps = [later - earlier for earlier, later in pairwise(after)]
    assert len(after) == 12
    assert gaps[0] >= 0.15, (
        "the first follow at four a second, or what the site bore before"
    )
    assert max(gaps) < 2
