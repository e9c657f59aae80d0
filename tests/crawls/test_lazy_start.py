"""Spiders that ask Scrapy how much it has to do: they hear what stock Scrapy says.

The recipe of Scrapy's docs, "Delaying start request iteration": ``start()`` yields
while ``engine.needs_backout()`` is false, and else waits for ``scheduler_empty``.
"""

from __future__ import annotations

from itertools import chain, count

import pytest
import scrapy
from crawling import crawl, ensureDeferred
from loop_time import TIME
from scrapy import Request, signals
from webs import Answer, Closed, html, site

from scrapy_mandelbot.throttle import load

pytestmark = pytest.mark.usefixtures("loop_is_turned")

PLACES = 16
PAUSED = 25  # in place of 1,000
MOST_PAUSED = 100  # in place of 32,000
SETTINGS = {"CONCURRENT_REQUESTS": PLACES}


class LazySpider(scrapy.Spider):
    """Notes when it yields each request, and how many it has yielded by each page."""

    name = "lazy"

    def __init__(self, urls=(), asks="engine", ends_at=None, **arguments) -> None:
        super().__init__(**arguments)
        self.urls = urls
        self.asks = asks
        self.ends_at = ends_at  # the page
        self.taken: list[float] = []  # the time of each
        self.taken_by_page: list[int] = []

    async def start(self):
        engine = self.crawler.engine
        asked = engine.downloader if self.asks == "downloader" else engine
        for url in self.urls:
            if asked.needs_backout():
                await self.crawler.signals.wait_for(signals.scheduler_empty)
            self.taken.append(TIME.elapsed())
            yield Request(url, dont_filter=True)

    def parse(self, response):
        self.taken_by_page.append(len(self.taken))
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)
        if len(self.taken_by_page) == self.ends_at:
            raise scrapy.exceptions.CloseSpider("enough")

    @property
    def ahead(self) -> int:
        """How many more it had yielded than there were pages, at the most."""
        return max(
            taken - page for page, taken in enumerate(self.taken_by_page, start=1)
        )


@pytest.fixture
def few_paused(monkeypatch):
    """Let fewer requests of paused sites wait."""
    monkeypatch.setattr(load, "PAUSED", PAUSED)
    monkeypatch.setattr(load, "MOST_PAUSED", MOST_PAUSED)


def pages(web, number):
    return [f"{web.url}/page/{n}" for n in range(number)]


def endless(web, number):
    """Yield the pages of a site again and again."""
    return (f"{web.url}/page/{n % number}" for n in count())


@pytest.mark.parametrize("asks", ["engine", "downloader"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"DOWNLOAD_DELAY": 0.5},
        {"CONCURRENT_REQUESTS_PER_DOMAIN": 1},
        {"JOBDIR": "job"},
        {"JOBDIR": "job", "DOWNLOAD_DELAY": 0.5},
        {"AUTOTHROTTLE_ENABLED": True},
        {"MANDELBOT_CRAWL_DELAYS": {"127.0.0.1": 1}},
    ],
    ids=str,
)
@ensureDeferred
async def test_a_lazy_start_is_as_far_ahead_as_there_are_places(
    webs, tmp_path, settings, asks
):
    """And the turn of the loop that each page has: as in stock Scrapy, 16 with 2.19 and
    23 with 2.14.
    """
    web = site(webs, 40, delay=0.1)
    if "JOBDIR" in settings:
        settings = {**settings, "JOBDIR": str(tmp_path)}
    result = await crawl(
        LazySpider, {**SETTINGS, **settings}, urls=pages(web, 40), asks=asks
    )
    assert len(result.items) == 40
    assert result.spider.ahead <= PLACES + 7


@ensureDeferred
async def test_an_endless_start_ends_with_its_crawl(webs):
    """It is read as fast as pages come, on whichever sites they are."""
    sites = [site(webs, 5, f"127.0.0.{number}", delay=0.1) for number in (1, 2, 3)]
    urls = chain.from_iterable(zip(*(endless(one, 5) for one in sites), strict=True))
    result = await crawl(LazySpider, SETTINGS, urls=urls, ends_at=40)
    assert len(result.spider.taken) <= 40 + PLACES + 8


@ensureDeferred
async def test_links_that_wait_go_before_more_of_start(webs):
    """As in stock Scrapy: no more of start() is read while they take the places."""
    web = site(webs, 100, delay=0.1)
    for number in range(100):
        links = [f"/more/{number}/{n}" for n in range(3)]
        web.pages[f"/page/{number}"] = html(*links)
        web.pages[f"/page/{number}"].delay = 0.1
        web.pages.update({link: html() for link in links})
    result = await crawl(LazySpider, SETTINGS, urls=pages(web, 100), ends_at=40)
    assert len(result.spider.taken) <= PLACES + 20


@pytest.mark.usefixtures("few_paused")
@ensureDeferred
async def test_a_pause_reads_so_much_of_a_list_and_no_more(webs):
    """It is long enough for all of it: another site may come next."""
    web = site(webs, 250)
    web.refuse = closed = Closed(seconds=60, after=10, retry_after="60")
    result = await crawl(LazySpider, SETTINGS, urls=pages(web, 250), ends_at=20)

    def taken(after: float) -> int:
        return sum(at < closed.began + after for at in result.spider.taken)

    room = 10 + 2 * PLACES
    assert PAUSED < taken(4) <= PAUSED + room
    assert taken(9) <= 2 * PAUSED + room, "twice as many in five seconds"
    assert MOST_PAUSED < taken(59) <= MOST_PAUSED + room


@pytest.mark.usefixtures("few_paused")
@ensureDeferred
async def test_a_second_pause_reads_as_few_as_the_first(webs):
    web = site(webs, 550, delay=0.1)
    first = Closed(seconds=20, after=10, retry_after="20")
    second = Closed(seconds=60, after=400, retry_after="60")
    web.refuse = lambda path: first(path) or second(path)
    result = await crawl(LazySpider, SETTINGS, urls=pages(web, 550), ends_at=410)
    taken = sum(at < second.began + 4 for at in result.spider.taken)
    assert taken - 400 <= 2 * PAUSED + 2 * PLACES


@pytest.mark.usefixtures("few_paused")
@ensureDeferred
async def test_a_list_sorted_by_site_gets_by_a_long_part_of_a_paused_one(webs):
    """More than are read at once, and another site is slow meanwhile."""
    paused = site(webs, 3 * PAUSED, "127.0.0.1")
    slow = site(webs, 1, "127.0.0.3", delay=100.0)
    healthy = site(webs, 50, "127.0.0.2")
    paused.refuse = closed = Closed(seconds=3_600, after=10, retry_after="3600")
    urls = [*pages(slow, 1), *pages(paused, 3 * PAUSED), *pages(healthy, 50)]
    result = await crawl(LazySpider, SETTINGS, urls=urls)
    assert len(result.items) == len(urls)
    assert max(hit.at for hit in healthy.hits) < closed.began + 20


@pytest.mark.usefixtures("few_paused")
@ensureDeferred
async def test_a_paused_site_keeps_no_other_from_being_read(webs):
    """A list is sorted by site, and the first one is paused for an hour."""
    paused = site(webs, PAUSED, "127.0.0.1")
    healthy = site(webs, 50, "127.0.0.2")
    paused.refuse = closed = Closed(seconds=3_600, after=10, retry_after="3600")
    result = await crawl(
        LazySpider, SETTINGS, urls=pages(paused, PAUSED) + pages(healthy, 50)
    )
    assert len(result.items) == PAUSED + 50
    assert max(hit.at for hit in healthy.hits) < closed.began + 10


@pytest.mark.parametrize("job", [False, True])
@pytest.mark.usefixtures("few_paused")
@ensureDeferred
async def test_delayed_requests_are_read_as_those_of_a_paused_site(webs, tmp_path, job):
    """A few, then twice as many every five seconds; each is sent after its delay."""
    web = site(webs, 3 * PAUSED)

    class Delayed(LazySpider):
        async def start(self):
            async for request in super().start():
                request.meta["delay"] = 60
                yield request

    settings = {**SETTINGS, "ROBOTSTXT_OBEY": False}
    if job:
        settings["JOBDIR"] = str(tmp_path)
    result = await crawl(Delayed, settings, urls=pages(web, 3 * PAUSED))
    assert len(result.items) == 3 * PAUSED
    began = result.spider.taken[0]
    assert sum(at < began + 4 for at in result.spider.taken) <= PAUSED + 2 * PLACES
    assert result.spider.taken[-1] < began + 20
    assert min(hit.at for hit in web.hits) >= began + 60
    assert result.seconds < 60 + 20 + 10


@ensureDeferred
async def test_sites_that_hang_keep_no_other_from_being_read(webs):
    """Those that wait behind them are passed by, up to the requests of a site that
    answers.
    """
    hanging = [webs(f"127.0.1.{number}") for number in range(1, 41)]
    for web in hanging:
        web.refuse = lambda _path: Answer(delay=10_000.0)
    healthy = site(webs, 30)
    first, *others = pages(healthy, 30)
    urls = [first, *(one.url + "/" for one in hanging), *others]
    settings = {"DOWNLOAD_TIMEOUT": 60, "RETRY_ENABLED": False, "ROBOTSTXT_OBEY": False}
    result = await crawl(LazySpider, {**SETTINGS, **settings}, urls=urls)
    assert len(result.items) == 30
    assert healthy.hits[-1].at < healthy.hits[0].at + 100, "before the second timeout"


@pytest.mark.parametrize("number", [50, 3 * PAUSED])
@pytest.mark.usefixtures("few_paused")
@ensureDeferred
async def test_sites_that_are_left_to_the_next_run_let_start_end(
    webs, tmp_path, number
):
    """With JOBDIR and MANDELBOT_PAUSE_IDLE = "close": start() is read whole, and the
    run ends at once.
    """
    web = site(webs, number)
    web.refuse = Closed(seconds=100_000, after=10, retry_after="86400")
    settings = {"JOBDIR": str(tmp_path), "MANDELBOT_PAUSE_IDLE": "close"}
    result = await crawl(LazySpider, {**SETTINGS, **settings}, urls=pages(web, number))
    assert result.stats["finish_reason"] == "sites_paused"
    assert len(result.spider.taken) == number
    assert result.seconds < 60


@pytest.mark.usefixtures("few_paused")
@ensureDeferred
async def test_a_run_that_waits_for_sites_waits_no_longer_while_start_waits(webs):
    """MANDELBOT_PAUSE_OPTIONS["total"] counts the wait of a ``start()`` as well."""
    web = site(webs, 2 * PAUSED)
    web.refuse = Closed(seconds=100_000, after=10, retry_after="86400")
    settings = {"MANDELBOT_PAUSE_OPTIONS": {"total": 600}}
    result = await crawl(
        LazySpider, {**SETTINGS, **settings}, urls=pages(web, 2 * PAUSED)
    )
    assert len(result.spider.taken) == 2 * PAUSED
    assert 600 <= result.seconds < 700


@pytest.mark.usefixtures("few_paused")
@ensureDeferred
async def test_a_run_ends_though_more_wait_than_there_are_places(webs):
    """Nothing asks for more, and the run waits no longer than it may."""
    web = site(webs, 2 * PAUSED)
    web.refuse = Closed(seconds=100_000, after=10, retry_after="86400")
    settings = {"MANDELBOT_PAUSE_OPTIONS": {"total": 600}}
    result = await crawl(
        EagerSpider, {**SETTINGS, **settings}, urls=pages(web, 2 * PAUSED)
    )
    assert 600 <= result.seconds < 700


@ensureDeferred
async def test_to_ask_changes_nothing(webs):
    """A spider that asks a hundred times with each page crawls as one that does not."""
    web = site(webs, 40, delay=0.1)
    runs = []
    for times in 0, 100:

        class Asking(LazySpider):
            def parse(self, response):
                for _ in range(times):  # noqa: B023 -- it is run in the loop
                    self.crawler.engine.needs_backout()
                return super().parse(response)

        settings = {**SETTINGS, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
        result = await crawl(Asking, settings, urls=pages(web, 40))
        runs.append((result.spider.taken_by_page, [hit.path for hit in web.hits]))
        web.hits.clear()
    assert runs[0] == runs[1]


class EagerSpider(LazySpider):
    """Yields all it has."""

    name = "eager"

    async def start(self):
        for url in self.urls:
            self.taken.append(TIME.elapsed())
            yield Request(url, dont_filter=True)


@pytest.mark.skipif(
    scrapy.version_info < (2, 19),
    reason="a page waits 0.1 s there, and time stands still while start() is read",
)
@pytest.mark.parametrize("sites", [1, 10])
@ensureDeferred
async def test_pages_come_while_a_long_start_is_read(webs, sites):
    """Stock Scrapy reads all of it in one turn of the loop, once it has no place."""
    number = 400 // sites
    webs = [site(webs, number, f"127.0.0.{n}") for n in range(1, sites + 1)]
    urls = [url for web in webs for url in pages(web, number)]
    result = await crawl(EagerSpider, SETTINGS, urls=urls)
    assert len(result.items) == 400
    assert result.spider.taken_by_page[0] < 350
