"""A site that answers 503, crawled over real HTTP.

(Mandelbot, "Temporarily Stop Crawling")
"""

from __future__ import annotations

from collections import Counter
from email.utils import formatdate

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from scrapy.signals import response_downloaded
from webs import Answer, Closed, site

from scrapy_mandelbot import PauseMiddleware
from scrapy_mandelbot.crawl import Crawl

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
async def test_mandelbot_503_pauses_one_site_and_slows_no_other(webs):
    """While one site is paused all pages of the other arrive; then all of its own do,
    each once.
    """
    paused, healthy = (
        site(webs, 30, "127.0.0.1"),
        site(webs, 60, "127.0.0.2", delay=0.02),
    )
    paused.refuse = closed = Closed(seconds=3, after=5, retry_after="3")

    result = await crawl(
        LinksSpider,
        {"CONCURRENT_REQUESTS": 8},
        start_urls=[paused.url + "/", healthy.url + "/"],
    )

    assert result.urls() == sorted(paused.urls(30) + healthy.urls(60))
    last_of_the_healthy = max(hit.at for hit in healthy.hits)
    assert last_of_the_healthy < closed.began + 3
    assert result.stats["finish_reason"] == "finished"
    assert "retry/count" not in result.stats


@ensureDeferred
async def test_a_pause_costs_the_site_only_what_was_under_way(webs):
    """Nothing is sent into the pause: no more than was in flight is refused, and one
    probe goes.
    """
    web = site(webs, 40)
    web.refuse = closed = Closed(seconds=2, after=10, retry_after="2")

    result = await crawl(
        LinksSpider, {"CONCURRENT_REQUESTS": 16}, start_urls=[web.url + "/"]
    )

    assert result.urls() == web.urls(40)
    assert 1 <= web.statuses().count(503) <= 8  # CONCURRENT_REQUESTS_PER_DOMAIN
    inside = [hit for hit in web.hits if closed.began + 0.5 < hit.at < closed.began + 2]
    assert inside == []
    assert (
        len(result.signals("site_paused")) == len(result.signals("site_resumed")) == 1
    )
    assert result.stats["mandelbot/pause/count"] == 1
    assert result.stats["mandelbot/pause/bounced"] >= 1
    assert len(result.logged("Paused http")) == len(result.logged("Resumed http")) == 1


@ensureDeferred
@pytest.mark.parametrize(("status", "most"), [(503, 80), (429, 140)])
async def test_a_minute_of_503_costs_less_than_twenty_seconds_more(webs, status, most):
    """A 429 speaks of a limit, or a ban: its probes are those of the backoff alone."""
    web = site(webs, 300, delay=0.05)
    web.refuse = closed = Closed(60, after=60, status=status)
    result = await crawl(
        LinksSpider, {"ROBOTSTXT_OBEY": False}, start_urls=[web.url + "/"]
    )
    assert result.urls() == web.urls(300)
    hits = [hit.at - closed.began for hit in web.hits]
    assert 60 < hits[-1] < most
    probes = [at for at in hits if 0.5 < at < 60]
    assert len(probes) <= (7 if status == 503 else 4)


@ensureDeferred
async def test_what_waits_in_the_download_slot_goes_back_too(webs):
    """With DOWNLOAD_DELAY requests wait in the slot; none of them is sent into the
    pause.
    """
    web = site(webs, 8)
    web.refuse = closed = Closed(seconds=2, after=3, retry_after="2", robots_too=False)

    result = await crawl(
        LinksSpider, {"DOWNLOAD_DELAY": 0.2}, start_urls=[web.url + "/"]
    )

    assert result.urls() == web.urls(8)
    assert web.statuses().count(503) == 1
    assert [
        hit for hit in web.hits if closed.began + 0.1 < hit.at < closed.began + 2
    ] == []
    assert result.stats["mandelbot/pause/evicted"] >= 1


@ensureDeferred
async def test_the_slot_hears_of_a_refusal_before_it_sends_its_next_request(webs):
    """It is free to send it in the turn in which the answer comes, sooner than
    middlewares hear.
    """
    web = site(webs, 8, delay=0.1)
    web.refuse = Closed(seconds=2, after=3, retry_after="2", robots_too=False)
    settings = {"DOWNLOAD_DELAY": 0.01, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}

    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])

    assert result.urls() == web.urls(8)
    assert web.statuses().count(503) == 1


@ensureDeferred
async def test_a_time_that_cannot_be_read_is_told_once(webs):
    """The site pauses as if it had named none."""
    web = site(webs, 8)
    web.refuse = Closed(seconds=2, after=3, retry_after="soon", robots_too=False)

    result = await crawl(LinksSpider, start_urls=[web.url + "/"])

    assert result.urls() == web.urls(8)
    assert result.logged(f"Ignored an invalid Retry-After of {web.url}") == [
        f"Ignored an invalid Retry-After of {web.url}: soon"
    ]


@pytest.mark.parametrize("delay", [0, 1])
def test_who_has_a_delay_is_heard_in_the_turn_of_the_answer(make_crawler, delay):
    """Its slot sends the next request by a timer of its own, before middlewares see the
    answer.
    """
    crawler = make_crawler(DOWNLOAD_DELAY=delay)
    middleware = PauseMiddleware.from_crawler(crawler)
    request = scrapy.Request("https://example.com/")
    response = scrapy.http.Response(request.url, 503)
    crawler.signals.send_catch_log(
        response_downloaded, response=response, request=request, spider=crawler.spider
    )
    throttle = Crawl.of(crawler).throttle
    assert throttle.sites.of("https://example.com").has_refused == bool(delay)
    throttle.release(throttle.flight_of(request))
    assert middleware.crawler is crawler


@pytest.mark.parametrize("seconds", [0, 2])
@ensureDeferred
async def test_when_a_robots_txt_was_asked_for_is_known(webs, seconds):
    """A rate limit may have counted it before the first page."""
    web = site(webs, 0)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow:\n", delay=seconds)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    one = Crawl.of(result.crawler).throttle.sites.of(web.url)
    assert one.well_at - one.rules_asked_at == pytest.approx(seconds, abs=0.5)


@ensureDeferred
async def test_one_probe_goes_first(webs):
    """After the pause a single request asks; the others follow its answer."""
    web = site(webs, 30)
    web.refuse = closed = Closed(seconds=1, after=5, retry_after="1")
    late = {}

    def slow_probe(request):
        late.setdefault("first", TIME.elapsed())
        return Answer(
            b"<html></html>", delay=0.3, headers={"Content-Type": "text/html"}
        )

    for path in list(web.pages):
        if path.startswith("/page"):
            web.pages[path] = slow_probe

    result = await crawl(
        LinksSpider, {"CONCURRENT_REQUESTS": 16}, start_urls=[web.url + "/"]
    )

    assert result.urls() == web.urls(30)
    after = [hit for hit in web.hits if hit.at > closed.began + 0.9]
    assert after[1].at - after[0].at >= 0.3, "the second waited for the probe's answer"


@pytest.mark.slow
@pytest.mark.parametrize(
    "retry_after",
    [None, "1", pytest.param("date", id="date"), "-3", "rubbish", "0"],
)
@ensureDeferred
async def test_retry_after_in_every_form(webs, retry_after):
    """Seconds and dates are kept; what makes no sense counts as absent.

    Nothing is lost.
    """
    web = site(webs, 10)
    value = (
        formatdate(TIME.now() + 2, usegmt=True)
        if retry_after == "date"
        else retry_after
    )
    web.refuse = closed = Closed(seconds=0.8, after=4, retry_after=value)

    result = await crawl(LinksSpider, start_urls=[web.url + "/"])

    assert result.urls() == web.urls(10)
    resumed = min(hit.at for hit in web.hits if hit.at > closed.began + 0.3)
    assert resumed >= closed.began + 0.9
    if value is not None and retry_after != "date":
        assert f"Retry-After: {value}" in result.signals("site_paused")[0]["reason"]


@ensureDeferred
@pytest.mark.parametrize("status", [429, 430, 509, 529, 420])
@pytest.mark.parametrize("retry_after", ["1", None])
async def test_whatever_means_too_much_pauses_too(webs, status, retry_after):
    """By default, and with a time or without one: no page is lost."""
    web = site(webs, 10)
    web.refuse = Closed(seconds=1, after=3, retry_after=retry_after, status=status)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(10)
    assert result.stats["mandelbot/pause/count"] == 1


@ensureDeferred
async def test_503_for_robots_txt_pauses_and_nothing_is_lost(webs):
    """Whatever was asked: a 503 for robots.txt pauses the site; its rules are then
    read.
    """
    web = site(webs, 10)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /page/3\n")
    web.refuse = Closed(seconds=1, retry_after="1")

    result = await crawl(LinksSpider, start_urls=[web.url + "/"])

    assert result.urls() == [url for url in web.urls(10) if not url.endswith("/page/3")]
    assert web.hits[0].path == "/robots.txt"
    assert web.statuses().count(503) == 1
    assert web.asked("/page/3") == 0
    assert result.signals("site_paused")[0]["reason"].startswith("robots.txt: 503")


@ensureDeferred
async def test_5xx_for_robots_txt_is_asked_again_later(webs):
    """A 5xx is a temporary problem of the server: nothing is crawled before it has
    answered.
    """
    web = site(webs, 5)
    web.refuse = Closed(seconds=0.5, status=500)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(5)
    assert [hit.path for hit in web.hits[:2]] == ["/robots.txt", "/robots.txt"]


@ensureDeferred
async def test_what_comes_back_is_as_it_was(webs):
    """Callback, errback, meta, priority, dont_filter: as the spider made them; no retry
    counted.
    """
    web = site(webs, 0)
    web.refuse = Closed(seconds=0.5, retry_after="1", robots_too=False)
    failures = []

    class Spider(scrapy.Spider):
        name = "as-it-was"

        async def start(self):
            yield scrapy.Request(
                web.url + "/",
                self.parse_it,
                errback=failures.append,
                meta={"mine": 1},
                cb_kwargs={"argument": 2},
                priority=7,
                headers={"X-Mine": "3"},
            )

        def parse_it(self, response, argument):
            request = response.request
            yield {
                "url": response.url,
                "argument": argument,
                "mine": response.meta["mine"],
                "priority": request.priority,
                "dont_filter": request.dont_filter,
                "header": request.headers["X-Mine"],
                "retry_times": response.meta.get("retry_times"),
            }

    result = await crawl(Spider)

    assert result.items == [
        {
            "url": web.url + "/",
            "argument": 2,
            "mine": 1,
            "priority": 7,
            "dont_filter": False,
            "header": b"3",
            "retry_times": None,
        }
    ]
    assert failures == []
    assert "dupefilter/filtered" not in result.stats
    assert result.stats["mandelbot/pause/bounced"] == 1


@ensureDeferred
async def test_a_bounced_request_redirected_off_site_is_still_filtered(webs):
    """Going back to the queue does not switch the off-site filter off."""
    web, other = site(webs, 3), site(webs, 1, "127.0.0.2")
    web.pages["/page/1"] = Answer(b"", 302, {"Location": other.url + "/page/0"})
    web.refuse = Closed(seconds=0.5, after=1, retry_after="1", robots_too=False)

    class Spider(LinksSpider):
        allowed_domains = ["127.0.0.1"]

    result = await crawl(Spider, start_urls=[web.url + "/"])

    assert web.asked("/page/1", 503) + web.asked("/page/1", 302) >= 2 or web.asked(
        "/page/1", 302
    )
    assert result.stats["offsite/filtered"] == 1
    assert other.hits == []


@ensureDeferred
async def test_no_503_is_ever_cached(webs, tmp_path):
    """With HTTPCACHE_ENABLED a second crawl gets its pages from the cache, and its
    robots.txt, and no refusal.
    """
    web = site(webs, 6)
    web.refuse = Closed(seconds=0.5, after=3, retry_after="1")
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}

    first = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    sent = len(web.hits)
    second = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])

    assert first.urls() == second.urls() == web.urls(6)
    assert second.stats["httpcache/hit"] == 7
    assert [hit.path for hit in web.hits[sent:]] == []


@ensureDeferred
async def test_stats_count_refusals_though_they_come_no_further(webs):
    """The stats middleware stands above; what it misses is counted for it."""
    web = site(webs, 10)
    web.refuse = Closed(seconds=0.5, after=3, retry_after="1", robots_too=False)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    counted = {
        int(name.rpartition("/")[2]): count
        for name, count in result.stats.items()
        if name.startswith("downloader/response_status_count/")
    }
    assert counted == Counter(web.statuses())
    assert result.stats["downloader/response_count"] == len(web.hits)
