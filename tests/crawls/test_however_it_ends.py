"""One request is out and others wait for its end: however it ends, the others go on.

One request at a time can hold six things: the fetch of a robots.txt, the probe of a
pause, the probe of a section, the turn at a crawl delay, a place in a quota, and a
lease. It can end in ten ways. Each pair is a small crawl in which the first request
that holds the thing ends in that way. Afterwards the site is requested again, every
request is accounted for, and the crawl ends.
"""

from __future__ import annotations

import asyncio
import socket

import pytest
import scrapy
from crawling import crawl, ensureDeferred
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from webs import Answer, Closed, site

from scrapy_mandelbot.crawl import Crawl

PAGES = 8
HOLDERS = ["rules", "probe", "section", "turn", "quota", "lease"]
ENDINGS = [
    "good",
    "refused",
    "exception",
    "swallowed",
    "replaced",
    "cancelled",
    "proxy",
    "timeout",
    "dropped",
    "closing",
]
PAGE_IS_GONE = {"exception", "swallowed", "cancelled", "dropped"}
SETTINGS = {
    "RETRY_TIMES": 2,
    "DOWNLOAD_TIMEOUT": 20,
    # seconds of time that jumps: a crawl that hangs fails
    "CLOSESPIDER_TIMEOUT": 5_000,
    "MANDELBOT_PACE": "obey",
    "MANDELBOT_LIMITS": {"robots_timeout": 10},
}


def is_held_by(crawler, request, holder: str) -> bool:
    """Return whether others wait for the end of this request."""
    if holder == "rules":
        return request.url.endswith("/robots.txt")
    flight = Crawl.of(crawler).throttle.in_flight.get(request)
    if flight is None:
        return False
    site_, section = flight.site, flight.site.faults.of(request)
    return {
        "probe": lambda: flight is site_.pause.probe,
        "lease": lambda: flight is site_.pause.probe,
        "section": lambda: section is not None and section.pause.probe is flight,
        "turn": lambda: site_.pacer.is_on and site_.pacer.turn is flight,
        "quota": lambda: (
            site_.pacer.quota is not None and flight in site_.pacer.quota.flights
        ),
    }[holder]()


class Spoiler:
    """A project's middleware next to the downloader: the request that holds the thing
    ends.
    """

    def __init__(self, crawler):
        self.crawler, self.case = crawler, crawler.case

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_request(self, request):
        case = self.case
        if case.spoiled is not None or not is_held_by(
            self.crawler, request, case.holder
        ):
            return None
        case.spoiled, case.hits_before = request, len(case.web.hits)
        if case.ending == "refused":
            return Response(request.url, status=503, headers={"Retry-After": "2"})
        if case.ending == "exception":
            raise ValueError("a middleware of the project fails")
        if case.ending == "proxy":
            request.meta["proxy"] = case.dead_proxy
        if case.ending == "timeout":
            case.is_silent = True
        if case.ending == "cancelled":
            asyncio.current_task().cancel()
            await asyncio.sleep(5)
        if case.ending == "dropped":
            raise GeneratorExit
        if case.ending == "closing":
            closing = self.crawler.engine.close_spider_async(reason="closed_by_test")
            case.closing = deferred_from_coro(closing)
        return None

    def process_response(self, request, response):
        case = self.case
        if request is not case.spoiled or case.is_over:
            return response
        case.is_over = True
        if case.ending == "swallowed":
            raise IgnoreRequest("a middleware of the project wants no such answer")
        if case.ending == "replaced":
            return request.replace(dont_filter=True)
        return response

    def process_exception(self, request, exception):
        request.meta.pop("proxy", None)


class Case:
    """What one crawl of the matrix does."""

    def __init__(self, web, holder: str, ending: str) -> None:
        self.web, self.holder, self.ending = web, holder, ending
        self.spoiled, self.hits_before = None, 0
        self.is_over = self.is_silent = self.was_down = False
        self.dead = 4  # pages of the section are refused so often after its first probe
        self.closing = None
        web.refuse = self.answer
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            self.dead_proxy = f"http://127.0.0.1:{nobody.getsockname()[1]}"

    def urls(self) -> list[str]:
        if self.holder != "section":
            return [f"{self.web.url}/page/{number}" for number in range(PAGES)]
        folders = ["/dead", "/page"]
        return [f"{self.web.url}{folders[n % 2]}/{n}" for n in range(5 * PAGES)]

    def answer(self, path: str) -> Answer | None:
        if self.is_silent:
            self.is_silent = False
            return Answer(b"late", delay=100.0)
        if path == "/robots.txt":
            delay = b"Crawl-delay: 1\n" if self.holder == "turn" else b""
            return Answer(b"User-agent: *\n" + delay + b"Disallow: /no\n")
        if self.holder in {"probe", "lease"} and not self.was_down:
            self.was_down = True
            return Answer(b"", 503, {"Retry-After": "3"})
        if path.startswith("/dead/") and self.dead:
            self.dead -= self.spoiled is not None
            return Answer(b"", 503)
        if self.holder == "quota":
            return Answer(
                b"page", headers={"RateLimit-Remaining": "1", "RateLimit-Reset": "2"}
            )
        return Answer(b"page")


class Spider(scrapy.Spider):
    name = "matrix"

    async def start(self):
        for url in self.crawler.case.urls():
            yield scrapy.Request(url, errback=self.failed)

    def parse(self, response):
        yield {"url": response.url}

    def failed(self, failure):
        """Nothing: the account has it."""


@pytest.mark.usefixtures("loop_is_turned")
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("holder", HOLDERS)
@ensureDeferred
async def test_the_others_go_on(webs, tmp_path, caplog, holder, ending):
    case = Case(site(webs, 0), holder, ending)
    settings = {**SETTINGS, "DOWNLOADER_MIDDLEWARES": {Spoiler: 990}}
    if holder == "lease":
        settings["MANDELBOT_STORE"] = str(tmp_path / "store.db")
    if holder == "quota":
        settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = 2

    result = await crawl(
        Spider, settings, before=lambda crawler: setattr(crawler, "case", case)
    )

    assert case.spoiled is not None, "no request came to hold it"
    assert "AlreadyCalledError" not in caplog.text, "an end was reported twice"
    if ending == "closing":
        assert result.stats["finish_reason"] == "closed_by_test"
        return
    assert result.stats["finish_reason"] == "finished"
    assert len(case.web.hits) > case.hits_before
    missing = set(case.urls()) - set(result.urls())
    assert len(missing) <= (ending in PAGE_IS_GONE)


class Waiting(scrapy.Spider):
    """Its callback waits for a download of its own for a second, while the site is
    paused.
    """

    name = "waiting"

    async def start(self):
        yield scrapy.Request(self.web.url + "/first")

    async def parse(self, response):
        if response.url.endswith("/first"):
            yield scrapy.Request(self.web.url + "/down")
            await asyncio.sleep(0.5)
            request = scrapy.Request(self.web.url + "/inline")
            try:
                await self.limited(self.crawler.engine.download_async(request))
            # by whose limit
            except (TimeoutError, asyncio.TimeoutError, asyncio.CancelledError):
                yield {"error": "its time is over"}
        else:
            yield {"url": response.url}

    async def limited(self, download):
        if self.by == "asyncio":
            return await asyncio.wait_for(download, 1)
        from twisted.internet import reactor

        return await maybe_deferred_to_future(
            deferred_from_coro(download).addTimeout(1, reactor)
        )


@pytest.mark.usefixtures("loop_is_turned")
@pytest.mark.parametrize("by", ["asyncio", "twisted"])
@ensureDeferred
async def test_a_download_that_waits_for_a_pause_is_given_up_by_its_caller(webs, by):
    """The caller gets its TimeoutError, all other pages come, and the crawl ends."""
    web = site(webs, 0)
    web.pages |= {path: Answer(b"page") for path in ("/first", "/down", "/inline")}
    web.refuse = Closed(seconds=4, after=1, retry_after="4", robots_too=False)

    result = await crawl(Waiting, {"CLOSESPIDER_TIMEOUT": 500}, web=web, by=by)

    assert result.stats["finish_reason"] == "finished"
    assert result.items == [{"error": "its time is over"}, {"url": web.url + "/down"}]
    assert web.asked("/inline") == 0


class Cancelling(scrapy.Spider):
    """Cancels the download of the first request to a site while its robots.txt is
    fetched.
    """

    name = "cancelling"

    async def start(self):
        yield scrapy.Request(self.first)

    async def parse(self, response):
        if response.url != self.first:
            yield {"url": response.url}
            return
        request = scrapy.Request(self.web.url + "/cancelled")
        download = asyncio.ensure_future(self.crawler.engine.download_async(request))
        await asyncio.sleep(0.1)
        for number in range(3):
            yield scrapy.Request(f"{self.web.url}/page/{number}")
        await asyncio.sleep(0.4)
        download.cancel()


@pytest.mark.usefixtures("loop_is_turned")
@ensureDeferred
async def test_a_robots_txt_is_fetched_by_the_next_if_the_first_request_is_cancelled(
    webs,
):
    """No page of another request is lost, and the account names what became of the
    first.
    """
    other, web = site(webs, 0, "127.0.0.2"), site(webs, 3)
    web.pages["/robots.txt"].delay = 2.0

    result = await crawl(Cancelling, web=web, first=other.url + "/")

    assert result.urls() == [f"{web.url}/page/{number}" for number in range(3)]
    assert web.asked("/cancelled") == 0
    ends = {
        key: value
        for key, value in result.stats.items()
        if "mandelbot/requests/" in key
    }
    assert ends == {
        "mandelbot/requests/taken_in": 5,
        "mandelbot/requests/page": 4,
        "mandelbot/requests/cancelled": 1,
    }
