"""``MANDELBOT_CONCURRENCY = "measured"``: a site gets as many requests as it bears."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
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


async def crawled(webs, workers, **settings):
    web = webs()
    web.refuse = workers
    urls = [f"{web.url}/page/{number}" for number in range(PAGES)]
    return await crawl(LinksSpider, {**MEASURED, **settings}, start_urls=urls)


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


@ensureDeferred
@pytest.mark.parametrize(
    "settings",
    [{"MANDELBOT_CONCURRENCY": "fixed"}, {"DOWNLOAD_DELAY": 0.001}],
    ids=["fixed", "a delay of the project's"],
)
async def test_nothing_is_measured_where_the_project_decides(webs, settings):
    workers = Workers(1)
    result = await crawled(webs, workers, **settings)
    assert len(result.items) == PAGES
    assert "mandelbot/concurrency/lowered" not in result.stats
