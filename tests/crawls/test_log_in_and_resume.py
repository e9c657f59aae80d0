"""A crawl behind a login that ends in the middle and is resumed: the next run is logged
in, and sends again what the spider's own start() yields.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from dying import dies, run, run_after
from redis import Redis
from redis_server import NEEDS_REDIS
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.exceptions import CloseSpider
from twisted.internet.defer import Deferred, DeferredList
from webs import Answer, html

from scrapy_mandelbot.job.job import Job
from scrapy_mandelbot.job.job_store import JOB_FILE as FILE

PAGES = 20
HALF = 8  # pages after which the first run ends
SKIPPED = "Skipped "


class Members(scrapy.Spider):
    """Logs in, and yields the pages that only members may see."""

    name = "members"
    login_arguments: dict = {}
    ends_after = 0
    dies_after = 0

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.called: list[str] = []

    async def start(self):
        yield self.login()

    def login(self):
        return scrapy.FormRequest(
            f"{self.start_urls[0]}login",
            formdata={"user": "someone"},
            callback=self.logged_in,
            priority=1000,
            **{"dont_filter": True, **self.login_arguments},
        )

    def logged_in(self, response):
        self.called.append(response.url)
        for number in range(PAGES):
            yield response.follow(f"/page/{number}")

    def parse(self, response):
        if b"real" in response.body:
            yield {"url": response.url}
        self.called.append(response.url)
        if len(self.called) == self.dies_after:
            Job.of(self.crawler).saves.now()
            dies(self)
        if len(self.called) == self.ends_after:
            raise CloseSpider("halfway")


class EndsHalfway(Members):
    ends_after = HALF


class DiesHalfway(Members):
    dies_after = HALF


def members_only(webs):
    """Return a site that shows its pages to those who have logged in."""
    web = webs()

    def log_in(request):
        if request.method == b"POST":
            return Answer(b"welcome", headers={"Set-Cookie": "sid=s3cret; Path=/"})
        return Answer(b"please log in")

    def page(request):
        if request.getCookie(b"sid") == b"s3cret":
            return html(title="real")
        return Answer(status=302, headers={"Location": "/login"})

    web.pages["/login"] = log_in
    web.pages |= {f"/page/{number}": page for number in range(PAGES)}
    return web


def logins(web) -> int:
    return sum(hit.path == "/login" and hit.status == 200 for hit in web.hits)


def refused(web) -> int:
    return web.statuses().count(302)


@pytest.fixture(params=["file", pytest.param("redis", marks=NEEDS_REDIS)])
def stored(request, tmp_path):
    """Settings that store the job in a file, or on Redis."""
    common = {"ROBOTSTXT_OBEY": False, "CONCURRENT_REQUESTS": 1}
    if request.param == "file":
        return {**common, "JOBDIR": str(tmp_path / "job")}
    server = request.getfixturevalue("redis_server")
    return {**common, "MANDELBOT_JOB": server.url}


@ensureDeferred
async def test_a_resumed_crawl_is_logged_in_from_its_first_page(webs, stored):
    """And logs in again, as without a job; after the end nothing is kept."""
    web = members_only(webs)
    runs = [
        await crawl(spider, stored, start_urls=[web.url + "/"])
        for spider in (EndsHalfway, EndsHalfway, Members)
    ]
    reasons = [one.stats["finish_reason"] for one in runs]
    assert reasons == ["halfway", "halfway", "finished"]
    urls = [url for one in runs for url in one.urls()]
    assert sorted(urls) == sorted(f"{web.url}/page/{n}" for n in range(PAGES))
    assert (refused(web), logins(web)) == (0, 3)
    web.hits.clear()
    again = await crawl(Members, stored, start_urls=[web.url + "/"])
    assert again.stats["finish_reason"] == "finished"
    assert [hit.path for hit in web.hits] == ["/login"]
    assert "cookie" not in web.hits[0].headers


@ensureDeferred
async def test_a_killed_crawl_is_logged_in_with_the_cookies_of_its_last_commit(
    webs, tmp_path
):
    web = members_only(webs)
    first = await run(DiesHalfway, tmp_path / "job", [web.url + "/"])
    assert len(first.crawler.spider.called_then) == HALF
    web.hits.clear()
    second = await run_after(tmp_path / "job", Members, [web.url + "/"])
    done = {*first.crawler.spider.called_then, *second.crawler.spider.called}
    assert {f"{web.url}/page/{n}" for n in range(PAGES)} <= done
    assert (refused(web), logins(web)) == (0, 1)


class DiesAsItLogsIn(Members):
    """Dies while the login is in flight, beside pages that another run has left."""

    def logged_in(self, response):
        Job.of(self.crawler).saves.now()
        dies(self)
        return super().logged_in(response)


@ensureDeferred
async def test_a_login_that_was_in_flight_at_a_kill_is_sent_first_and_once(
    webs, tmp_path
):
    """Others that were in flight come last. But pages depend on this one."""
    web = members_only(webs)
    await run(DiesAsItLogsIn, tmp_path / "job", [web.url + "/"])
    web.hits.clear()
    second = await run_after(tmp_path / "job", Members, [web.url + "/"])
    assert web.hits[0].path == "/login"
    assert (refused(web), logins(web)) == (0, 1)
    assert second.logged(SKIPPED) == [
        f"Skipped 1 request of start() that the job already has: POST {web.url}/login"
    ]
    assert len(second.urls()) == PAGES


@ensureDeferred
async def test_a_login_that_a_filter_drops_is_named(webs, tmp_path):
    """Without dont_filter it is sent once in a job; its cookie serves the next run."""
    web = members_only(webs)
    settings = {"JOBDIR": str(tmp_path / "job"), "ROBOTSTXT_OBEY": False}

    class Filtered(Members):
        login_arguments = {"dont_filter": False}

    class FilteredHalfway(Filtered):
        ends_after = HALF

    first = await crawl(FilteredHalfway, settings, start_urls=[web.url + "/"])
    assert first.logged(SKIPPED) == []
    second = await crawl(Filtered, settings, start_urls=[web.url + "/"])
    assert (refused(web), logins(web)) == (0, 1)
    assert len(first.urls() + second.urls()) == PAGES
    assert second.logged(SKIPPED) == [
        f"Skipped 1 request of start() that the job already has: POST {web.url}/login"
    ]


class Front(LinksSpider):
    """Asks for the front page in each run, and for the lists of a work queue."""

    ends_after = 0
    wanted = ("a", "b")

    async def start(self):
        for path in ("", *self.wanted):
            yield scrapy.Request(self.start_urls[0] + path, dont_filter=True)

    def parse(self, response):
        yield {"url": response.url}
        self.ends_after -= 1
        if not self.ends_after:
            raise CloseSpider("halfway")


@ensureDeferred
async def test_what_start_yields_again_is_fetched_again_but_not_what_still_waits(
    webs, stored
):
    """As without a job, and no page twice that would come anyway."""
    web = webs()
    web.pages |= {path: html() for path in ("/", "/a", "/b", "/c")}

    class Halfway(Front):
        ends_after = 1

    settings = {**stored, "CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.1}
    await crawl(Halfway, settings, start_urls=[web.url + "/"])
    before = Counter(hit.path for hit in web.hits)

    class Changed(Front):
        wanted = ("a", "b", "c")

    second = await crawl(Changed, settings, start_urls=[web.url + "/"])
    assert second.stats["finish_reason"] == "finished"
    hits = Counter(hit.path for hit in web.hits) - before
    assert set(hits) == {"/", "/a", "/b", "/c"}
    if "JOBDIR" in stored:
        assert set(hits.values()) == {1}
        waited = len(Halfway.wanted) + 1 - sum(before.values())
        assert waited
        assert second.stats["mandelbot/job/passed_over"] == waited


@ensureDeferred
async def test_start_urls_of_scrapys_start_are_skipped_and_named(webs, tmp_path):
    """The first few; an earlier run has sent them."""
    web = webs()
    web.pages |= {f"/{number}": html() for number in range(6)}
    settings = {"JOBDIR": str(tmp_path / "job"), "ROBOTSTXT_OBEY": False}
    urls = [f"{web.url}/{number}" for number in range(6)]
    await crawl(LinksSpider, {**settings, "CLOSESPIDER_PAGECOUNT": 5}, start_urls=urls)
    second = await crawl(LinksSpider, settings, start_urls=urls)
    (line,) = second.logged(SKIPPED)
    named = ", ".join(f"GET {url}" for url in urls[:3])
    assert line == (
        f"Skipped 6 requests of start() that the job already has: {named} and 3 more"
    )
    assert set(Counter(hit.path for hit in web.hits).values()) == {1}


@ensureDeferred
async def test_a_run_in_a_finished_jobdir_says_why_it_requests_so_little(
    webs, tmp_path
):
    """Once it had finished, and not while it is resumed."""
    web = webs()
    web.chain(5)
    settings = {"JOBDIR": str(tmp_path / "job"), "ROBOTSTXT_OBEY": False}
    limits = [{"CLOSESPIDER_PAGECOUNT": 2, "CONCURRENT_REQUESTS": 1}, {}, {}]
    runs = [
        await crawl(LinksSpider, {**settings, **limit}, start_urls=[web.url + "/"])
        for limit in limits
    ]
    lines = [run.logged("This JOBDIR finished at ") for run in runs]
    assert lines[:2] == [[], []]
    (line,) = lines[2]
    assert "; the 5 requests that it has crawled are not sent again" in line
    assert runs[2].urls() == [f"{web.url}/"]


@ensureDeferred
async def test_a_middlewares_own_start_request_is_sent_in_each_run(webs, tmp_path):
    """It is none of the spider's start_urls."""

    class LogsIn:
        async def process_start(self, start):
            yield scrapy.Request(web.url + "/login", dont_filter=True, priority=10)
            async for one in start:
                yield one

    web = webs()
    web.pages |= {path: html() for path in ("/login", "/0", "/1", "/2")}
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        "ROBOTSTXT_OBEY": False,
        "SPIDER_MIDDLEWARES": {LogsIn: 500},
        "CONCURRENT_REQUESTS": 1,
    }
    urls = [f"{web.url}/{number}" for number in range(3)]
    await crawl(LinksSpider, {**settings, "CLOSESPIDER_PAGECOUNT": 2}, start_urls=urls)
    await crawl(LinksSpider, settings, start_urls=urls)
    hits = Counter(hit.path for hit in web.hits)
    assert hits == {"/login": 2, "/0": 1, "/1": 1, "/2": 1}


class Counting(CookiesMiddleware):
    """A project's own."""


class Lacking:
    """Another's, which keeps its cookies elsewhere."""

    def process_request(self, request):
        if request.url.endswith("/login"):
            return
        request.headers["Cookie"] = "sid=s3cret"


COOKIES = "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"


@pytest.mark.parametrize(
    ("settings", "is_logged_in"),
    [
        ({"MANDELBOT_JOB_OPTIONS": {"pickle": False}}, True),
        ({"DOWNLOADER_MIDDLEWARES": {COOKIES: None, Counting: 700}}, True),
        ({"DOWNLOADER_MIDDLEWARES": {COOKIES: None, Lacking: 700}}, True),
        ({"MANDELBOT_JOB_OPTIONS": {"cookies": False}}, False),
    ],
    ids=["plain values", "a subclass", "another middleware", "not stored"],
)
@ensureDeferred
async def test_whatever_keeps_the_cookies_the_crawl_is_resumed(
    webs, tmp_path, settings, is_logged_in
):
    """Where none are stored, the next run begins without, as Scrapy's does."""
    web = members_only(webs)
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 1,
        **settings,
    }

    class Filtered(Members):
        login_arguments = {"dont_filter": False}

    class FilteredHalfway(Filtered):
        ends_after = HALF

    await crawl(FilteredHalfway, settings, start_urls=[web.url + "/"])
    web.hits.clear()
    second = await crawl(Filtered, settings, start_urls=[web.url + "/"])
    assert second.stats["finish_reason"] == "finished"
    assert (refused(web) == 0) == is_logged_in


@ensureDeferred
async def test_cookies_reach_no_log_and_no_report(webs, tmp_path):
    """The job's file has them, which only the crawl's user may read."""
    web = members_only(webs)
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        "MANDELBOT_REPORT": str(tmp_path / "report.html"),
        "LOG_LEVEL": "DEBUG",
        "CONCURRENT_REQUESTS": 1,
    }
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /no\n")
    results = [
        await crawl(spider, settings, start_urls=[web.url + "/"])
        for spider in (EndsHalfway, EndsHalfway)
    ]
    messages = "\n".join(line for result in results for line in result.messages)
    assert "Resuming the job" in messages
    assert "s3cret" not in messages
    holders = [
        path.name
        for path in tmp_path.rglob("*")
        if path.is_file() and b"s3cret" in path.read_bytes()
    ]
    assert holders == [FILE]
    assert not os.stat(tmp_path / "job" / FILE).st_mode & 0o077  # noqa: PTH116 -- does not wait


@ensureDeferred
async def test_without_cookies_nothing_is_stored(webs, tmp_path):
    web = webs()
    web.pages |= {
        f"/{number}": Answer(headers={"Set-Cookie": "sid=s3cret"}) for number in "012"
    }
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": False,
        "CLOSESPIDER_PAGECOUNT": 2,
    }
    urls = [f"{web.url}/{number}" for number in "012"]
    await crawl(LinksSpider, settings, start_urls=urls)
    assert b"s3cret" not in (tmp_path / "job" / FILE).read_bytes()


def together(*crawls):
    return DeferredList(
        [Deferred.fromCoroutine(one) for one in crawls], fireOnOneErrback=True
    ).addCallback(lambda results: [result for _, result in results])


@NEEDS_REDIS
@pytest.mark.parametrize("each", [False, True])
@ensureDeferred
async def test_workers_share_a_login_or_log_in_each(webs, redis_server, each):
    """A start request is sent once by all, or by each where the spider asks for it."""
    web = members_only(webs)

    class Both(Members):
        login_arguments = {"meta": {"each_worker": True}} if each else {}

    settings = {
        "MANDELBOT_JOB": redis_server.url,
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 2,
    }
    results = await together(
        *(crawl(Both, settings, start_urls=[web.url + "/"]) for _ in range(2))
    )
    assert [one.stats["finish_reason"] for one in results] == ["finished"] * 2
    assert sum(len(one.items) for one in results) == PAGES
    assert refused(web) == 0
    assert logins(web) == (2 if each else 1)
    called = Counter(
        url for one in results for url in one.spider.called if url.endswith("/login")
    )
    assert sum(called.values()) == logins(web)
    if each:
        assert all(web.url + "/login" in one.spider.called for one in results)
    assert Redis.from_url(redis_server.url).keys("*cookie*") == []
