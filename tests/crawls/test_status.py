"""What a running crawl says of itself: why it waits, what it knows."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import scrapy
from crawlers import get_crawler
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy.crawler import Crawler
from scrapy.extensions import telnet
from scrapy.settings import Settings
from webs import Answer, Closed, html, site

from scrapy_mandelbot import pause_site, resume_site, site_rules, status, why_idle
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.status import Reason

pytestmark = pytest.mark.usefixtures("loop_is_turned")


class Asking(LinksSpider):
    """Asks how the crawl stands so many seconds after its first page, or when a site
    pauses.
    """

    after = 0.0

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = []

    def parse(self, response):
        if response.url.endswith("/") and self.after:
            Crawl.of(self.crawler).clock.call_later(self.after, self.look)
        yield from super().parse(response)

    def site_paused(self, site, until, reason):
        Crawl.of(self.crawler).clock.call_later(1, self.look)

    def look(self):
        self.seen.append((status(self.crawler), why_idle(self.crawler)))


@ensureDeferred
async def test_a_paused_site_and_why(webs):
    """Until when, what it said, how many requests wait; and that the crawl is idle for
    it.
    """
    web = site(webs, 20)
    web.refuse = Closed(seconds=30, after=5, retry_after="30", robots_too=False)

    result = await crawl(Asking, start_urls=[web.url + "/"])

    seen, words = result.crawler.spider.seen[0]
    (one,) = seen.sites
    assert (one.site, one.reason, one.under_way) == (web.url, Reason.PAUSED, 0)
    (paused,) = result.signals("site_paused")[:1]
    # one that was in flight may have been refused later, and named a later end
    assert timedelta() <= one.until - paused["until"] < timedelta(seconds=10)
    assert "503 for <GET" in one.details
    assert one.waiting == seen.waiting == 16, "five were answered before"
    assert seen.is_idle
    assert seen.next == one
    assert words.startswith("It waits: 1 site paused, ")
    assert web.url in words
    assert len(result.items) == 21


@ensureDeferred
async def test_a_pace_and_its_next_turn(webs):
    """A site that is asked every ten seconds waits for its turn."""
    web = site(webs, 3)

    result = await crawl(
        Asking,
        {"MANDELBOT_CRAWL_DELAYS": {"127.0.0.1": 10}},
        start_urls=[web.url + "/"],
        after=3,
    )

    seen, words = result.crawler.spider.seen[0]
    (one,) = seen.sites
    assert (one.reason, one.waiting) == (Reason.PACE, 3)
    assert 0 < (one.until - seen.at).total_seconds() < 10
    assert one.details == "10 s between requests (set manually)"
    assert "pace" in words


@ensureDeferred
async def test_a_slow_robots_txt_and_a_full_slot(webs):
    """Requests wait for the rules; then for those that are under way."""
    web = site(webs, 20)
    web.pages["/robots.txt"].delay = 3
    for path, answer in web.pages.items():
        answer.delay = 3 if path.startswith("/page") else answer.delay

    class Early(Asking):
        async def start(self):
            for at in (1, 4.5):
                Crawl.of(self.crawler).clock.call_later(at, self.look)
            async for one in super().start():
                yield one

    result = await crawl(
        Early,
        {"CONCURRENT_REQUESTS_PER_DOMAIN": 2},
        start_urls=[web.url + "/", web.url + "/a"],
    )

    (early, _), (later, words) = result.crawler.spider.seen
    assert [(one.reason, one.waiting) for one in early.sites] == [
        (Reason.ROBOTS_TXT, 1)
    ]
    (full,) = later.sites
    assert (full.reason, full.under_way) == (Reason.SLOT_FULL, 2)
    assert words.startswith("It is not idle: 2 requests are under way")


@ensureDeferred
async def test_a_section_that_is_set_aside(webs):
    """Its path is told, and the time of its next try."""
    web = site(webs, 60)
    shelf = [f"/shelf/{number}" for number in range(20)]
    web.pages["/"] = html(*shelf, *(f"/page/{number}" for number in range(60)))
    web.pages.update({path: Answer(b"busy", 503) for path in shelf})

    class Later(Asking):
        def look(self):
            super().look()
            if status(self.crawler).waiting and len(self.seen) < 400:
                Crawl.of(self.crawler).clock.call_later(1, self.look)

    result = await crawl(Later, start_urls=[web.url + "/"], after=5)

    reasons = {
        one.reason for seen, _ in result.crawler.spider.seen for one in seen.sites
    }
    assert Reason.SECTION in reasons
    told = [one for seen, _ in result.crawler.spider.seen for one in seen.sites]
    (section, *_) = [one for one in told if one.reason is Reason.SECTION]
    assert section.details.startswith("/shelf/, ")
    assert section.until is not None


@ensureDeferred
async def test_the_log_says_what_is_waited_for_when_that_changes(webs):
    """Beside the line of LogStats; the same is not said twice."""
    web = site(webs, 20)
    web.refuse = Closed(seconds=100, after=5, retry_after="100", robots_too=False)

    result = await crawl(
        LinksSpider,
        {"LOGSTATS_INTERVAL": 10, "EXTENSIONS": {}},
        start_urls=[web.url + "/"],
    )

    (line,) = result.logged("1 site paused, ")
    until = result.signals("site_paused")[0]["until"]
    assert line.endswith(f" requests wait, next at {until:%H:%M:%S} UTC: {web.url}")
    assert len(result.logged("Crawled ")) > 8


@ensureDeferred
async def test_the_console_shows_a_table(webs):
    """No ``repr`` of an object, and times that can be read."""
    web, seen = site(webs, 20), {}

    class Operated(LinksSpider):
        def parse(self, response):
            if response.url.endswith("/"):
                told = {}
                self.crawler.signals.send_catch_log(
                    telnet.update_telnet_vars, telnet_vars=told
                )
                console = told["mandelbot"]
                console.pause(web.url, 3_600)
                Crawl.of(self.crawler).clock.call_later(2, self.look, console)
            yield from super().parse(response)

        def look(self, console):
            seen["console"], seen["why"] = repr(console), repr(console.why_idle)
            seen["paused"] = console.paused[web.url]
            resume_site(self.crawler, web.url)

    # no port is opened
    with_console = {"EXTENSIONS": {"scrapy_mandelbot.PauseConsole": 500}}
    await crawl(Operated, with_console, start_urls=[web.url + "/"])

    header, row = seen["console"].split("\n")[-2:]
    assert header.split() == ["SITE", "WAIT", "UNDER", "WAY", "UNTIL", "WHY"]
    assert row.startswith(web.url)
    assert row.endswith("paused manually")
    assert seen["why"].startswith("It waits: 1 site paused manually, 20 requests wait")
    assert f"held until {datetime.now(timezone.utc):%Y}" in seen["paused"]


def job_file(folder):
    """Return what Scrapy tells its MCP server of a running crawl."""
    (job,) = Path(folder).rglob("*.json")
    return json.loads(job.read_text())


@ensureDeferred
async def test_scrapys_remote_control_can_ask(webs, tmp_path):
    """As its MCP server does: code by HTTP, with the crawler at hand."""
    remote_control = pytest.importorskip("scrapy.extensions.remote_control")
    aiohttp = pytest.importorskip("aiohttp")
    web, answers = site(webs, 5), []

    class Held(LinksSpider):
        def parse(self, response):
            if response.url.endswith("/"):
                pause_site(self.crawler, response.url, 3_600)
                Crawl.of(self.crawler).clock.call_later(1, self.look)
            yield from super().parse(response)

        def look(self):
            scrapy.utils.defer.deferred_from_coro(self.ask())

        async def ask(self):
            known = job_file(tmp_path)
            url = f"http://127.0.0.1:{known['port']}/execute"
            code = "import scrapy_mandelbot\nprint(scrapy_mandelbot.why_idle(crawler))"
            headers = {"Authorization": f"Bearer {known['token']}"}
            async with (
                aiohttp.ClientSession() as session,
                session.post(url, json={"code": code}, headers=headers) as response,
            ):
                answers.append(await response.json())
            resume_site(self.crawler, web.url)

    assert remote_control.RemoteControl
    await crawl(
        Held,
        {"REMOTE_CONTROL_ENABLED": True, "REMOTE_CONTROL_JOBS_DIR": str(tmp_path)},
        start_urls=[web.url + "/"],
    )

    (answer,) = answers
    assert answer["status"] == "ok", answer
    assert answer["output"].startswith(
        "It waits: 1 site paused manually, 5 requests wait"
    )


@ensureDeferred
async def test_a_spider_can_read_the_rules_of_a_site(webs):
    """Those in force in the crawl, without a fetch; None while they are not known."""
    web, rules = site(webs, 3), {}
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /private\n")

    class Reading(LinksSpider):
        def parse(self, response):
            rules["known"] = site_rules(self.crawler, response.url)
            rules["unknown"] = site_rules(self.crawler, "http://127.0.0.9")
            yield from super().parse(response)

    await crawl(Reading, start_urls=[web.url + "/"])

    assert not rules["known"].allowed(f"{web.url}/private", "Examplebot")
    assert rules["known"].allowed(f"{web.url}/open", "Examplebot")
    assert rules["unknown"] is None
    assert web.asked("/robots.txt") == 1


def test_before_the_crawl_nothing_waits():
    """An extension may ask at any time."""
    crawler = get_crawler(LinksSpider)
    assert status(crawler).sites == ()
    assert why_idle(crawler).startswith("No request waits")


def test_what_is_no_site_has_no_rules():
    """A message says what is wrong."""
    crawler = Crawler(LinksSpider, Settings())
    with pytest.raises(ValueError, match="names no site"):
        site_rules(crawler, "example.com")
