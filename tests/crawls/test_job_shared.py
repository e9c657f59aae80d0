"""A crawl as a worker of a job on Redis: what a spider sees of it, alone and beside
others.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any, ClassVar

import pytest
import scrapy
from crawling import SETTINGS, LinksSpider, crawl, ensureDeferred
from redis import Redis
from redis_server import NEEDS_REDIS, USER, RedisServer, add_user
from scrapy import signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.settings import Settings
from scrapy.utils.misc import load_object
from shared_jobs import Worker
from shops import FOLLOW, index, shop, urls, urlset
from twisted.internet.defer import Deferred, DeferredList
from webs import Answer, html, site

from scrapy_mandelbot import SharedJobScheduler
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fleet import worker as worker_module
from scrapy_mandelbot.fleet.held_site import MOST_HELD
from scrapy_mandelbot.fleet.own_sites import OwnSites
from scrapy_mandelbot.fleet.server_job import ServerJob
from scrapy_mandelbot.fleet.worker import JobWorker
from scrapy_mandelbot.job import held_file
from scrapy_mandelbot.job.job import JobError
from scrapy_mandelbot.job.job_folder import JobFolder
from scrapy_mandelbot.job.job_store import Place
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.settings.values import SettingsError

pytestmark = NEEDS_REDIS

FINISHED = "This job on Redis finished at "


@pytest.fixture
def settings(redis_server):
    return {"MANDELBOT_JOB": redis_server.url, "ROBOTSTXT_OBEY": False}


def tree(webs, host="127.0.0.1"):
    """Return a site whose front page links to three, and page 1 to ten others."""
    web = webs(host)
    web.pages["/"] = html("/1", "/2", "/3", "/1", "/")
    web.pages["/1"] = html(*(f"/1/{number}" for number in range(10)))
    web.pages |= {path: html("/", "/1") for path in ("/2", "/3")}
    web.pages |= {f"/1/{number}": html("/1") for number in range(10)}
    return web


def together(*crawls):
    """Run crawls beside each other; return what each of them left."""
    return DeferredList(
        [Deferred.fromCoroutine(one) for one in crawls], fireOnOneErrback=True
    ).addCallback(lambda results: [result for _, result in results])


@ensureDeferred
async def test_each_page_is_crawled_once_and_the_run_finishes(webs, settings):
    """Links that come twice are dropped by Redis, and counted as filtered."""
    web = tree(webs)
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "finished"
    # what start() gives passes the filter
    urls = [web.url + path for path in ("/", *web.pages)]
    assert result.urls() == sorted(urls)
    assert (
        result.stats["scheduler/enqueued"] == result.stats["scheduler/dequeued"] == 15
    )
    assert result.stats["dupefilter/filtered"] == 20
    assert result.stats["mandelbot/job/sites"] >= 1


@ensureDeferred
async def test_two_workers_share_the_work(webs, settings):
    """Each page is one worker's, and both finish when the whole job has."""
    several = [tree(webs, f"127.0.0.{number}") for number in range(1, 5)]
    urls = [web.url + "/" for web in several]
    settings = {**settings, "CONCURRENT_REQUESTS": 2, "DOWNLOAD_DELAY": 0.01}
    results = await together(
        *(crawl(LinksSpider, settings, start_urls=list(urls)) for _ in range(2))
    )
    assert [one.stats["finish_reason"] for one in results] == ["finished", "finished"]
    assert all(one.items for one in results)
    crawled = Counter(url for one in results for url in one.urls())
    assert {url for url, times in crawled.items() if times > 1} == set(urls)
    assert set(crawled) == {web.url + path for web in several for path in web.pages}
    assert max(crawled.values()) == 2


class LazySpider(scrapy.Spider):
    """Yields while ``needs_backout()`` is false, as Scrapy's docs have it."""

    name = "lazy"

    async def start(self):
        self.taken = 0
        self.taken_by_page: list[int] = []
        for url in self.urls:
            if self.crawler.engine.needs_backout():
                await self.crawler.signals.wait_for(signals.scheduler_empty)
            self.taken += 1
            yield scrapy.Request(url)

    def parse(self, response):
        self.taken_by_page.append(self.taken)
        if len(self.taken_by_page) == 80:
            raise CloseSpider("enough")


@ensureDeferred
async def test_a_worker_reads_no_more_of_start_while_enough_waits_for_it(
    webs, settings
):
    """It has a batch of requests at a time, and reads while the next one is claimed.

    A batch is claimed as the last eight requests of another begin: half a second, in
    which Redis answers on a loaded machine, too.
    """
    web = site(webs, 2_000, delay=0.5)
    urls = [f"{web.url}/page/{number}" for number in range(2_000)]
    spider = (await crawl(LazySpider, settings, urls=urls)).spider
    read = spider.taken_by_page[79] - spider.taken_by_page[19]
    assert read <= 60 + 2 * MOST_HELD


@ensureDeferred
async def test_a_second_run_asks_for_start_again(webs, settings):
    """Like a job in a file after a run that finished: fingerprints stop the rest.

    One line says why this run requests so little, and what a new crawl needs.
    """
    web = tree(webs)
    first = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert not first.logged(FINISHED)
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "finished"
    assert result.urls() == [web.url + "/"]
    (line,) = result.logged(FINISHED)
    assert "; the 14 requests that it has crawled are not sent again" in line
    assert "`scrapy robots job … forget`" in line


@ensureDeferred
async def test_what_a_run_leaves_the_next_one_has(webs, settings):
    """Nothing comes twice, whatever the first run had in its hands."""
    web = tree(webs)
    settings = {**settings, "CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": 4}
    first = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert first.stats["finish_reason"] == "closespider_pagecount"
    second = await crawl(
        LinksSpider,
        {**settings, "CLOSESPIDER_PAGECOUNT": 0},
        start_urls=[web.url + "/"],
    )
    assert second.stats["finish_reason"] == "finished"
    assert sorted(first.urls() + second.urls()) == sorted(
        web.url + path for path in ("/", *web.pages)
    )
    assert second.stats["mandelbot/job/passed_over"] == 1


class Sleeps(LinksSpider):
    """Does not know after its first page whether it has its site still, as one that was
    stopped.

    It knows again when the next request has left its slot.
    """

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.leaves, signals.request_left_downloader)
        return spider

    def parse(self, response):
        yield from super().parse(response)
        self.asked_at.append(len(self.hits))
        if len(self.asked_at) == 1:
            self.hurry()

    def hurry(self):
        """Let what lies in the slot leave it now, not in a minute."""
        downloader = self.crawler.engine.downloader
        for slot in downloader.slots.values():
            slot.delay = 0.01
            slot.latercall.cancel()
            slot.latercall = None
            downloader._process_queue(slot)

    def leaves(self):
        if self.asked_at:
            self.asked_at.append(len(self.hits))


@ensureDeferred
async def test_a_worker_that_wakes_up_sends_nothing_that_lay_in_a_slot(
    webs, settings, monkeypatch
):
    """Each request is looked at as it leaves its slot; it goes back, and is sent in the
    end.
    """
    web, asked_at = tree(webs), []
    monkeypatch.setattr(JobWorker, "may_send", property(lambda _: len(asked_at) != 1))
    # it has not come to that
    monkeypatch.setattr(OwnSites, "call_back", lambda _: None)
    urls = [web.url + path for path in ("/1/0", "/1/1", "/1/2", "/1/3")]
    # none leaves its slot before the first page is there, however busy the machine is
    settings = {**settings, "DOWNLOAD_DELAY": 60, "ROBOTSTXT_OBEY": False}
    result = await crawl(
        Sleeps, settings, start_urls=urls, asked_at=asked_at, hits=web.hits
    )
    assert asked_at[0] == asked_at[1], "the next one that left its slot was not sent"
    linked = [web.url + path for path in web.pages if path.startswith("/1")]
    assert result.urls() == sorted([*urls, *linked])


class LosesItsLease(LinksSpider):
    """Has another worker take its sites while it is in the middle of page 1."""

    has_lost = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.is_reported = asyncio.Event()

    def lose_lease(self):
        """Let the lease be lost, as if the worker had been stopped for long."""
        worker = JobWorker.of(self.crawler)
        join_again = worker._join_again
        worker._join_again = lambda reply: (join_again(reply), self.is_reported.set())
        with Redis.from_url(self.settings["MANDELBOT_JOB"]) as redis:
            redis.zrem(f"{worker.server.key}:workers", worker.job.worker)
            redis.sadd(f"{worker.server.key}:ended", worker.job.worker)

    async def parse(self, response):
        for one in super().parse(response):
            yield one
            if response.url.endswith("/1") and not self.has_lost:
                self.has_lost = True
                self.lose_lease()
                await self.is_reported.wait()


@ensureDeferred
async def test_a_worker_whose_lease_is_lost_begins_anew(webs, settings):
    """What it had comes again; what its callback gives then is dropped; all pages are
    crawled.
    """
    web = tree(webs)
    result = await crawl(LosesItsLease, settings, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "finished"
    assert set(result.urls()) == {web.url + path for path in web.pages}
    crawled = Counter(result.urls())
    assert crawled[web.url + "/1"] == 2
    assert all(crawled[f"{web.url}/1/{number}"] == 1 for number in range(10))
    assert result.stats["mandelbot/job/leases_lost"] == 1
    assert len(result.logged("This worker was silent")) == 1


class Lambdas(LinksSpider):
    """Links of the front page with callbacks that cannot be written down, to another
    site too.
    """

    other = ""

    def parse(self, response):
        if response.url.endswith("/"):
            for number in range(3):
                yield response.follow(
                    f"/{number}",
                    lambda response: self.parse(response),  # noqa: PLW0108
                )
            yield scrapy.Request(self.other, lambda response: self.parse(response))  # noqa: PLW0108
        else:
            yield {"url": response.url}


@ensureDeferred
async def test_a_request_that_cannot_be_written_down_is_sent_from_memory(
    webs, settings
):
    """When its site is this worker's; the page that gave it is settled after it."""
    first, second = webs(), webs("127.0.0.2")
    first.pages |= {"/": html(), "/0": html(), "/1": html(), "/2": html()}
    second.pages["/other"] = html()
    result = await crawl(
        Lambdas, settings, start_urls=[first.url + "/"], other=second.url + "/other"
    )
    assert result.stats["finish_reason"] == "finished"
    assert result.urls() == sorted(
        [second.url + "/other", *(f"{first.url}/{number}" for number in range(3))]
    )
    assert result.stats["mandelbot/job/in_memory"] == 4


@ensureDeferred
async def test_a_pause_is_kept_by_whoever_has_the_site(webs, settings):
    """All of it comes in the end; nothing is sent into the pause, by either worker."""
    web = tree(webs)
    refused = []

    def refuse(path):
        if path == "/1" and not refused:
            refused.append(path)
            return Answer(status=503, headers={"Retry-After": "1"})
        return None

    web.refuse = refuse
    results = await together(
        *(crawl(LinksSpider, settings, start_urls=[web.url + "/"]) for _ in range(2))
    )
    crawled = {url for one in results for url in one.urls()}
    assert crawled == {web.url + path for path in web.pages}
    assert [one.stats["finish_reason"] for one in results] == ["finished", "finished"]


@ensureDeferred
async def test_a_server_that_goes_and_comes_back_loses_nothing(webs, tmp_path):
    """The worker goes on with what it has, says so once, and catches up later."""
    web = tree(webs)
    with RedisServer(tmp_path, appendonly=True) as server:

        class Killing(LinksSpider):
            def parse(self, response):
                if response.url == web.url + "/1":
                    server.kill()
                    asyncio.get_running_loop().call_later(0.3, server.start)
                yield from super().parse(response)

        result = await crawl(
            Killing,
            {"MANDELBOT_JOB": server.url, "ROBOTSTXT_OBEY": False},
            start_urls=[web.url + "/"],
        )
        assert result.stats["finish_reason"] == "finished"
        assert set(result.urls()) == {web.url + path for path in web.pages}
        assert result.stats["mandelbot/job/not_saved"] == 1
        assert len(result.logged("The job is saved again")) == 1
        assert "mandelbot/job/leases_lost" not in result.stats


@ensureDeferred
async def test_a_worker_whose_end_is_not_saved_fails(webs, tmp_path, monkeypatch):
    """If Redis is away when it ends: as job_not_saved, whatever ended it."""
    monkeypatch.setattr(worker_module, "_WAIT_AT_END", 2.0)
    web = tree(webs)
    with RedisServer(tmp_path, appendonly=True) as server:

        class Killing(LinksSpider):
            def parse(self, response):
                yield from super().parse(response)
                if response.url == web.url + "/1":
                    server.kill()
                    raise CloseSpider("shutdown")

        first = await crawl(
            Killing,
            {
                "MANDELBOT_JOB": server.url,
                "ROBOTSTXT_OBEY": False,
                "CONCURRENT_REQUESTS": 1,
            },
            start_urls=[web.url + "/"],
        )
        server.start()
        assert first.stats["finish_reason"] == "job_not_saved"
        assert first.crawler.spider is None
        assert "The end of this run is not saved; the next run" in first.messages[-1]


@ensureDeferred
@pytest.mark.parametrize(
    "refused", [["resetpass"], ["resetkeys"], ["-evalsha"], ["-zadd"]]
)
async def test_a_worker_that_redis_refuses_for_good_fails(
    webs, tmp_path, monkeypatch, refused
):
    """As job_not_saved, after a rotation of passwords or a change of rights."""
    monkeypatch.setattr(worker_module, "_TRY_AGAIN", 0.05)
    monkeypatch.setattr(worker_module, "_WAIT_AT_END", 2.0)
    monkeypatch.setattr(worker_module, "_REFUSED", 0)
    web = tree(webs)
    with (
        RedisServer(tmp_path, appendonly=True) as server,
        closing(Redis.from_url(server.url)) as client,
    ):
        add_user(client)

        class Rotating(LinksSpider):
            def parse(self, response):
                yield from super().parse(response)
                if response.url == web.url + "/1":
                    client.execute_command("ACL", "SETUSER", "robot", *refused)
                    client.client_kill_filter(_type="normal", skipme=True)

        settings = {
            "MANDELBOT_JOB": server.url.replace("//", f"//{USER}@"),
            "ROBOTSTXT_OBEY": False,
            "CONCURRENT_REQUESTS": 1,
        }
        result = await crawl(Rotating, settings, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "job_not_saved"
    assert result.crawler.spider is None
    assert result.urls()


class DiskIsFull(LinksSpider):
    """Finds no room on the disk of its feed from the 20th page on."""

    has_room = True
    called = 0
    ends_then = False

    def parse(self, response):
        yield from super().parse(response)
        self.called += 1
        if self.called == 20:
            DiskIsFull.has_room = False
            if self.ends_then:
                raise CloseSpider("enough")


@pytest.fixture
def full_disk(monkeypatch) -> Iterator[list[int]]:
    """The disk of `DiskIsFull`. Yields a list that gets the length of what did not
    fit; it has room again after the third.

    A feed that cannot be written is never closed: its process ends.
    """
    refused, files = [], []
    make = held_file.HeldFile.__init__

    def make_noted(self, file, of_all) -> None:
        files.append(file)
        make(self, file, of_all)

    monkeypatch.setattr(held_file.HeldFile, "__init__", make_noted)
    monkeypatch.setattr(DiskIsFull, "has_room", True)

    def write(file: int, part: bytearray) -> int:
        if DiskIsFull.has_room:
            return os.write(file, part)
        refused.append(len(part))
        DiskIsFull.has_room = len(refused) == 3
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(held_file, "write_to", write)
    yield refused
    for file in files:
        file.close()


def written_to(feed) -> list[str]:
    return sorted(json.loads(line)["url"] for line in feed.read_text().splitlines())


@ensureDeferred
async def test_a_full_disk_costs_the_feed_of_a_worker_no_item(
    webs, settings, tmp_path, monkeypatch, full_disk
):
    """Nothing is settled until its items are in the file, and nothing comes twice."""
    monkeypatch.setattr(worker_module, "_TRY_AGAIN", 0.1)
    web = site(webs, 60)
    feed = tmp_path / "items.jsonl"
    settings["FEEDS"] = {str(feed): {"format": "jsonlines"}}
    result = await crawl(DiskIsFull, settings, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "finished"
    assert len(full_disk) == 3
    assert written_to(feed) == web.urls(60)


@ensureDeferred
async def test_a_worker_that_ends_on_a_full_disk_settles_nothing_that_is_not_written(
    webs, settings, tmp_path, monkeypatch, full_disk
):
    """It fails, and another run crawls those pages again."""
    monkeypatch.setattr(worker_module, "_WAIT_AT_END", 0.5)
    web = site(webs, 60)
    feed = tmp_path / "items.jsonl"
    settings["FEEDS"] = {str(feed): {"format": "jsonlines"}}
    full_disk.extend([0] * 3)  # it stays full
    urls = [web.url + "/"]
    first = await crawl(DiskIsFull, settings, start_urls=urls, ends_then=True)
    assert first.stats["finish_reason"] == "job_not_saved"
    assert first.crawler.spider is None  # so that Scrapy's commands exit with status 1
    DiskIsFull.has_room = True
    settings["FEEDS"] = {str(tmp_path / "more.jsonl"): {"format": "jsonlines"}}
    await crawl(DiskIsFull, settings, start_urls=[web.url + "/"], called=-1_000)
    both = {*written_to(feed), *written_to(tmp_path / "more.jsonl")}
    assert sorted(both) == web.urls(60)


@ensureDeferred
async def test_a_worker_with_other_settings_says_which(webs, settings):
    """Once, as it joins; those that are there already do not know of it."""
    web = site(webs, 3)
    other = Worker(settings["MANDELBOT_JOB"], "pages")
    key = f"{other.server.key}:meta"
    other.redis.hset(key, f"with:{other.worker}", "USER_AGENT=0 DEPTH_LIMIT=1")

    class Pages(LinksSpider):
        name = "pages"

        def parse(self, response):
            other.leave()
            yield from super().parse(response)

    result = await crawl(Pages, settings, start_urls=[web.url + "/page/1"])
    (line,) = result.logged("Other workers of this job have other values of")
    assert "values of DEPTH_LIMIT, USER_AGENT: what is sent to a site" in line


@ensureDeferred
async def test_an_idle_worker_may_end_before_the_job(webs, settings):
    """After the seconds of MANDELBOT_PAUSE_IDLE, as job_idle; the others go on."""
    web = webs()
    web.pages["/"] = html()
    end = asyncio.Event()

    class Waiting(LinksSpider):
        async def parse(self, response):
            await end.wait()
            yield {"url": response.url}

    async def idle_one():
        result = await crawl(
            LinksSpider,
            {
                **settings,
                "MANDELBOT_JOB_OPTIONS": {"name": "a"},
                "MANDELBOT_PAUSE_IDLE": 0.2,
            },
        )
        end.set()
        return result

    busy = crawl(
        Waiting,
        {**settings, "MANDELBOT_JOB_OPTIONS": {"name": "a"}},
        start_urls=[web.url + "/"],
    )
    idle, busy = await together(idle_one(), busy)
    assert idle.stats["finish_reason"] in {"job_idle", "finished"}
    assert busy.urls() + idle.urls() == [web.url + "/"]
    assert busy.stats["finish_reason"] == "finished"


@ensureDeferred
@pytest.mark.parametrize("idle", ["close", "fail"])
async def test_a_worker_fails_if_asked_where_paused_sites_are_left(
    webs, settings, idle
):
    """As a run with JOBDIR does, although the worker closes by itself."""
    web = site(webs, 3)
    web.pages["/page/1"] = lambda _request: Answer(b"", 503, {"Retry-After": "3600"})
    result = await crawl(
        LinksSpider,
        {**settings, "MANDELBOT_PAUSE_IDLE": idle},
        start_urls=[web.url + "/"],
    )
    assert result.stats["finish_reason"] == "sites_paused"
    assert (result.crawler.spider is None) == (idle == "fail")


@ensureDeferred
async def test_a_server_that_is_not_there_is_told_at_start(settings, monkeypatch):
    """The crawl does not begin, and the error says why; so it is with an address that
    is none.
    """
    monkeypatch.setattr(worker_module, "_WAIT_AT_END", 0.3)
    with pytest.raises(JobError, match="is not available: ConnectionError"):
        await crawl(LinksSpider, {**settings, "MANDELBOT_JOB": "redis://127.0.0.1:1/0"})
    with pytest.raises(SettingsError, match="MANDELBOT_JOB = 'rediss'"):
        await crawl(LinksSpider, {**settings, "MANDELBOT_JOB": "rediss"})


@ensureDeferred
async def test_a_spider_of_scrapy_redis_is_fed(webs, settings, redis_server):
    """Its start URLs come from the same key as ever; nothing is changed but the
    settings.
    """
    from scrapy_redis.spiders import RedisSpider

    web = tree(webs)

    class Fed(RedisSpider):
        name = "fed"
        max_idle_time = 1
        parse = LinksSpider.parse

    with Redis.from_url(redis_server.url) as redis:
        redis.lpush("fed:start_urls", json.dumps({"url": web.url + "/"}))
        result = await crawl(Fed, {**settings, "REDIS_URL": redis_server.url})
    assert set(result.urls()) == {web.url + path for path in web.pages}


@ensureDeferred
async def test_a_jobdir_beside_a_job_on_redis_is_named(webs, settings, tmp_path):
    """One line says which of the two has the requests."""
    web = tree(webs)
    beside = {**settings, "JOBDIR": str(tmp_path / "job")}
    result = await crawl(LinksSpider, beside, start_urls=[web.url + "/"])
    assert len(result.logged("The requests are in the job on Redis")) == 1
    assert not (tmp_path / "job" / "job.sqlite").exists()


@ensureDeferred
async def test_a_redis_that_has_lost_the_job_ends_the_crawl(
    webs, settings, redis_server
):
    """An empty job is no finished one: the spider closes as job_forgotten, with an
    error, and leaves nothing there, where it would be of another job.
    """
    web = tree(webs)

    class Emptying(LinksSpider):
        def parse(self, response):
            if response.url == web.url + "/1":
                redis_server.clear()
            yield from super().parse(response)

    result = await crawl(
        Emptying, {**settings, "CONCURRENT_REQUESTS": 1}, start_urls=[web.url + "/"]
    )
    assert result.stats["finish_reason"] == "job_forgotten"
    assert len(result.logged("The spider is closed, as Redis has another job")) == 1
    assert not result.logged("Redis has an older state")
    with Redis.from_url(redis_server.url) as redis:
        assert redis.keys("*") == []


@ensureDeferred
async def test_requests_that_nobody_can_read_are_set_aside(
    webs, settings, redis_server
):
    """With the reason, one error and a number; the crawl ends, not as finished."""
    web = tree(webs)
    worker = Worker(redis_server.url, name="links")
    for _ in range(30):
        worker.push(web.url, Place(0, 0, is_last_first=True), b"no pickle")
    worker.exchange()
    worker.leave()
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "job_set_aside"
    assert set(result.urls()) == {web.url + path for path in web.pages}
    assert result.stats["mandelbot/job/unreadable"] == 30
    assert len(result.logged("A request of ")) == 1
    assert len(result.logged("30 requests of the job could not be restored")) == 1
    worker = Worker(redis_server.url, name="links")
    ((why, count),) = worker.server.view().aside()[web.url].items()
    assert (why[:17], count) == ("it cannot be read", 30)
    worker.leave()


class ParseRenamed(scrapy.Spider):
    """The next release of LinksSpider: `parse` is `parse_page` now."""

    name = "links"

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, self.parse_page, dont_filter=True)

    def parse_page(self, response):
        """Do what `parse` did."""


@ensureDeferred
async def test_requests_for_a_parse_that_the_next_release_renamed_are_set_aside(
    webs, settings
):
    """None is sent to Scrapy's own `parse`, which raises; the earlier release crawls
    them all.
    """
    web = tree(webs)
    stops = {**settings, "CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": 2}
    first = await crawl(LinksSpider, stops, start_urls=[web.url + "/"])
    before = len(web.statuses())
    following = type(
        "LinksSpider", (ParseRenamed,), {"__module__": LinksSpider.__module__}
    )
    result = await crawl(following, settings)
    assert result.stats["finish_reason"] == "job_set_aside"
    assert len(web.statuses()) == before
    assert result.stats["mandelbot/job/unreadable"] > 0
    worker = Worker(settings["MANDELBOT_JOB"], name="links")
    assert [*worker.server.view().requeue("")] == [web.url]
    worker.leave()
    again = await crawl(LinksSpider, settings)
    assert again.stats["finish_reason"] == "finished"
    assert {*first.urls(), *again.urls()} == {web.url + path for path in web.pages}


class Versioned(scrapy.Spider):
    """Has pages that list pages, each with a callback that its version alone has."""

    name = "versioned"

    def __init__(self, url, version, **kwargs):
        super().__init__(**kwargs)
        self.url, self.version, self.called = url, version, []

    async def start(self):
        for number in range(6):
            url = f"{self.url}/{self.version}/{number}"
            yield scrapy.Request(
                url, getattr(self, f"list_{self.version}"), dont_filter=True
            )

    def lists(self, response):
        """Ask for pages."""
        self.called.append(response.url)
        callback = getattr(self, f"parse_{self.version}")
        for number in range(19):
            yield response.follow(f"{response.url}/{number}", callback)

    def parses(self, response):
        """Note a page."""
        self.called.append(response.url)


class OldVersion(Versioned):
    """Before the deployment."""

    list_old, parse_old = Versioned.lists, Versioned.parses


class NewVersion(Versioned):
    """After it."""

    list_new, parse_new = Versioned.lists, Versioned.parses


@ensureDeferred
async def test_two_versions_of_a_spider_crawl_all_in_one_job(webs, settings):
    """What one of them cannot read goes to the other, and both finish."""
    web = webs("127.0.0.1")
    paths = [f"/{version}/{n}" for version in ("old", "new") for n in range(6)]
    paths += [f"{path}/{n}" for path in paths for n in range(19)]
    web.pages |= {path: html() for path in paths}
    settings = {**settings, "CONCURRENT_REQUESTS": 4}
    old, new = await together(
        crawl(OldVersion, settings, url=web.url, version="old"),
        crawl(NewVersion, settings, url=web.url, version="new"),
    )
    assert len(paths) == 240
    assert [one.stats["finish_reason"] for one in (old, new)] == [
        "finished",
        "finished",
    ]
    assert sorted(old.spider.called + new.spider.called) == sorted(
        web.url + one for one in paths
    )


@ensureDeferred
async def test_a_spider_of_another_project_is_refused(webs, settings):
    """Where it has the same name; the job that is there loses nothing."""
    web = tree(webs)
    settings = {**settings, "CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": 2}
    first = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    other = type("LinksSpider", (LinksSpider,), {"__module__": "books.spiders"})
    with pytest.raises(JobError, match="MANDELBOT_JOB_OPTIONS"):
        await crawl(other, settings, start_urls=[web.url + "/"])
    result = await crawl(
        LinksSpider, {**settings, "CLOSESPIDER_PAGECOUNT": 0}, start_urls=[]
    )
    assert result.stats["finish_reason"] == "finished"
    assert {*first.urls(), *result.urls()} == {web.url + path for path in web.pages}


def test_the_shell_takes_no_sites(settings):
    """Scrapy's commands for single pages are no workers: others have the job."""
    for is_crawl, scheduler in ((False, Scheduler), (True, SharedJobScheduler)):
        crawler = Crawler(LinksSpider, Settings({**SETTINGS, **settings}))
        crawler.crawling = is_crawl
        crawler._apply_settings()
        assert load_object(crawler.settings["SCHEDULER"]) is scheduler
        Crawl.of(crawler)._spider_closed(LinksSpider(), "shutdown")


def shops(webs):
    """Return three sites: an index of the first lists pages of all, and the second
    cites it.
    """
    one, other, third = (
        shop(
            webs, 40, *(["/index.xml"] if number == 1 else []), host=f"127.0.0.{number}"
        )
        for number in (1, 2, 3)
    )
    one.pages["/index.xml"] = index(one.url + "/a.xml", one.url + "/b.xml")
    one.pages["/a.xml"] = urlset(*(f"{one.url}/{number}" for number in range(40)))
    listed = [f"{web.url}/{number}" for web in (other, third) for number in range(20)]
    one.pages["/b.xml"] = urlset(*listed)
    other.pages["/robots.txt"] = Answer(f"Sitemap: {one.url}/index.xml\n".encode())
    return one, other, third


@ensureDeferred
async def test_sitemaps_are_followed_by_all_workers_together(webs, settings):
    """Each is read once, its pages are anybody's; those of who does not cite it do not
    count.
    """
    one, other, third = shops(webs)
    settings = {**settings, **FOLLOW, "ROBOTSTXT_OBEY": True, "CONCURRENT_REQUESTS": 2}
    results = await together(
        *(crawl(LinksSpider, settings, start_urls=[one.url + "/"]) for _ in range(2))
    )
    assert [result.stats["finish_reason"] for result in results] == [
        "finished",
        "finished",
    ]
    crawled = Counter(url for result in results for url in result.urls())
    assert set(crawled) == {
        one.url + "/",
        *urls(one, *range(40)),
        *urls(other, *range(20)),
    }
    assert [one.asked(path) for path in ("/index.xml", "/a.xml", "/b.xml")] == [1, 1, 1]
    assert not any(third.asked(f"/{number}") for number in range(20))
    foreign = sum(
        result.stats.get("mandelbot/sitemaps/foreign", 0) for result in results
    )
    assert foreign == 20
    records = (
        record for result in results for record in Recorder.of(result.crawler).record
    )
    read = [record.sitemaps.read for record in records if record.sitemaps is not None]
    assert sum(read) == 3, "the table at the end has them"
    assert not any(result.stats.get("log_count/ERROR") for result in results)


@ensureDeferred
async def test_sitemaps_lead_a_worker_to_so_many_other_sites(
    webs, settings, monkeypatch
):
    """Whoever makes a sitemap chooses whom it names: pages of further sites are left
    out.
    """
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations.MOST_STRANGERS", 1)
    one, other, third = shops(webs)
    third.pages["/robots.txt"] = other.pages["/robots.txt"]
    settings = {**settings, **FOLLOW, "ROBOTSTXT_OBEY": True}
    result = await crawl(LinksSpider, settings, start_urls=[one.url + "/"])
    assert set(urls(other, *range(20))) <= set(result.urls())
    assert not third.hits
    assert result.stats["mandelbot/sitemaps/foreign"] == 20
    assert result.logged(f"The sitemaps of {one.url} list pages of more than 1 sites")


class Filtering(LinksSpider):
    """Wants every other entry."""

    def sitemap_filter(self, entries):
        return (entry for entry in entries if int(entry["loc"].rpartition("/")[2]) % 2)


@ensureDeferred
async def test_the_spiders_filter_chooses_what_is_followed(webs, settings):
    """As in a crawl of one worker; a sitemap that cannot be had costs a warning.

    Tags of the sitemap say that no search is to find it, and nothing of what it lists.
    """
    web = shop(webs, 10, "/a.xml", "/gone.xml")
    web.pages["/a.xml"] = sitemap = urlset(
        *(f"{web.url}/{number}" for number in range(10))
    )
    sitemap.headers["X-Robots-Tag"] = "noindex, nofollow"
    settings = {
        **settings,
        **FOLLOW,
        "ROBOTSTXT_OBEY": True,
        "MANDELBOT_ROBOT_TAGS": "obey",
    }
    result = await crawl(Filtering, settings, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, *range(1, 10, 2))])
    assert result.logged(f"The sitemap {web.url}/gone.xml was not read")


class Release(LinksSpider):
    """Some of its versions raise for some pages after a part of their results."""

    bugs: ClassVar[dict[str, type[Exception]]] = {}

    def parse(self, response):
        path = response.url.partition("127.0.0.1")[2].partition("/")[2]
        outputs = list(super().parse(response))
        yield from outputs[:3]
        if path in self.bugs:
            raise self.bugs[path](path)
        yield from outputs[3:]


@pytest.mark.parametrize("place", ["file", "redis"])
@ensureDeferred
async def test_pages_whose_callback_raised_come_back_when_they_are_requeued(
    webs, settings, tmp_path, redis_server, place
):
    """All of them, or those of one exception; each run before sends none of them."""
    web = tree(webs)
    keeps = {**settings, "MANDELBOT_JOB_OPTIONS": {"errors": "keep"}}
    job: Any = partial(ServerJob, f"{redis_server.url}#links")
    if place == "file":
        keeps |= {"MANDELBOT_JOB": "durable", "JOBDIR": str(tmp_path)}
        job = partial(JobFolder, str(tmp_path))

    async def run(**bugs):
        bugs = {name.removeprefix("_"): error for name, error in bugs.items()}
        spider = type("LinksSpider", (Release,), {"bugs": bugs, "__module__": __name__})
        result = await crawl(spider, keeps, start_urls=[web.url + "/"])
        with closing(job()) as there:
            aside = there.contents().given_up
        paths = [url.removeprefix(web.url) for url in result.urls()]
        assert len(aside) == len({why.split()[3] for why in aside})
        assert all(re.search(r" at test_job_shared\.py:\d+$", why) for why in aside)
        return (
            paths,
            result.stats["finish_reason"],
            {why.split()[3]: count for why, count in aside.items()},
        )

    def requeue(wanted):
        with closing(job()) as there:
            return there.requeue(wanted)

    first = await run(_1=ZeroDivisionError, _2=KeyError, _3=KeyError)
    children = {f"/1/{number}" for number in range(10)}
    assert first[1:] == ("job_set_aside", {"ZeroDivisionError": 1, "KeyError": 2})
    assert {*first[0]} == {"/", "/1", "/2", "/3", "/1/0", "/1/1"}
    assert await run() == (["/"], *first[1:])
    assert requeue("ZeroDivisionError") == [web.url]
    paths, *ended = await run()
    assert ended == ["job_set_aside", {"KeyError": 2}]
    assert {*paths} == {"/", "/1", *children} - {"/1/0", "/1/1"}
    assert requeue("OSError") == []
    assert requeue(web.url) == [web.url]
    assert await run() == (["/", "/2", "/3"], "finished", {})


@pytest.mark.parametrize("place", ["file", "redis"])
@ensureDeferred
async def test_a_run_that_ends_for_its_errors_loses_nothing(
    webs, settings, tmp_path, redis_server, place
):
    """CLOSESPIDER_ERRORCOUNT: what raised is set aside, and the rest waits."""
    web = tree(webs)
    keeps = {
        **settings,
        "MANDELBOT_JOB_OPTIONS": {"errors": "keep"},
        "CLOSESPIDER_ERRORCOUNT": 3,
        "CONCURRENT_REQUESTS": 1,
    }
    job: Any = partial(ServerJob, f"{redis_server.url}#links")
    if place == "file":
        keeps |= {"MANDELBOT_JOB": "durable", "JOBDIR": str(tmp_path)}
        job = partial(JobFolder, str(tmp_path))
    bugs = dict.fromkeys(("1", "2", "3", "1/0", "1/1", "1/2"), OSError)
    bad = type("LinksSpider", (Release,), {"bugs": bugs, "__module__": __name__})
    good = type("LinksSpider", (Release,), {"__module__": __name__})
    first = await crawl(bad, keeps, start_urls=[web.url + "/"])
    assert first.stats["finish_reason"] == "closespider_errorcount"
    with closing(job()) as there:
        assert there.contents().given_up.total() >= 3
        assert there.requeue("") == [web.url]
    second = await crawl(good, keeps, start_urls=[])
    assert second.stats["finish_reason"] == "finished"
    assert {*first.urls(), *second.urls()} == {web.url + path for path in web.pages}
    raised = {web.url + "/" + path for path in bugs} & {*first.urls()}
    assert len(raised) >= 3
    assert raised <= {*second.urls()}
