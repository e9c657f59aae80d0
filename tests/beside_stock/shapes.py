"""Healthy sites of many kinds: nothing about them is a refusal."""

from __future__ import annotations

import random
from collections import Counter

import scrapy
from cell import Cell, CellSpider, LinksSpider, World
from network import NOT_THERE, Answer, go, page, text, with_robots

JSON = {"Content_Type": "application/json"}


def _world(site, start, spider=None, **others):
    """A site without rules."""
    return World(with_robots(site, None), start, spider, **others)


def _paths(form, count, first=0):
    return [form.format(i) for i in range(first, first + count)]


# Each function is a cell: its docstring is what the table says of it.


def spa_shell():
    """30 rendered pages, then 60 routes of an app with one shell"""

    def site(asked):
        return page(asked) if "/page/" in asked.path else text("<div id=app></div>")

    return _world(site, _paths("/page/{}", 30) + _paths("/app/{}", 60))


def listing_past_its_end():
    """a listing of 40 pages is asked for 120"""

    def site(asked):
        return page(asked) if asked.number < 40 else text("no results")

    return _world(site, _paths("/list?page={}", 120))


def api_third_of_ids():
    """an API in which each third ID exists; the others are {}"""

    def site(asked):
        return page(asked) if asked.number % 3 == 0 else text("{}", **JSON)

    return _world(site, _paths("/api/{}", 200))


def api_sparse_after_a_while():
    """an API: the first 30 IDs exist, then each tenth"""

    def site(asked):
        is_there = asked.number < 30 or asked.number % 10 == 0
        return page(asked) if is_there else text("{}", **JSON)

    return _world(site, _paths("/api/{}", 200))


def tracking_pixels():
    """among 200 pages, 75 that are one GIF"""

    def site(asked):
        if "/pix/" in asked.path:
            return text(b"GIF89a1", Content_Type="image/gif")
        return page(asked)

    start = [f"/{'pix' if i % 2 and i > 50 else 'page'}/{i}" for i in range(200)]
    return _world(site, start)


def one_byte_answers():
    """30 pages, then 100 that answer "1\""""

    def site(asked):
        return text("1") if "/ok/" in asked.path else page(asked)

    return _world(site, _paths("/page/{}", 30) + _paths("/ok/{}", 100))


def poll_nothing_new():
    """an API polled twice: [] where nothing is new"""

    def site(asked):
        orders = f'[{{"order of {asked.path}": 1}}]' if asked.n == 1 else "[]"
        return text(orders, **JSON)

    return _world(site, _paths("/api/orders/{}", 60) * 2)


def job_pending_then_done():
    """60 reports: the first answer of each is "pending\""""

    def site(asked):
        if "/report/" in asked.path and asked.n == 1:
            return text('{"state": "pending"}', **JSON)
        return page(asked)

    return _world(site, _paths("/page/{}", 30) + _paths("/report/{}", 60))


def _is_over(asked):
    return asked.number >= 30 and asked.number % 10 != 0


def expired_to_listing():
    """200 stored URLs; 153 expired ones redirect to the listing"""

    def site(asked):
        return go("/jobs") if asked.path != "/jobs" and _is_over(asked) else page(asked)

    return _world(site, _paths("/jobs/{}", 200))


def expired_to_a_start_url():
    """the same, and the listing is the first start URL"""
    crawl = expired_to_listing()
    crawl.start.insert(0, f"http://{crawl.host}/jobs")
    return crawl


def expired_half():
    """400 stored URLs, of which half, mixed, redirect to the listing"""
    chance = random.Random(3)
    gone = {i for i in range(400) if chance.random() < 0.5}

    def site(asked):
        if asked.path != "/jobs" and asked.number in gone:
            return go("/jobs")
        return page(asked)

    return _world(site, _paths("/jobs/{}", 400))


def wishlist_links():
    """each product has three links that redirect to one page"""

    def site(asked):
        return go("/compare") if asked.path.count("/") > 2 else page(asked)

    links = [
        f"/product/{i}{end}"
        for i in range(60)
        for end in (["", "/compare", "/wish", "/later"] if i > 20 else [""])
    ]
    return _world(site, links)


def ab_interstitial():
    """half of 200 answers are one interstitial"""
    chance = random.Random(5)

    def site(asked):
        return page(asked) if chance.random() < 0.5 else text("<p>newsletter?</p>")

    return _world(site, _paths("/page/{}", 200))


def coming_soon():
    """100 pages, all with one body"""
    return _world(lambda _: text("coming soon"), _paths("/page/{}", 100))


def language_redirects():
    """each page redirects to its own translation"""

    def site(asked):
        is_in_english = asked.path.startswith("/en")
        return page(asked) if is_in_english else go("/en" + asked.path)

    return _world(site, _paths("/page/{}", 100))


def metered_paywall():
    """after 40 pages each shows the same offer, for good"""
    read = Counter()

    def site(asked):
        read[0] += 1
        return page(asked) if read[0] < 40 else text("<h1>subscribe</h1>")

    return _world(site, _paths("/page/{}", 100))


def age_gate():
    """the first visit of a section shows a gate, and sets a cookie"""

    def site(asked):
        if "/wine/" in asked.path and not asked.sends("adult=1"):
            return text("<h1>are you 18?</h1>", Set_Cookie="adult=1; Path=/")
        return page(asked)

    return _world(site, _paths("/page/{}", 30) + _paths("/wine/{}", 60))


def search_without_hits():
    """30 pages, then 100 searches, most without a hit"""

    def site(asked):
        has_hits = "?q=" not in asked.path or asked.number % 7 == 0
        return page(asked) if has_hits else text("no hits")

    return _world(site, _paths("/page/{}", 30) + _paths("/search?q={}", 100))


def empty_bodies():
    """30 pages, then 100 empty ones"""

    def site(asked):
        return page(asked) if "/page/" in asked.path else text("")

    return _world(site, _paths("/page/{}", 30) + _paths("/beacon/{}", 100))


def four_kinds_of_empty():
    """five kinds of objects, each with its own placeholder"""

    def site(asked):
        kind = asked.path.split("/")[1]
        return page(asked) if asked.number % 9 == 0 else text(f"no {kind}")

    kinds = ("map", "photo", "video", "review", "price")
    objects = [f"/{kind}/{i}" for kind in kinds for i in range(30)]
    return _world(site, [f"/page/{i * 9}" for i in range(60)] + objects)


def random_redirects():
    """/item/N/latest redirects to the newest item"""

    def site(asked):
        is_latest = asked.path.endswith("/latest")
        return go("/item/newest") if is_latest else page(asked)

    links = [f"/item/{i}{end}" for i in range(60) for end in ("", "/latest")]
    return _world(site, links)


def seats_sold():
    """a live list: after 50 answers each seat is sold"""
    asked_for = Counter()

    def site(asked):
        asked_for[0] += 1
        return page(asked) if asked_for[0] <= 50 else text("sold")

    return _world(site, _paths("/seat/{}", 120))


def state_flips():
    """40 switches, three rounds: all are off from the 51st answer on"""
    asked_for = Counter()

    def site(asked):
        asked_for[0] += 1
        return text(f"on since {asked.path}") if asked_for[0] <= 50 else text("off")

    return _world(site, [f"/switch/{i % 40}?round={i // 40}" for i in range(120)])


def add_to_cart():
    """a shop of 96 items, whose ?add-to-cart=N links redirect to the cart"""

    def site(asked):
        if "add-to-cart" in asked.path:
            return go("/cart/")
        if asked.path == "/cart/":
            return text("<h1>your cart</h1>")
        if asked.path.startswith("/shop/item"):
            return text(f'<h1>{asked.path}</h1><a href="/shop/">shop</a>')
        k = int(asked.path.split("/")[3]) if asked.path != "/shop/" else 0
        items = "".join(
            f'<a href="/shop/item-{i}/">x</a><a href="/shop/?add-to-cart={i}">+</a>'
            for i in range(k * 12, k * 12 + 12)
        )
        pages = "".join(f'<a href="/shop/page/{j}/">{j}</a>' for j in range(8))
        return text(f"<h1>shop {k}</h1>{pages}{items}")

    return _world(site, ["/shop/"], LinksSpider)


# Of kinds that the above have not.


def soft_404():
    """of 120 pages 80 say "page not found" with 200"""

    def site(asked):
        return page(asked) if asked.number % 3 == 0 else text("page not found")

    return _world(site, _paths("/page/{}", 120))


def true_404():
    """of 200 pages 150 are 404, and the spider takes both"""

    class Checks(CellSpider):
        handle_httpstatus_list = (404,)

    def site(asked):
        return page(asked) if asked.number % 4 == 0 else NOT_THERE

    return _world(site, _paths("/page/{}", 200), Checks, is_page=lambda response: True)


def expired_to_home():
    """of 100 stored URLs 70 redirect to the home page with 301"""

    def site(asked):
        is_over = asked.path != "/" and asked.number % 10 >= 3
        return go("/", 301) if is_over else page(asked)

    return _world(site, _paths("/item/{}", 100))


def expired_410():
    """of 100 stored URLs 70 are 410"""

    def site(asked):
        is_over = asked.number % 10 >= 3
        return Answer(b"gone", 410) if is_over else page(asked)

    return _world(site, _paths("/item/{}", 100))


def expired_to_a_notice():
    """of 100 stored URLs 70 redirect to /item/gone with 307, then 200"""

    def site(asked):
        if asked.path == "/item/gone":
            return text("this item is gone")
        return go("/item/gone", 307) if asked.number % 10 >= 3 else page(asked)

    return _world(site, _paths("/item/{}", 100))


def expired_to_category():
    """of 120 sold items each redirects to one of four categories"""

    def site(asked):
        if asked.path.startswith("/item/") and asked.number >= 20:
            return go(f"/category/{asked.number % 4}")
        return page(asked)

    return _world(site, _paths("/item/{}", 120))


def login_wall_by_redirect():
    """each members' page redirects to one login form; 30 are public"""

    def site(asked):
        if asked.path.startswith("/members/"):
            return go(f"/login?next={asked.path}")
        return page(asked)

    return _world(site, _paths("/page/{}", 30) + _paths("/members/{}", 60))


def login_by_form():
    """all pages want a cookie that a POST sets; the spider logs in first"""

    class LogsIn(CellSpider):
        async def start(self):
            url = f"http://{self.world.host}/login"
            yield _form(url, self.logged_in)

        def logged_in(self, _response):
            for url in self.world.start:
                yield self.request(url)

    def site(asked):
        if asked.path == "/login" and asked.method == "POST":
            return text("welcome", Set_Cookie="sid=1; Path=/")
        return page(asked) if asked.sends("sid=1") else text("please log in")

    return _world(site, _paths("/page/{}", 60), LogsIn, is_page=_is_real)


def _is_real(response):
    return b"the text of" in response.body


def _form(url, callback):
    return scrapy.FormRequest(
        url, formdata={"user": "someone"}, callback=callback, dont_filter=True
    )


class _LogsInAgain(CellSpider):
    """Logs in at first, and once more when a page is the login form."""

    async def start(self):
        self.waiting = self.world.start
        self.is_logging_in = True
        yield self.log_in()

    def log_in(self):
        return _form(f"http://{self.world.host}/login", self.logged_in)

    def logged_in(self, _response):
        self.is_logging_in = False
        waiting, self.waiting = self.waiting, []
        for url in waiting:
            yield self.request(url)

    def parse(self, response, key):
        if _is_real(response):
            self.note(response, key)
            return
        self.waiting.append(key)
        if not self.is_logging_in:
            self.is_logging_in = True
            yield self.log_in()


def session_expires():
    """after 40 pages each page is the login form; the spider logs in again by POST"""
    session = Counter(id=0, pages=0)

    def site(asked):
        if asked.path == "/login":
            session["id"] += 1
            return text("welcome", Set_Cookie=f"sid={session['id']}; Path=/")
        session["pages"] += 1
        is_first = asked.sends("sid=1")
        is_in = session["pages"] <= 40 if is_first else "sid=" in str(asked.headers)
        return page(asked) if is_in else text("please log in")

    return _world(site, _paths("/page/{}", 90), _LogsInAgain, is_page=_is_real)


def consent_wall():
    """the first answers are a consent page that sets a cookie by redirect"""

    def site(asked):
        if asked.path.startswith("/consent"):
            back = asked.path.partition("=")[2]
            return go(back, Set_Cookie="consent=1; Path=/")
        if asked.sends("consent=1"):
            return page(asked)
        return go(f"/consent?to={asked.path}")

    return _world(site, _paths("/page/{}", 60))


def consent_shell():
    """half of the sections show one consent page with 200, always"""

    def site(asked):
        return text("your choices") if asked.number % 2 else page(asked)

    return _world(site, _paths("/page/{}", 100))


def country_redirects():
    """all pages redirect to one other host, by country"""

    def site(asked):
        return go(f"http://de.shop.example{asked.path}")

    sites = {
        "shop.example": with_robots(site, None),
        "de.shop.example": with_robots(page, None),
    }
    return World(sites, _paths("/page/{}", 80))


def country_home():
    """60 of 100 pages are not sold here: 302 to the country's home page"""

    def site(asked):
        is_ours = asked.path == "/de/" or asked.number % 5 < 2
        return page(asked) if is_ours else go("/de/")

    return _world(site, _paths("/item/{}", 100))


def http_to_https():
    """all pages redirect from http to https"""

    def site(asked):
        if asked.url.startswith("http:"):
            return go(asked.url.replace("http:", "https:"), 301)
        return page(asked)

    return _world(site, _paths("/page/{}", 80))


def www_to_bare():
    """all pages redirect from www to the bare name"""

    def site(asked):
        return go(f"http://shop.example{asked.path}", 308)

    sites = {
        "www.shop.example": with_robots(site, None),
        "shop.example": with_robots(page, None),
    }
    return World(sites, _paths("http://www.shop.example/page/{}", 80))


def trailing_slash():
    """all pages redirect to themselves with a slash"""

    def site(asked):
        is_whole = asked.path.endswith("/")
        return page(asked) if is_whole else go(f"{asked.path}/", 301)

    return _world(site, _paths("/page/{}", 80))


def cookie_check():
    """each first answer redirects to itself and sets a cookie"""

    def site(asked):
        if asked.sends("checked=1"):
            return page(asked)
        return go(f"{asked.path}?c=1", Set_Cookie="checked=1")

    return _world(site, _paths("/page/{}", 40))


def counters():
    """60 counters polled three times; most do not change"""

    def site(asked):
        return text(str(asked.number if asked.number % 10 == 0 else 0))

    return _world(site, [f"/count/{i}" for _ in range(3) for i in range(60)])


def share_links():
    """each article has four share links that lead to other hosts"""

    def site(asked):
        if asked.path == "/":
            links = "".join(f'<a href="/article/{i}">x</a>' for i in range(20))
            return text(links)
        if asked.path.startswith("/share/"):
            return go(f"http://{asked.path.split('/')[2]}.example/share")
        links = "".join(
            f'<a href="/share/net{net}/{asked.path[9:]}">x</a>' for net in range(4)
        )
        return text(f"{asked.path}{links}")

    sites = {
        f"net{net}.example": with_robots(page, "User-agent: *\nDisallow: /\n")
        for net in range(4)
    }
    sites["shop.example"] = with_robots(site, None)
    return World(sites, ["/"], LinksSpider)


def pages_beyond_the_end_repeat():
    """a pager that repeats its last page for ever; asked for 100"""

    def site(asked):
        return text(f"page {min(asked.number, 30)}")

    return _world(site, _paths("/list?page={}", 100))


def api_cursor():
    """an API with a cursor, followed page by page, whose end is []"""

    class Follows(CellSpider):
        def more(self, response):
            number = int(response.url.rpartition("=")[2])
            if response.text != "[]":
                yield self.request(f"http://{self.world.host}/api?cursor={number + 1}")

    def site(asked):
        return text(f"[{asked.number}]" if asked.number < 60 else "[]", **JSON)

    return _world(site, ["/api?cursor=0"], Follows)


def file_and_html():
    """a mirror: an index of 80 files, most with an HTML page of the same text"""

    def site(asked):
        if asked.path.endswith(".html"):
            return text("<p>download starts</p>")
        return text(b"PK\x03\x04" + asked.path.encode(), Content_Type="application/zip")

    start = [f"/file/{i}{'.html' if i % 2 else ''}" for i in range(80)]
    return _world(site, start)


def meta_refresh():
    """60 pages of which 30 lead on by meta refresh to one page"""

    def site(asked):
        if asked.path != "/moved" and asked.number % 2:
            return text('<meta http-equiv="refresh" content="0; url=/moved">')
        return page(asked)

    return _world(site, _paths("/page/{}", 60))


def redirect_with_body():
    """each page is a 303 to its view, which is well"""

    def site(asked):
        if asked.path.startswith("/view/"):
            return page(asked)
        return Answer(b"see other", 303, {"Location": f"/view/{asked.number}"})

    return _world(site, _paths("/page/{}", 60))


def forbidden_for_some():
    """of 90 pages 30 are 403, for good, without a word"""

    def site(asked):
        return Answer(b"not for you", 403) if asked.number % 3 == 0 else page(asked)

    return _world(site, _paths("/page/{}", 90))


def broken_for_some():
    """of 90 pages five are 500, for good"""

    def site(asked):
        is_broken = asked.number % 18 == 7
        return Answer(b"oops", 500) if is_broken else page(asked)

    return _world(site, _paths("/page/{}", 90))


def no_content():
    """60 pages, each third of them 204"""

    def site(asked):
        return Answer(b"", 204) if asked.number % 3 == 0 else page(asked)

    class Takes(CellSpider):
        handle_httpstatus_list = (204,)

    return _world(site, _paths("/page/{}", 60), Takes, is_page=lambda response: True)


def slow_pages_that_vary():
    """100 pages that take 0.05 to 3 s, by their number"""

    def site(asked):
        return page(asked)._replace(wait=0.05 + asked.number % 7 * 0.5)

    return _world(site, _paths("/page/{}", 100))


def one_slow_page_of_an_app():
    """40 pages, of which one takes 12 s, then 60 routes with one shell"""

    def site(asked):
        if "/app/" in asked.path:
            return text("<div id=app></div>")
        return page(asked)._replace(wait=12.0 if asked.number == 39 else 0.05)

    return _world(site, _paths("/page/{}", 40) + _paths("/app/{}", 60))


def rules_that_forbid():
    """60 pages, of which robots.txt forbids 20"""
    start = _paths("/page/{}", 40) + _paths("/no/{}", 20)
    return World(with_robots(page), start)


def private_pages_of_many_places():
    """among 100 pages, 30 in a row that answer 403, of five places"""

    def site(asked):
        return page(asked) if "/page/" in asked.path else Answer(b"", 403)

    private = [f"/{place}/private/{i}" for i in range(6) for place in "abcde"]
    paths = _paths("/page/{}", 40)
    return _world(site, [*paths, *private, *_paths("/page/{}", 60, 40)])


def forbidden_pictures_of_users():
    """pages of 40 users, each with a private album that answers 403"""

    def site(asked):
        return Answer(b"", 403) if asked.path.endswith("/album") else page(asked)

    users = [f"/user{i}/" for i in range(40)]
    return _world(site, [*users, *(f"{one}album" for one in users), "/about", "/more"])


CELLS = [
    Cell(f"healthy: {name.replace('_', ' ')}", make.__doc__, make)
    for name, make in list(globals().items())
    if callable(make)
    and getattr(make, "__module__", "") == __name__
    and make.__doc__
    and not name.startswith("_")
]
