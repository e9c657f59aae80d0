"""Sites that say no in other ways than by a plain 503; a free site is crawled beside each."""

from __future__ import annotations

from datetime import datetime, timezone
from email.utils import formatdate

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
