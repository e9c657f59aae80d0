"""nginx with ``limit_req``, which answers 503 by itself, crawled to the last page."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from nginx import IS_THERE, Nginx
from scrapy import signals
from twisted.internet.task import LoopingCall
from webs import Answer, site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not IS_THERE, reason="nginx is not installed (Debian: nginx-light)"
    ),
]


@pytest.fixture
def nginx(tmp_path):
    made = []

    def make(**limit) -> Nginx:
        folder = tmp_path / f"nginx{len(made)}"
        folder.mkdir()
        made.append(Nginx(folder, **limit))
        return made[-1]

    yield make
    for server in made:
        server.stop()


BEAT = 0.05  # seconds


@contextmanager
def beats():
    """Count inside the block how often a timer of this process rings.

    It rings each `BEAT`; where other processes have the cores, less often.
    """
    rung = []
    timer = LoopingCall(rung.append, None)
    timer.start(BEAT, now=False)
    yield rung
    timer.stop()


@pytest.mark.parametrize("delay", ["nodelay", ""])
@ensureDeferred
async def test_a_rate_limit_is_crawled_just_below_it(nginx, webs, delay):
    """300 pages at 30 a second, burst 5: every page once, few refusals, near the
    allowed rate.

    A second site beside it is done long before.
    """
    server = nginx(rate=30, burst=5, delay=delay)
    server.pages(300)
    server.start()
    healthy = site(webs, 100, "127.0.0.2")

    with beats() as rung:
        result = await crawl(
            LinksSpider, start_urls=[server.url + "/", healthy.url + "/"]
        )

    pages = [url for url in result.urls() if url.startswith(server.url)]
    assert len(pages) == len(set(pages)) == 301
    assert len(result.items) == 301 + 101
    refused = server.statuses().count(503)
    assert refused <= 18  # six where nothing else runs
    pauses = result.stats["mandelbot/pause/seconds"]
    # an order of time, beside other tests on busy cores
    assert len(rung) * BEAT - pauses <= 4 * 300 / 30
    assert "retry/count" not in result.stats
    limited = [item["url"].startswith(server.url) for item in result.items]
    last_of_healthy = len(limited) - limited[::-1].index(False)
    assert sum(limited[:last_of_healthy]) < 300 / 2
    assert pauses >= 0.05 * result.stats["mandelbot/pause/count"], "each time"


@ensureDeferred
async def test_a_limit_of_connections_is_crawled_with_as_many_as_it_serves(nginx, webs):
    """``limit_conn`` 4 in front of a slow server, where 16 are allowed: all pages, and
    few refusals. Stock Scrapy loses most of them.
    """
    slow = webs()
    slow.refuse = lambda _path: Answer(b"<html>page</html>", delay=0.1)
    settings = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "ROBOTSTXT_OBEY": False,
    }
    got, refused = [], []
    for more in ({}, {"ADDONS": {}}):
        server = nginx(connections=4, behind=slow.url)
        server.start()
        urls = [f"{server.url}/{number}" for number in range(200)]
        result = await crawl(LinksSpider, {**settings, **more}, start_urls=urls)
        got.append(len(result.items))
        refused.append(server.statuses().count(503))
    assert got[0] == 200
    assert got[1] < 150
    assert refused[0] <= 30
    assert refused[1] > 100


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rate", "burst", "pages", "times"),
    [(30, 5, 60, 1.3), (20, 10, 50, 1.3), (10, 0, 20, 1.9)],
)
@ensureDeferred
async def test_a_slow_limit_loses_nothing(nginx, rate, burst, pages, times):
    """So many a minute: all of the pages, few refusals, and little longer than it has
    to be.
    """
    server = nginx(rate=rate, per="m", burst=burst)
    server.pages(pages)
    server.start()
    began = TIME.elapsed()

    result = await crawl(FailuresSpider, start_urls=[server.url + "/"])

    assert len(set(result.urls())) == len(result.items) == pages + 1
    assert result.failures == []
    assert server.statuses().count(503) <= 25
    # The index and robots.txt are two pages more, of which one is in the bucket at
    # first.
    assert TIME.elapsed() - began <= times * (pages + 1 - burst) / rate * 60


@ensureDeferred
@pytest.mark.parametrize(
    "status",
    [429, 509, *(pytest.param(n, marks=pytest.mark.thorough) for n in (420, 430, 529))],
)
async def test_a_limit_that_answers_otherwise_is_one_too(nginx, status):
    """By ``limit_req_status``: Shopify's, cPanel's, SSL Labs', Twitter's."""
    server = nginx(rate=20, burst=5, status=status)
    server.pages(150)
    server.start()
    result = await crawl(FailuresSpider, start_urls=[server.url + "/"])
    assert len(set(result.urls())) == len(result.items) == 151
    assert result.failures == []
    # some five where nothing else runs
    assert server.statuses().count(status) <= 0.15 * 150


@ensureDeferred
async def test_the_servers_log_tells_the_polite_from_the_others(nginx):
    """A server that says Retry-After: 2 gets two quiet seconds; from stock Scrapy it
    does not.
    """
    ours, stock = (nginx(rate=20, burst=5, retry_after=2) for _ in range(2))
    for server in (ours, stock):
        server.pages(60)
        server.start()

    result = await crawl(LinksSpider, start_urls=[ours.url + "/"])
    await crawl(LinksSpider, {"ADDONS": {}}, start_urls=[stock.url + "/"])

    assert len(result.items) == 61
    visits, of_stock = ours.visits(), stock.visits()
    assert visits.robots_reads == {200: 1}
    assert visits.too_early == 0
    assert visits.with_retry_after == visits.refusals > 0
    assert visits.least_return >= 2
    assert of_stock.robots_reads == {}
    assert of_stock.refusals > 5 * visits.refusals


@ensureDeferred
async def test_taken_down_and_brought_up(nginx):
    """Nobody listens there for a while: every page once, and none failed."""
    server = nginx(rate=200, burst=20)
    server.pages(300)
    server.start()
    items = []

    def take_down(item) -> None:
        from twisted.internet import reactor

        items.append(item)
        if len(items) == 60:
            server.stop()
            reactor.callLater(2.5, server.start)

    def before(crawler) -> None:
        crawler.signals.connect(take_down, signal=signals.item_scraped)

    quick = {"MANDELBOT_PAUSE_OPTIONS": {"first": 0.5}}
    result = await crawl(
        FailuresSpider, quick, start_urls=[server.url + "/"], before=before
    )

    assert len(result.items) == len(set(result.urls())) == 301
    assert result.failures == []
    assert result.stats["mandelbot/pause/seconds"] >= 1.4
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_interrupted_in_a_pause_and_resumed(nginx, job):
    """Ctrl-C while nginx refuses, then a second run: every page exactly once."""
    server = nginx(rate=30, burst=5)
    server.pages(150)
    server.start()

    log, seconds = await job.run([server.url + "/"], paused="SIGINT")
    assert "Closing spider (shutdown)" in log, log
    assert seconds < 5, "a pause does not hold up the end"
    first = job.items()
    assert 1 <= len(first) < 151

    log, _ = await job.run([server.url + "/"])
    assert "Closing spider (finished)" in log, log
    both = job.items()
    assert len(both) == 151
    assert both.pop(server.url + "/") in {1, 2}  # Scrapy asks for start URLs again
    assert set(both.values()) == {1}
    assert '"retry/count"' not in log
    assert "not kept in JOBDIR" not in log
