"""A project's own scheduler, which knows nothing of sites, skips paused sites."""

from __future__ import annotations

import pytest
from crawling import SETTINGS, LinksSpider, crawl, ensureDeferred
from scrapy import Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.request import fingerprint
from webs import Closed, site

from scrapy_mandelbot import SettingsError
from scrapy_mandelbot.scheduling import parking as schedulers

pytestmark = pytest.mark.usefixtures("loop_is_turned")


class OneQueue(BaseScheduler):
    """A single queue for all sites, kept over runs as a remote one is."""

    kept: list[dict] = []
    seen: set[bytes] = set()

    @classmethod
    def from_crawler(cls, crawler):
        scheduler = cls()
        scheduler.crawler = crawler
        return scheduler

    def open(self, spider):
        self.spider = spider

    def close(self, reason):
        return None

    def has_pending_requests(self):
        return bool(self.kept)

    def enqueue_request(self, request):
        if not request.dont_filter and fingerprint(request) in self.seen:
            return False
        self.seen.add(fingerprint(request))
        self.kept.append(request.to_dict(spider=self.spider))
        return True

    def next_request(self):
        from scrapy.utils.request import request_from_dict

        return (
            request_from_dict(self.kept.pop(0), spider=self.spider)
            if self.kept
            else None
        )


@pytest.fixture
def own_scheduler(monkeypatch):
    monkeypatch.setattr(OneQueue, "kept", [])
    monkeypatch.setattr(OneQueue, "seen", set())
    return OneQueue


@ensureDeferred
async def test_a_paused_site_is_passed_by(webs, own_scheduler):
    """The other site is done while one is paused; then all pages of that come, each
    once.
    """
    paused, healthy = site(webs, 20), site(webs, 40, "127.0.0.2")
    paused.refuse = closed = Closed(seconds=2, after=3, retry_after="2")
    starts = [paused.url + "/", healthy.url + "/"]
    result = await crawl(LinksSpider, {"SCHEDULER": own_scheduler}, start_urls=starts)
    assert len(result.urls()) == len(set(result.urls())) == 21 + 41
    assert max(hit.at for hit in healthy.hits) < closed.began + 2
    assert own_scheduler.kept == []


@ensureDeferred
async def test_what_is_parked_is_given_back_on_close(webs, own_scheduler):
    """A spider that closes in a pause leaves all of it to the next run, unmarked in the
    end.
    """
    web = site(webs, 20)
    web.refuse = closed = Closed(seconds=1000, after=3, retry_after="1000")
    settings = {"SCHEDULER": own_scheduler}

    class Spider(LinksSpider):
        def site_paused(self, site, until, reason):
            from scrapy.exceptions import CloseSpider

            raise CloseSpider("paused")

    first = await crawl(Spider, settings, start_urls=[web.url + "/"])
    assert first.stats["finish_reason"] == "paused"
    assert len(first.items) + len(own_scheduler.kept) == 21

    closed.seconds = 0
    filters = []

    class Next(LinksSpider):
        def parse(self, response):
            filters.append(response.request.dont_filter)
            return super().parse(response)

    second = await crawl(Next, settings, start_urls=[])
    assert sorted(first.urls() + second.urls()) == web.urls(20)
    assert set(filters) == {False}


@ensureDeferred
async def test_parking_is_bounded(webs, own_scheduler, monkeypatch):
    """No more than so many requests are taken out of the project's scheduler."""
    monkeypatch.setattr(schedulers, "MOST_PARKED", 5)
    web = site(webs, 30)
    web.refuse = Closed(seconds=1, after=3, retry_after="1")
    most = []

    class Spider(LinksSpider):
        def site_resumed(self, site, paused_for):
            most.append(len(self.crawler.engine._slot.scheduler.parked))

    result = await crawl(
        Spider, {"SCHEDULER": own_scheduler}, start_urls=[web.url + "/"]
    )
    assert len(result.items) == 31
    assert max(most) <= 5 + 8  # and what came back from the downloader


class Minimal:
    """All that the engine asks of a scheduler."""

    def __init__(self):
        self.requests = []

    def has_pending_requests(self):
        return bool(self.requests)

    def enqueue_request(self, request):
        self.requests.append(request)
        return True

    def next_request(self):
        return self.requests.pop() if self.requests else None


@ensureDeferred
async def test_a_scheduler_need_have_no_more_than_the_engine_asks_for(webs):
    """No open(), no close(), no length; and what a site refuses is asked for after its
    pause.
    """
    web = site(webs, 5)
    web.refuse = Closed(seconds=1, after=2, retry_after="1")
    result = await crawl(
        LinksSpider, {"SCHEDULER": Minimal}, start_urls=[web.url + "/"]
    )
    assert result.urls() == web.urls(5)
    assert result.stats["finish_reason"] == "finished"
    assert not result.logged("Scheduler close failure")


@ensureDeferred
async def test_what_a_scheduler_without_a_length_holds_counts(webs):
    """As one at least: it is not taken for empty while it holds something back."""

    class Scheduler(schedulers.ParkingScheduler):
        lengths = []

        def next_request(self):
            self.lengths.append(len(self))
            return super().next_request()

    web = site(webs, 1)
    settings = {"SCHEDULER": Scheduler, "MANDELBOT_INNER_SCHEDULER": Minimal}
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert set(Scheduler.lengths) == {0, 1}


@ensureDeferred
async def test_around_scrapys_own_each_request_is_counted_once(webs, tmp_path):
    """Over a refusal, a run that ends early, and one that resumes its requests."""
    web = site(webs, 5)
    web.refuse = Closed(10**6, after=3, retry_after="1")
    settings = {
        "SCHEDULER": schedulers.ParkingScheduler,
        "MANDELBOT_INNER_SCHEDULER": "scrapy.core.scheduler.Scheduler",
        "JOBDIR": str(tmp_path),
    }
    soon = {"MANDELBOT_PAUSE_IDLE": 0}
    first = await crawl(LinksSpider, settings | soon, start_urls=[web.url + "/"])
    web.refuse = lambda _: None
    second = await crawl(LinksSpider, settings, start_urls=[])
    told = [
        {
            name.rpartition("/")[2]: count
            for name, count in result.stats.items()
            if name.startswith("mandelbot/requests/")
        }
        for result in (first, second)
    ]
    assert told == [{"taken_in": 6, "page": 3, "left": 3}, {"taken_in": 3, "page": 3}]
    assert sorted(first.urls() + second.urls()) == web.urls(5)


def test_what_is_no_scheduler_cannot_be_within():
    """Set by hand, it is refused with the setting's name."""
    crawler = Crawler(Spider, Settings({**SETTINGS, "MANDELBOT_INNER_SCHEDULER": dict}))
    with pytest.raises(SettingsError, match="MANDELBOT_INNER_SCHEDULER"):
        schedulers.ParkingScheduler.from_crawler(crawler)


def test_it_is_the_projects_scheduler_in_all_else(own_scheduler):
    """Attributes that other components ask for are found."""
    scheduler = schedulers.ParkingScheduler.__new__(schedulers.ParkingScheduler)
    scheduler.inner = own_scheduler()
    scheduler.inner.server = "redis"
    assert scheduler.server == "redis"
