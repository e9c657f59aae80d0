"""A site that is asked through several proxies has one pause and one pace.

The proxies are real, and answer for the site themselves: it needs no address.
"""

from __future__ import annotations

import socket
from itertools import chain, cycle, pairwise

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Answer, Closed, html, later

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("loop_is_turned")]

SHOP = "http://shop.test"
PAGES = 24


@pytest.fixture
def proxies(webs):
    both = [webs("127.0.0.1"), webs("127.0.0.2")]
    for proxy in both:
        proxy.pages = {f"{SHOP}/{number}": html() for number in range(PAGES)}
        proxy.pages[f"{SHOP}/robots.txt"] = Answer(b"")
    return both


@pytest.fixture
def dead_proxy():
    """The address of a proxy that refuses connections."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


class ShopSpider(scrapy.Spider):
    """Asks for each page through the proxy that is its turn, or through any."""

    name = "shop"
    proxies: tuple[str, ...] = ()

    async def start(self):
        own = cycle([{"proxy": proxy} for proxy in self.proxies] or [{}])
        for number in range(PAGES):
            yield scrapy.Request(f"{SHOP}/{number}", meta=next(own))

    def parse(self, response):
        yield {"url": response.url}


class Rotating:
    """A downloader middleware that gives each request a proxy, one after the other."""

    def __init__(self, proxies) -> None:
        self._proxies = cycle(proxies)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings["PROXIES"])

    def process_request(self, request):
        request.meta.setdefault("proxy", next(self._proxies))


class ThenTheLast(Rotating):
    """Gives each proxy once, and the last one from then on."""

    def __init__(self, proxies) -> None:
        super().__init__(proxies[-1:])
        self._proxies = chain(proxies[:-1], self._proxies)


def rotating(proxies, middleware=Rotating) -> dict:
    return {
        "MANDELBOT_PAUSE_OPTIONS": {"tries": 1000},
        "DOWNLOADER_MIDDLEWARES": {middleware: 610},
        "PROXIES": proxies,
    }


ALL = sorted(f"{SHOP}/{number}" for number in range(PAGES))


@pytest.mark.parametrize("by", ["the spider", "a middleware"])
@ensureDeferred
async def test_a_site_pauses_whatever_the_proxy(proxies, by):
    """A 503 is the site's; nothing is sent in its pause, and then each page arrives."""
    proxies[0].refuse = closed = Closed(
        seconds=20, after=3, retry_after="20", robots_too=False
    )
    urls = [proxy.url for proxy in proxies]
    if by == "the spider":
        result = await crawl(ShopSpider, proxies=urls)
    else:
        result = await crawl(ShopSpider, rotating(urls))
    assert result.urls() == ALL
    hits = [hit.at for proxy in proxies for hit in proxy.hits]
    assert not [at for at in hits if closed.began + 0.5 < at < closed.began + 20]
    (line,) = result.logged("Paused http")
    assert line.startswith(f"Paused {SHOP} until")
    assert "retry/count" not in result.stats


@ensureDeferred
async def test_a_refused_request_is_given_another_proxy(proxies):
    """It goes back without the one that a middleware gave it."""
    banned, well = proxies
    banned.refuse = Closed(seconds=1_000_000, after=1, retry_after="5")
    result = await crawl(
        ShopSpider, rotating([banned.url, banned.url, well.url], ThenTheLast)
    )
    assert result.urls() == ALL
    assert banned.statuses() == [200, 503], "robots.txt and a page"
    assert sorted(hit.path for hit in well.hits) == ALL


@pytest.mark.parametrize("robots", ["refused", "503"])
@ensureDeferred
async def test_a_bad_robots_txt_by_one_proxy_stops_no_crawl(
    proxies, dead_proxy, robots
):
    """The request that was to find out the rules goes by another proxy when it is sent
    again.
    """
    first, second = proxies
    first.refuse = Closed(seconds=1000, after=0, retry_after="1")
    bad = dead_proxy if robots == "refused" else first.url
    result = await crawl(ShopSpider, rotating([bad, second.url], ThenTheLast))
    assert result.urls() == ALL
    assert result.stats["finish_reason"] == "finished"
    assert result.stats.get("mandelbot/pause/count", 0) == (robots == "503")


@ensureDeferred
async def test_a_bad_robots_txt_by_the_proxy_of_the_environment_stops_no_crawl(
    proxies, monkeypatch
):
    """It is given by HttpProxyMiddleware, after the request has left the queue."""
    proxy, _ = proxies
    proxy.refuse = Closed(seconds=0.9, retry_after="1")
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy.url)
    result = await crawl(ShopSpider)
    assert result.urls() == ALL
    assert proxy.asked(f"{SHOP}/robots.txt") == 2


@pytest.mark.parametrize("by", ["the spider", "a middleware"])
@ensureDeferred
async def test_a_pace_is_the_sites_whatever_the_proxy(proxies, by):
    """Its owner counts requests, and does not ask where they come from."""
    pace = {"MANDELBOT_CRAWL_DELAYS": {"shop.test": 0.1}}
    urls = [proxy.url for proxy in proxies]
    if by == "the spider":
        result = await crawl(ShopSpider, pace, proxies=urls)
    else:
        result = await crawl(ShopSpider, {**rotating(urls), **pace})
    assert result.urls() == ALL
    asked = sorted(hit.at for proxy in proxies for hit in proxy.hits)
    assert min(later - earlier for earlier, later in pairwise(asked)) >= 0.1 - 0.002


@pytest.mark.parametrize("dead", [1, 2])
@ensureDeferred
async def test_a_dead_proxy_is_no_dead_site(proxies, dead_proxy, dead):
    """The pages of the others arrive; those of the dead fail as in stock Scrapy, with
    no pause.
    """
    three = [dead_proxy] * dead + [proxies[0].url] * (3 - dead)
    result = await crawl(ShopSpider, proxies=three)
    assert len(result.urls()) == PAGES * (3 - dead) // 3
    assert result.stats["mandelbot/requests/lost"] == PAGES * dead // 3
    assert "mandelbot/pause/count" not in result.stats
    assert result.stats["finish_reason"] == "finished"


class OwnHeadersSpider(scrapy.Spider):
    """Each request names a proxy, and has the header without which the site answers
    503.
    """

    name = "own_headers"

    async def start(self):
        yield self.to(self.well)

    def to(self, url):
        meta = {"proxy": self.proxy} if self.proxy else {}
        return scrapy.Request(url, headers={"X-Token": "t"}, meta=meta)

    def parse(self, response):
        yield {"url": response.url}
        if response.url == self.well:
            yield from map(self.to, self.others)


@pytest.mark.parametrize("by_proxy", [True, False])
@ensureDeferred
async def test_a_page_is_requested_again_the_way_it_was_answered(webs, by_proxy):
    """By its proxy and with its headers: all pages arrive, and nothing goes around the
    proxy.
    """
    direct, proxy = webs("127.0.0.1"), webs("127.0.0.2")
    served = proxy if by_proxy else direct
    base = direct.url if by_proxy else ""
    others = [f"/p{number}" for number in range(4)]
    refused = [8]

    def page(request):
        if request.getHeader("X-Token") != "t":
            return Answer(b"", 503)
        refused[0] -= request.uri.decode().endswith(("p0", "p1", "p2", "p3"))
        is_well = refused[0] < 0 or request.uri.decode().endswith("well")
        return html() if is_well else Answer(b"", 503)

    served.pages = dict.fromkeys([base + path for path in ("/well", *others)], page)
    result = await crawl(
        OwnHeadersSpider,
        {"MANDELBOT_PAUSE_OPTIONS": {"first": 0.5}},
        proxy=proxy.url if by_proxy else "",
        well=direct.url + "/well",
        others=[direct.url + path for path in others],
    )
    assert result.urls() == sorted(direct.url + path for path in ("/well", *others))
    assert result.stats["mandelbot/pause/asked_again"] > 1
    assert {
        hit.headers.get("x-token") for hit in served.hits if "robots" not in hit.path
    } == {"t"}
    assert not by_proxy or direct.hits == []


@ensureDeferred
async def test_the_verdict_names_the_proxy_that_failed(webs):
    """And a site whose robots.txt came through another one is not unreachable."""
    proxy = webs("127.0.0.1")
    dead = webs("127.0.0.3")
    shop = "http://shop.test"
    proxy.pages = {f"{shop}/robots.txt": Answer(b"")}
    urls = {"robots": proxy.url, "page": dead.url}
    dead.close()

    class Chooses:
        def process_request(self, request):
            is_robots = request.url.endswith("/robots.txt")
            request.meta["proxy"] = urls["robots" if is_robots else "page"]

    settings = {"DOWNLOADER_MIDDLEWARES": {Chooses: 610}}
    result = await crawl(LinksSpider, settings, start_urls=[shop + "/"])
    (line,) = result.logged("FAILED: Finished")
    assert f"through the proxy {urls['page']}" in line
    assert "unreachable" not in "".join(result.messages)


class Failover:
    """A downloader middleware that takes another proxy when one fails."""

    def __init__(self, proxies) -> None:
        self._proxies = list(proxies)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings["PROXIES"])

    def process_request(self, request):
        request.meta["proxy"] = self._proxies[0]

    def process_exception(self, request, exception):
        del exception
        proxy = request.meta.get("proxy")
        if len(self._proxies) > 1 and proxy == self._proxies[0]:
            self._proxies.pop(0)
        if proxy == self._proxies[0]:
            return None
        return request.replace(dont_filter=True)


def goes_down(proxy, seconds):
    """Let a proxy refuse connections from its tenth page on, for so long."""
    answers = []
    for page in proxy.pages.values():
        page.delay = 0.05

    def refuse(_path):
        answers.append(0)
        if len(answers) == 10:
            later(0.01, proxy.drop)
            if seconds:
                later(seconds, proxy.listen_again)

    proxy.refuse = refuse


@ensureDeferred
async def test_an_outage_of_the_only_proxy_loses_no_page(proxies):
    """Without it no site can be asked: it is a part of the way, as a router is."""
    only, _ = proxies
    goes_down(only, 6)
    result = await crawl(ShopSpider, proxies=[only.url])
    assert result.urls() == ALL
    assert result.stats["mandelbot/pause/count"] >= 1
    assert "mandelbot/requests/lost" not in result.stats


@ensureDeferred
async def test_a_component_that_has_another_proxy_is_asked_first(proxies):
    """It sees each failure, as in stock Scrapy, and nothing is paused."""
    first, second = proxies
    goes_down(first, 0)
    settings = rotating([first.url, second.url], Failover)
    result = await crawl(ShopSpider, settings)
    assert result.urls() == ALL
    assert "mandelbot/pause/count" not in result.stats
    first.listen_again()
