"""What projects put around a crawl: middlewares, pipelines, limits, credentials."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from functools import partial
from itertools import cycle, pairwise

from cell import Cell, CellSpider, LinksSpider, World
from network import Answer, Fault, go, page, text, with_robots
from reported import NO, OUT_8, after, is_real, pages
from scrapy import signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

HERE = "http://shop.example"
CAPTCHA = text("captcha")
ASKED_AGAIN = "pages that meet the outage are asked again"


# Middlewares, each as projects have it.


class StatusOfCaptcha:
    """Makes a 503 of a captcha page."""

    def process_response(self, request, response):
        return response.replace(status=503) if b"captcha" in response.body else response


class WellWhereGone:
    """Makes a 200 of a 404."""

    def process_response(self, request, response):
        return response.replace(status=200) if response.status == 404 else response


class Retries503Itself:
    """Returns the request of a 503 anew, up to three times."""

    def process_response(self, request, response):
        tries = request.meta.get("own_tries", 0)
        if response.status != 503 or tries == 3:
            return response
        again = request.replace(dont_filter=True)
        again.meta["own_tries"] = tries + 1
        return again


class Rewrites:
    """Replaces the body of each page."""

    def process_response(self, request, response):
        return response.replace(body=response.body + b"<!-- seen -->")


class Minifies:
    """Makes all pages the same, but for their title."""

    def process_response(self, request, response):
        is_page = isinstance(response, HtmlResponse)
        return response.replace(body=b"<p>text</p>") if is_page else response


class ToHttps:
    """Returns a new request for each http page."""

    def process_request(self, request):
        if request.url.startswith("http:"):
            return request.replace(url=request.url.replace("http:", "https:", 1))
        return None


class DropsQuery:
    """Returns a new request without a session number."""

    def process_request(self, request):
        if "?session=" in request.url:
            return request.replace(url=request.url.partition("?")[0])
        return None


class FromStock:
    """Answers each third page itself."""

    def process_request(self, request):
        number = request.url.rpartition("/")[2]
        if number.isdigit() and int(number) % 3 == 0:
            return HtmlResponse(request.url, body=b"from stock", request=request)
        return None


class Ignores:
    """Drops each third page."""

    def process_request(self, request):
        number = request.url.rpartition("/")[2]
        if number.isdigit() and int(number) % 3 == 0:
            raise IgnoreRequest("not wanted")


class Holds:
    """Holds each tenth page for ten seconds."""

    async def process_request(self, request):
        number = request.url.rpartition("/")[2]
        if number.isdigit() and int(number) % 10 == 3:
            await asyncio.sleep(10)


class HoldsResponse:
    """Holds each tenth answer for ten seconds, as for a check by another service."""

    async def process_response(self, request, response):
        number = request.url.rpartition("/")[2]
        if number.isdigit() and int(number) % 10 == 3:
            await asyncio.sleep(10)
        return response


class AddsKey:
    """Adds a header without which all is 401."""

    def process_request(self, request):
        request.headers["X-Key"] = "secret"


class Agents:
    """Gives each request one of three user agents."""

    def __init__(self):
        self.agents = cycle(f"Mozilla/5.0 (robot {i})" for i in range(3))

    def process_request(self, request):
        request.headers["User-Agent"] = next(self.agents)


class Saves:
    """Returns a page of its own where a request has failed."""

    def process_exception(self, request, exception):
        return HtmlResponse(request.url, body=b"failed", request=request)


PROXIES = [f"http://proxy{i}.example:3128" for i in range(3)]


class Rotates:
    """Gives each request the next of three proxies; a retry takes the next one."""

    def __init__(self):
        self.proxies = cycle(PROXIES)

    def process_request(self, request):
        if request.meta.get("retry_times") or "proxy" not in request.meta:
            request.meta["proxy"] = next(self.proxies)


class CountsErrors:
    """Takes a request back with a mark in its meta when it fails, as pools do."""

    def process_exception(self, request, exception):
        failures = request.meta.get("failures", 0)
        if failures == 3:
            return None
        again = request.replace(dont_filter=True)
        again.meta["failures"] = failures + 1
        return again


def few_pages():
    return World(with_robots(page), [*pages(40), "/no/1"])


def outage():
    return World(after(10, NO, 8.0), pages(40))


def captcha_for_4s():
    return World(after(10, CAPTCHA, 4.0), pages(40), is_page=is_real)


def some_404():
    def site(asked):
        return Answer(b"gone", 404) if asked.number % 2 else page(asked)

    return World(with_robots(site), pages(40))


def any_scheme():
    return World(with_robots(page), [*pages(40), "/no/1"])


def with_sessions():
    start = [f"{path}?session={i}" for i, path in enumerate(pages(40))]
    return World(with_robots(page), start)


def wants_key():
    def site(asked):
        if asked.headers.get("x-key") != "secret":
            return Answer(b"who are you", 401)
        return with_robots(page)(asked)

    return World(site, [*pages(40), "/no/1"])


def proxies(dead, site=None):
    world = World(site or with_robots(page), pages(31))
    world.proxies = {proxy: i >= dead for i, proxy in enumerate(PROXIES)}
    return world


def refused_for_1s():
    return World(after(10, Fault.REFUSED, 1.0), pages(40), is_page=is_real)


ORDERS = (0, 100, 300, 560, 610, 760, 950, 999, 1000)
MIDDLEWARES = {
    StatusOfCaptcha: (captcha_for_4s, (0, 560, 960, 999), 14, "a captcha is a 503"),
    WellWhereGone: (some_404, (0, 560, 1000), 0, ""),
    Retries503Itself: (outage, (0, 540, 999), 14, OUT_8),
    Rewrites: (outage, (0, 590, 999), 14, OUT_8),
    Minifies: (few_pages, (0, 999), 0, ""),
    ToHttps: (any_scheme, (0, 300, 800, 1000), 0, ""),
    DropsQuery: (with_sessions, (50, 900), 0, ""),
    FromStock: (few_pages, (10, 560, 1000), 0, ""),
    Ignores: (few_pages, (10, 560, 1000), 0, ""),
    Holds: (few_pages, (0, 560, 1000), 0, ""),
    HoldsResponse: (few_pages, (0, 560, 1000), 0, ""),
    AddsKey: (wants_key, (0, 560, 1000), 0, ""),
    Agents: (few_pages, (400, 1000), 0, ""),
    Saves: (refused_for_1s, (0, 560, 1000), 4, "the site is out for 1 s"),
    CountsErrors: (refused_for_1s, (0, 560, 1000), 4, "the site is out for 1 s"),
}


def middleware_cells():
    for middleware, (make, orders, waits, why) in MIDDLEWARES.items():
        for order in orders:
            yield Cell(
                f"middleware {middleware.__name__} at {order}",
                middleware.__doc__.splitlines()[0].rstrip("."),
                make,
                settings={"DOWNLOADER_MIDDLEWARES": {middleware: order}},
                waits=waits,
                why=why,
            )
    for order in (100, 610, 740, 1000):
        yield Cell(
            f"three proxies, one dead, at {order}",
            "a middleware gives each request the next proxy",
            partial(proxies, 1),
            settings={"DOWNLOADER_MIDDLEWARES": {Rotates: order}},
        )
    yield Cell(
        "three proxies, two dead",
        "a middleware gives each request the next proxy",
        partial(proxies, 2),
        settings={"DOWNLOADER_MIDDLEWARES": {Rotates: 610}, "RETRY_TIMES": 8},
    )
    yield Cell(
        "three proxies, an outage of the site",
        "a middleware gives each request the next proxy; 503 for 8 s",
        lambda: proxies(0, after(10, NO, 8.0)),
        settings={"DOWNLOADER_MIDDLEWARES": {Rotates: 610}},
        waits=14,
        why=OUT_8,
    )


# Credentials.


def authorized(how, lasts=0.0):
    basic = "Basic " + base64.b64encode(b"someone:secret").decode()
    token = "Bearer secret" if how.startswith("Bearer") else basic

    class HasCredentials(CellSpider):
        if how == "Basic, by http_user":
            http_user = "someone"
            http_pass = "secret"
            http_auth_domain = "shop.example"

        async def start(self):
            is_own = how != "Basic, by http_user"
            headers = {"Authorization": token} if is_own else {}
            for url in self.world.start:
                yield self.request(url, headers=headers)

    inside = after(10, NO, lasts) if lasts else with_robots(page)

    def site(asked):
        if asked.headers.get("authorization") != token:
            return Answer(b"who", 401, {"WWW-Authenticate": 'Basic realm="x"'})
        return inside(asked)

    return World(site, ["/no/1", *pages(25)], HasCredentials)


def credential_cells():
    for how in ("Basic, by http_user", "Basic, by header", "Bearer, by header"):
        yield Cell(
            f"credentials: {how}",
            "all of the site wants them, robots.txt too",
            partial(authorized, how),
        )
        yield Cell(
            f"credentials and an outage: {how}",
            "the same, and 503 for 8 s",
            partial(authorized, how, 8.0),
            waits=14,
            why=OUT_8,
        )


# Limits and watchdogs.


class PausesEngine(CellSpider):
    """Pauses the engine for nine seconds after eight pages."""

    def more(self, _response):
        if len(self.world.got) == 8:
            from twisted.internet import reactor

            engine = self.crawler.engine
            reactor.callLater(0.6, engine.pause)
            reactor.callLater(9, engine.unpause)
        return ()


class Yields(CellSpider):
    """Yields an item for each page."""

    def more(self, response):
        yield {"url": response.url}


class Fails(CellSpider):
    """Has a bug on each third page."""

    def more(self, response):
        if int(response.url.rpartition("/")[2]) % 3 == 0:
            raise ValueError("a bug")
        return ()


def items(site=None, spider=Yields, count=60):
    return World(site or with_robots(page), pages(count), spider)


def limit_cells():
    slow = {"DOWNLOAD_DELAY": 0.25}
    for name, settings in {
        "CLOSESPIDER_ITEMCOUNT": {"CLOSESPIDER_ITEMCOUNT": 20},
        "CLOSESPIDER_PAGECOUNT": {"CLOSESPIDER_PAGECOUNT": 20},
        "CLOSESPIDER_TIMEOUT": {"CLOSESPIDER_TIMEOUT": 5, **slow},
        "CLOSESPIDER_TIMEOUT_NO_ITEM": {"CLOSESPIDER_TIMEOUT_NO_ITEM": 3, **slow},
        "CLOSESPIDER_PAGECOUNT_NO_ITEM": {"CLOSESPIDER_PAGECOUNT_NO_ITEM": 15, **slow},
        "MEMUSAGE_LIMIT_MB not reached": {
            "MEMUSAGE_ENABLED": True,
            "MEMUSAGE_LIMIT_MB": 100_000,
            "MEMUSAGE_CHECK_INTERVAL_SECONDS": 1,
            **slow,
        },
        "MEMUSAGE_WARNING_MB": {
            "MEMUSAGE_ENABLED": True,
            "MEMUSAGE_WARNING_MB": 1,
            "MEMUSAGE_CHECK_INTERVAL_SECONDS": 1,
            **slow,
        },
        "DOWNLOAD_DELAY": {"DOWNLOAD_DELAY": 1},
        "AUTOTHROTTLE_ENABLED": {"AUTOTHROTTLE_ENABLED": True},
        "DOWNLOAD_SLOTS": {
            "DOWNLOAD_SLOTS": {"shop.example": {"concurrency": 2, "delay": 0.5}}
        },
        "CONCURRENT_REQUESTS = 1": {"CONCURRENT_REQUESTS": 1},
        "COOKIES_ENABLED = False": {"COOKIES_ENABLED": False},
        "REDIRECT_ENABLED = False": {"REDIRECT_ENABLED": False},
        "COMPRESSION_ENABLED = False": {"COMPRESSION_ENABLED": False},
        "HTTPCACHE_ENABLED": {
            "HTTPCACHE_ENABLED": True,
            "HTTPCACHE_DIR": "{folder}/cache",
        },
        "DEPTH_PRIORITY and queues of breadth first": {
            "DEPTH_PRIORITY": 1,
            "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        },
    }.items():
        yield Cell(f"limit: {name}", "60 pages, an item each", items, settings=settings)
    yield Cell(
        "limit: CLOSESPIDER_ERRORCOUNT",
        "60 pages, a bug on each third",
        partial(items, None, Fails),
        settings={"CLOSESPIDER_ERRORCOUNT": 5},
    )
    yield Cell(
        "limit: bugs in the callback",
        "60 pages, a bug on each third",
        partial(items, None, Fails),
    )
    yield Cell(
        "limit: MEMUSAGE_LIMIT_MB, and a second run",
        "the first run of a job is closed by its memory",
        short_of_memory,
        settings={**slow, "MEMUSAGE_ENABLED": True},
    )
    yield Cell(
        "limit: CLOSESPIDER_TIMEOUT_NO_ITEM in an outage",
        "503 with Retry-After: 8 after ten of 40 pages; three seconds without an item",
        lambda: items(
            after(10, NO._replace(headers={"Retry-After": "8"}), 8.0), count=40
        ),
        settings={"CLOSESPIDER_TIMEOUT_NO_ITEM": 3},
        waits=6,
        why="the watchdog of the project closes the run in the pause",
    )
    yield Cell(
        "limit: CLOSESPIDER_TIMEOUT while robots.txt is slow",
        "robots.txt is 503 after 6 s; the run has 4 s",
        _slow_robots,
        settings={"CLOSESPIDER_TIMEOUT": 4},
        worse="RFC 9309: nothing is crawled while robots.txt is 503, to the run's end",
    )
    yield Cell(
        "engine.pause()",
        "an extension pauses the engine for 8.4 s",
        partial(items, None, PausesEngine),
        settings={"DOWNLOAD_DELAY": 0.1},
        also=silent_while_paused,
    )
    yield Cell(
        "engine.pause() in an outage",
        "the same, and 503 for 2 s from the tenth page on",
        lambda: items(after(10, NO, 2.0), PausesEngine, 30),
        also=silent_while_paused,
        waits=10,
        why="the site is out for 2 s, and the engine is paused meanwhile",
    )


def short_of_memory():
    world = World(with_robots(page), pages(60), Yields, runs=2)
    world.settings_of_run = {
        1: {"MEMUSAGE_LIMIT_MB": 1},
        2: {"MEMUSAGE_LIMIT_MB": 100_000},
    }
    return world


def _slow_robots():
    def site(asked):
        if asked.path == "/robots.txt":
            return NO._replace(wait=6.0)
        return page(asked)

    return World(site, pages(20))


def silent_while_paused(_stock, ours):
    times = [one.t for one in ours.world.network.asked]
    silence = max(after - before for before, after in pairwise(times))
    # what waits for its DOWNLOAD_DELAY is sent still
    return f"asked after {silence:.1f} s of a pause of 8.4 s" if silence < 7.5 else ""


# Media pipelines.


class HasFiles(CellSpider):
    """Each page has a file of its own, and a logo that all share."""

    def more(self, response):
        number = response.url.rpartition("/")[2]
        base = "http://files.example"
        yield {"key": number, "file_urls": [f"{base}/{number}.pdf", f"{base}/logo.png"]}

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.scraped, signals.item_scraped)
        return spider

    def scraped(self, item):
        for file in item["files"]:
            self.world.got[f"{item['key']} {file['url']}"] += 1


def files(answer=None, lasts=8.0):
    file = with_robots(lambda asked: text(asked.path, Content_Type="application/pdf"))
    sites = {
        "shop.example": with_robots(page),
        "files.example": file if answer is None else after(5, answer, lasts, file),
    }
    return World(sites, pages(15), HasFiles)


def media_cells():
    settings = {
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": "{folder}/files",
    }
    yield Cell("files", "15 pages, each with two files", files, settings=settings)
    yield Cell(
        "files, an outage",
        "the host of the files is 503 for 8 s after five of them",
        partial(files, NO),
        settings=settings,
        waits=14,
        why=OUT_8,
    )
    yield Cell(
        "files, an outage longer than wait",
        "the host of the files is 503 for 30 s; a file waits for two",
        partial(files, NO, 30.0),
        settings=settings,
        addon={"MANDELBOT_PAUSE_OPTIONS": {"wait": 2}},
        waits=14,
        why="each file waits for two seconds, as the project says",
    )
    yield Cell(
        "files that are not there",
        "the host of the files answers 404",
        partial(files, Answer(b"", 404), 1e9),
        settings=settings,
    )
    yield Cell(
        "files that redirect",
        "the host of the files redirects to one placeholder",
        partial(files, go("/placeholder"), 0.001),
        settings={**settings, "MEDIA_ALLOW_REDIRECTS": True},
    )


# Kinds of crawls.


def broad(count=40):
    sites = {f"site{i}.example": with_robots(page) for i in range(count)}
    start = [f"http://{host}/page/{i}" for i in range(4) for host in sites]
    return World(sites, start)


def broad_with_dead():
    world = broad()
    for number in range(0, 40, 4):
        fault = [Fault.REFUSED, Fault.NO_NAME, Fault.HANG][number // 4 % 3]
        world.sites[f"site{number}.example"] = lambda _asked, fault=fault: fault
    return world


WAITS_OF_DEAD = "it is tried again after 1, 3, 9 and 27 s"


def dead(fault):
    return World({"shop.example": lambda _asked: fault}, pages(5))


def dead_links():
    """A site, and one page of it with a link to a host that does not exist."""
    site = with_robots(page)

    def links(asked):
        if asked.path != "/":
            return site(asked)
        hosts = "".join(f'<a href="http://gone{i}.example/">x</a>' for i in range(5))
        return text(hosts + "".join(f'<a href="/{i}">x</a>' for i in range(20)))

    return World({"shop.example": with_robots(links)}, ["/"], LinksSpider)


def dead_at_the_end():
    """Nothing but three dead hosts is left: the network may be gone, and is not."""
    sites = {"shop.example": with_robots(page)}
    sites |= {f"dead{i}.example": lambda _asked: Fault.REFUSED for i in range(3)}
    return World(sites, [*pages(40), *(f"http://dead{i}.example/" for i in range(3))])


def dead_in_the_first_run(fault):
    well = with_robots(page)

    def site(asked):
        return fault if world.run == 1 else well(asked)

    world = World(site, pages(5), runs=2)
    return world


def crawl_spider():
    class Crawls(CrawlSpider):
        name = "cell"
        rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)
        start_urls = (f"{HERE}/",)

        def parse_page(self, response):
            self.world.got[response.url] += 1

    def site(asked):
        number = 0 if asked.path == "/" else asked.number
        links = (2 * number + 1, 2 * number + 2)
        anchors = "".join(f'<a href="/page/{i}">x</a>' for i in links if i < 80)
        return text(f"{asked.path}{anchors}")

    return World(with_robots(site), [], Crawls)


def tree():
    def site(asked):
        number = 0 if asked.path == "/" else asked.number
        links = (2 * number + 1, 2 * number + 2)
        anchors = "".join(f'<a href="/page/{i}">x</a>' for i in links if i < 80)
        return text(f"{asked.path}{anchors}")

    return World(with_robots(site), ["/"], LinksSpider)


def limited(per_second):
    """A site that answers 429 to what exceeds so many requests in a second."""
    answered = Counter()

    def site(asked):
        answered[int(asked.t)] += 1
        is_over = answered[int(asked.t)] > per_second
        return Answer(b"slow down", 429) if is_over else page(asked)

    return World(with_robots(site), pages(100))


def crawl_cells():
    yield Cell(
        "a broad crawl",
        "40 sites, four pages each",
        broad,
        settings={"CONCURRENT_REQUESTS": 32},
    )
    yield Cell(
        "a broad crawl with dead hosts",
        "40 sites, of which ten are dead",
        broad_with_dead,
        settings={"CONCURRENT_REQUESTS": 32, "DOWNLOAD_TIMEOUT": 10},
        waits=45,
        why="a dead host is tried for 40 s, while the others are crawled",
    )
    for fault in Fault:
        yield Cell(
            f"a host that stays dead: {fault.value}",
            "its five pages are the whole crawl",
            partial(dead, fault),
            settings={"DOWNLOAD_TIMEOUT": 10},
            waits=0 if fault is Fault.NO_HOST else 45,
            why="" if fault is Fault.NO_HOST else WAITS_OF_DEAD,
        )
    yield Cell(
        "a healthy site with links to hosts that do not exist",
        "21 pages; five links lead to names that no host has",
        dead_links,
    )
    yield Cell(
        "three dead hosts at the end",
        "one site answers, and is done; three hosts never do",
        dead_at_the_end,
        waits=45,
        why="a dead host is tried for 40 s",
    )
    for fault in (Fault.REFUSED, Fault.NO_NAME):
        yield Cell(
            f"a host of a job that is dead in the first run: {fault.value}",
            "the second run begins at once, and the host is there",
            partial(dead_in_the_first_run, fault),
            waits=45,
            why="the first run tries the host for 40 s, the second one once",
        )
    yield Cell("CrawlSpider", "80 pages that link to each other", crawl_spider)
    yield Cell("links followed", "80 pages that link to each other", tree)
    for per_second, waits in ((5, 50), (30, 34)):
        yield Cell(
            f"a limit of {per_second} pages a second",
            "100 pages; what exceeds the limit is 429",
            partial(limited, per_second),
            waits=waits,
            requests=20,
            why="the site asks for that rate, which is found by trial",
        )


CELLS = [
    *middleware_cells(),
    *credential_cells(),
    *limit_cells(),
    *media_cells(),
    *crawl_cells(),
]
