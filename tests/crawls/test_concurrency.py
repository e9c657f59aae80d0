"""``MANDELBOT_CONCURRENCY = "measured"``: a site gets as many requests as it bears."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from twisted.internet.defer import Deferred, gatherResults
from webs import Answer

from scrapy_mandelbot.testing import TIME

pytestmark = pytest.mark.usefixtures("loop_is_turned")

MEASURED = {
    "MANDELBOT_CONCURRENCY": "measured",
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "CONCURRENT_REQUESTS": 16,
}
PAGES = 400


class Workers:
    """Makes pages, each in 50 ms, so many at once; the others wait for their turn."""

    def __init__(self, number):
        self._free_at = [0.0] * number
        self._ends = []
        self.inside = []
        """With each request, how many are inside."""

    def __call__(self, path):
        if path == "/robots.txt":
            return None
        now = TIME.elapsed()
        self._ends = [one for one in self._ends if one > now]
        self._free_at.sort()
        end = max(now, self._free_at[0]) + 0.05
        self._free_at[0] = end
        self._ends.append(end)
        self.inside.append(len(self._ends))
        return Answer(b"<html>page</html>", delay=end - now)


async def crawled(webs, workers, spider=LinksSpider, pages=PAGES, **settings):
    web = webs()
    web.refuse = workers
    urls = [f"{web.url}/page/{number}" for number in range(pages)]
    return await crawl(spider, {**MEASURED, **settings}, start_urls=urls)


@ensureDeferred
async def test_a_site_of_one_worker_is_not_asked_for_sixteen_pages_at_once(webs):
    workers = Workers(1)
    result = await crawled(webs, workers)
    assert len(result.items) == PAGES
    assert max(workers.inside[-100:]) <= 4
    assert result.stats["mandelbot/concurrency/lowered"] >= 1
    line = result.logged("Limited http://")[0]
    assert "no more pages came a second" in line
    assert " of 16 at once" in result.logged("What happened at the sites")[0]


@ensureDeferred
async def test_a_site_that_bears_all_gets_all(webs):
    workers = Workers(1_000)
    result = await crawled(webs, workers)
    assert len(result.items) == PAGES
    assert max(workers.inside) == 16
    assert max(workers.inside[-50:]) == 16
    assert not result.logged("Limited http://")


class Connections:
    """Answers after 50 ms, and refuses what comes while so many are inside."""

    def __init__(self, most):
        self._most = most
        self._ends = []
        self.refused = 0

    def __call__(self, path):
        if path == "/robots.txt":
            return None
        now = TIME.elapsed()
        self._ends = [one for one in self._ends if one > now]
        if len(self._ends) >= self._most:
            self.refused += 1
            return Answer(b"", 503)
        self._ends.append(now + 0.05)
        return Answer(b"<html>page</html>", delay=0.05)


@ensureDeferred
async def test_a_site_that_refuses_more_connections_gets_as_many_as_it_serves(webs):
    """Two pauses may be those of a rate; more answers than it would allow show that
    they are not.
    """
    site = Connections(6)
    result = await crawled(webs, site, pages=700)
    assert len(result.items) == 700
    assert site.refused <= 20
    line = result.logged("Limited http://")[0]
    assert "it refuses those above that number" in line


@ensureDeferred
async def test_a_small_setting_is_measured_too(webs):
    workers = Workers(1)
    result = await crawled(webs, workers, CONCURRENT_REQUESTS_PER_DOMAIN=4)
    assert len(result.items) == PAGES
    assert max(workers.inside) == 4
    assert max(workers.inside[-100:]) <= 2


@ensureDeferred
async def test_a_job_measures_too(webs, tmp_path):
    workers = Workers(1)
    result = await crawled(webs, workers, JOBDIR=str(tmp_path))
    assert len(result.items) == PAGES
    assert max(workers.inside[-100:]) <= 4


@ensureDeferred
async def test_two_sites_of_one_download_slot_share_what_the_project_allows(webs):
    """Two ports of a host. Neither fills the slot, so neither is measured for long."""
    crowded, healthy = Workers(1), Workers(1_000)
    urls = []
    for workers in (crowded, healthy):
        web = webs()
        web.refuse = workers
        urls += [f"{web.url}/page/{number}" for number in range(PAGES)]
    result = await crawl(LinksSpider, MEASURED, start_urls=urls)
    assert len(result.items) == 2 * PAGES
    assert max(crowded.inside) <= 16
    assert max(healthy.inside) <= 16


@ensureDeferred
async def test_two_crawls_with_one_store_are_never_worse_than_unmeasured(
    webs, tmp_path
):
    """Each measures by itself, and has the more pages the more requests it sends, as
    they share the site's one worker.
    """
    workers = Workers(1)
    web = webs()
    web.refuse = workers
    settings = {**MEASURED, "MANDELBOT_STORE": str(tmp_path / "store.db")}
    runs = []
    for name in ("one", "other"):
        urls = [f"{web.url}/{name}/{number}" for number in range(PAGES)]
        run = crawl(LinksSpider, settings, start_urls=urls)
        runs.append(Deferred.fromCoroutine(run))
    for result in await gatherResults(runs):
        assert len(result.items) == PAGES
    assert max(workers.inside) <= 32


@ensureDeferred
@pytest.mark.parametrize(
    "settings",
    [
        {"MANDELBOT_CONCURRENCY": "fixed"},
        {"DOWNLOAD_DELAY": 0.001},
        {"MANDELBOT_PAUSE_OPTIONS": {"recovery": False}},
    ],
    ids=["fixed", "a delay of the project's", "no recovery"],
)
async def test_nothing_is_measured_where_the_project_decides(webs, settings):
    workers = Workers(1)
    result = await crawled(webs, workers, **settings)
    assert len(result.items) == PAGES
    assert "mandelbot/concurrency/lowered" not in result.stats


@ensureDeferred
@pytest.mark.parametrize(
    "limit",
    [
        1,
        pytest.param(2, marks=pytest.mark.thorough),
        pytest.param(4, marks=pytest.mark.thorough),
        8,
    ],
)
@pytest.mark.parametrize("concurrency", ["fixed", "measured"])
async def test_a_site_has_no_more_requests_at_once_than_the_setting_permits(
    webs, limit, concurrency
):
    """Counted at the site; Scrapy by itself exceeds it (docs/compare.rst)."""
    workers = Workers(1_000)
    settings = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": limit,
        "MANDELBOT_CONCURRENCY": concurrency,
    }
    result = await crawled(webs, workers, **settings)
    assert len(result.items) == PAGES
    assert max(workers.inside) == limit


@ensureDeferred
async def test_a_number_that_is_lowered_during_the_crawl_holds_at_once(webs):
    """As somebody does who looks at a crawl by the console or an extension."""
    workers = Workers(1_000)

    class Lowering(LinksSpider):
        def parse(self, response):
            if response.url.endswith("/20"):
                for slot in self.crawler.engine.downloader.slots.values():
                    slot.concurrency = 2
                self.lowered_at = len(workers.inside)
            yield from super().parse(response)

    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 8, "MANDELBOT_CONCURRENCY": "fixed"}
    result = await crawled(webs, workers, Lowering, **settings)
    assert len(result.items) == PAGES
    lowered_at = result.spider.lowered_at
    assert max(workers.inside[:lowered_at]) == 8
    # the first eight had been handed out
    assert max(workers.inside[lowered_at + 8 :]) == 2
