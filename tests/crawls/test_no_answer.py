"""No answer to /robots.txt: of a host that never answered, and for what the project
itself does.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
import scrapy
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from mandelbot.answers.failures import failure_of
from mandelbot.answers.outcome import Failure
from scrapy import signals as scrapy_signals
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.error import DNSLookupError
from twisted.internet.task import deferLater
from webs import Answer, Closed, site

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}
WITHOUT = {"ADDONS": {}, "ROBOTSTXT_OBEY": True}
RULES = Answer(b"User-agent: *\nDisallow: /page/1\n")


@pytest.fixture
def dead(webs):
    """The URL of a site at which nobody listens."""
    web = webs("127.0.0.3")
    url = web.url
    web.close()
    return url


def errors(caplog) -> list[logging.LogRecord]:
    """Return the ERRORs of this package."""
    return [
        record
        for record in caplog.records
        if record.levelno >= logging.ERROR
        and record.name.startswith("scrapy_mandelbot")
    ]


# A host that never answered.


@ensureDeferred
async def test_the_requests_of_a_dead_host_fail_with_its_error(dead):
    """Each errback gets what stock Scrapy gives it, after five tries for robots.txt in
    40 s: a host that is restarted meanwhile is crawled.
    """
    urls = [f"{dead}/{number}" for number in range(3)]
    stock = await crawl(FailuresSpider, WITHOUT, start_urls=urls)
    result = await crawl(FailuresSpider, IN_MEMORY, start_urls=urls)
    assert result.seconds < 50
    (error,) = {(type(one.value), str(one.value)) for one in stock.failures}
    assert [(type(one.value), str(one.value)) for one in result.failures] == 3 * [error]
    assert result.stats["mandelbot/robots/fetched"] == 5
    assert result.stats["mandelbot/robots/unanswered"] == 1
    assert result.stats["retry/max_reached"] == 3
    (line,) = result.logged(
        f"{dead} has never answered in this run, and its requests fail: "
    )
    assert "connection refused" in line
    assert not result.logged("Gave up http")


@ensureDeferred
async def test_a_name_that_no_host_has_is_a_dead_host():
    """It is looked up five times for its robots.txt; its request is never sent."""

    class NoNames:
        def process_request(self, request):
            asked.append(request.url)
            raise DNSLookupError("no results for hostname lookup: no.invalid.")

    asked = []
    settings = {**IN_MEMORY, "DOWNLOADER_MIDDLEWARES": {NoNames: 960}}
    result = await crawl(FailuresSpider, settings, start_urls=["http://no.invalid/"])
    assert asked == ["http://no.invalid/robots.txt"] * 5
    assert [type(one.value) for one in result.failures] == [DNSLookupError]
    assert result.stats["mandelbot/robots/unanswered"] == 1
    assert result.seconds < 50


@ensureDeferred
async def test_dead_hosts_hold_up_no_others(webs, dead):
    """All pages of the site that is well arrive, and the crawl ends with them."""
    web = site(webs, 20)
    result = await crawl(
        FailuresSpider, IN_MEMORY, start_urls=[dead + "/", web.url + "/"]
    )
    assert result.urls() == web.urls(20)
    assert web.hits[-1].at - web.hits[0].at < 5
    assert len(result.failures) == 1
    assert result.seconds < 50


@ensureDeferred
async def test_hosts_that_hang_hold_at_most_half_of_the_places(webs):
    """And each one place: all pages of the site that comes last arrive before they time
    out.
    """
    hanging = [webs(f"127.0.1.{n}") for n in range(1, 25)]
    for web in hanging:
        web.refuse = lambda _path: Answer(delay=10_000.0)
    web = site(webs, 60)
    urls = [*(one.url + "/" for one in hanging), web.url + "/"]
    settings = {
        **IN_MEMORY,
        "CONCURRENT_REQUESTS": 8,
        "MANDELBOT_LIMITS": {"robots_timeout": 10},
    }
    settings |= {"DOWNLOAD_TIMEOUT": 10}
    began = TIME.elapsed()
    result = await crawl(FailuresSpider, settings, start_urls=urls)
    assert result.urls() == web.urls(60)
    at = sorted(hit.at for hit in web.hits)
    assert at[-1] - at[0] < 10
    assert at[-1] - began < 65
    # Places come free each ten seconds: what is sent in the same turn may arrive first.
    asked = [sum(hit.at < at[0] - 1 for hit in one.hits) for one in hanging]
    assert max(asked) == 1, "none was asked twice before the last one was asked"


class SecondTrySpider(FailuresSpider):
    """Has the server come up when the first request has failed, and asks for another
    page.
    """

    wait = 0.0

    async def failed(self, failure):
        super().failed(failure)
        if len(self.failures) == 1:
            self.web.listen_again()
            await maybe_deferred_to_future(later(self.wait))
            yield scrapy.Request(
                self.web_url + "/", errback=self.failed, dont_filter=True
            )


def later(seconds: float) -> Deferred[None]:
    from twisted.internet import reactor

    return deferLater(reactor, seconds, lambda: None)


@ensureDeferred
async def test_no_request_of_a_dead_host_is_let_through(webs):
    """It comes up after the fifth try: no page is asked for, as its rules are not
    known.
    """
    web = site(webs, 2)
    url = web.url
    web.drop()
    await later(0.01)
    result = await crawl(
        SecondTrySpider, IN_MEMORY, start_urls=[url + "/first"], web=web, web_url=url
    )
    assert web.hits == []
    assert len(result.failures) == 2
    assert result.seconds < 50


@ensureDeferred
async def test_a_dead_host_is_asked_again_after_a_while(webs):
    """One that has come up by then is crawled, by its rules; until then its requests
    fail.
    """
    web = site(webs, 3)
    web.pages["/robots.txt"] = RULES
    url = web.url
    web.drop()
    await later(0.01)
    result = await crawl(
        SecondTrySpider,
        IN_MEMORY,
        start_urls=[url + "/first"],
        web=web,
        web_url=url,
        wait=82,
    )
    said = [type(one.value) for one in result.failures]
    assert said.count(IgnoreRequest) == 1  # of the page that the rules close
    assert len(said) == 2
    assert result.urls() == [url + path for path in ("/", "/page/0", "/page/2")]
    assert web.asked("/page/1") == 0


@ensureDeferred
async def test_a_host_that_has_answered_has_the_pauses_of_a_site(webs):
    """Its robots.txt was a 500, then it is down for longer than three tries."""
    web = site(webs, 3)
    url = web.url
    robots = [RULES, Answer(b"", 500)]
    web.pages["/robots.txt"] = lambda _: robots.pop() if len(robots) == 2 else robots[0]

    def drop_after_the_first_response(crawler: Crawler) -> None:
        def drop() -> None:
            from twisted.internet import reactor

            crawler.signals.disconnect(drop, scrapy_signals.response_downloaded)
            web.drop()
            reactor.callLater(20, web.listen_again)

        crawler.signals.connect(drop, scrapy_signals.response_downloaded, weak=False)

    result = await crawl(
        LinksSpider,
        IN_MEMORY,
        start_urls=[url + "/"],
        before=drop_after_the_first_response,
    )
    assert result.urls() == [url + path for path in ("/", "/page/0", "/page/2")]
    assert result.seconds > 15
    assert "mandelbot/robots/unanswered" not in result.stats


class DownloadSpider(LinksSpider):
    """Sends a request past the queue, as media pipelines do."""

    async def start(self):
        wanted = scrapy.Request(
            self.start_urls[0], callback=NO_CALLBACK, meta={"dont_retry": True}
        )
        try:
            await self.crawler.engine.download_async(wanted)
        except Exception as error:  # noqa: BLE001
            yield {"error": error}


@ensureDeferred
async def test_a_request_from_outside_the_queue_fails_without_a_last_wait(dead):
    """Its sender gets the error of the last try."""
    result = await crawl(DownloadSpider, IN_MEMORY, start_urls=[dead + "/"])
    (item,) = result.items
    assert failure_of(item["error"]) is Failure.REFUSED
    assert result.seconds < 50


# What the project's own code does.


class Raises:
    """A downloader middleware that cannot bear a robots.txt."""

    def process_request(self, request):
        if request.url.endswith("/robots.txt"):
            raise KeyError("no such header")


RAISES = {**IN_MEMORY, "DOWNLOADER_MIDDLEWARES": {Raises: 500}}


@ensureDeferred
async def test_an_error_of_a_middleware_is_told_once_and_pauses_nothing(webs, caplog):
    """It is an ERROR with its traceback, and the requests of all sites go on."""
    web, other = site(webs, 3), site(webs, 3, "127.0.0.2")
    urls = [web.url + "/", other.url + "/"]
    result = await crawl(LinksSpider, RAISES, start_urls=urls)
    assert result.urls() == sorted(web.urls(3) + other.urls(3))
    (record,) = errors(caplog)
    assert record.exc_info[0] is KeyError
    assert record.exc_info[2] is not None
    assert result.stats["mandelbot/robots/unasked"] == 2
    assert "mandelbot/pause/count" not in result.stats


@ensureDeferred
async def test_a_good_copy_serves_on_through_an_error_of_the_project(
    webs, tmp_path, caplog
):
    """Nothing is opened by it that the site has closed."""
    web = site(webs, 3)
    web.pages["/robots.txt"] = RULES
    store = {
        "MANDELBOT_STORE": str(tmp_path / "copies.db"),
        "MANDELBOT_CACHE": {"ttl": 0},
    }
    await crawl(LinksSpider, store, start_urls=[web.url + "/"])
    result = await crawl(LinksSpider, RAISES | store, start_urls=[web.url + "/"])
    assert web.asked("/page/1") == 0
    assert len(result.items) == 3
    assert len(errors(caplog)) == 1


@ensureDeferred
async def test_a_handler_that_cannot_be_loaded_pauses_nothing(webs, caplog):
    """The requests fail as they do in stock Scrapy, at once."""
    web = site(webs, 3)
    broken = {"DOWNLOAD_HANDLERS": {"http": "no.such.Handler"}}
    stock = await crawl(FailuresSpider, WITHOUT | broken, start_urls=[web.url + "/"])
    result = await crawl(FailuresSpider, IN_MEMORY | broken, start_urls=[web.url + "/"])
    said = [
        [(type(one.value), str(one.value)) for one in run.failures]
        for run in (stock, result)
    ]
    assert said[0] == said[1]
    assert len(said[1]) == 1
    assert result.seconds < 5
    assert len(errors(caplog)) == 1


@pytest.mark.parametrize("fail", [True, False])
@pytest.mark.parametrize("signal", ["headers_received", "bytes_received"])
@ensureDeferred
async def test_a_project_that_stops_the_download_is_no_answer(
    webs, caplog, signal, fail
):
    """What has come until then is no robots.txt, and the site is not to blame."""
    web = site(webs, 3)
    web.pages["/robots.txt"] = RULES

    def stop(request):
        if request.url.endswith("/robots.txt"):
            raise StopDownload(fail=fail)

    def before(crawler):
        crawler.signals.connect(
            stop, signal=getattr(scrapy_signals, signal), weak=False
        )

    result = await crawl(
        LinksSpider, IN_MEMORY, before=before, start_urls=[web.url + "/"]
    )
    assert result.urls() == web.urls(3)
    (record,) = errors(caplog)
    assert issubclass(record.exc_info[0], StopDownload)
    assert result.stats["mandelbot/robots/unasked"] == 1


@ensureDeferred
async def test_a_project_that_drops_robots_txt_means_it(webs, caplog):
    """IgnoreRequest is no error, as in stock Scrapy."""
    web = site(webs, 3)

    class Drops:
        def process_request(self, request):
            if request.url.endswith("/robots.txt"):
                raise IgnoreRequest("not that one")

    settings = {**IN_MEMORY, "DOWNLOADER_MIDDLEWARES": {Drops: 500}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(3)
    assert errors(caplog) == []


@ensureDeferred
async def test_a_probe_that_an_error_of_the_project_ends_tells_nothing_of_its_site(
    webs,
):
    """Its request fails by itself; the site is not paused for longer, and the others
    arrive.
    """
    web = site(webs, 5)
    web.refuse = Closed(seconds=2, after=1, retry_after="2", robots_too=False)
    failed = []

    class RaisesOnce:
        def process_request(self, request):
            if (
                web.refuse.began
                and "/page/" in request.url
                and not failed
                and is_probe()
            ):
                failed.append(request.url)
                raise KeyError("no such header")

    def is_probe() -> bool:
        return TIME.elapsed() - web.refuse.began > 1.9

    settings = {**IN_MEMORY, "DOWNLOADER_MIDDLEWARES": {RaisesOnce: 960}}
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])
    assert [type(one.value) for one in result.failures] == [KeyError]
    assert result.urls() == sorted({*web.urls(5)} - set(failed))
    assert "mandelbot/pause/prolonged" not in result.stats
