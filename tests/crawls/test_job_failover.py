"""A crawl of two workers whose Redis fails over to a replica that is behind."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from failover import Failover
from redis_server import NEEDS_REDIS
from twisted.internet.defer import Deferred, DeferredList
from webs import html

from scrapy_mandelbot.fleet import worker

pytestmark = [NEEDS_REDIS, pytest.mark.slow]


@pytest.fixture
def servers(tmp_path):
    with Failover(tmp_path) as started:
        yield started


def shop(webs, host: str):
    """Return a site whose front page links to five, each of which links to three
    others.
    """
    web = webs(host)
    web.pages["/"] = html(*(f"/{number}" for number in range(5)))
    for number in range(5):
        links = [f"/{number}/{one}" for one in range(3)]
        web.pages[f"/{number}"] = html(*links)
        web.pages |= {link: html("/") for link in links}
    return web


class Failing(LinksSpider):
    """Has the server fail over: at its second page of all workers the replica falls
    behind, at its twelfth the primary dies.
    """

    servers: Failover
    seen: list

    def parse(self, response):
        self.seen.append(response.url)
        if len(self.seen) == 2:
            self.servers.fall_behind()
        elif len(self.seen) == 12:
            self.servers.lose_primary()
            asyncio.get_running_loop().call_later(0.1, self.servers.promote)
        yield from super().parse(response)


@ensureDeferred
async def test_two_workers_bear_that_a_replica_takes_over_that_was_behind(
    webs, servers, monkeypatch
):
    """All pages are crawled, also those of which the replica knows nothing, and both
    finish.
    """
    monkeypatch.setattr(worker, "_TRY_AGAIN", 0.1)
    monkeypatch.setattr(worker, "_POLL_SLOWLY", 0.1)
    shops = [shop(webs, f"127.0.0.{number}") for number in range(1, 4)]
    settings = {
        "MANDELBOT_JOB": servers.url,
        "MANDELBOT_STORE": "memory",
        "CONCURRENT_REQUESTS": 2,
        "DOWNLOAD_DELAY": 0.02,
        "ROBOTSTXT_OBEY": False,
    }
    seen = []
    starts = [web.url + "/" for web in shops]
    crawls = (
        crawl(Failing, settings, start_urls=starts, servers=servers, seen=seen)
        for _ in range(2)
    )
    results = [
        result
        for _, result in await DeferredList(
            [Deferred.fromCoroutine(one) for one in crawls], fireOnOneErrback=True
        )
    ]
    assert [one.stats["finish_reason"] for one in results] == ["finished", "finished"]
    crawled = Counter(url for one in results for url in one.urls())
    assert set(crawled) == {
        web.url + path for web in shops for path in ("/", *web.pages)
    }
    assert sum(one.stats.get("mandelbot/job/set_back", 0) for one in results) >= 1
    assert not any(one.stats.get("log_count/ERROR") for one in results)
    assert not any("mandelbot/job/leases_lost" in one.stats for one in results)
