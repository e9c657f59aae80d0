"""Sites that show their robots.txt, or another one, only to those who log in."""

from __future__ import annotations

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from redis_server import NEEDS_REDIS
from twisted.internet.defer import Deferred, DeferredList
from w3lib.http import basic_auth_header
from webs import Answer, html, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")

ONE = basic_auth_header("one", "secret").decode()
TWO = basic_auth_header("two", "secret").decode()
RULES = Answer(b"User-agent: *\nDisallow: /no\n")
OTHER_RULES = Answer(b"User-agent: *\nDisallow: /page/1\n")


class PagesSpider(scrapy.Spider):
    """Asks for /no and three pages, with each of these credentials."""

    name = "pages"
    headers: tuple[str, ...] = (ONE,)
    meta: dict = {}

    async def start(self):
        for number, value in enumerate(self.headers):
            headers = {"Authorization": value} if value else {}
            for path in ("/no", "/page/0", "/page/1", "/page/2"):
                url = f"{self.web_url}{path}?{number}"
                yield scrapy.Request(url, headers=headers, meta=dict(self.meta))

    def parse(self, response):
        yield {"url": response.url}


def closed_site(webs, host="127.0.0.1", by_credentials=None):
    """Return a site that shows nothing to those who do not log in."""
    web = site(webs, 3, host)
    rules = by_credentials or {ONE: RULES}

    def answer(request):
        value = (request.getHeader("authorization") or "").strip()
        if value not in rules:
            return Answer(b"who are you?", 401)
        return rules[value] if request.path == b"/robots.txt" else html()

    web.pages["/robots.txt"] = answer
    for path in ("/no", "/page/0", "/page/1", "/page/2"):
        web.pages[path] = answer
        web.pages |= {f"{path}?{number}": answer for number in range(3)}
    return web


def asked(web, path):
    """Return with which credentials a path was asked for, in order."""
    hits = [hit for hit in web.hits if hit.path.partition("?")[0] == path]
    return [hit.headers.get("authorization") for hit in hits]


@pytest.mark.parametrize(
    ("headers", "meta", "attributes"),
    [
        ((ONE,), {}, {}),
        (("",), {"http_user": "one", "http_pass": "secret"}, {}),
        (
            ("",),
            {},
            {"http_user": "one", "http_pass": "secret", "http_auth_domain": None},
        ),
    ],
)
@ensureDeferred
async def test_robots_txt_is_asked_with_the_credentials_of_the_page(
    webs, headers, meta, attributes
):
    """Without them it is a 401, which opens what the file forbids."""
    web = closed_site(webs)
    spider = type("Spider", (PagesSpider,), attributes)
    result = await crawl(spider, web_url=web.url, headers=headers, meta=meta)
    assert len(result.items) == 3
    assert asked(web, "/no") == []
    assert asked(web, "/robots.txt") == [ONE]


class PasswordSpider(PagesSpider):
    """Asks for each page without credentials, then with a password and no user."""

    async def start(self):
        for number, meta in enumerate(({}, {"http_pass": "secret"})):
            for path in ("/no", "/page/0", "/page/1", "/page/2"):
                yield scrapy.Request(f"{self.web_url}{path}?{number}", meta=dict(meta))


@ensureDeferred
async def test_a_password_without_a_user_is_credentials(webs):
    """For Scrapy it is; the rules of those who do not log in are others."""
    password = basic_auth_header("", "secret").decode()
    web = closed_site(webs, by_credentials={"": RULES, password: OTHER_RULES})
    await crawl(PasswordSpider, web_url=web.url)
    assert asked(web, "/robots.txt") == [None, password]
    assert asked(web, "/no") == [password]
    assert asked(web, "/page/1") == [None]


@ensureDeferred
async def test_each_of_several_credentials_has_its_own_rules(webs):
    """Those without any have the rules of those who are not logged in."""
    web = closed_site(webs, by_credentials={ONE: RULES, TWO: OTHER_RULES, "": RULES})
    result = await crawl(PagesSpider, web_url=web.url, headers=(ONE, TWO, ""))
    assert sorted(asked(web, "/robots.txt"), key=str) == sorted(
        [ONE, TWO, None], key=str
    )
    assert asked(web, "/no") == [TWO]
    assert sorted(asked(web, "/page/1"), key=str) == sorted([ONE, None], key=str)
    assert len(result.items) == 9


@pytest.fixture(params=["sqlite", "memory"])
def store(request, tmp_path) -> str:
    """Where copies of robots.txt are kept: in a file, or in memory."""
    return str(tmp_path / "copies.db") if request.param == "sqlite" else "memory"


@ensureDeferred
async def test_no_store_gets_what_was_fetched_with_credentials(webs, store):
    """A later run without them asks for itself, and so does one with others."""
    web = closed_site(webs, by_credentials={ONE: RULES, TWO: OTHER_RULES, "": RULES})
    settings = {"MANDELBOT_STORE": store}
    for headers in ((ONE,), ("",), (TWO,)):
        await crawl(PagesSpider, settings, web_url=web.url, headers=headers)
    assert asked(web, "/robots.txt") == [ONE, None, TWO]
    assert asked(web, "/no") == [TWO]


@NEEDS_REDIS
@ensureDeferred
async def test_workers_of_a_job_ask_with_the_credentials_of_its_pages(
    webs, redis_server
):
    """Whichever of them has the site: the page's request comes with its header."""
    web = closed_site(webs)
    other = site(webs, 3, "127.0.0.2")
    settings = {"MANDELBOT_JOB": redis_server.url, "MANDELBOT_STORE": "memory"}

    class BothSpider(PagesSpider):
        async def start(self):
            async for one in super().start():
                yield one
            for number in range(3):
                yield scrapy.Request(f"{other.url}/page/{number}")

    crawls = [crawl(BothSpider, settings, web_url=web.url) for _ in range(2)]
    found = await DeferredList([Deferred.fromCoroutine(one) for one in crawls])
    assert sum(len(result.items) for _, result in found) == 6
    assert asked(web, "/no") == []
    assert set(asked(web, "/robots.txt")) == {ONE}
    assert {one for hit in other.hits for one in asked(other, hit.path)} == {None}


@ensureDeferred
async def test_the_credentials_go_to_their_own_origin_alone(webs, store):
    """The robots.txt redirects to another one, which is asked without them."""
    web = closed_site(webs)
    other = site(webs, 1, "127.0.0.2")
    other.pages["/robots.txt"] = RULES
    location = {"Location": other.url + "/robots.txt"}
    web.pages["/robots.txt"] = Answer(b"", 302, location)
    settings = {"MANDELBOT_STORE": store}
    await crawl(PagesSpider, settings, web_url=web.url, headers=(ONE,))
    assert asked(web, "/robots.txt") == [ONE]
    assert asked(other, "/robots.txt") == [None]
    assert asked(web, "/no") == []


@ensureDeferred
async def test_a_site_behind_a_login_is_paused_and_resumed_as_any(webs):
    """The probe and the health check carry what the pages do."""
    web = closed_site(webs)
    said = []

    def refuse(path):
        if said or not path.startswith("/page"):
            return None
        said.append(path)
        return Answer(b"", 503)

    web.refuse = refuse
    result = await crawl(PagesSpider, web_url=web.url, headers=(ONE,))
    assert len(result.items) == 3
    assert asked(web, "/no") == []


class SitemapsSpider(LinksSpider):
    """Logs in to its own site."""

    http_user = "one"
    http_pass = "secret"
    http_auth_domain = None


@ensureDeferred
async def test_the_sitemaps_of_a_site_behind_a_login_are_followed(webs):
    """As its robots.txt cites them to those who log in."""
    web = closed_site(webs)
    sitemap = f"<urlset><url><loc>{web.url}/page/2</loc></url></urlset>"
    web.pages["/sitemap.xml"] = Answer(sitemap.encode())
    cites = Answer(f"Sitemap: {web.url}/sitemap.xml\n".encode())
    web = closed_site_with(web, cites)
    settings = {"MANDELBOT_SITEMAPS": "follow"}
    result = await crawl(SitemapsSpider, settings, start_urls=[web.url + "/page/0"])
    assert web.url + "/page/2" in result.urls()


def closed_site_with(web, robots):
    """Let a closed site have another robots.txt."""
    answer = web.pages["/robots.txt"]

    def answer_robots(request):
        found = answer(request)
        return robots if found.status == 200 else found

    web.pages["/robots.txt"] = answer_robots
    return web
