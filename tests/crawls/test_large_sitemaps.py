"""A sitemap of any size stops no other site while it is read."""

from __future__ import annotations

import gzip
from collections import Counter
from typing import TYPE_CHECKING

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy import signals as scrapy_signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.spiders import SitemapSpider
from shops import FOLLOW, shop
from webs import Answer, site

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fetching import download_limits
from scrapy_mandelbot.sitemap_crawl import selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

LINE = b"http://127.0.0.1/no-such-page-of-mine/a-longer-path/to-fill/a-line\n"
HELD = 500_000  # bytes of responses that the scraper holds, in place of 5,000,000
LARGE = LINE * (HELD * 11 // 10 // len(LINE))
PLAIN = {"Content-Type": "text/plain"}
PACKED = {**PLAIN, "Content-Encoding": "gzip"}


def count_meanwhile(host: str, urls: list[str]):
    """Note the responses of a host from the response with a sitemap until the sitemap
    is read.
    """

    def before(crawler) -> None:
        is_reading = False

        def received(response) -> None:
            nonlocal is_reading
            is_reading |= response.url.endswith("/large.txt")
            if is_reading and f"//{host}:" in response.url and not is_read():
                urls.append(response.url)

        def is_read() -> bool:
            return bool(crawler.stats.get_value("mandelbot/sitemaps/read"))

        before.keep = received
        crawler.signals.connect(received, signal=scrapy_signals.response_received)

    return before


@pytest.mark.parametrize(
    "sitemap",
    [
        pytest.param(Answer(LARGE, headers=PLAIN), id="plain"),
        pytest.param(
            Answer(gzip.compress(LARGE), headers=PACKED),
            id="gzip",
            marks=pytest.mark.thorough,
        ),
    ],
)
@ensureDeferred
async def test_a_large_sitemap_stops_no_other_site(webs, monkeypatch, sitemap):
    """Scrapy's scraper hands out nothing while callbacks hold so many bytes of
    responses.
    """
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations.MOST_STRANGERS", 0)
    large = shop(webs, 0, "/large.txt")
    large.pages["/large.txt"] = sitemap
    well = site(webs, 100, host="127.0.0.2")
    meanwhile: list[str] = []
    result = await crawl(
        LinksSpider,
        {
            **FOLLOW,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
            "SCRAPER_SLOT_MAX_ACTIVE_SIZE": HELD,
        },
        before=count_meanwhile("127.0.0.2", meanwhile),
        start_urls=[large.url + "/", well.url + "/"],
    )
    assert result.stats["mandelbot/sitemaps/read"] == 1
    assert sum("127.0.0.2" in url for url in result.urls()) == 101
    assert len(meanwhile) > 10  # those in flight and their successors are not so many


@ensureDeferred
async def test_bodies_beyond_the_bound_stay_with_the_scraper(webs, monkeypatch):
    """Bytes held are bounded over all sites; the scraper holds the engine up for the
    others.
    """
    monkeypatch.setattr(selection, "MOST_BYTES", 100)
    held, whole = [], []
    take = selection.SitemapBodies.process_response

    def process_response(self, request, response):
        answer = take(self, request, response)
        if request.url.endswith("map.txt"):
            whole.append(len(answer.body))
            held.append(sum(map(len, self._bodies.values())))
        return answer

    monkeypatch.setattr(selection.SitemapBodies, "process_response", process_response)
    webs_of = [shop(webs, 2, "/map.txt", host=f"127.0.0.{number}") for number in (1, 2)]
    for web in webs_of:
        body = f"{web.url}/0\n{web.url}/1\n".encode() + b"\n" * 20
        web.pages["/map.txt"] = Answer(body, headers=PLAIN)
    result = await crawl(
        LinksSpider, FOLLOW, start_urls=[web.url + "/" for web in webs_of]
    )
    assert len(result.items) == 6
    assert len(held) == 2
    assert max(held) <= 100
    assert 0 in whole


@ensureDeferred
async def test_nothing_is_held_after_a_crawl(webs):
    web = shop(webs, 1, "/map.txt", "/missing.txt")
    web.pages["/map.txt"] = Answer(f"{web.url}/0\n".encode(), headers=PLAIN)
    web.pages["/missing.txt"] = Answer(b"not here", 404)
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert len(result.items) == 2
    assert not Crawl.of(result.crawler).sitemap_bodies


class OwnSitemaps(SitemapSpider):
    name = "own"

    def _parse_sitemap(self, response):
        self.body = response.body
        yield from super()._parse_sitemap(response)

    def parse(self, response):
        yield {"url": response.url}


@ensureDeferred
async def test_a_spiders_own_sitemaps_are_untouched(webs):
    web = shop(webs, 1, "/map.xml")
    web.pages["/map.xml"] = Answer(
        f"<urlset><url><loc>{web.url}/0</loc></url></urlset>".encode(),
        headers={"Content-Type": "application/xml"},
    )
    result = await crawl(OwnSitemaps, FOLLOW, sitemap_urls=[web.url + "/map.xml"])
    assert result.urls() == [web.url + "/0"]
    assert result.spider.body == web.pages["/map.xml"].body


class Looking(LinksSpider):
    """Looks at what the scraper has while a sitemap is read."""

    def sitemap_filter(self, entries):
        slot = self.crawler.engine.scraper.slot
        self.active = [request.url for request in slot.active]
        self.sizes = slot.active_size
        yield from entries


@ensureDeferred
async def test_a_sitemap_counts_as_pending_until_it_is_read(webs):
    """Its callback reads it: the scraper has its request, and the job does not
    acknowledge it.
    """
    web = shop(webs, 1, "/map.txt")
    web.pages["/map.txt"] = Answer(
        f"{web.url}/0\n".encode() + b"\n" * 50_000, headers=PLAIN
    )
    result = await crawl(Looking, FOLLOW, start_urls=[web.url + "/"])
    assert result.spider.active == [web.url + "/map.txt"]
    assert result.spider.sizes == scrapy.core.scraper.Slot.MIN_RESPONSE_SIZE


OF_DOWNLOADS = ("headers_received", "bytes_received", "response_downloaded")


def count_receivers(
    url: str, calls: Counter[str], *, until: str
) -> Callable[[Crawler], None]:
    """Count calls of the package's receivers for pages of a site while a sitemap is
    under way.
    """

    def before(crawler) -> None:
        send = crawler.signals.send_catch_log
        names = {getattr(scrapy_signals, name): name for name in OF_DOWNLOADS}
        under_way: set[str] = set()

        def send_catch_log(signal, **arguments):
            results = send(signal, **arguments)
            request = arguments.get("request")
            if signal is scrapy_signals.request_reached_downloader:
                under_way.add(request.url)
            elif signal is scrapy_signals.request_left_downloader:
                under_way.discard(request.url)
            elif signal in names and request.url.startswith(url) and until in under_way:
                ours = [
                    one
                    for one, _ in results
                    if one.__module__.startswith(("mandelbot", "scrapy_mandelbot"))
                ]
                calls[names[signal]] += len(ours)
                calls["chunks"] += signal is scrapy_signals.bytes_received
            return results

        crawler.signals.send_catch_log = send_catch_log

    return before


@pytest.mark.usefixtures("loop_is_turned")
@pytest.mark.parametrize(
    "path", ["/robots.txt", "/map.txt", "/.well-known/tdmrep.json"]
)
@ensureDeferred
async def test_no_page_pays_for_a_file_that_is_under_way(webs, path):
    """Scrapy sends the signals for each chunk of each page: no receiver costs any page
    a call.
    """
    slow, well = shop(webs, 1, "/map.txt"), site(webs, 60, host="127.0.0.2", delay=0.01)
    slow.pages["/map.txt"] = Answer(f"{slow.url}/0\n".encode(), headers=PLAIN)
    slow.pages["/.well-known/tdmrep.json"] = Answer(b"[]")
    slow.pages[path].delay = 0.5
    calls: Counter[str] = Counter()
    result = await crawl(
        LinksSpider,
        {
            **FOLLOW,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
            "MANDELBOT_PURPOSE": "train-ai",
        },
        before=count_receivers(well.url, calls, until=slow.url + path),
        start_urls=[slow.url + "/", well.url + "/"],
    )
    assert slow.url + "/0" in result.urls()
    assert calls.pop("chunks") > 10
    assert not any(calls.values()), calls


MOST = 100_000  # bytes of a sitemap
OVER = b"#" * 99 + b"\n"
CANCELLED = "which is larger than download max size"


def chunked(body: bytes) -> Answer:
    """Return a response without a length."""
    return Answer(body, headers=PLAIN, delay=0.001)


class Unlimited(HTTP11DownloadHandler):
    """A project's handler that knows no limit and sends no signals of the crawl's
    requests.
    """

    async def download_request(self, request):
        meta = {
            key: request.meta[key] for key in request.meta if key != "download_maxsize"
        }
        return await super().download_request(request.replace(meta=meta))


def plain(body: bytes) -> Answer:
    return Answer(body, headers=PLAIN)


def packed(body: bytes) -> Answer:
    return Answer(gzip.compress(body), headers=PACKED)


OF_A_PROJECT = {"DOWNLOAD_HANDLERS": {"http": "test_large_sitemaps.Unlimited"}}
TOO_LONG = {  # what answers, with how many times the limit, under which settings
    "length": (plain, 2, {}, 2, "cut"),
    "chunked": (chunked, 3, {}, 2, "cut"),
    "gzip": (packed, 3, {}, 1, "cut"),
    "not too long": (plain, 1, {}, 1, "whole"),
    "DOWNLOAD_MAXSIZE": (plain, 1, {"DOWNLOAD_MAXSIZE": MOST // 2}, 1, "failed"),
    "a handler without limits": (plain, 2, OF_A_PROJECT, 1, "cut"),
}


@pytest.mark.parametrize("case", TOO_LONG)
@pytest.mark.parametrize("has_job", [False, True])
@ensureDeferred
async def test_a_sitemap_that_is_too_long_is_read_up_to_the_limit(
    webs, tmp_path, case, has_job
):
    """Only then do receivers follow its download, which is a second one, and no request
    is lost.
    """
    respond, times, more, requests, outcome = TOO_LONG[case]
    web = shop(webs, 1, "/map.txt")
    body = f"{web.url}/0\n".encode().ljust(99) + b"\n" + OVER * (MOST // len(OVER) - 1)
    web.pages["/map.txt"] = respond(body * times)
    job = {"JOBDIR": str(tmp_path)} if has_job else {}
    settings = {**FOLLOW, "MANDELBOT_LIMITS": {"sitemap_bytes": MOST}, **more, **job}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    stats = result.stats
    assert web.asked("/map.txt") == requests
    assert (web.url + "/0" in result.urls()) == (outcome != "failed")
    assert bool(result.logged(f"The sitemap {web.url}/map.txt was not")) == (
        outcome == "failed"
    )
    assert stats.get("mandelbot/sitemaps/failed", 0) == (outcome == "failed")
    assert stats.get("mandelbot/sitemaps/problems", 0) == (outcome == "cut")
    assert stats.get("mandelbot/requests/lost", 0) == (outcome == "failed")
    assert stats.get("mandelbot/requests/tried_again", 0) == requests - 1
    for signal in OF_DOWNLOADS[:2]:
        assert not result.crawler.signals.send_catch_log(
            getattr(scrapy_signals, signal),
            request=scrapy.Request(web.url),
            headers={},
            data=b"",
        )


@pytest.fixture
def most_at_once(monkeypatch) -> int:
    """Bytes of a coding that Scrapy unpacks at once, fewer than in a crawl."""
    monkeypatch.setattr(download_limits, "MOST_AT_ONCE", MOST)
    return MOST


@ensureDeferred
async def test_a_sitemap_that_comes_after_an_error_is_read_whole(webs, most_at_once):
    """It is requested gzipped or plain, and the limit of other codings is not that of a
    retry.
    """
    web = shop(webs, 1, "/map.txt")
    body = f"{web.url}/0\n".encode() + b"#" * 2 * most_at_once
    answers = iter([Answer(b"", 500), Answer(body, headers=PLAIN)])
    web.pages["/map.txt"] = lambda _: next(answers)
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert web.url + "/0" in result.urls()
    codings = [
        hit.headers["accept-encoding"] for hit in web.hits if hit.path == "/map.txt"
    ]
    assert codings == ["gzip", "gzip"]


@ensureDeferred
async def test_a_cached_sitemap_is_read_in_steps_too(webs, tmp_path, most_at_once):
    """The cache may have stored it as it came, gzipped."""
    web = shop(webs, 1, "/map.txt")
    body = gzip.compress(f"{web.url}/0\n".encode() + b"#" * 2 * most_at_once)
    web.pages["/map.txt"] = Answer(body, headers=PACKED)
    settings = {**FOLLOW, "HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    for _ in range(2):
        result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
        assert web.url + "/0" in result.urls()
        assert not result.logged(f"The sitemap {web.url}/map.txt was not")
    assert web.asked("/map.txt") == 1
