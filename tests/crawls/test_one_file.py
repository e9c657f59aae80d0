"""Crawls that have nothing in common but a store's file, as in several processes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import LoopingCall
from webs import Answer, html, site

from scrapy_mandelbot.throttle.peers import Peers

pytestmark = pytest.mark.usefixtures("loop_is_turned")

KNOWN_WITHIN = 0.6  # seconds after a refusal in which this process has its turns


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """Run three workers, each with pages of its own, that hear of each other by the
    file only.
    """
    path = tmp_path / "store.db"
    monkeypatch.setattr(Peers, "_others", lambda _: iter(()))

    async def run(web, pages, **settings):
        settings = {"MANDELBOT_STORE": path, "ROBOTSTXT_OBEY": True, **settings}
        runs = []
        for worker in "abc":
            paths = [f"/{worker}/{number}" for number in range(pages)]
            web.pages |= {path: Answer() for path in paths} | {
                f"/{worker}": html(*paths)
            }
            start = [f"{web.url}/{worker}"]
            runs.append(
                Deferred.fromCoroutine(crawl(LinksSpider, settings, start_urls=start))
            )
        return await gatherResults(runs)

    return run


@pytest.fixture
def stood_still():
    """Return how many seconds this process, which has workers and site, had no turn at
    most.
    """
    turns = []
    beat = LoopingCall(lambda: turns.append(TIME.elapsed()))
    beat.start(0.05)
    yield lambda: max(
        after - before for before, after in pairwise([*turns, TIME.elapsed()])
    )
    beat.stop()


def robots_fetches(web) -> int:
    return web.asked("/robots.txt")


@ensureDeferred
async def test_a_robots_txt_is_fetched_once_by_each_worker_at_most(webs, workers):
    """However slow it comes: a worker that begins later uses the stored one."""
    web = site(webs, 1)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /b/\n", delay=0.4)
    a, b, c = await workers(web, 5)
    assert robots_fetches(web) <= 3
    assert [len(one.items) for one in (a, b, c)] == [6, 1, 6]
    assert b.stats["robotstxt/forbidden"] == 5


@ensureDeferred
async def test_what_one_worker_is_refused_none_asks_and_one_probes(
    webs, workers, stood_still
):
    """From the first 503 on; when the pause is over one of them asks, repeatedly."""
    web = site(webs, 1)
    down, late = [], []

    def refuse(path):
        if path == "/b/20" and not down:
            down.append(TIME.elapsed())
        if not down or len(late) == 2:
            return None
        if TIME.elapsed() > down[0] + KNOWN_WITHIN + stood_still():
            late.append(TIME.elapsed())
        return Answer(b"", 503, {"Retry-After": "1"})

    web.refuse = refuse
    crawls = await workers(
        web,
        60,
        CONCURRENT_REQUESTS_PER_DOMAIN=2,
        # on a busy machine they stand still for more seconds than a site has tries
        MANDELBOT_PAUSE_OPTIONS={"tries": 100},
    )
    assert [len(one.items) for one in crawls] == [61, 61, 61]
    since = [at - down[0] for at in late]
    assert all(later - earlier > 0.9 for earlier, later in pairwise([0.0, *since])), (
        since
    )
    assert robots_fetches(web) <= 3


@ensureDeferred
async def test_one_pace_is_kept_by_all_workers_together(webs, workers):
    """No two requests of any of them are nearer to each other than the site has asked
    for.
    """
    web = site(webs, 1)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nCrawl-delay: 0.2\n")
    crawls = await workers(web, 4, MANDELBOT_PACE="obey")
    assert [len(one.items) for one in crawls] == [5, 5, 5]
    asked = [hit.at for hit in web.hits if hit.path != "/robots.txt"]
    assert min(later - earlier for earlier, later in pairwise(asked)) >= 0.2 - 0.02
    assert robots_fetches(web) <= 3
