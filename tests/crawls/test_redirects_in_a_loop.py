"""A robots.txt that redirects to itself, or to no web page: nothing is crawled until it
answers.
"""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Answer, html

pytestmark = pytest.mark.usefixtures("loop_is_turned")


def a_site(webs, robots):
    web = webs()
    web.pages |= {
        "/": html("/yes", "/no"),
        "/yes": html(),
        "/no": html(),
        "/robots.txt": robots,
    }
    return web


@ensureDeferred
async def test_a_redirect_to_itself_is_followed_with_its_cookie(webs):
    """As the test of a host whether its visitors take cookies."""

    def robots(request):
        if request.getCookie(b"seen"):
            return Answer(b"User-agent: *\nDisallow: /no\n")
        return Answer(b"", 302, {"Location": "/robots.txt", "Set-Cookie": "seen=1"})

    web = a_site(webs, robots)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert result.urls() == [web.url + "/", web.url + "/yes"]
    assert web.asked("/robots.txt") == 2


@ensureDeferred
async def test_of_a_site_whose_robots_txt_redirects_in_a_loop_nothing_is_crawled(webs):
    """It is unreachable: nothing is crawled until it answers.

    (RFC 9309, section 2.3.1.4)
    """
    loops = [12]

    def robots(_request):
        loops[0] -= 1
        if loops[0] > 0:
            return Answer(b"", 302, {"Location": "/robots.txt"})
        return Answer(b"User-agent: *\nDisallow: /no\n")

    web = a_site(webs, robots)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    first_page = [hit.path for hit in web.hits].index("/")
    assert {hit.path for hit in web.hits[:first_page]} == {"/robots.txt"}
    assert first_page == 12
    assert result.urls() == [web.url + "/", web.url + "/yes"]
    counted = [one for one in result.stats if "robotstxt/exception_count" in one]
    assert counted == [], "it is no exception"


@pytest.mark.parametrize(
    "location",
    [
        ["http://127.0.0.1/robots.txt", "file:///etc/passwd"],
        "file:///etc/passwd",
        "ftp://127.0.0.1/robots.txt",
        "data:text/plain,User-agent: *",
        "http://:x/robots.txt",
        pytest.param("/" + "a" * 8_192, id="longer than 8 KiB"),
        pytest.param("/" + "a" * 8_180, id="longer with its host"),
    ],
)
@ensureDeferred
async def test_a_redirect_to_what_is_no_web_page_is_no_permission(webs, location):
    """It does not say that there is no robots.txt: the site is unreachable, as in a
    loop.
    """
    left = [2]

    def robots(_request):
        left[0] -= 1
        if left[0] >= 0:
            return Answer(b"", 302, {"Location": location})
        return Answer(b"User-agent: *\nDisallow: /no\n")

    web = a_site(webs, robots)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert [hit.path for hit in web.hits[:4]] == [*["/robots.txt"] * 3, "/"]
    assert result.urls() == [web.url + "/", web.url + "/yes"]
    (line,) = result.logged(f"Paused {web.url} until 2")
    assert "robots.txt: redirect to an invalid URL (" in line
