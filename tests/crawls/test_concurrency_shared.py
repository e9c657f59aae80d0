"""Workers of one job on Redis measure what a site bears (MANDELBOT_CONCURRENCY).

Another process has a part in it, so time is not turned: the site is fast.
"""

from __future__ import annotations

from collections import Counter
from time import monotonic

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from redis_server import NEEDS_REDIS
from twisted.internet.defer import Deferred, gatherResults
from webs import Answer, html

pytestmark = NEEDS_REDIS
PAGES = 200


@pytest.fixture
def settings(redis_server):
    return {
        "MANDELBOT_JOB": redis_server.url,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "ROBOTSTXT_OBEY": False,
    }


class OneThread:
    """Makes pages, each in 5 ms, one after the other."""

    def __init__(self):
        self._free_at = 0.0
        self._ends = []
        self.inside = []
        """With each request, how many are inside."""

    def __call__(self, path):
        if path in {"/", "/robots.txt"}:
            return None
        now = monotonic()
        self._ends = [one for one in self._ends if one > now]
        self._free_at = max(now, self._free_at) + 0.005
        self._ends.append(self._free_at)
        self.inside.append(len(self._ends))
        return Answer(b"<html>page</html>", delay=self._free_at - now)


def crowded(webs, host="127.0.0.1"):
    """Return a site of one thread, and its front page with links to all others."""
    web = webs(host)
    web.pages["/"] = html(*(f"/page/{number}" for number in range(PAGES)))
    web.refuse = OneThread()
    return web


@ensureDeferred
async def test_a_site_of_a_shared_job_has_the_requests_of_one_worker(webs, settings):
    """Each is measured by its owner: two workers do not ask for twice as much."""
    sites = [crowded(webs), crowded(webs, "127.0.0.2")]
    urls = [f"{site.url}/" for site in sites]
    runs = [
        Deferred.fromCoroutine(crawl(LinksSpider, settings, start_urls=list(urls)))
        for _ in range(2)
    ]
    results = await gatherResults(runs)
    pages = Counter(url for one in results for url in one.urls() if "/page/" in url)
    assert len(pages) == 2 * PAGES
    assert set(pages.values()) == {1}
    for site in sites:
        assert max(site.refuse.inside) <= 16


@ensureDeferred
async def test_the_next_owner_of_a_site_begins_anew(webs, settings):
    """What the last one found is not in the job; it begins with 8, as with any site."""
    site = crowded(webs)
    url = f"{site.url}/"
    first = await crawl(
        LinksSpider, {**settings, "CLOSESPIDER_PAGECOUNT": 100}, start_urls=[url]
    )
    assert len(first.items) < PAGES
    before = len(site.refuse.inside)
    second = await crawl(LinksSpider, settings, start_urls=[url])
    pages = Counter(first.urls() + second.urls())
    assert len(pages) == PAGES + 1
    assert max(site.refuse.inside[before : before + 8]) <= 8
    assert max(site.refuse.inside) <= 16
