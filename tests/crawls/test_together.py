"""MANDELBOT_TOGETHER: names of one domain or address share concurrency and pace; a
server says.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
import scrapy
from crawling import SCRAPYS_FORM, LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from scrapy.http import Response
from scrapy.signals import response_downloaded
from twisted.internet.abstract import isIPAddress
from twisted.internet.defer import succeed
from twisted.internet.interfaces import IResolverSimple
from webs import Answer, html, site
from zope.interface import implementer

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.throttle.shared_limits import domain_of

pytestmark = pytest.mark.usefixtures("loop_is_turned")

TAKES = 0.2  # seconds for a page
HAIR = 0.002  # seconds; two readings of a clock


@pytest.fixture
def names_lead_here():
    """Resolve each name to 127.0.0.1."""
    from twisted.internet import reactor

    @implementer(IResolverSimple)
    class Here:
        def getHostByName(self, name, _timeout=()):  # noqa: N802 -- Twisted's name
            return succeed(name if isIPAddress(name) else "127.0.0.1")

    before = reactor.installResolver(Here())
    yield
    reactor.installResolver(before)


def slow_site(webs, pages: int, host: str = "127.0.0.1"):
    """Serve pages and a robots.txt that each take as long."""
    web = site(webs, pages, host, delay=TAKES)
    web.pages["/robots.txt"].delay = TAKES
    return web


def names(web, count: int) -> list[str]:
    port = web.url.rpartition(":")[2]
    return [f"http://n{number}.example.com:{port}" for number in range(count)]


def most_at_once(web) -> int:
    """Return how many requests a server had under way at a time, each of which took as
    long.
    """
    return max(
        sum(start <= hit.at < start + TAKES - HAIR for hit in web.hits)
        for start in [hit.at for hit in web.hits]
    )


class OneAtATimeSpider(LinksSpider):
    """Sets it for itself."""

    custom_settings = {
        "MANDELBOT_TOGETHER": "domain",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    }


@pytest.mark.usefixtures("names_lead_here")
@pytest.mark.parametrize("queue", ["job", "disk", "memory", "Scrapy's"])
@ensureDeferred
async def test_names_of_a_domain_are_asked_as_one(webs, tmp_path, queue):
    """At most as many requests at once as are set, robots.txt and all; each name has
    its own.
    """
    web, free = slow_site(webs, 2), slow_site(webs, 60, "127.0.0.2")
    settings = {
        "job": {"JOBDIR": str(tmp_path)},
        "disk": {"JOBDIR": str(tmp_path), **SCRAPYS_FORM},
        "memory": {},
        "Scrapy's": {
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        },
    }[queue]
    urls = names(web, 10)
    starts = [f"{url}/" for url in [*urls, free.url]]
    result = await crawl(OneAtATimeSpider, settings, start_urls=starts)
    assert most_at_once(web) == 1
    assert web.asked("/robots.txt") == 10
    assert len([url for url in result.urls() if "example.com" in url]) == 30
    assert len([url for url in result.urls() if url.startswith(free.url)]) == 61
    if queue != "Scrapy's":
        assert max(hit.at for hit in free.hits) > web.hits[9].at, (
            "each goes on beside the other"
        )


@pytest.mark.usefixtures("names_lead_here")
@pytest.mark.parametrize(("together", "most"), [(None, 10), ("address", 2)])
@ensureDeferred
async def test_names_of_an_address_are_asked_as_one(webs, together, most):
    """As soon as it is known: of those that never answered one is asked beside."""
    web = slow_site(webs, 2)
    settings = {"MANDELBOT_TOGETHER": together, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    starts = [f"{url}/" for url in names(web, 10)]
    result = await crawl(LinksSpider, settings, start_urls=starts)
    assert most_at_once(web) == most
    assert len(result.urls()) == 30


@pytest.mark.usefixtures("names_lead_here")
@pytest.mark.parametrize("together", ["domain", "address"])
@ensureDeferred
async def test_names_share_a_pace(webs, together):
    """No two requests reach the server closer than the delay of any; others are not
    slowed.
    """
    web, free = site(webs, 2), site(webs, 20, "127.0.0.2")
    delays = {".example.com": 0.5}
    settings = {"MANDELBOT_TOGETHER": together, "MANDELBOT_CRAWL_DELAYS": delays}
    starts = [f"{url}/" for url in [*names(web, 5), free.url]]
    result = await crawl(LinksSpider, settings, start_urls=starts)
    assert len(result.urls()) == 15 + 21
    times = [hit.at for hit in web.hits]
    # of its first request no one knows where it goes
    known = 5 if together == "address" else 0
    assert min(b - a for a, b in pairwise(times[known:])) >= 0.5 - HAIR
    assert max(b - a for a, b in pairwise(times)) < 1
    assert max(hit.at for hit in free.hits) < web.hits[6].at


class Limit:
    """So many requests a second, and a burst; what is more is refused, whatever name it
    is for.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self.level, self.at, self.refused = 0.0, 0.0, 0

    def __call__(self, path: str) -> Answer | None:
        now = TIME.elapsed()
        level = max(0.0, self.level - (now - self.at) * self.rate)
        if path == "/robots.txt":
            return None
        if level > self.burst:
            self.refused += 1
            return Answer(b"", 503)
        self.level, self.at = level + 1, now
        return None


def pages(web, names_of: int, each: int) -> list[str]:
    """Start a server with so many pages for each name, and return their URLs."""
    web.pages.update({f"/{number}": html() for number in range(each)})
    return [
        f"{name}/{number}" for number in range(each) for name in names(web, names_of)
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("names_lead_here")
@ensureDeferred
async def test_names_that_are_refused_together_have_one_pause(webs):
    """A limit of the server is learnt once: not by each of twenty names for itself."""
    together = "address"
    seconds, refused, pauses = {}, {}, {}
    for how in (None, together):
        web = site(webs, 0)
        web.refuse = limit = Limit(30, 5)
        urls = pages(web, 20, 20)
        settings = {"MANDELBOT_TOGETHER": how, "MANDELBOT_STORE": "memory"}
        result = await crawl(LinksSpider, settings, start_urls=urls)
        assert len(result.urls()) == 400
        seconds[how], refused[how] = result.seconds, limit.refused
        pauses[how] = result.stats["mandelbot/pause/count"]
    assert pauses[together] <= 10 < pauses[None]
    assert refused[together] <= 400 / 10 < refused[None]
    assert seconds[together] <= min(seconds[None], 2 * 400 / 30)


@pytest.mark.usefixtures("names_lead_here")
@ensureDeferred
async def test_a_name_that_is_refused_alone_holds_up_no_others(webs):
    """Two of twenty that are down are strangers to the rest at one address."""
    web = site(webs, 0)
    urls = pages(web, 20, 10)
    began = TIME.elapsed()

    def page(request):
        is_down = (
            request.getHeader("host").startswith(("n3.", "n9."))
            and TIME.elapsed() < began + 30
        )
        return Answer(b"", 503) if is_down else html()

    web.pages.update({f"/{number}": page for number in range(10)})
    settings = {"MANDELBOT_TOGETHER": "address", "MANDELBOT_STORE": "memory"}
    result = await crawl(LinksSpider, settings, start_urls=urls)
    assert len(result.urls()) == 200
    others = [
        hit.at for hit in web.hits if hit.headers["host"][:3] not in {"n3.", "n9."}
    ]
    assert max(others) - began < 10


@pytest.mark.parametrize(
    ("where", "domain"),
    [
        ("https://shop.example.co.uk", "example.co.uk"),
        ("http://example.com:8000", "example.com"),
        ("https://one.github.io", "one.github.io"),
        ("http://127.0.0.1:8000", None),
        ("https://[::1]", None),
        ("http://localhost", None),
    ],
)
def test_a_domain_is_what_can_be_registered(where, domain):
    """Those that belong to different people under one suffix are different ones."""
    assert domain_of(where) == domain


@ensureDeferred
async def test_the_address_of_a_proxy_is_none_of_a_site(make_crawler):
    """What comes through it says nothing of where a site is."""
    crawler = make_crawler(MANDELBOT_TOGETHER="address")
    throttle = Crawl.of(crawler).throttle
    shared_slot, web = (
        throttle.in_flight.shared_slot,
        throttle.sites.of("https://a.test"),
    )
    for meta, slot in (({"proxy": "http://p.test:3128"}, "a.test"), ({}, "192.0.2.7")):
        request = scrapy.Request("https://a.test/", meta=meta)
        response = Response(request.url, ip_address="192.0.2.7")
        crawler.signals.send_catch_log(
            response_downloaded,
            response=response,
            request=request,
            spider=crawler.spider,
        )
        assert shared_slot(web, "a.test") == slot
    assert shared_slot(web, "mine") == "mine", "a spider's own choice"
