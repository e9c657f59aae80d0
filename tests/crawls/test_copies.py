"""Copies of robots.txt: kept over restarts, confirmed, served through failures, and
shared.
"""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from mandelbot import OutcomeKind
from scrapy import signals as scrapy_signals
from scrapy.spiders import SitemapSpider
from webs import Answer

from scrapy_mandelbot.fetching.requesting import IMPOSSIBLE_PATH
from scrapy_mandelbot.time_text import clock_time

pytestmark = pytest.mark.slow

RULES = b"User-agent: *\nDisallow: /page/1\nSitemap: /map.xml\n"
DAY = 86_400
QUICK = {"MANDELBOT_PAUSE_OPTIONS": {"first": 0.05}}


def site(webs, host: str = "127.0.0.1"):
    web = webs(host)
    web.chain(3)
    web.pages["/robots.txt"] = Answer(RULES, headers={"ETag": '"one"'})
    return web


@pytest.fixture
def kept(tmp_path):
    return {"MANDELBOT_STORE": str(tmp_path / "copies.db"), **QUICK}


def make_older(kept, seconds: float) -> None:
    with closing(sqlite3.connect(kept["MANDELBOT_STORE"])) as database:
        database.execute("UPDATE copies SET fetched_at = fetched_at - ?", (seconds,))
        database.commit()


# Over restarts.


@ensureDeferred
async def test_mandelbot_the_next_run_within_48_hours_asks_nobody(webs, kept):
    """Its rules are the copy's, and the spider still hears of the sitemaps."""
    web = site(webs)
    first = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    make_older(kept, 2 * DAY - 60)
    second = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    assert web.asked("/robots.txt") == 1
    assert first.urls() == second.urls()
    assert web.asked("/page/1") == 0
    assert second.stats["mandelbot/robots/from_cache"] == 1
    assert second.stats["robotstxt/forbidden"] == 1
    assert "robotstxt/request_count" not in second.stats
    (heard,) = second.signals("sitemaps_discovered")
    assert heard["urls"] == (web.url + "/map.xml",)
    assert second.signals("robots_fetched") == []


CACHED = [  # age of the cached file in seconds, status of the next answer, lines
    (0, 200, 1),
    (2 * DAY - 60, 200, 1),
    (3 * DAY, 200, 0),
    (3 * DAY, 304, 0),
    (3 * DAY, 500, 0),
    (None, 200, 0),
]


@pytest.mark.parametrize(("age", "status", "lines"), CACHED)
@ensureDeferred
async def test_a_cached_file_in_force_is_named_once(webs, kept, age, status, lines):
    """Not one that this crawl has fetched or has just tried to refresh."""
    web = site(webs)
    if age is not None:
        await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
        make_older(kept, age)
    web.pages["/robots.txt"] = Answer(RULES if status == 200 else b"", status)
    result = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    assert len(result.items) == 3
    assert len(result.logged(f"The robots.txt of {web.url} was cached at ")) == lines


def output_of(words: list[str]) -> str:
    """Return what a command of Scrapy prints."""
    command = [sys.executable, "-m", "scrapy", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("place", ["JOBDIR", "MANDELBOT_STORE"])
@ensureDeferred
async def test_the_line_of_a_cached_file_has_its_times_and_a_command_that_drops_it(
    webs, tmp_path, monkeypatch, place
):
    """The command runs as it stands, where the project names the store."""
    web, job = site(webs), tmp_path / "a job's"
    file = job / "mandelbot.db" if place == "JOBDIR" else tmp_path / "copies.db"
    settings = {
        place: str(job if place == "JOBDIR" else file),
        "MANDELBOT_CACHE": {"ttl": 7_200},
    }
    settings = {
        **QUICK,
        **settings,
        "MANDELBOT_STORE": settings.get("MANDELBOT_STORE", "sqlite"),
    }
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE copies SET fetched_at = CAST(fetched_at AS INTEGER)")
        ((fetched_at,),) = database.execute("SELECT fetched_at FROM copies").fetchall()
        database.commit()
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    (line,) = result.logged("The robots.txt of ")
    begin, _, command = line.removesuffix(")").partition(" (to drop it: ")
    since, until = clock_time(fetched_at), clock_time(fetched_at + 7_200)
    assert (
        begin == f"The robots.txt of {web.url} was cached at {since} and is valid until"
        f" {until}"
    )
    program, *words = shlex.split(command)
    assert program == "scrapy"
    if place == "MANDELBOT_STORE":
        words += ["-s", f"MANDELBOT_STORE={file}"]
    monkeypatch.chdir(tmp_path)
    assert output_of(words) == f"dropped {web.url}\n"


@ensureDeferred
async def test_after_48_hours_it_is_asked_whether_the_file_has_changed(webs, kept):
    """A 304 makes the copy good for as long again; a 200 takes its place."""
    web = site(webs)
    changed = Answer(b"User-agent: *\nDisallow: /page/2\n", headers={"ETag": '"two"'})
    now = {"etag": '"one"'}

    def robots(request):
        if request.getHeader("If-None-Match") == now["etag"]:
            return Answer(b"", 304)
        return (
            changed
            if now["etag"] == '"two"'
            else Answer(RULES, headers={"ETag": '"one"'})
        )

    web.pages["/robots.txt"] = robots
    await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    make_older(kept, 3 * DAY)
    second = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    third = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    make_older(kept, 3 * DAY)
    now["etag"] = '"two"'
    fourth = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])

    assert [hit.status for hit in web.hits if hit.path == "/robots.txt"] == [
        200,
        304,
        200,
    ]
    assert second.stats["mandelbot/robots/revalidated"] == 1
    assert third.stats["mandelbot/robots/from_cache"] == 1
    assert fourth.stats["mandelbot/robots/rules"] == 1
    forbidden = [
        result.stats["robotstxt/forbidden"] for result in (second, third, fourth)
    ]
    assert forbidden == [1, 1, 1]
    assert web.asked("/page/1") == 1
    assert web.asked("/page/2") == 3


@ensureDeferred
async def test_validators_are_sent_where_they_came_from(webs, kept):
    """Of a redirected robots.txt, to its target, not to the site that redirects."""
    web, other = site(webs), site(webs, "127.0.0.2")
    web.pages["/robots.txt"] = Answer(b"", 302, {"Location": other.url + "/robots.txt"})
    await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    make_older(kept, 3 * DAY)
    await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    sent = [hit.headers.get("if-none-match") for hit in web.hits + other.hits]
    assert [value for value in sent if value] == ['"one"']
    assert other.hits[-1].headers["if-none-match"] == '"one"'


# Through failures.


@ensureDeferred
async def test_a_time_that_robots_txt_names_pauses_the_site_though_a_copy_is_good(
    webs, kept
):
    """The site has stated it, as any page may; no page is requested before."""
    web = site(webs)
    await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    make_older(kept, 3 * DAY)
    answers = [Answer(b"", 500, {"Retry-After": "7"})]
    web.refuse = lambda path: answers.pop() if answers else None
    second = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    assert len(second.items) == 3
    refused, again, page = web.hits[-5:][:3]
    assert (refused.path, again.path) == ("/robots.txt", "/robots.txt")
    assert again.at >= refused.at + 7
    assert page.at >= again.at
    assert second.stats["mandelbot/pause/count"] == 1
    assert "robots.txt: 500, Retry-After: 7" in second.logged("Paused ")[0]


@pytest.mark.parametrize("status", [500, 502])
@ensureDeferred
async def test_the_last_good_copy_serves_through_failures(webs, kept, status):
    """Up to 30 days; the site is not paused, nor asked for it again soon, and the log
    says so.
    """
    web = site(webs)
    await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    make_older(kept, 29 * DAY)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n", status)
    slow = {**kept, "MANDELBOT_PAUSE_OPTIONS": {"first": 20}}
    second = await crawl(LinksSpider, slow, start_urls=[web.url + "/"])
    assert len(second.items) == 3
    assert web.asked("/robots.txt", status) == 1
    assert second.stats["mandelbot/robots/stale_used"] == 1
    assert "mandelbot/pause/count" not in second.stats
    (fetched,) = second.signals("robots_fetched")
    assert fetched["outcome"].kind is OutcomeKind.RULES
    assert fetched["robots"].sitemaps == ("/map.xml",)
    told = f"{web.url}/robots.txt: {status}, the last good copy stays in use: from "
    warnings = [line for line in second.logged(told) if "next attempt at" in line]
    assert len(warnings) == 1


@ensureDeferred
async def test_a_copy_older_than_30_days_is_no_copy(webs, kept):
    """Then the site pauses as if it never had been known."""
    web = site(webs)
    await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    make_older(kept, 31 * DAY)
    statuses = [500]
    web.pages["/robots.txt"] = lambda _: Answer(
        b"", statuses.pop() if statuses else 404
    )
    second = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    assert len(second.items) == 4
    assert second.stats["mandelbot/robots/unavailable"] == 1
    assert second.stats["mandelbot/pause/count"] == 1


@pytest.mark.parametrize("status", [500, 503])
@ensureDeferred
async def test_mandelbot_5xx_that_means_404_is_found_out(webs, kept, status):
    """Three times running, ``/`` fine, a path that cannot exist the same: crawled,
    kept, told.
    """
    web = site(webs)
    web.pages["/robots.txt"] = web.pages[IMPOSSIBLE_PATH] = Answer(b"oops", status)
    first = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    second = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    assert len(first.items) == len(second.items) == 4
    assert web.asked("/robots.txt") == 3
    assert web.asked(IMPOSSIBLE_PATH) == 1
    assert first.stats["mandelbot/robots/misreported_5xx"] == 1
    told = f"Fetched {web.url}/robots.txt: {status}, said of every missing page"
    assert len(first.logged(told)) == 1
    assert second.logged(told) == []


@ensureDeferred
async def test_a_5xx_of_a_site_that_knows_404_means_what_it_says(webs, kept):
    """A broken robots.txt on a server that answers 404 for missing pages closes the
    site.
    """
    web = site(webs)
    web.pages["/robots.txt"] = Answer(b"oops", 500)
    result = await crawl(
        LinksSpider,
        {**kept, "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 4}},
        start_urls=[web.url + "/"],
    )
    assert result.items == []
    assert web.asked("/robots.txt") == 5
    assert web.asked(IMPOSSIBLE_PATH, 404) == 1, "once a day"
    assert result.stats["mandelbot/robots/tested"] == 1
    assert (
        len(result.logged(f"Testing {web.url} with / and /robots-test-for-404-")) == 1
    )
    assert result.stats["mandelbot/pause/given_up"] == 1
    again = await crawl(
        LinksSpider,
        {**kept, "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 4}},
        start_urls=[web.url + "/"],
    )
    assert web.asked(IMPOSSIBLE_PATH) == 1, "of the next run, too"
    assert "mandelbot/robots/tested" not in again.stats


@ensureDeferred
async def test_a_server_that_names_a_time_is_not_tested(webs, kept):
    """It means what it says, and is asked nothing before."""
    web = site(webs)
    web.pages["/robots.txt"] = Answer(b"oops", 503, {"Retry-After": "2"})
    tries = {**kept, "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 4}}
    result = await crawl(LinksSpider, tries, start_urls=[web.url + "/"])
    assert web.asked("/") == web.asked(IMPOSSIBLE_PATH) == 0
    assert "mandelbot/robots/tested" not in result.stats


@ensureDeferred
async def test_a_429_that_outlasts_all_tries_is_a_4xx_after_all(webs, kept):
    """RFC 9309 treats every 4xx so: there is no robots.txt; the site is crawled."""
    web = site(webs)
    web.pages["/robots.txt"] = Answer(b"slow down", 429)
    tries = {**kept, "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 3}}
    first = await crawl(LinksSpider, tries, start_urls=[web.url + "/"])
    second = await crawl(LinksSpider, tries, start_urls=[web.url + "/"])
    assert len(first.items) == len(second.items) == 4
    assert web.asked("/robots.txt", 429) == 4
    assert first.stats["mandelbot/pause/resumed"] == 1
    assert "mandelbot/pause/given_up" not in first.stats


# Shared.


@ensureDeferred
async def test_spiders_with_other_agents_share_a_copy(webs, kept):
    """The file is fetched once; each reads the rules that are about it."""
    web = site(webs)
    web.pages["/robots.txt"] = Answer(
        b"User-agent: one\nDisallow: /page/1\n\nUser-agent: two\nDisallow: /page/2\n"
    )
    found = []
    for agent in ("one", "two"):
        settings = {**kept, "ROBOTSTXT_USER_AGENT": agent}
        result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
        found.append({url.rpartition("/")[2] for url in result.urls()})
    assert found == [{"", "0", "2"}, {"", "0", "1"}]
    assert web.asked("/robots.txt") == 1


@pytest.mark.parametrize(("status", "pages"), [(200, 1), (404, 0)])
@ensureDeferred
async def test_a_spiders_own_request_is_answered_from_the_copy(webs, status, pages):
    """One fetch in all, for rules and sitemaps."""
    web = site(webs)
    web.pages["/robots.txt"] = Answer(RULES, status, {"Content-Type": "text/plain"})
    urls = (
        f"<url><loc>{web.url}/page/0</loc></url><url><loc>{web.url}/page/1</loc></url>"
    )
    web.pages["/map.xml"] = Answer(
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'.encode(),
        headers={"Content-Type": "application/xml"},
    )

    class Spider(SitemapSpider):
        name = "sitemaps"
        sitemap_urls = [web.url + "/robots.txt"]

        def parse(self, response):
            yield {"url": response.url}

    result = await crawl(Spider)
    assert len(result.items) == pages
    assert web.asked("/robots.txt") == 1
    assert result.stats["mandelbot/robots/answered"] == 1


@ensureDeferred
async def test_who_wants_to_see_the_file_itself_can(webs):
    """With ``dont_obey_robotstxt``, and with a query, the site is asked."""
    web = site(webs)
    web.pages["/robots.txt?new"] = Answer(b"with a query")

    class Spider(scrapy.Spider):
        name = "curious"

        async def start(self):
            for url, meta in [
                ("/robots.txt", {}),
                ("/robots.txt", {"dont_obey_robotstxt": True}),
                ("/robots.txt?new", {}),
            ]:
                yield scrapy.Request(web.url + url, meta=meta, dont_filter=True)

        def parse(self, response):
            yield {"body": response.body, "flags": response.flags}

    result = await crawl(Spider)
    assert web.asked("/robots.txt") == 2
    bodies = [(item["body"], item["flags"]) for item in result.items]
    assert sorted(bodies) == [
        (RULES, []),
        (RULES, ["cached"]),
        (b"with a query", []),
    ]


# On the way of the request that asks, and past what is meant for pages.


@ensureDeferred
async def test_the_asking_requests_proxy_and_slot_are_used(webs):
    """The proxy with its password, and the download slot."""
    proxy = webs()
    proxy.pages["http://shop.example/robots.txt"] = Answer(RULES)
    proxy.pages["http://shop.example/"] = Answer(b"home")
    slots = []

    class Spider(LinksSpider):
        async def start(self):
            meta = {
                "proxy": proxy.url.replace("http://", "http://me:secret@"),
                "download_slot": "mine",
            }
            yield scrapy.Request("http://shop.example/", meta=meta)

        def reached(self, request):
            slots.append((request.url, request.meta["download_slot"]))

    class Listening(Spider):
        @classmethod
        def from_crawler(cls, crawler, **arguments):
            spider = super().from_crawler(crawler, **arguments)
            signal = scrapy_signals.request_reached_downloader
            crawler.signals.connect(spider.reached, signal=signal)
            return spider

    result = await crawl(Listening)
    assert len(result.items) == 1
    assert [hit.path for hit in proxy.hits] == [
        "http://shop.example/robots.txt",
        "http://shop.example/",
    ]
    first, second = (hit.headers.get("proxy-authorization") for hit in proxy.hits)
    assert first == second == "Basic bWU6c2VjcmV0"
    assert {slot for _, slot in slots} == {"mine"}


@ensureDeferred
async def test_a_robots_txt_in_the_http_cache_is_a_copy(webs, tmp_path):
    """Where no other is known: it is as old as its Date, and the site may be down."""
    web = site(webs)
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "httpcache")}
    first = await crawl(LinksSpider, cache, start_urls=[web.url + "/"])
    second = await crawl(LinksSpider, cache, start_urls=[web.url + "/"])
    assert first.stats["httpcache/store"] == 3
    assert second.stats["httpcache/hit"] == 3
    assert web.asked("/robots.txt") == 1
    assert web.asked("/") == 1
    web.close()
    third = await crawl(LinksSpider, cache, start_urls=[web.url + "/"])
    assert len(third.items) == 3


@ensureDeferred
async def test_a_cached_redirect_of_robots_txt_is_no_copy(webs, tmp_path):
    """Stock Scrapy caches it; the rules are where it leads."""
    web = site(webs)
    web.pages["/robots.txt"] = Answer(b"", 301, headers={"Location": "/rules.txt"})
    web.pages["/rules.txt"] = Answer(RULES)
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "httpcache")}
    stock = {**cache, "MANDELBOT_ENABLED": False, "ROBOTSTXT_OBEY": True}
    await crawl(LinksSpider, stock, start_urls=[web.url + "/"])
    before = web.asked("/robots.txt")
    ours = await crawl(LinksSpider, cache, start_urls=[web.url + "/"])
    assert web.asked("/robots.txt") == before + 1
    assert len(ours.items) == 3


@ensureDeferred
async def test_an_old_robots_txt_in_the_http_cache_is_asked_for_again(webs, tmp_path):
    """No policy of a cache makes it serve for longer than 48 hours."""
    web = site(webs)
    web.pages["/robots.txt"] = Answer(
        RULES, headers={"Date": "Thu, 01 Jan 2026 00:00:00 GMT"}
    )
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "httpcache")}
    await crawl(LinksSpider, cache, start_urls=[web.url + "/"])
    await crawl(LinksSpider, cache, start_urls=[web.url + "/"])
    assert web.asked("/robots.txt") == 2
    assert web.asked("/") == 1


@ensureDeferred
async def test_who_drops_the_fetch_lets_the_request_go_on(webs):
    """A middleware of the project that ignores our request: as with Scrapy's own."""
    web = site(webs)

    class Dropping:
        def process_request(self, request):
            if request.url.endswith("/robots.txt"):
                raise scrapy.exceptions.IgnoreRequest("not mine")

    settings = {"DOWNLOADER_MIDDLEWARES": {Dropping: 500}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.items) == 4
    assert web.asked("/robots.txt") == 0
    assert result.stats["mandelbot/robots/unasked"] == 1


# Where they are kept.


@ensureDeferred
async def test_a_store_that_cannot_be_used_costs_a_warning(webs, tmp_path):
    """And no request, nor a second fetch of this run."""
    web = site(webs)
    result = await crawl(
        LinksSpider, {"MANDELBOT_STORE": str(tmp_path)}, start_urls=[web.url + "/"]
    )
    assert len(result.items) == 3
    assert web.asked("/robots.txt") == 1
    assert (
        len(result.logged("What is known of sites is kept in the memory of this run"))
        == 1
    )


@ensureDeferred
async def test_jobdir_holds_the_copies_of_its_job(webs, tmp_path):
    """Beside the requests that are left to do."""
    web = site(webs)
    await crawl(
        LinksSpider, {"JOBDIR": str(tmp_path / "job")}, start_urls=[web.url + "/"]
    )
    assert [file.name for file in (tmp_path / "job").glob("*.db*")] == ["mandelbot.db"]
