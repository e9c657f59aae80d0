"""Sites that the operator pauses: from code, and from the telnet console."""

from __future__ import annotations

import pytest
import scrapy
from crawlers import get_crawler
from crawling import SETTINGS, LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from scrapy.crawler import Crawler
from scrapy.extensions import telnet
from scrapy.settings import Settings
from webs import Closed, site

from scrapy_mandelbot import pause_site, paused_sites, resume_site

pytestmark = pytest.mark.usefixtures("loop_is_turned")


class Pausing(LinksSpider):
    """Pauses the site of its first page when it has it."""

    seconds = 1.5

    def parse(self, response):
        if response.url.endswith("/") and "127.0.0.1" in response.url:
            self.paused_at = TIME.elapsed()
            pause_site(
                self.crawler, response.url, self.seconds, "the owner asked us to"
            )
        yield from super().parse(response)


@ensureDeferred
async def test_a_paused_site_is_left_alone_and_nothing_is_lost(webs):
    """No request reaches it until the time is over; another site is crawled."""
    web, other = site(webs, 20), site(webs, 20, "127.0.0.2")

    result = await crawl(Pausing, start_urls=[web.url + "/", other.url + "/"])

    began = result.crawler.spider.paused_at
    assert len(result.items) == len(set(result.urls())) == 42
    assert not [hit for hit in web.hits if began + 0.05 < hit.at < began + 1.5]
    assert max(hit.at for hit in other.hits) < began + 1.5
    (heard,) = result.signals("site_paused")
    assert (heard["site"], heard["reason"]) == (web.url, "the owner asked us to")
    (heard,) = result.signals("site_resumed")
    assert heard["paused_for"] == pytest.approx(1.5, abs=0.5)
    assert len(result.logged(f"Paused {web.url} until")) == 1
    assert result.stats["mandelbot/pause/held"] == 1


@ensureDeferred
async def test_the_next_run_keeps_to_it(webs, tmp_path):
    """The pause is in the store: a run that begins within it does not knock."""
    web = site(webs, 20)
    settings = {
        "MANDELBOT_STORE": str(tmp_path / "store.db"),
        "CLOSESPIDER_ITEMCOUNT": 1,
    }
    await crawl(Pausing, settings, start_urls=[web.url + "/"], seconds=2.5)
    hits, began = len(web.hits), TIME.elapsed()

    result = await crawl(
        LinksSpider,
        {**settings, "CLOSESPIDER_ITEMCOUNT": 0},
        start_urls=[web.url + "/"],
    )

    assert len(result.items) == 21
    assert web.hits[hits].at > began + 0.5
    assert "the owner asked us to" in next(
        one for one in result.messages if " is still paused until " in one
    )


@ensureDeferred
async def test_the_console_can_do_it_too(webs):
    """``mandelbot`` there pauses and resumes, and tells what is paused."""
    web = site(webs, 20)
    seen = {}

    class Operated(LinksSpider):
        def parse(self, response):
            if response.url.endswith("/"):
                telnet_vars = {}
                self.crawler.signals.send_catch_log(
                    telnet.update_telnet_vars, telnet_vars=telnet_vars
                )
                seen["console"] = telnet_vars["mandelbot"]
                seen["console"].pause(response.url, float("inf"))
                seen["repr"] = repr(seen["console"])
                from twisted.internet import reactor

                reactor.callLater(0.7, self.resume)
            yield from super().parse(response)

        def resume(self):
            seen["paused"] = paused_sites(self.crawler)
            seen["hits"] = len(web.hits)
            seen["resumed"] = [seen["console"].resume(web.url) for _ in range(2)]

    # no port is opened
    with_console = {"EXTENSIONS": {"scrapy_mandelbot.PauseConsole": 500}}
    result = await crawl(Operated, with_console, start_urls=[web.url + "/"])

    assert len(result.items) == 21
    assert "held until resumed" in seen["paused"][web.url]
    assert web.url in seen["repr"]
    assert seen["hits"] == 2, "robots.txt and the first page"
    assert seen["resumed"] == [True, False]
    assert "until 9999-12-31" in result.logged("Paused")[0]


@ensureDeferred
async def test_a_pause_that_the_site_asked_for_can_be_ended(webs):
    """The operator knows that it is well: a single request goes first, at once."""
    web = site(webs, 20)
    web.refuse = Closed(seconds=0.2, after=5, retry_after="100", robots_too=False)

    class Impatient(LinksSpider):
        def site_paused(self, site, until, reason):
            from twisted.internet import reactor

            reactor.callLater(0.5, resume_site, self.crawler, site)

    result = await crawl(Impatient, start_urls=[web.url + "/"])

    assert len(result.items) == 21
    assert result.seconds < 20
    assert result.stats["mandelbot/pause/resumed"] == 1


@pytest.mark.parametrize(
    ("url", "seconds"),
    [
        ("example.com", 1),
        ("ftp://example.com", 1),
        ("https://example.com", -1),
        ("https://example.com", float("nan")),
    ],
)
def test_what_is_no_pause_is_refused(url, seconds):
    """A message says what is wrong, and nothing is paused."""
    crawler = Crawler(scrapy.Spider, Settings(SETTINGS))
    with pytest.raises(ValueError, match=r"names no site|a pause takes"):
        pause_site(crawler, url, seconds)


def test_a_site_that_is_not_paused_cannot_be_resumed():
    """It tells so."""
    crawler = get_crawler(scrapy.Spider, SETTINGS)
    assert not resume_site(crawler, "https://example.com/page")


@ensureDeferred
async def test_who_is_resumed_by_hand_gets_back_what_was_refused_too(webs):
    """Refused pages let others go first, and that is over when the operator ends the
    pause.
    """
    web = site(webs, 20)
    web.refuse = closed = Closed(seconds=5, after=3, retry_after="3600")

    class Resuming(LinksSpider):
        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            from twisted.internet import reactor

            reactor.callLater(20, resume_site, crawler, web.url)
            return super().from_crawler(crawler, *args, **kwargs)

    result = await crawl(Resuming, start_urls=[web.url + "/"])

    assert result.urls() == web.urls(20)
    assert max(hit.at for hit in web.hits) < closed.began + 60
