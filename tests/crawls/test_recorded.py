"""What a crawl leaves in its record, from real sites."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from webs import Answer, Closed, html, site

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.recorder import Recorder

pytestmark = pytest.mark.usefixtures("loop_is_turned")


class Watching:
    """Has each request watched, as the report and the metrics do."""

    @classmethod
    def from_crawler(cls, crawler):
        Recorder.of(crawler, watches=True)
        return cls()


class Counting:
    """Has the crawl recorded without that, as the summary does."""

    @classmethod
    def from_crawler(cls, crawler):
        Recorder.of(crawler)
        return cls()


class Bucket:
    """Refuses what overflows a bucket that drains at so many requests a second."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._level, self._at = 0.0, TIME.elapsed()

    def __call__(self, path: str) -> Answer | None:
        now = TIME.elapsed()
        level = max(0.0, self._level - (now - self._at) * self._rate)
        if path == "/robots.txt" or level > self._burst:
            return None if path == "/robots.txt" else Answer(b"busy", 503)
        self._level, self._at = level + 1.0, now
        return None


@ensureDeferred
async def test_a_limit_that_was_found_is_in_the_record(webs, caplog):
    """And told once in the log, with the time that what is queued takes at it."""
    web = site(webs, 60)
    web.refuse = Bucket(rate=0.5, burst=5)
    with caplog.at_level("INFO", logger="scrapy_mandelbot.events"):
        result = await crawl(
            LinksSpider, {"EXTENSIONS": {Counting: 1}}, start_urls=[web.url + "/"]
        )
    assert len(result.items) == 61
    limit = Recorder.of(result.crawler).record.get(web.url).limit
    assert 0.4 < limit < 0.55, (
        "of a few refusals: at most one step of the ladder below what it is"
    )
    (line,) = [one for one in caplog.messages if "Rate limit of" in one]
    start = re.escape(f"Rate limit of {web.url}: about ")
    assert re.match(rf"{start}(2[4-9]|3[0-3]) requests a minute \(\d+ req", line)


@ensureDeferred
async def test_all_of_a_crawl_is_in_its_record(webs):
    """Pages, what is forbidden, refusals, a pause, robots.txt, sitemaps, tags."""
    web, other = site(webs, 20), site(webs, 5, "127.0.0.2")
    web.pages["/"] = html(
        "/private/a", "/private/b", "/gone", *(f"/page/{n}" for n in range(20))
    )
    web.pages["/page/1"].headers["X-Robots-Tag"] = "noindex"
    web.pages["/robots.txt"] = Answer(
        f"User-agent: *\nDisallow: /private\nSitemap: {web.url}/sitemap.xml\n".encode()
    )
    web.refuse = Closed(seconds=5, after=5, retry_after="5", robots_too=False)

    result = await crawl(
        LinksSpider,
        {"EXTENSIONS": {Watching: 1}},
        start_urls=[web.url + "/", other.url + "/"],
    )

    kept = Recorder.of(result.crawler).record
    record = kept.get(web.url)
    assert (
        record.pages
        == sum(item["url"].startswith(web.url) for item in result.items)
        == 21
    )
    assert (record.others, record.forbidden) == (1, 2), "/gone; two by one rule"
    (rule,) = record.rules
    assert (rule.line, rule.text, rule.agent) == (2, "Disallow: /private", "*")
    assert sorted(rule.examples) == [f"{web.url}/private/{page}" for page in "ab"]
    assert record.refusals == {"503": web.statuses().count(503)}
    (pause,) = record.pauses
    assert pause.kind == "refused"
    assert pause.ended - pause.since == pytest.approx(record.in_pauses)
    assert 5 <= record.in_pauses < 8
    assert (record.retry_after.broken, record.retry_after.kept) == (0, 1)
    assert record.robots_seen == {"rules": 1}
    assert record.sitemaps.urls == [f"{web.url}/sitemap.xml"]
    assert record.tags.noindex == 1
    assert sum(bucket.sent for _, bucket in record.timeline) == len(web.hits)
    assert sum(bucket.errors for _, bucket in record.timeline) == record.refusals["503"]
    assert sum(bucket.answers for _, bucket in record.timeline) == len(web.hits)
    assert record.gaps.count == len(web.hits) - 2
    well = kept.get(other.url)
    assert (well.pages, well.refused, well.is_troubled) == (6, 0, False)
    assert kept.in_order() == [record, well]


@ensureDeferred
async def test_a_pace_is_recorded_without_watching(webs):
    """What was asked, and the gaps that were kept, by the server's own count too."""
    web = site(webs, 5)

    result = await crawl(
        LinksSpider,
        {"MANDELBOT_CRAWL_DELAYS": {"127.0.0.1": 2}, "EXTENSIONS": {Counting: 1}},
        start_urls=[web.url + "/"],
    )

    record = Recorder.of(result.crawler).record.get(web.url)
    assert (record.pace.asked, record.pace.source) == (2, "set manually")
    times = [hit.at for hit in web.hits]
    least = min(later - earlier for earlier, later in pairwise(times))
    assert record.gaps.count == len(times) - 1 == 6
    assert record.gaps.least >= 2
    assert record.gaps.least == pytest.approx(least, abs=0.2)
    assert record.turns >= 5
    assert record.timeline is None


@ensureDeferred
async def test_pages_are_counted_that_heed_no_pause(webs):
    """``dont_pause`` changes nothing of that; robots.txt and such are no pages."""
    web = site(webs, 2)

    class Heedless(LinksSpider):
        async def start(self):
            yield scrapy.Request(web.url + "/", meta={"dont_pause": True})

    result = await crawl(Heedless, {"EXTENSIONS": {Counting: 1}})

    record = Recorder.of(result.crawler).record.get(web.url)
    assert (record.pages, record.others) == (3, 0)


@ensureDeferred
async def test_the_pause_of_a_host_that_never_answered_ends_when_its_requests_fail(
    webs,
):
    """It is down to the end of the crawl; nobody waits for it."""
    web = webs("127.0.0.3")
    url = web.url
    web.close()

    result = await crawl(
        LinksSpider, {"EXTENSIONS": {Counting: 1}}, start_urls=[url + "/"]
    )

    record = Recorder.of(result.crawler).record.get(url)
    assert record.pauses
    assert all(pause.ended is not None for pause in record.pauses)


@ensureDeferred
async def test_nothing_is_kept_where_nothing_is_made_of_it(webs):
    """Then all sites are counted as one."""
    web = site(webs, 3)

    result = await crawl(
        LinksSpider, {"MANDELBOT_SUMMARY": 0}, start_urls=[web.url + "/"]
    )

    mine = Crawl.of(result.crawler)
    assert not [name for name in vars(result.crawler) if "recorder" in name]
    assert mine.sites[web.url].tally.pages == 4
    assert mine.sites.counted().pages == 4


@ensureDeferred
async def test_a_crawl_ends_with_a_table(webs):
    """By default.

    ``MANDELBOT_SUMMARY`` says how many sites it has, and 0 that there is none.
    """
    sites = [site(webs, 2, f"127.0.0.{number}") for number in range(1, 5)]
    start_urls = [one.url + "/" for one in sites]

    tables = []
    for most in (20, 2, 0):
        result = await crawl(
            LinksSpider, {"MANDELBOT_SUMMARY": most}, start_urls=start_urls
        )
        tables.append(
            [text.split("\n") for text in result.logged("What happened at the sites:")]
        )

    (full,), (short,), none = tables
    assert [line.split()[:2] for line in full[2:]] == [[one.url, "3"] for one in sites]
    assert [line.split()[0] for line in short[2:4]] == [one.url for one in sites[:2]]
    assert short[4].split() == ["2", "more", "sites", "together", "6"]
    assert none == []
