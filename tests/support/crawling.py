"""Runs a spider as ``scrapy crawl`` does, in this process, and returns the result."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import scrapy
from crawlers import OwnSettings
from loop_time import TIME
from pytest_twisted import ensureDeferred
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler, CrawlerRunner
from scrapy.dupefilters import RFPDupeFilter
from scrapy.settings import Settings
from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_mandelbot import signals
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.account import account_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.python.failure import Failure

__all__ = ["Crawled", "FailuresSpider", "LinksSpider", "crawl", "ensureDeferred"]

SETTINGS = {
    "ADDONS": {"scrapy_mandelbot.Addon": 500},
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "RETRY_TIMES": 1,
    # Scrapy makes so many tasks for each page: of 100, half of a crawl
    "CONCURRENT_ITEMS": 4,
    # it reads /proc in each minute, also in those that a turned clock jumps over
    "MEMUSAGE_ENABLED": False,
    "MANDELBOT_IDENTITY_WARNINGS": False,  # what is asked is on loopback
    # Whichever reactor pytest was started with.
    **({} if is_asyncio_reactor_installed() else {"TWISTED_REACTOR": None}),
}

NOT_LOGGED = {
    "STATS_DUMP": False,
    # a line for each minute, also for those that a turned clock jumps over
    "EXTENSIONS": {"scrapy.extensions.logstats.LogStats": None},
}
"""What no test reads but those that set it."""


class OwnDupeFilter(RFPDupeFilter):
    """A project's own: with it a job has Scrapy's form."""


SCRAPYS_FORM = {"DUPEFILTER_CLASS": OwnDupeFilter}
OURS = {
    name: signal for name, signal in vars(signals).items() if not name.startswith("_")
}


@dataclass
class Crawled:
    """What a crawl left behind."""

    crawler: Crawler
    items: list[Any]
    heard: list[tuple[str, dict[str, Any]]]
    messages: list[str]
    seconds: float
    """How long it took, as `TIME` has it."""
    spider: Any
    """The spider; a crawl that has failed leaves its crawler without."""

    @property
    def stats(self) -> dict[str, Any]:
        return self.crawler.stats.get_stats()

    def urls(self) -> list[str]:
        return sorted(item["url"] for item in self.items)

    def signals(self, name: str) -> list[dict[str, Any]]:
        return [arguments for heard, arguments in self.heard if heard == name]

    @property
    def failures(self) -> list[Failure]:
        """What the errback of a `FailuresSpider` got."""
        return self.crawler.spider.failures

    def logged(self, start: str) -> list[str]:
        return [message for message in self.messages if message.startswith(start)]


class LinksSpider(scrapy.Spider):
    """An ordinary spider: an item for each page, and all its links."""

    name = "links"

    def parse(self, response):
        yield {"url": response.url, "status": response.status}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)


class FailuresSpider(LinksSpider):
    """The same with an errback, which keeps what it gets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.failures: list[Failure] = []

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, errback=self.failed, dont_filter=True)

    def parse(self, response):
        for one in super().parse(response):
            yield (
                one.replace(errback=self.failed)
                if isinstance(one, scrapy.Request)
                else one
            )

    def failed(self, failure):
        self.failures.append(failure)


class _Messages(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


# a line for each item, and one for each answer, which no test reads
for name in ("scrapy.core.scraper", "scrapy.core.engine"):
    logging.getLogger(name).setLevel(logging.INFO)


@cache
def runner() -> CrawlerRunner:
    """Return what runs the crawls of this process: to make one copies all settings."""
    made = CrawlerRunner()
    # it would give them to each crawler, which has all of them
    made.settings = Settings({})
    made.settings.attributes.clear()
    return made


_CRAWLERS: WeakSet[Crawler] = WeakSet()


def transferring() -> list[scrapy.Request]:
    """Return the requests that crawls of this process have sent to sites, or are about
    to.
    """
    engines = [
        crawler.engine for crawler in _CRAWLERS if crawler.crawling and crawler.engine
    ]
    with suppress(AttributeError):  # a test has taken the names of the engine away
        slots = [
            slot for engine in engines for slot in engine.downloader.slots.values()
        ]
        return [request for slot in slots for request in slot.transferring]
    return []


async def crawl(
    spider: type[scrapy.Spider],
    settings: dict[str, Any] | None = None,
    *,
    before: Callable[[Crawler], None] = lambda _: None,
    **arguments: Any,
) -> Crawled:
    """Run the spider to its end.

    ``before`` is called with the crawler before the crawl starts.
    """
    settings = {**SETTINGS, **NOT_LOGGED, **(settings or {})}
    crawler = Crawler(spider, OwnSettings(settings))
    _CRAWLERS.add(crawler)
    items: list[Any] = []
    heard: list[tuple[str, dict[str, Any]]] = []
    keep = []  # handlers are held weakly

    def listen(name: str) -> Callable[..., None]:
        def handler(**values: Any) -> None:
            values = {key: value for key, value in values.items() if key not in _NOISE}
            heard.append((name, values))

        return handler

    for name, signal in OURS.items():
        keep.append(listen(name))
        crawler.signals.connect(keep[-1], signal=signal)

    def scraped(item):
        items.append(item)

    crawler.signals.connect(scraped, signal=scrapy_signals.item_scraped)
    spiders = []

    def opened(spider):
        spiders.append(spider)

    crawler.signals.connect(opened, signal=scrapy_signals.spider_opened)
    before(crawler)
    log = _Messages()
    root = logging.getLogger()
    level = root.level
    root.addHandler(log)
    root.setLevel(logging.DEBUG)
    began = TIME.elapsed()
    try:
        await runner().crawl(crawler, **arguments)
    finally:
        root.removeHandler(log)
        root.setLevel(level)
    the_account_holds(crawler)
    spider = spiders[0] if spiders else None
    return Crawled(crawler, items, heard, log.messages, TIME.elapsed() - began, spider)


def the_account_holds(crawler: Crawler) -> None:
    """Each request that was taken in has ended in exactly one way, whatever was
    crawled.
    """
    account = account_of(crawler)
    if account is None or Crawl.of(crawler).config.shares_job:
        return
    total = account.counted()
    assert total.taken + account.from_former_run == total.ended, total.by_end()
    assert min(total.by_end().values(), default=0) >= 0, total.by_end()


_NOISE = {"signal", "sender", "spider"}
