"""A refusal that is the spider's after all: of one page, of a site given up, or asked
for.

(Mandelbot, "Temporarily Stop Crawling")
"""

from __future__ import annotations

from itertools import pairwise
from operator import sub

import pytest
import scrapy
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.httperror import HttpError
from webs import Answer, Closed, html, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
@pytest.mark.parametrize("status", [503, 420])
async def test_a_url_that_alone_is_refused_is_handed_on(webs, status):
    """It keeps no healthy site shut: after the tries of MANDELBOT_PAUSE_OPTIONS it gets
    its 503.
    """
    web = site(webs, 60)
    web.pages["/page/50"] = Answer(b"broken", status)

    result = await crawl(
        FailuresSpider,
        {"MANDELBOT_PAUSE_OPTIONS": {"first": 0.1, "tries": 3}},
        start_urls=[web.url + "/"],
    )

    assert result.urls() == [
        url for url in web.urls(60) if not url.endswith("/page/50")
    ]
    (failure,) = result.failures
    assert failure.check(HttpError)
    assert (failure.value.response.status, failure.request.url) == (
        status,
        web.url + "/page/50",
    )
    assert web.asked("/page/50") == 5
    assert result.stats["mandelbot/pause/count"] == 1, (
        "only its first refusal pauses the site"
    )
    assert result.stats["mandelbot/pause/set_aside"] == 4
    assert result.stats["mandelbot/pause/handed_on"] == 1
    assert "retry/count" not in result.stats
    assert "mandelbot/pause/given_up" not in result.stats


@ensureDeferred
async def test_a_url_that_alone_answers_503_is_tried_six_times_at_most(webs):
    """After some six minutes it is handed on, however long a site that is down is
    waited for.
    """
    web = site(webs, 60)
    web.pages["/page/50"] = Answer(b"broken", 503)

    result = await crawl(FailuresSpider, start_urls=[web.url + "/"])

    assert len(result.items) == 60
    assert len(result.failures) == 1
    tried = [hit.at for hit in web.hits if hit.path == "/page/50"]
    assert len(tried) == 8
    for waited, least in zip(
        map(sub, tried[1:], tried), [1, 1, 3, 9, 27, 81, 243], strict=True
    ):
        assert least <= waited <= 1.1 * least + 1.1
    assert result.stats["mandelbot/pause/count"] == 1


@ensureDeferred
async def test_a_refusal_that_names_a_time_holds_the_whole_site(webs):
    """Not one of a page that was refused before either: none is sent sooner."""
    web = site(webs, 200, delay=0.4)
    named = Answer(b"", 503, {"Retry-After": "9"})
    answers = iter([Answer(b"", 503), named, html()])
    web.pages["/page/199"] = lambda _request: next(answers)

    result = await crawl(LinksSpider, start_urls=[web.url + "/"])

    assert result.urls() == web.urls(200)
    refused = [hit.at for hit in web.hits if hit.status == 503]
    later = [hit.at for hit in web.hits if hit.at > refused[1] + 0.05]
    assert len(later) > 10, "there was more to ask"
    assert min(later) >= refused[1] + 9
    assert result.stats["mandelbot/pause/count"] == 2


@ensureDeferred
async def test_a_url_that_alone_answers_503_slows_no_other(webs):
    """It is asked again later and later; the site's other pages do not wait."""
    web = site(webs, 60, delay=0.01)
    answers = iter([Answer(b"", 503), Answer(b"", 503), Answer(b"", 503), html()])
    web.pages["/page/59"] = lambda _request: next(answers)

    result = await crawl(LinksSpider, start_urls=[web.url + "/"])

    assert result.urls() == web.urls(60)
    tried = [hit.at for hit in web.hits if hit.path == "/page/59"]
    others = [hit.at for hit in web.hits if hit.path != "/page/59"]
    assert len(tried) == 4
    assert max(others) < tried[1], "they have waited for its first refusal only"
    assert max(others) < tried[0] + 2
    assert next(answers, None) is None
    assert result.stats["mandelbot/pause/count"] == 1
    assert "/page/59" in result.logged("Set aside for 1.0 s")[0]


@ensureDeferred
async def test_a_site_that_never_comes_back_is_given_up(webs):
    """What was refused goes to its errback with its last response.

    What was never sent is sent once each, a second apart, before it fails: the site had
    answered.
    """
    web = site(webs, 8)
    healthy = site(webs, 3, "127.0.0.2")
    web.refuse = Closed(seconds=1000, after=4)

    result = await crawl(
        FailuresSpider,
        {
            "MANDELBOT_PAUSE_OPTIONS": {"first": 0.1, "tries": 3},
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        },
        start_urls=[web.url + "/", healthy.url + "/"],
    )

    assert len(result.items) + len(result.failures) == 9 + 4
    assert {failure.value.response.status for failure in result.failures} == {503}
    assert {failure.request.url for failure in result.failures} | set(
        result.urls()
    ) == {
        *web.urls(8),
        *healthy.urls(3),
    }
    failed = [failure.request.url for failure in result.failures]
    refused = [(web.url + hit.path, hit.at) for hit in web.hits if hit.status == 503]
    assert set(failed) <= {url for url, _ in refused}, "each was sent"
    assert all(b[1] - a[1] >= 1 for a, b in pairwise(refused[3:]))
    assert result.stats["mandelbot/pause/given_up"] == 1
    assert len(result.logged("Gave up http")) == 1
    assert "retry/count" not in result.stats


@ensureDeferred
async def test_a_site_that_never_told_its_rules_is_given_up(webs):
    """Without a response to hand on, its requests are ignored, with the reason."""
    web = webs()
    came = iter(range(1, 100))

    def half(request):
        request.setHeader("Content-Length", "1000")
        request.write(b"#" * next(came))
        request.channel.transport.loseConnection()
        return Answer(b"", delay=60)

    web.pages["/robots.txt"] = half
    result = await crawl(
        FailuresSpider,
        {"MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 2}},
        start_urls=[web.url + "/"],
    )
    (failure,) = result.failures
    assert failure.check(IgnoreRequest)
    assert "its rules are unknown" in str(failure.value)
    assert result.stats["mandelbot/pause/given_up"] == 1


@pytest.mark.parametrize(
    ("meta", "attribute"),
    [
        ({"dont_pause": True, "handle_httpstatus_list": [503]}, None),
        ({"handle_httpstatus_list": [503]}, None),
        ({"handle_httpstatus_all": True}, None),
        ({}, [503]),
    ],
    ids=[
        "dont_pause",
        "handle_httpstatus_list",
        "handle_httpstatus_all",
        "spider attribute",
    ],
)
@ensureDeferred
async def test_a_503_that_the_spider_handles_is_the_spiders(webs, meta, attribute):
    """Nobody pauses for a status that the spider asked for."""
    web = site(webs, 1)
    web.refuse = Closed(seconds=1000, robots_too=False)

    class Spider(scrapy.Spider):
        name = "handles"

        async def start(self):
            yield scrapy.Request(web.url + "/", meta={**meta, "dont_retry": True})

        def parse(self, response):
            yield {"url": response.url, "status": response.status}

    if attribute:
        Spider.handle_httpstatus_list = attribute
    result = await crawl(Spider)
    assert [item["status"] for item in result.items] == [503]
    assert "mandelbot/pause/count" not in result.stats


class StatusesSpider(scrapy.Spider):
    """A link checker: the status of every page is its result."""

    name = "statuses"
    meta: dict = {}

    async def start(self):
        for number in range(20):
            url = f"{self.web_url}/page/{number}"
            yield scrapy.Request(url, meta=dict(self.meta), errback=self.failed)

    def parse(self, response):
        yield {"url": response.url, "status": response.status}

    def failed(self, failure):
        yield {"url": failure.request.url, "status": failure.value.response.status}


@pytest.mark.parametrize(
    ("settings", "meta", "is_spiders"),
    [
        ({"HTTPERROR_ALLOW_ALL": True}, {}, True),
        ({"HTTPERROR_ALLOWED_CODES": [503, 404]}, {}, True),
        ({"HTTPERROR_ALLOWED_CODES": [404]}, {}, False),
        ({}, {"handle_httpstatus_all": True}, True),
        ({}, {"handle_httpstatus_list": [503]}, True),
        # As in HttpErrorMiddleware: the list of a request has precedence.
        ({"HTTPERROR_ALLOW_ALL": True}, {"handle_httpstatus_list": [404]}, False),
    ],
)
@ensureDeferred
async def test_a_status_that_the_spider_handles_is_handed_on(
    webs, settings, meta, is_spiders
):
    """At once, in all forms that Scrapy has for it: nothing is paused."""
    web = site(webs, 20)
    web.pages["/page/7"] = Answer(b"broken", 503)
    settings = {**settings, "RETRY_ENABLED": False}
    result = await crawl(StatusesSpider, settings, web_url=web.url, meta=meta)
    assert len(result.items) == 20
    assert ("mandelbot/pause/count" not in result.stats) == is_spiders
    assert (web.asked("/page/7") == 1) == is_spiders


@pytest.mark.parametrize(
    ("settings", "meta"),
    [
        ({"RETRY_ENABLED": False}, {}),
        ({}, {"dont_retry": True}),
        ({"RETRY_TIMES": 0}, {}),
    ],
)
@ensureDeferred
async def test_a_page_that_may_not_be_retried_has_no_tries_of_its_own(
    webs, settings, meta
):
    """The site is paused as ever; the page that alone is refused is handed on."""
    web = site(webs, 20, delay=0.05)
    web.pages["/page/7"] = Answer(b"broken", 503, delay=0.05)
    result = await crawl(StatusesSpider, settings, web_url=web.url, meta=meta)
    assert len(result.items) == 20
    assert result.stats["mandelbot/pause/count"] == 1
    assert web.asked("/page/7") == 2
    assert result.seconds < 10


@ensureDeferred
async def test_a_site_is_paused_for_requests_that_may_not_be_retried(webs):
    """Scrapy's guide for broad crawls sets it: no page of an outage is lost."""
    web = site(webs, 20)
    web.refuse = Closed(seconds=30, after=5, robots_too=False)
    settings = {"RETRY_ENABLED": False}
    result = await crawl(StatusesSpider, settings, web_url=web.url)
    assert {item["status"] for item in result.items} == {200}
    assert len(result.items) == 20
