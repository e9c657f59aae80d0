"""scrapy-redis over a real Redis: what the workers share stays shared, as without the
package.
"""

from __future__ import annotations

import json
import signal

import pytest
import redis
from crawling import LinksSpider, crawl, ensureDeferred
from redis_server import NEEDS_REDIS, RedisServer
from scrapy import signals
from scrapy.core.engine import ExecutionEngine
from scrapy.exceptions import CloseSpider
from twisted.internet.threads import deferToThread
from webs import Answer, Closed, site

pytestmark = NEEDS_REDIS

REQUESTS = "links:requests"
START_URLS = "links:start_urls"
DYING = """
import os
import signal
import scrapy

class Dying(scrapy.Spider):
    name = "links"
    custom_settings = {settings!r}
    start_urls = [{url!r}]
    pages = 0

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)
        with open("ends.txt", "a") as file:
            file.write(response.url + "\\n")
        self.pages += 1
        if self.pages == 20:
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RedisServer(tmp_path_factory.mktemp("redis")) as started:
        yield started


@pytest.fixture
def shared(server):
    """Talk to the server, which holds nothing yet."""
    server.clear()
    with redis.Redis.from_url(server.url) as client:
        yield client


def settings(server: RedisServer, **more: object) -> dict[str, object]:
    return {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "SCHEDULER_PERSIST": True,
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "REDIS_URL": server.url,
        "ROBOTSTXT_OBEY": False,
        **more,
    }


class HeldSpider(LinksSpider):
    """Notes of each request that is sent how many are out of Redis then, and not
    answered.
    """

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.held = []
        crawler.signals.connect(spider.sent, signals.request_reached_downloader)
        return spider

    def sent(self):
        count = self.crawler.stats.get_value
        taken, answered = (
            count("scheduler/dequeued/redis"),
            count("downloader/response_count", 0),
        )
        self.held.append(taken - answered)


@pytest.mark.parametrize("is_ours", [False, True])
@ensureDeferred
async def test_no_more_is_taken_than_the_engine_has_room_for(
    webs, server, shared, is_ours
):
    """Of one site with 80 pages: what one worker holds another could not have."""
    web = site(webs, 80)
    result = await crawl(
        HeldSpider,
        settings(server, MANDELBOT_ENABLED=is_ours, CONCURRENT_REQUESTS=16),
        start_urls=[web.url + "/"],
    )
    assert len(result.items) == len(set(result.urls())) == 81
    assert max(result.crawler.spider.held) == 16


@ensureDeferred
async def test_start_urls_are_read_and_all_goes_back_while_a_site_is_paused(
    webs, server, shared, monkeypatch
):
    """The new site is asked in the pause; closed then, the paused one's requests are in
    Redis.
    """
    from scrapy_redis.spiders import RedisMixin

    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 0.2, raising=False)
    paused, new = site(webs, 140), site(webs, 8, "127.0.0.2")
    paused.refuse = closed = Closed(seconds=1_000, after=3, retry_after="1000")

    class Fed(RedisMixin, LinksSpider):
        redis_key = START_URLS

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            spider.setup_redis(crawler)
            spider.left = 9
            return spider

        async def start(self):
            for request in self.next_requests():
                yield request

        def site_paused(self, site, until, reason):
            shared.lpush(START_URLS, json.dumps({"url": new.url + "/"}))

        def parse(self, response):
            yield from super().parse(response)
            self.left -= response.url.startswith(new.url)
            if not self.left:
                raise CloseSpider("seen")

    shared.lpush(START_URLS, json.dumps({"url": paused.url + "/"}))
    result = await crawl(Fed, settings(server))
    assert result.stats["finish_reason"] == "seen"
    done = [url for url in result.urls() if url.startswith(paused.url)]
    assert len(result.items) == len(done) + 9
    assert len(done) + shared.zcard(REQUESTS) == 141
    assert paused.statuses().count(503) <= 8

    closed.seconds = 0
    rest = await crawl(
        LinksSpider, settings(server, MANDELBOT_STORE="memory"), start_urls=[]
    )
    assert sorted(done + rest.urls()) == paused.urls(140)


@pytest.mark.slow
@ensureDeferred
async def test_a_killed_worker_loses_what_was_in_flight(
    webs, server, shared, tmp_path, forked
):
    """And no more, as without the package: another worker crawls what is in Redis."""
    web = site(webs, 60)
    # What comes after the twentieth page is in flight when the worker dies, and nothing
    # else is.
    web.refuse = lambda _path: Answer(delay=60) if len(web.hits) >= 20 else None
    killed = settings(
        server,
        ADDONS={"scrapy_mandelbot.Addon": 500},
        CONCURRENT_REQUESTS=16,
        DOWNLOAD_DELAY=0,
        MANDELBOT_STORE="memory",
        TELNETCONSOLE_ENABLED=False,
    )
    spider = tmp_path / "dying.py"
    spider.write_text(DYING.format(settings=killed, url=web.url + "/"))
    ended = await deferToThread(
        forked.program, tmp_path, "scrapy", "runspider", spider.name
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    seen = (tmp_path / "ends.txt").read_text().split()
    assert len(seen) == 20

    web.refuse = lambda _path: None
    rest = await crawl(
        LinksSpider, settings(server, MANDELBOT_STORE="memory"), start_urls=[]
    )
    crawled = {*seen, *rest.urls()}
    assert crawled <= set(web.urls(60))
    assert len(crawled) > 20
    assert 61 - len(crawled) <= 16
