"""A cell: one small crawl, with stock Scrapy and with the add-on, and its bounds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import scrapy
from crawlers import OwnSettings
from loop_time import TIME
from network import Network, SiteAnswers
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from twisted.internet import task
from twisted.internet.defer import DeferredList

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.http import Response

ADDON = {
    "ADDONS": {"scrapy_mandelbot.Addon": 500},
    "MANDELBOT_IDENTITY_WARNINGS": False,
}
SETTINGS = {
    "CONCURRENT_ITEMS": 4,
    # of a burst Scrapy 2.19 sends as many as the first allows, not the second
    "CONCURRENT_REQUESTS": 8,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_DELAY_JITTER": 0,
    "LOGSTATS_INTERVAL": 0,
    # it reads /proc in each minute, also in those that the turned clock jumps over
    "MEMUSAGE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
}
LONGEST = 20_000.0
"""Seconds of the crawl's clock after which a crawl is stopped: it would not end."""


class World:
    """What a cell crawls, made anew for each crawl that is compared.

    Attributes of the class are what most cells have; a cell sets its own.
    """

    host = "shop.example"
    """Of the paths of `start`."""
    stop_after: int | None = None
    """After how many pages the first run of two is stopped."""
    runs = 1
    keeps_job = True
    """Whether several runs have one JOBDIR."""
    forbidden = "/no"
    """What the paths begin with that the rules forbid."""
    lowered_at = 0.0
    serve = ""
    """Behind which sockets the one site stands: ``"http"``, ``"https"``, or none."""
    drops = False
    """Whether it drops all connections."""
    workers = 1
    """How many of the add-on share one job; stock Scrapy cannot."""
    joins_after = 0.0
    """Seconds until the second worker begins."""

    def __init__(
        self,
        sites: dict[str, SiteAnswers] | SiteAnswers,
        start: list[str] = [],  # noqa: B006 -- never changed
        spider: type[CellSpider] | None = None,
        **others: Any,
    ) -> None:
        self.sites = sites if isinstance(sites, dict) else {self.host: sites}
        self.start = [
            one if "//" in one else f"http://{self.host}{one}" for one in start
        ]
        self.spider = spider or CellSpider
        self.proxies: dict[str, bool] = {}
        self.network: Network
        self.run = 0
        self.got: Counter[str] = Counter()
        """What the spider took for pages, by URL."""
        self.failed: Counter[str] = Counter()
        self.key: Callable[[Response, str], str] = lambda _response, key: key
        """What a page is counted as; usually the URL that was asked for first."""
        self.settings_of_run: dict[int, dict[str, Any]] = {}
        self.before_run: Callable[[World], None] = lambda _: None
        self.is_page: Callable[[Response], bool] = lambda response: (
            response.status == 200
        )
        for name, value in others.items():
            assert hasattr(self, name), name
            setattr(self, name, value)


class CellSpider(scrapy.Spider):
    """Asks for the start URLs, and notes what it gets."""

    name = "cell"
    world: World

    async def start(self):
        for url in self.world.start:
            yield self.request(url)

    def request(self, url: str, **more: Any) -> scrapy.Request:
        """Return the request of a page, which goes by its first URL from here on."""
        keywords = {"dont_filter": True, "errback": self.fail, **more}
        return scrapy.Request(url, cb_kwargs={"key": url}, **keywords)

    def parse(self, response, key):
        self.note(response, key)
        yield from self.more(response)

    def more(self, response) -> Any:
        """Yield what else comes of a page."""
        return ()

    def note(self, response, key: str) -> None:
        if self.world.is_page(response):
            self.world.got[self.world.key(response, key)] += 1
        if self.world.run == 1 and len(self.world.got) == self.world.stop_after:
            raise CloseSpider("stopped")

    def fail(self, failure):
        self.world.failed[failure.request.cb_kwargs.get("key", "")] += 1


class LinksSpider(CellSpider):
    """Follows all links."""

    def more(self, response):
        for link in response.css("a::attr(href)").getall():
            yield self.request(response.urljoin(link), dont_filter=False)


@dataclass(frozen=True)
class Cell:
    """A crawl, and how far the add-on may be from stock Scrapy in it.

    Where nothing else is said: at least as many pages, none more often, one request
    more a site, for robots.txt, and 1.1 times the seconds and two more.
    """

    name: str
    about: str
    make: Callable[[], World]
    settings: dict[str, Any] = field(default_factory=dict)
    addon: dict[str, Any] = field(default_factory=dict)
    """Settings for the add-on alone."""
    waits: float = 0.0
    """Seconds that the site or the user asks to wait, or that the outage takes."""
    requests: int = 0
    """Requests that it may make more."""
    why: str = ""
    """The reason for what it may do more."""
    worse: str = ""
    """Why a bound is not met; the test fails if it is."""
    also: Callable[[Measured, Measured], str] = lambda _stock, _ours: ""
    """Returns what else is wrong."""
    needs: str = ""
    """``"redis"``, ``"sockets"``, or nothing."""


@dataclass
class Measured:
    """What came of a cell's crawl."""

    pages: Counter[str]
    """Those that the rules allow."""
    requests: int
    """Those for robots.txt files are among them."""
    forbidden: int
    seconds: float
    reasons: list[str]
    world: World

    def told(self) -> str:
        forbidden = f" ({self.forbidden} forbidden)" if self.forbidden else ""
        return (
            f"{len(self.pages)} pages, {self.requests} requests{forbidden},"
            f" {self.seconds:.0f} s"
        )


def violations(cell: Cell, stock: Measured, ours: Measured, sites: int) -> list[str]:
    """Return the bounds that the add-on does not meet."""
    broken = []
    if len(ours.pages) < len(stock.pages):
        broken.append(f"{len(ours.pages)} pages of {len(stock.pages)}")
    twice = [
        url for url, times in ours.pages.items() if times > max(1, stock.pages[url])
    ]
    if twice:
        broken.append(f"{len(twice)} pages more often than with stock")
    # each page that stock Scrapy does not get takes a request
    more_pages = max(0, len(ours.pages) - len(stock.pages))
    more = ours.requests - stock.requests - more_pages - sites - cell.requests
    if more > 0:
        broken.append(f"{more} requests too many")
    longest = 1.1 * stock.seconds + 2 + cell.waits
    # by the machine's clock nothing is certain
    if ours.seconds > longest and cell.needs != "redis":
        broken.append(f"{ours.seconds:.1f} s, not {longest:.1f}")
    if ours.forbidden:
        broken.append(f"{ours.forbidden} requests that the rules forbid")
    also = cell.also(stock, ours)
    return [*broken, also] if also else broken


def verdict(stock: Measured, ours: Measured) -> str:
    """Return ``"better"`` or ``"same"``, of an add-on that meets its bounds."""
    if len(ours.pages) > len(stock.pages) or ours.forbidden < stock.forbidden:
        return "better"
    is_quicker = ours.seconds < 0.9 * stock.seconds - 2
    asks_less = ours.requests < 0.9 * stock.requests
    return "better" if is_quicker or asks_less else "same"


async def measure(
    cell: Cell,
    folder: Path,
    *,
    addon: bool,
    job: str = "",
) -> Measured:
    """Make the cell's crawl, with stock Scrapy or with the add-on."""
    random.seed(1)
    world = cell.make()
    world.network = network = Network(world.sites, world.proxies)
    own = folder / ("addon" if addon else "stock")
    own.mkdir()
    settings = {
        name: value.format(folder=own) if isinstance(value, str) else value
        for name, value in {**SETTINGS, **cell.settings}.items()
    }
    served = None
    if world.serve:
        from sockets import Served

        served = Served(network, tls=world.serve == "https")
        if world.drops:
            served.drop()
        world.start = [f"{served.url}{urlsplit(url).path}" for url in world.start]
    else:
        handler = network.handler()
        settings["DOWNLOAD_HANDLERS"] = {"http": handler, "https": handler}
    if addon:
        settings |= {**ADDON, "MANDELBOT_STORE": "memory", **cell.addon}
    else:
        settings.setdefault("ADDONS", {})
    if addon and job:
        settings["MANDELBOT_JOB"] = job
    elif world.runs > 1 and world.keeps_job:
        settings["JOBDIR"] = str(own / "job")
        settings.pop("MANDELBOT_STORE", None)  # it is in the job
    began = TIME.elapsed()
    reasons = []
    for run in range(1, world.runs + 1):
        world.run = run
        world.before_run(world)
        workers = world.workers if addon else 1
        of_run = {**settings, **world.settings_of_run.get(run, {})}
        crawlers = [_crawler(world, of_run) for _ in range(workers)]
        await _crawl(crawlers, world.joins_after)
        reasons += [one.stats.get_value("finish_reason") for one in crawlers]
    if served is not None:
        served.close()
    pages = Counter(
        {
            url: times
            for url, times in world.got.items()
            if not _is_forbidden(url, world)
        }
    )
    return Measured(
        pages,
        len(network.asked),
        sum(_is_forbidden(one.url, world) for one in network.asked),
        TIME.elapsed() - began,
        reasons,
        world,
    )


async def _crawl(crawlers: list[Crawler], joins_after: float) -> None:
    """Run crawls beside each other to their end; stop those that do not end.

    Each begins so many seconds after the one before it.
    """
    from crawling import runner  # once there is a reactor
    from twisted.internet import reactor

    def stop() -> None:
        for crawler in crawlers:
            crawler.stats.set_value("finish_reason", "does not end")
            crawler.stop()

    watchdog = reactor.callLater(LONGEST, stop)
    crawl = runner().crawl
    crawls = [
        task.deferLater(reactor, joins_after * number, crawl, crawler)
        if number
        else crawl(crawler)
        for number, crawler in enumerate(crawlers)
    ]
    results = await DeferredList(crawls, consumeErrors=True)
    if watchdog.active():
        watchdog.cancel()
    for is_well, result in results:
        if not is_well:
            result.raiseException()


def _crawler(world: World, settings: dict[str, Any]) -> Crawler:
    spider = type("Spider", (world.spider,), {"world": world})
    return Crawler(spider, OwnSettings(settings))


def _is_forbidden(url: str, world: World) -> bool:
    path = urlsplit(url).path
    return path.startswith(world.forbidden) and path != "/robots.txt"
