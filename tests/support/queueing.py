"""What a queue needs of a crawl: an engine and a downloader that send nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import scrapy
from clocks import TurnedClock, given
from crawlers import get_crawler
from crawling import SETTINGS, LinksSpider
from scrapy import Request
from scrapy.core.scheduler import Scheduler

from scrapy_mandelbot.crawl import Crawl

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import Settings


class FakeSlot:
    concurrency = 8

    def __init__(self) -> None:
        self.active = set()
        self.queue = []


class FakeDownloader:
    """As much of the downloader as queues look at."""

    def __init__(self, concurrency: int) -> None:
        self.domain_concurrency = concurrency
        self.slots: dict[str, FakeSlot] = {}
        self.active: set[Request] = set()

    @staticmethod
    def get_slot_key(request: Request) -> str:
        return (
            request.meta.get("download_slot")
            or request.url.split("/")[2].partition(":")[0]
        )

    def send(self, request: Request) -> Request:
        key = self.get_slot_key(request)
        request.meta["download_slot"] = key
        self.active.add(request)
        self.slots.setdefault(key, FakeSlot()).active.add(request)
        return request


class FakeEngine:
    def __init__(self, settings: Settings) -> None:
        self.downloader = FakeDownloader(
            settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        )
        self.running = True
        self._slot = None


def queue_crawler(clock: TurnedClock, **settings: object) -> Crawler:
    crawler = get_crawler(
        scrapy.Spider,
        {
            **SETTINGS,
            "ADDONS": {**SETTINGS["ADDONS"], given(clock): 1000},
            "ROBOTSTXT_OBEY": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            **settings,
        },
    )
    crawler.spider = LinksSpider("queue")
    crawler.engine = FakeEngine(crawler.settings)
    return crawler


def open_scheduler(crawler: Crawler, queue_class: type | None = None) -> Scheduler:
    if queue_class is not None:
        crawler.settings.frozen = False
        crawler.settings.set("SCHEDULER_PRIORITY_QUEUE", queue_class, "cmdline")
    scheduler = Scheduler.from_crawler(crawler)
    scheduler.open(crawler.spider)
    return scheduler


def drain(scheduler: Scheduler) -> list[str]:
    urls = []
    while (request := scheduler.next_request()) is not None:
        urls.append(request.url)
    return urls


def fill(scheduler: Scheduler, *urls: str, **arguments: object) -> None:
    for url in urls:
        scheduler.enqueue_request(Request(url, **arguments))


def refuse(crawler: Crawler, url: str, retry_after: float = 1000.0) -> None:
    """Let a site refuse a request that is not from the queue: it is paused."""
    throttle = Crawl.of(crawler).throttle
    flight = throttle.flight_of(Request(url))
    throttle.pauses.refused(flight, "503", retry_after)
    throttle.release(flight)


URLS = [f"https://{host}.example/{n}" for n in range(4) for host in "cab"]
