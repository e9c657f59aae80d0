"""Situations that users of Scrapy have reported, and the add-on's own rows of them."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import pairwise

import scrapy
from cell import Cell, CellSpider, LinksSpider, World
from network import (
    NOT_THERE,
    Answer,
    Fault,
    Window,
    go,
    page,
    text,
    with_robots,
)
from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.spiders import SitemapSpider

HERE = "http://shop.example"
OUT_8 = "the site is out for 8 s, and only probes are sent to it, after 1, 3 and 9 s"
NO = Answer(b"back soon", 503)


def pages(count, form="/page/{}"):
    """Return the paths of so many pages."""
    return [form.format(i) for i in range(count)]


def after(count, trouble, lasts, site=page):
    """A site with a trouble that begins when it has answered so many pages."""
    window = Window(trouble, lasts)
    answered = Counter()

    def counted(asked):
        answered[0] += 1
        if answered[0] == count:
            window.begins = asked.t
        return site(asked)

    return window.over(with_robots(counted))


def is_real(response):
    return b"the text of" in response.body


def any_status(_response):
    return True


# What is gone leads to a listing.


def gone_items(share, listing):
    def site(asked):
        if asked.path != "/items" and asked.number % 10 < share:
            return go("/items")
        return page(asked)

    return World(with_robots(site, None), [*listing, *pages(300, "/items/{}")])


def archive_is_gone():
    def site(asked):
        if asked.path == "/":
            return text("".join(f'<a href="/news/{i}">x</a>' for i in range(100)))
        is_old = asked.path != "/news/archive" and asked.number < 60
        return go("/news/archive") if is_old else page(asked)

    return World(with_robots(site, None), ["/"], LinksSpider)


def slow_when_asked_again():
    def site(asked):
        if "/app/" in asked.path:
            return text("<div id=app></div>")
        return page(asked)._replace(wait=12.0 if asked.n > 1 else 0.05)

    return World(with_robots(site, None), pages(40) + pages(60, "/app/{}"))


# A job whose first run meets a site that is out.


class Once(CellSpider):
    """Asks for each start URL once, also over several runs."""

    async def start(self):
        for url in self.world.start:
            yield self.request(url, dont_filter=False)


def out_for_the_first_run(fault):
    world = World({}, pages(20), Once, runs=2)
    site = with_robots(page)
    world.sites = {
        "shop.example": lambda asked: fault if world.run == 1 else site(asked)
    }
    return world


def section_is_out(runs):
    world = World({}, pages(10, "/a/{}") + pages(10, "/b/{}"), Once, runs=runs)
    site = with_robots(page)

    def answer(asked):
        is_out = asked.path.startswith("/b/") and world.run < runs
        return NO if is_out else site(asked)

    world.sites = {"shop.example": answer}
    return world


# The crawler's own network is gone.


def cut_off(names_are_cached):
    window = Window(None, 8.0)

    class Meets(CellSpider):
        def more(self, _response):
            if len(self.world.got) == 12:
                window.begins = self.world.network.t
                for host in range(12):
                    for i in range(3):
                        url = f"http://new{host}.example/page/{i}"
                        yield self.request(url)

    def site(asked):
        if window.is_on(asked):
            is_cached = names_are_cached and asked.host.startswith("known")
            return Fault.REFUSED if is_cached else Fault.NO_NAME
        return with_robots(page)(asked)

    hosts = [f"known{i}.example" for i in range(6)]
    sites = dict.fromkeys([*hosts, *(f"new{i}.example" for i in range(12))], site)
    start = [f"http://{host}/page/{i}" for i in range(10) for host in hosts]
    return World(sites, start, Meets)


# A login.


def login_and_resume(runs=2):
    class LogsIn(CellSpider):
        async def start(self):
            yield scrapy.FormRequest(
                f"{HERE}/login",
                formdata={"user": "someone"},
                callback=self.logged_in,
                dont_filter=True,
                priority=1000,
            )

        def logged_in(self, _response):
            for url in self.world.start:
                yield self.request(url, dont_filter=False)

    def site(asked):
        if asked.path.startswith("/login"):
            is_sent = asked.method == "POST"
            return text("welcome", Set_Cookie="sid=1; Path=/") if is_sent else text("?")
        return page(asked) if asked.sends("sid=1") else go(f"/login?next={asked.path}")

    return World(
        with_robots(site),
        pages(60),
        LogsIn,
        is_page=is_real,
        runs=runs,
        stop_after=24 if runs > 1 else None,
    )


class TokenSpider(CellSpider):
    """Keeps the token of its login in an attribute, as a project's login() would."""

    form = ""
    token = ""

    async def start(self):
        yield scrapy.Request(
            f"{HERE}/token",
            method="POST",
            callback=self.logged_in,
            dont_filter=True,
            priority=1000,
        )

    def logged_in(self, response):
        self.token = response.text
        for url in self.world.start:
            yield self.with_token(url)

    def more(self, response):
        """Each list has two items."""
        if "/list/" in response.url:
            where = response.url.partition("?")[0].replace("/list/", "/item/")
            for item in ("a", "b"):
                yield self.with_token(f"{where}{item}")

    def with_token(self, url):
        more = {"dont_filter": False}
        if self.form == "header":
            more["headers"] = {"X-Token": self.token}
        elif self.form == "cookie":
            more["cookies"] = {"token": self.token}
        elif self.form == "query":
            url = f"{url}?token={self.token}"
        return self.request(url, **more)


class PutsToken:
    """Puts the token of the spider into each request as it is sent."""

    def __init__(self, crawler):
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_request(self, request):
        token = getattr(self._crawler.spider, "token", "")
        if token and not request.url.endswith("/robots.txt"):
            request.headers["X-Token"] = token


def token_and_resume(form):
    """A login whose token is in no cookie jar."""

    def site(asked):
        if asked.path == "/token":
            return text("t1")
        sent = asked.headers.get("x-token") or asked.path.partition("?token=")[2]
        if sent == "t1" or asked.sends("token=t1"):
            return page(asked)
        return Answer(b"who are you?", 401)

    spider = type("Spider", (TokenSpider,), {"form": form})
    return World(
        with_robots(site),
        pages(20, "/list/{}"),
        spider,
        is_page=is_real,
        runs=2,
        stop_after=24,
    )


# A probe that takes long.


def long_probe(trouble):
    """After an outage of half a second the next page takes long."""
    state = Counter()

    def site(asked):
        state["asked"] += 1
        if state["asked"] == 7:
            state["out"] = asked.t
        if "out" in state:
            if asked.t < state["out"] + 0.5:
                return NO
            if not state["slow"]:
                state["slow"] = 1
                return trouble
        return page(asked)

    return World(with_robots(site), pages(30))


def longest_silence(most):
    """Check that new pages of the site were asked for no longer apart."""

    def check(_stock, ours):
        times = [one.t for one in ours.world.network.asked if one.n == 1]
        silence = max(after - before for before, after in pairwise(times))
        return f"silent for {silence:.1f} s, not {most}" if silence > most else ""

    return check


# What the spider wants of a status.


def one_is_503(how):
    class Wants(CellSpider):
        if how == "attribute":
            handle_httpstatus_list = (503,)

        async def start(self):
            meta = {
                "meta list": {"handle_httpstatus_list": [503]},
                "meta all": {"handle_httpstatus_all": True},
                "dont_retry": {"dont_retry": True, "handle_httpstatus_list": [503]},
                "max_retry_times": {
                    "max_retry_times": 0,
                    "handle_httpstatus_list": [503],
                },
            }.get(how, {})
            for url in self.world.start:
                yield self.request(url, meta=dict(meta))

    def site(asked):
        return Answer(b"broken", 503) if asked.number == 7 else page(asked)

    return World(with_robots(site), pages(20), Wants, is_page=any_status)


def retry_is_off(meta):
    """A site is out for eight seconds; the project does not retry pages."""

    class DoesNotRetry(CellSpider):
        async def start(self):
            for url in self.world.start:
                yield self.request(url, meta=dict(meta))

    return World(after(10, NO, 8.0), pages(40), DoesNotRetry)


def dont_pause():
    class Asks(CellSpider):
        async def start(self):
            yield self.request(f"{HERE}/busy", priority=9)
            for i in range(2):
                free = {"dont_pause": True}
                yield self.request(f"{HERE}/free/{i}", meta=free)

    def site(asked):
        if asked.path == "/busy" and asked.n == 1:
            return NO._replace(headers={"Retry-After": "8"})
        return page(asked)

    return World(with_robots(site), [], Asks)


def free_pages_go_at_once(_stock, ours):
    asked = ours.world.network.asked
    last = max(one.t for one in asked if one.path.startswith("/free"))
    return f"dont_pause waits until {last:.1f} s" if last > 1 else ""


# Other people's plugins and habits.


def own_retry_of_429():
    """The API allows ten requests, then says 429 for 4 s; the spider retries."""

    class Handles(CellSpider):
        handle_httpstatus_list = (429,)

        def parse(self, response, key):
            if response.status != 429:
                self.note(response, key)
            elif response.meta.get("tries", 0) < 5:
                meta = {"wait": 5, "tries": response.meta.get("tries", 0) + 1}
                yield self.request(key, meta=meta)

    return World(with_robots(ten_then_429()), pages(40), Handles)


def ten_then_429():
    state = {"allowed": 10, "since": None}

    def site(asked):
        if state["since"] is not None and asked.t > state["since"] + 4:
            state.update(allowed=10, since=None)
        if state["allowed"]:
            state["allowed"] -= 1
            return page(asked)
        if state["since"] is None:
            state["since"] = asked.t
        return Answer(b"slow down", 429, {"Retry-After": "4"})

    return site


class HoldsMarked:
    """Holds a request whose meta says so: a middleware of many projects."""

    async def process_request(self, request):
        import asyncio

        if seconds := request.meta.get("wait"):
            await asyncio.sleep(seconds)


def idle_batches():
    """Five batches, one of duplicates, fed on spider_idle; an outage in the second."""

    class Feeds(CellSpider):
        batch = 0

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.idle, signals.spider_idle)
            return spider

        def idle(self):
            if self.batch == 5:
                return
            of = 0 if self.batch == 3 else self.batch
            self.batch += 1
            for i in range(8):
                url = f"{HERE}/{of}/{i}"
                self.crawler.engine.crawl(self.request(url, dont_filter=False))
            raise DontCloseSpider

    return World(after(8, NO, 5.0), [], Feeds)


def redirect_to_itself():
    def site(asked):
        if asked.path == "/":
            return text("".join(f'<a href="/p/{i}">x</a>' for i in range(30)))
        seen = asked.sends("seen=1")
        return page(asked) if seen else go(asked.path, Set_Cookie="seen=1; Path=/")

    return World(with_robots(site), ["/"], LinksSpider)


def two_ways_to_one_page():
    def site(asked):
        if asked.path == "/old/":
            return go("/middle", 307)
        if asked.path == "/middle":
            return NO if asked.n == 1 else go("/old", 307)
        return page(asked)

    return World(
        with_robots(site),
        ["/old", "/old/"],
        Once,
        key=lambda response, _key: response.url,
    )


def meta_passed_on():
    class PassesOn(CellSpider):
        def more(self, response):
            chain, number = response.url.partition("?")[0].rsplit("/", 2)[1:]
            if int(number) < 11:
                url = f"{HERE}/{chain}/{int(number) + 1}"
                yield self.request(url, meta=response.meta)

    def site(asked):
        if asked.n == 1 and asked.path.endswith(("/3", "/7")):
            return NO
        if asked.n == 1 and asked.path.endswith("/5"):
            return go(f"{asked.path}?x")
        return page(asked)

    return World(with_robots(site), [f"/{chain}/0" for chain in range(4)], PassesOn)


def waiting_room(own):
    class HasCookies(CellSpider):
        async def start(self):
            cookies = {"sid": "old"} if own else {"lang": "de"}
            for url in self.world.start:
                yield self.request(url, cookies=cookies)

    def site(asked):
        if asked.sends("sid=new"):
            return page(asked)
        return NO._replace(headers={"Set-Cookie": "sid=new; Path=/"})

    return World(with_robots(site), pages(10), HasCookies)


def another_list_each_run():
    class Lists(CellSpider):
        async def start(self):
            first = 0 if self.world.run == 1 else 40
            for i in range(first, first + 40):
                yield self.request(f"{HERE}/page/{i}", dont_filter=False)

    return World(with_robots(page), [], Lists, runs=2, stop_after=20)


def robots_hangs():
    def site(asked):
        return Fault.HANG if asked.path == "/robots.txt" else page(asked)

    return World(site, pages(10))


def robots_labelled_gzip():
    plain = "User-agent: *\nDisallow: /no\n"

    def site(asked):
        if asked.path == "/robots.txt":
            return text(plain, Content_Type="text/plain", Content_Encoding="gzip")
        return page(asked)

    return World(site, [*pages(10), "/no/1"])


def robots_is_503(seconds):
    site = with_robots(page)

    def answer(asked):
        is_out = asked.path == "/robots.txt" and asked.t < seconds
        return NO if is_out else site(asked)

    return World(answer, pages(10))


def robots_is(answer):
    def site(asked):
        return answer if asked.path == "/robots.txt" else page(asked)

    return World(site, pages(20))


def all_is_forbidden():
    rules = "User-agent: *\nDisallow: /\n"
    return World(with_robots(page, rules), pages(20), forbidden="/")


def sitemap_spider():
    class Reads(SitemapSpider):
        name = "cell"
        sitemap_urls = (f"{HERE}/robots.txt",)

        def parse(self, response):
            self.world.got[response.url] += 1

    urls = "".join(f"<url><loc>{HERE}/page/{i}</loc></url>" for i in range(20))
    sitemap = text(
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>',
        Content_Type="application/xml",
    )

    def site(asked):
        return sitemap if asked.path == "/map.xml" else page(asked)

    rules = f"User-agent: *\nDisallow: /no\nSitemap: {HERE}/map.xml\n"
    return World(with_robots(site, rules), [], Reads)


def two_sites_in_turn():
    """A second site is met when the first is known well."""

    class GoesOn(CellSpider):
        def more(self, _response):
            if len(self.world.got) == 150:
                for i in range(60):
                    yield self.request(f"http://other.example/page/{i}")

    sites = {
        "shop.example": with_robots(page, None),
        "other.example": with_robots(lambda one: page(one)._replace(wait=1.0), None),
    }
    return World(sites, pages(150), GoesOn)


def begins_with_16_for_one_answer(stock, ours):
    times = [
        one.t
        for one in ours.world.network.asked
        if one.host == "other.example" and one.path != "/robots.txt"
    ]
    at_once = sum(t < min(times) + 0.9 for t in times)
    # an answer, as that for robots.txt, is worth one more
    if at_once > 17:
        return f"{at_once} requests before the first page"
    if ours.seconds > stock.seconds + 1.1:
        return f"{ours.seconds:.1f} s, more than an answer's time longer"
    return ""


def lowered_concurrency():
    class Lowers(CellSpider):
        def more(self, _response):
            if len(self.world.got) == 10:
                for slot in self.crawler.engine.downloader.slots.values():
                    slot.concurrency = 1
                self.world.lowered_at = self.world.network.t
            return ()

    return World(with_robots(page), pages(40), Lowers)


def one_at_a_time_then(_stock, ours):
    world = ours.world
    times = [one.t for one in world.network.asked if one.t > world.lowered_at + 0.06]
    gaps = [after - before for before, after in pairwise(times)]
    return "the lowered limit is exceeded" if min(gaps) < 0.04 else ""


def cached_maintenance():
    """Two runs with HTTPCACHE_ENABLED; for some seconds of the first all is out."""
    return _twice_with_cache(NO)


def cached_notice():
    """The same; the maintenance answers 200, and MANDELBOT_REFUSAL knows it."""
    return _twice_with_cache(text("back soon"))


def _twice_with_cache(notice):
    world = World(
        after(40, notice, 8.0), pages(100), runs=2, keeps_job=False, is_page=is_real
    )
    world.key = lambda _response, key: f"{key} in run {world.run}"
    return world


def cached_offline(fault):
    """Two runs with HTTPCACHE_ENABLED; nothing answers in the second."""
    world = World({}, pages(40), runs=2, keeps_job=False)
    site = with_robots(page)
    world.sites = {world.host: lambda asked: fault if world.run == 2 else site(asked)}
    world.key = lambda _response, key: f"{key} in run {world.run}"
    return world


def as_soon(stock, ours):
    """As many requests are sent at once."""
    return "one after the other" if ours.seconds > stock.seconds + 0.5 else ""


def with_forbidden(name):
    """A site of which two thirds are forbidden.

    Scrapy's own middleware lets three of them go, before the rules are there.
    """
    links = [f"/no/{i}" if i % 3 else f"/yes/{i}" for i in range(60)]
    world = World(with_robots(page), links, is_page=lambda one: "/yes/" in one.url)
    if name == "RobotsTxtMiddleware":
        world.forbidden = "/none"
    return world


def looks_refused(response):
    return response.body == b"back soon"


CACHE = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": "{folder}/cache"}
SHORT = {"DOWNLOAD_TIMEOUT": 10}
DELAY = {"DOWNLOAD_DELAY": 1}
CELLS = [
    *(
        Cell(
            f"{share}0 % of items are gone{name}",
            f"300 start URLs, {share}0 % redirect to a listing",
            partial(gone_items, share, listing),
        )
        for share in (3, 6)
        for name, listing in (("", ()), (", the listing first", ("/items",)))
    ),
    Cell(
        "the archive is gone",
        "100 links of one page; the 60 oldest redirect to the archive",
        archive_is_gone,
    ),
    Cell(
        "slow when asked again",
        "40 pages that take 12 s when asked again, 60 routes of an app",
        slow_when_asked_again,
    ),
    *(
        Cell(
            f"out for the first run of a job, {fault.value}",
            "20 pages; the site is out for the whole first run of two",
            partial(out_for_the_first_run, fault),
            settings=SHORT,
            waits=121,
            why="the site is tried again after 1, 3, 9, 27 and 81 s, over both runs",
        )
        for fault in (Fault.REFUSED, Fault.NO_NAME)
    ),
    *(
        Cell(
            f"a section is out for {runs - 1} runs of a job",
            f"20 pages; half of them are 503 until run {runs}",
            partial(section_is_out, runs),
            waits=waits,
            requests=20,
            why=why,
        )
        for runs, waits, why in (
            (2, 500, "pages of a section that is out are tried for six minutes"),
            (
                3,
                8_000,
                "in the second run the site says 503 to all: it is tried for two hours",
            ),
        )
    ),
    *(
        Cell(
            f"the crawler is cut off, {how}",
            "nothing answers for 8 s: 60 pages of known sites, 36 of new ones",
            partial(cut_off, cached),
            settings={"DOWNLOAD_DELAY": 0.3, "CONCURRENT_REQUESTS": 16},
            waits=40,
            requests=60,
            why="hosts first met meanwhile are tried again after 1, 3, 9 and 27 s",
        )
        for how, cached in (("names are cached", True), ("no name resolves", False))
    ),
    *(
        Cell(
            f"the HTTP cache, offline in the second run: {fault.value}",
            "two runs with HTTPCACHE_ENABLED; nothing answers in the second",
            partial(cached_offline, fault),
            settings=CACHE,
        )
        for fault in (Fault.REFUSED, Fault.NO_NAME)
    ),
    *(
        Cell(
            f"{name}: None",
            "60 pages, of which robots.txt forbids 40",
            partial(with_forbidden, name),
            addon={"DOWNLOADER_MIDDLEWARES": {f"scrapy_mandelbot.{name}": None}},
            also=as_soon,
        )
        for name in ("RobotsTxtMiddleware", "PauseMiddleware")
    ),
    Cell(
        "a login, and a second run",
        "start() logs in; the job is stopped and resumed",
        login_and_resume,
    ),
    *(
        Cell(
            f"a login with a token, and a second run: {name}",
            "start() logs in; the token is an attribute of the spider",
            partial(token_and_resume, form),
            settings={"DOWNLOADER_MIDDLEWARES": {PutsToken: 500}} if not form else {},
        )
        for name, form in (
            ("a middleware sends it", ""),
            ("a header of each request", "header"),
            ("a cookie of each request", "cookie"),
            ("in each URL", "query"),
        )
    ),
    Cell(
        "a login, and a second run, on Redis",
        "start() logs in; the job is stopped and resumed",
        login_and_resume,
        needs="redis",
    ),
    Cell(
        "a login by two workers",
        "start() logs in, in each worker",
        partial(login_and_resume, 1),
        needs="redis",
    ),
    *(
        Cell(
            f"the probe is {name}",
            f"an outage of half a second; then the next page is {name}",
            partial(long_probe, trouble),
            settings={"DOWNLOAD_TIMEOUT": 60},
            waits=lasts,
            why="the outage, and the page that takes so long",
            also=longest_silence(15),
        )
        for name, trouble, lasts in (
            ("a file of 15 s", Answer(b"x", body_takes=15.0), 15),
            ("a file of 40 s", Answer(b"x", body_takes=40.0), 40),
            ("never answered", Fault.HANG, 60),
        )
    ),
    Cell(
        "dont_pause",
        "503 with Retry-After: 8; two requests have dont_pause",
        dont_pause,
        waits=8,
        why="the site asks for 8 s, for the page that it refused",
        also=free_pages_go_at_once,
    ),
    *(
        Cell(
            f"a 503 that the spider wants, by {how}",
            "one page of 20 is always 503",
            partial(one_is_503, how),
            settings=settings,
        )
        for how, settings in {
            "HTTPERROR_ALLOW_ALL": {"HTTPERROR_ALLOW_ALL": True},
            "HTTPERROR_ALLOWED_CODES": {"HTTPERROR_ALLOWED_CODES": [503, 404]},
            "RETRY_ENABLED = False and HTTPERROR_ALLOW_ALL": {
                "RETRY_ENABLED": False,
                "HTTPERROR_ALLOW_ALL": True,
            },
            "attribute": {},
            "meta list": {},
            "meta all": {},
            "dont_retry": {},
            "max_retry_times": {},
        }.items()
    ),
    *(
        Cell(
            f"an outage where {name}",
            "503 for 8 s after ten of 40 pages",
            partial(retry_is_off, meta),
            settings=settings,
            waits=14,
            requests=16,
            why=OUT_8,
        )
        for name, meta, settings in (
            ("RETRY_ENABLED = False", {}, {"RETRY_ENABLED": False}),
            ("dont_retry", {"dont_retry": True}, {}),
            ("all is as usual", {}, {}),
        )
    ),
    Cell(
        "the spider retries 429 itself",
        "ten requests are allowed, then 429 for 4 s; a middleware holds retries",
        own_retry_of_429,
        settings={"DOWNLOADER_MIDDLEWARES": {HoldsMarked: 560}},
    ),
    Cell(
        "ten requests, then 429",
        "ten requests are allowed, then 429 with Retry-After: 4",
        lambda: World(with_robots(ten_then_429()), pages(40)),
        waits=40,
        why="the site asks for 4 s after each ten pages",
    ),
    *(
        Cell(
            f"batches on spider_idle, MANDELBOT_PAUSE_IDLE = {idle!r}",
            "five batches, one of duplicates; 503 for 5 s in the second",
            idle_batches,
            addon={"MANDELBOT_PAUSE_IDLE": idle},
            waits=14,
            requests=4,
            why="the site is out for 5 s, and is asked after 1, 3 and 9 s",
        )
        for idle in ("auto", "signal", "close")
    ),
    Cell(
        "a redirect to itself with a cookie",
        "30 links, each redirects to itself and sets a cookie",
        redirect_to_itself,
    ),
    Cell(
        "two ways to one page",
        "two URLs lead to one page; one of them by a 503",
        two_ways_to_one_page,
        waits=4,
        why="a 503 is asked again after a second",
    ),
    Cell(
        "meta passed on",
        "meta=response.meta over 12 pages with 503s and redirects between",
        meta_passed_on,
        waits=60,
        requests=4,
        why="each of eight 503s is asked again after a second or more",
    ),
    *(
        Cell(
            f"a waiting room, {name}",
            "503 sets a cookie, and wants it back",
            partial(waiting_room, own),
            waits=120,
            why="a site that says 503 is asked again after 1, 3, 9 s and so on",
        )
        for name, own in (("other cookies", False), ("the same cookie", True))
    ),
    Cell(
        "another list each run",
        "start() gives other pages in the second run of a job",
        another_list_each_run,
    ),
    Cell(
        "robots.txt hangs",
        "robots.txt never answers; all pages would",
        robots_hangs,
        settings=SHORT,
        worse="RFC 9309: of a site whose robots.txt is unreachable nothing is crawled;"
        " ROBOTSTXT_OBEY = False for the spider if you may",
    ),
    Cell(
        "robots.txt is labelled gzip",
        "a plain robots.txt with Content-Encoding: gzip",
        robots_labelled_gzip,
    ),
    Cell(
        "robots.txt is 503 at first",
        "robots.txt is 503 for 4 s",
        partial(robots_is_503, 4),
        waits=9,
        why="RFC 9309: nothing is crawled until robots.txt is served",
    ),
    *(
        Cell(f"robots.txt is {name}", "20 pages", partial(robots_is, answer))
        for name, answer in {
            "404": NOT_THERE,
            "403": Answer(b"", 403),
            "410": Answer(b"", 410),
            "a page": text("<html><title>home</title></html>"),
            "empty": text(""),
            "redirected home": go("/"),
            "late by 3 s": text("User-agent: *\nDisallow: /no")._replace(wait=3.0),
            "late by 12 s": text("User-agent: *\nDisallow: /no")._replace(wait=12.0),
            "one line of 600 kB": text("#" * 600_000),
        }.items()
    ),
    Cell("robots.txt forbids all", "20 pages, Disallow: /", all_is_forbidden),
    Cell("SitemapSpider", "reads robots.txt and its sitemap", sitemap_spider),
    *(
        Cell(
            f"a second site, MANDELBOT_SUMMARY = {summary}",
            "150 pages of one site, then 60 of another",
            two_sites_in_turn,
            settings={"CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 64},
            addon={"MANDELBOT_SUMMARY": summary},
            also=begins_with_16_for_one_answer,
        )
        for summary in (20, 0)
    ),
    Cell(
        "slot.concurrency lowered",
        "the spider lowers slot.concurrency to 1 after ten pages",
        lowered_concurrency,
        also=one_at_a_time_then,
    ),
    Cell(
        "the HTTP cache, after 503",
        "two runs with HTTPCACHE_ENABLED; 503 for 8 s in the first",
        cached_maintenance,
        settings=CACHE,
        waits=14,
        why=OUT_8,
    ),
    Cell(
        "the HTTP cache, after a notice",
        "the same; a notice with 200, which MANDELBOT_REFUSAL knows",
        cached_notice,
        settings=CACHE,
        addon={"MANDELBOT_REFUSAL": looks_refused},
        waits=14,
        why=OUT_8,
    ),
]
