"""Sites that say no in other ways than by a plain 503; a free site is crawled beside each."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from email.utils import formatdate
from math import inf

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from loops import TIME
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from webs import Answer, html, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}


def beside(webs):
    """Serve a site that lets everybody in."""
    return site(webs, 20, "127.0.0.9")


def got(result, web) -> set[str]:
    return {url.removeprefix(web.url) for url in result.urls() if url.startswith(web.url)}


# Cookies.


def waiting_room(webs, pages: int, *, opens_after: int = 0):
    """Serve pages to who brings the cookie that a refusal sets."""
    web = site(webs, pages)
    served = []

    def guarded(good):
        def answer(request):
            if request.getCookie(b"pass") == b"yes":
                return good
            served.append(1)
            if len(served) <= opens_after:
                return good
            return Answer(b"wait", 503, {"Set-Cookie": "pass=yes; Path=/"})

        return answer

    for path, answer in list(web.pages.items()):
        if path != "/robots.txt":
            web.pages[path] = guarded(answer)
    return web


@ensureDeferred
@pytest.mark.parametrize("opens_after", [0, 20])
@pytest.mark.parametrize("order", [700, 960])
async def test_the_cookie_of_a_waiting_room_lets_the_crawl_in(webs, opens_after, order):
    """Wherever CookiesMiddleware stands; and from then on each request brings it."""
    web, free = waiting_room(webs, 60, opens_after=opens_after), beside(webs)
    settings = {**IN_MEMORY, "DOWNLOADER_MIDDLEWARES": {CookiesMiddleware: order}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/", free.url + "/"])
    assert len(got(result, web)) == 61
    assert len(got(result, free)) == 21
    refused = [hit.at for hit in web.hits if hit.status == 503]
    late = [hit for hit in web.hits if hit.at > refused[-1] and hit.path != "/robots.txt"]
    assert all(hit.headers.get("cookie") == "pass=yes" for hit in late)
    assert result.seconds < 30


class JarsSpider(LinksSpider):
    """Asks with two jars, and once without."""

    async def start(self):
        for meta in ({"cookiejar": 1}, {"cookiejar": 2}, {"dont_merge_cookies": True}):
            yield scrapy.Request(self.start_urls[0], self.keep, meta=meta, dont_filter=True)

    def keep(self, response):
        yield {"url": response.url, "meta": response.meta}


@ensureDeferred
async def test_a_refusals_cookie_goes_into_the_jar_of_its_request(webs):
    """And into none where the request has asked for that."""
    web = site(webs, 0)
    web.pages["/"] = lambda request: (
        html()
        if len(web.hits) > 6 or request.getCookie(b"jar")
        else Answer(b"", 503, {"Set-Cookie": f"jar={len(web.hits)}", "Retry-After": "1"})
    )
    await crawl(JarsSpider, IN_MEMORY, start_urls=[web.url + "/"])
    said = {hit.headers.get("cookie") for hit in web.hits if hit.status == 200}
    assert len(said - {None}) >= 1
    assert None in said


# Times.


def by_its_clock(ahead: float, form):
    """Return a refusal that ends 8 s later, by a clock that is so many seconds ahead."""

    def refuse(until):
        now = TIME.wall() + ahead
        return {"Retry-After": form(until + ahead), "Date": formatdate(now, usegmt=True)}

    return refuse


FORMS = {
    "epoch": by_its_clock(0, lambda at: str(int(at))),
    "ISO": by_its_clock(0, lambda at: datetime.fromtimestamp(at, timezone.utc).isoformat()),
    "words": lambda _until: {"Retry-After": "8 seconds"},
    "duration": lambda _until: {"Retry-After": "PT8S"},
    "fast": by_its_clock(120, lambda at: formatdate(at, usegmt=True)),
    "slow": by_its_clock(-600, lambda at: formatdate(at, usegmt=True)),
    "RateLimit": lambda _until: {"Retry-After": "soon", "RateLimit": '"a";r=0;t=8'},
}


@ensureDeferred
@pytest.mark.parametrize("form", FORMS)
async def test_a_time_is_kept_to_in_whatever_form(webs, form):
    """Nothing is asked before it, nor much later; what cannot be read is told once."""
    web, free = site(webs, 10), beside(webs)
    shut = []

    def refuse(path):
        if path != "/page/5" and not shut:
            return None
        if not shut:
            shut.append(TIME.wall())
        until = shut[0] + 8
        return None if TIME.wall() >= until else Answer(b"", 503, FORMS[form](until))

    web.refuse = refuse
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/", free.url + "/"])
    assert len(got(result, web)) == 11
    since = shut[0] - TIME.wall() + TIME.now()
    after = [hit.at - since for hit in web.hits if hit.at > since + 0.5]
    assert 7.99 < min(after) <= 10
    told = result.logged(f"The Retry-After of {web.url} cannot be read, and is passed over: soon")
    assert len(told) == (form == "RateLimit")


# Methods.


class MethodsSpider(LinksSpider):
    """Asks for each page by three methods."""

    async def start(self):
        for free in self.start_urls[1:]:
            yield scrapy.Request(free)
        for method in ("GET", "HEAD", "POST"):
            for number in range(60):
                url = f"{self.start_urls[0]}page/{number}"
                yield scrapy.Request(url, self.keep, method=method, errback=self.gone)

    def keep(self, response):
        yield {"url": response.url, "method": response.request.method, "at": TIME.now()}

    def gone(self, failure):
        yield {"url": failure.request.url, "method": failure.request.method, "at": inf}


@ensureDeferred
async def test_what_is_refused_by_method_shuts_no_page_out_that_is_asked_for_by_get(webs):
    """All pages arrive in ten seconds; and no POST is sent oftener than by Scrapy."""
    web, free = site(webs, 60), beside(webs)
    posts = []

    def by_method(path):
        def answer(request):
            posts.extend([path] * (request.method == b"POST"))
            return html() if request.method == b"GET" else Answer(b"", 503)

        return answer

    web.pages.update({path: by_method(path) for path in web.pages if path != "/robots.txt"})
    urls = [web.url + "/", free.url + "/"]
    result = await crawl(MethodsSpider, {**IN_MEMORY, "RETRY_TIMES": 2}, start_urls=urls)
    pages = [item for item in result.items if item.get("method") == "GET" and item["at"] < inf]
    began = web.hits[0].at
    assert len(pages) == 60
    assert max(item["at"] for item in pages) < began + 10
    assert len(got(result, free)) == 21
    assert max(map(posts.count, posts)) <= 3
    assert {line.split(" of ")[0] for line in result.logged("Set aside")} <= {
        f"Set aside {path}" for path in ("HEAD /", "POST /", "HEAD /page/", "POST /page/")
    }


@ensureDeferred
@pytest.mark.parametrize("meta", [{"dont_retry": True}, {"max_retry_times": 0}])
async def test_what_changes_things_is_not_sent_again_where_scrapy_would_not(webs, meta):
    """A POST comes to its errback with the first refusal, and a GET waits as always."""
    web = site(webs, 0)
    web.pages["/form"] = lambda _request: Answer(b"", 503)

    class PostSpider(MethodsSpider):
        async def start(self):
            yield scrapy.Request(
                self.start_urls[0] + "form", method="POST", errback=self.gone, meta=meta
            )
            yield scrapy.Request(self.start_urls[0])

    result = await crawl(PostSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert web.asked("/form") == 1
    assert len(result.items) == 2


# No answer.


@ensureDeferred
async def test_a_site_that_has_answered_robots_txt_has_answered(webs):
    """Then its connections are reset for 8 s: all pages arrive."""
    web, free = site(webs, 0), beside(webs)
    web.pages.update({f"/page/{number}": html() for number in range(30)})
    asked = []

    def refuse(path):
        from twisted.internet import reactor

        if path == "/robots.txt" and not asked:
            asked.append(path)
            reactor.callLater(0, web.drop)
            reactor.callLater(8, web.listen_again)

    web.refuse = refuse
    urls = [f"{web.url}/page/{number}" for number in range(30)]
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[*urls, free.url + "/"])
    assert len(got(result, web)) == 30
    assert len(got(result, free)) == 21
    assert result.seconds < 60


@ensureDeferred
async def test_of_a_host_that_never_answered_one_line_tells(webs, caplog):
    """And it says what is so: nothing of a time hours away."""
    web = site(webs, 0)
    url = web.url
    web.close()
    await crawl(LinksSpider, IN_MEMORY, start_urls=[url + "/"])
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]
    (line,) = [line for line in told if url in line and "robots.txt: " in line]
    assert line.startswith(f"{url} has never answered in this run")
