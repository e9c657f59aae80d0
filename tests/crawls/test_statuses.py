"""What statuses of pages mean beside 503 and 429, and what RateLimit-Reset says of
those.
"""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Answer, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")

TRIED_AGAIN = {502, 504, 522, 524}  # of Scrapy's RETRY_HTTP_CODES


class AnySpider(LinksSpider):
    """Reads pages of any status."""

    custom_settings = {"HTTPERROR_ALLOW_ALL": True}


@pytest.mark.parametrize("status", [502, 504, 520, 521, 522, 523, 524])
@ensureDeferred
async def test_what_a_proxy_says_of_one_page_is_left_to_scrapy(webs, status):
    """It pauses nothing.

    RetryMiddleware tries again what it has in its list, and no other.
    """
    web = site(webs, 5)
    web.pages["/page/1"] = Answer(b"", status)
    result = await crawl(AnySpider, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(5)
    assert web.asked("/page/1") == (2 if status in TRIED_AGAIN else 1)
    assert "mandelbot/pause/count" not in result.stats


@ensureDeferred
async def test_a_status_that_the_project_names_pauses_as_a_503(webs):
    """MANDELBOT_PAUSE_HTTP_CODES may have any; nothing is lost then."""
    web = site(webs, 5)
    answers = [Answer(b"", 521)]
    web.refuse = lambda path: answers.pop() if path == "/page/1" and answers else None
    settings = {"MANDELBOT_PAUSE_HTTP_CODES": [503, 429, 521]}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(5)
    assert result.stats["mandelbot/pause/count"] == 1


async def refused_once(webs, path, status, headers):
    """Crawl a site that refuses a path once for 20 s: nothing is requested meanwhile,
    nor lost.
    """
    web = site(webs, 5)
    refusals = [Answer(b"", status, headers)]
    web.refuse = lambda asked: refusals.pop() if asked == path and refusals else None
    result = await crawl(
        LinksSpider, {"MANDELBOT_STORE": "memory"}, start_urls=[web.url + "/"]
    )
    (refused,) = (hit.at for hit in web.hits if hit.status == status)
    assert not [hit for hit in web.hits if refused + 1 < hit.at < refused + 20]
    assert web.hits[-1].at >= refused + 20
    assert result.urls() == web.urls(5)
    return result


@pytest.mark.parametrize(
    "headers",
    [
        {"RateLimit-Limit": "5", "RateLimit-Remaining": "0", "RateLimit-Reset": "20"},
        {"RateLimit": '"default";r=0;t=20'},
    ],
)
@pytest.mark.parametrize(("path", "status"), [("/page/1", 429), ("/robots.txt", 503)])
@ensureDeferred
async def test_ratelimit_says_for_how_long_a_refusal_is_meant(
    webs, headers, path, status
):
    """The site is left alone until its quota is there again, and the log says so."""
    result = await refused_once(webs, path, status, headers)
    if path != "/robots.txt":
        (line,) = result.logged("Paused ")
        assert "RateLimit" in line


EXHAUSTED = {"RateLimit-Remaining": "0", "RateLimit-Reset": "20"}


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        *(
            (status, {"Retry-After": "20"})
            for status in (400, 403, 408, 418, 451, 500, 502, 520)
        ),
        (403, EXHAUSTED),
        (500, {"Retry-After": "soon", "RateLimit": '"default";r=0;t=20'}),
    ],
)
@pytest.mark.parametrize("path", ["/page/1", "/robots.txt"])
@ensureDeferred
async def test_any_error_that_names_a_time_pauses_the_site(webs, status, headers, path):
    """Whatever its status means: nothing is requested before then, nor lost."""
    result = await refused_once(webs, path, status, headers)
    assert result.stats["mandelbot/pause/count"] == 1


@pytest.mark.parametrize(
    ("status", "headers", "settings"),
    [
        (404, {"Retry-After": "20"}, {}),
        (410, {"Retry-After": "20"}, {}),
        (418, {"Retry-After": "soon"}, {}),
        (418, {"Retry-After": "0"}, {}),
        (418, {"RateLimit-Remaining": "3", "RateLimit-Reset": "20"}, {}),
        (418, {"RateLimit-Reset": "20"}, {}),
        (418, {"Retry-After": "20"}, {"MANDELBOT_PAUSE_HTTP_CODES": []}),
        (
            503,
            {"Retry-After": "20"},
            {"MANDELBOT_PAUSE_HTTP_CODES": [], "RETRY_TIMES": 0},
        ),
    ],
)
@ensureDeferred
async def test_an_error_that_names_no_time_pauses_nothing(
    webs, status, headers, settings
):
    """Nor does one that means "there is none", nor any where no status is to pause."""
    web = site(webs, 5)
    web.pages["/page/1"] = Answer(b"", status, headers)
    settings = {"MANDELBOT_STORE": "memory", **settings}
    result = await crawl(AnySpider, settings, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(5)
    assert web.asked("/page/1") == 1
    assert "mandelbot/pause/count" not in result.stats


@ensureDeferred
@pytest.mark.parametrize(
    "headers", [{"RateLimit-Reset": "20"}, {"RateLimit": '"default";t=20'}]
)
@pytest.mark.parametrize("path", ["/page/1", "/robots.txt"])
async def test_a_reset_names_a_time_only_where_the_quota_is_used_up(
    webs, path, headers
):
    """An error other than a pause status has its own meaning: of robots.txt, that there
    is none.
    """
    web = site(webs, 5)
    web.pages[path] = Answer(b"", 403, headers)
    result = await crawl(
        AnySpider, {"MANDELBOT_STORE": "memory"}, start_urls=[web.url + "/"]
    )
    assert result.urls() == web.urls(5)
    assert "mandelbot/pause/refused" not in result.stats


@ensureDeferred
async def test_a_quota_ends_at_its_reset(webs):
    """One page of many says that nothing is left for 2 s: as many are in flight after
    as before.
    """
    web = site(webs, 60, delay=0.1)
    web.pages["/page/55"].headers |= {
        "RateLimit-Remaining": "0",
        "RateLimit-Reset": "2",
    }
    result = await crawl(
        LinksSpider, {"MANDELBOT_STORE": "memory"}, start_urls=[web.url + "/"]
    )
    assert result.urls() == web.urls(60)
    named = next(hit.at for hit in web.hits if hit.path == "/page/55")
    late = [hit.at for hit in web.hits if hit.at > named + 2]
    assert len(late) > 40
    assert late[-1] - late[0] < 1.5  # one at a time takes over 4 s


@ensureDeferred
async def test_a_quota_that_is_used_up_by_an_answer_that_is_well_is_no_pause(webs):
    """What has come is an answer; the next request waits until there are more."""
    web = site(webs, 3)
    for answer in web.pages.values():
        answer.headers |= {"RateLimit-Remaining": "0", "RateLimit-Reset": "600"}
    result = await crawl(
        LinksSpider, {"MANDELBOT_STORE": "memory"}, start_urls=[web.url + "/"]
    )
    assert result.urls() == web.urls(3)
    assert result.seconds == pytest.approx(3 * 600, abs=60)
    assert "mandelbot/pause/count" not in result.stats
