"""A project's own scheduler, which knows nothing of sites, with paused sites passed by."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.request import fingerprint
from webs import Closed, site

from scrapy_mandelbot import schedulers


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

        return request_from_dict(self.kept.pop(0), spider=self.spider) if self.kept else None


@pytest.fixture
def own_scheduler(monkeypatch):
    monkeypatch.setattr(OneQueue, "kept", [])
    monkeypatch.setattr(OneQueue, "seen", set())
    return OneQueue


@ensureDeferred
async def test_a_paused_site_is_passed_by(webs, own_scheduler):
    """The other site is done while one is paused; then all pages of that come, each once."""
    paused, healthy = site(webs, 20), site(webs, 40, "127.0.0.2")
    paused.refuse = closed = Closed(seconds=2, after=3, retry_after="2")
    starts = [paused.url + "/", healthy.url + "/"]
    result = await crawl(LinksSpider, {"SCHEDULER": own_scheduler}, start_urls=starts)
    assert len(result.urls()) == len(set(result.urls())) == 21 + 41
    assert max(hit.at for hit in healthy.hits) < closed.began + 2
    assert own_scheduler.kept == []


@ensureDeferred
async def test_what_is_parked_is_given_back_on_close(webs, own_scheduler):
    """A spider that closes in a pause leaves all of it to the next run, unmarked in the end."""
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
            most.append(len(self.crawler.engine._slot.scheduler._parked))

    result = await crawl(Spider, {"SCHEDULER": own_scheduler}, start_urls=[web.url + "/"])
    assert len(result.items) == 31
    assert max(most) <= 5 + 8  # and what came back from the downloader


def test_it_is_the_projects_scheduler_in_all_else(own_scheduler):
    """Attributes that other components ask for are found."""
    scheduler = schedulers.ParkingScheduler.__new__(schedulers.ParkingScheduler)
    scheduler.inner = own_scheduler()
    scheduler.inner.server = "redis"
    assert scheduler.server == "redis"
