"""A site of which a part is dead, or that is down for good: what is got, and what
fails, and when.

(Mandelbot, "Temporarily Stop Crawling": "resume at some later time")
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from scrapy.signals import request_reached_downloader
from scrapy.spidermiddlewares.httperror import HttpError
from webs import Answer, Closed, Web, html, site

from scrapy_mandelbot import SitePausedError

pytestmark = pytest.mark.usefixtures("loop_is_turned")

DEAD = [f"/dead/{number}" for number in range(20)]


def shop(webs, well: int, *, first: str = "well") -> Web:
    """Serve pages that are well in two sections, and 503s in a third."""
    web = webs()
    good = [f"/shelf{number % 2}/{number}" for number in range(well)]
    # The queue is last in, first out.
    links = (
        [*DEAD, *good]
        if first == "well"
        else [*good[: well // 2], *DEAD, *good[well // 2 :]]
    )
    links = [*good, *DEAD] if first == "dead" else links
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nAllow: /\n")
    web.pages["/"] = html(*links)
    web.pages.update({path: html() for path in good})
    web.pages.update({path: Answer(b"dead", 503) for path in DEAD})
    return web


def failed(result) -> list[str]:
    assert all(failure.check(SitePausedError, HttpError) for failure in result.failures)
    return sorted(failure.request.url for failure in result.failures)


@pytest.mark.parametrize("first", ["between", "dead"])
@ensureDeferred
async def test_a_dead_section_is_set_aside_and_all_others_arrive(webs, first):
    """Within seconds, also where the crawl begins in it; its pages fail with their own
    503.
    """
    web = shop(webs, 60, first=first)

    result = await crawl(FailuresSpider, start_urls=[web.url + "/"])

    assert len(result.items) == len(set(result.urls())) == 61
    assert failed(result) == sorted(web.url + path for path in DEAD)
    assert all(web.asked(path) for path in DEAD), "each is sent before it fails"
    began = web.hits[0].at
    assert max(hit.at for hit in web.hits if hit.path.startswith("/shelf")) < began + 30
    assert result.seconds < 600, "some six minutes, and each once"
    assert result.stats["mandelbot/pause/sections"] == 1
    assert result.stats["mandelbot/pause/sections_given_up"] == 1
    assert "mandelbot/pause/given_up" not in result.stats
    (line,) = result.logged("Set aside /dead/ of http")
    assert "only its pages are refused" in line
    assert "given up at about" in next(
        one
        for one in result.messages
        if "/dead/ of " in one and "still set aside" in one
    )


@ensureDeferred
async def test_the_list_of_lost_requests_has_those_whose_last_try_is_refused(
    webs, tmp_path
):
    """Each page of the dead section, with the status that its errback gets."""
    web = shop(webs, 60)
    settings = {"MANDELBOT_REPORT": str(tmp_path / "report.json")}
    await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])
    listed = (tmp_path / "report.lost.jsonl").read_text().splitlines()
    lost = {one["url"]: one for one in map(json.loads, listed)}
    assert set(lost) == {web.url + path for path in DEAD}
    assert len(listed) == len(DEAD)
    assert {one["end"] for one in lost.values()} == {"section_given_up"}
    assert {one["reason"] for one in lost.values()} == {"503 to the last try"}


@ensureDeferred
async def test_a_section_is_given_up_when_the_total_is_over(webs):
    """As sites are; meanwhile the log says what waits, and the account of its end has
    each.
    """
    web = shop(webs, 60)
    settings = {"MANDELBOT_PAUSE_OPTIONS": {"total": 5}, "LOGSTATS_INTERVAL": 2}
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])
    assert len(set(result.urls())) == 61
    assert failed(result) == sorted(web.url + path for path in DEAD)
    assert result.seconds < 60
    assert result.logged("1 site with a section set aside, ")
    (line,) = result.logged("Gave up /dead/ of ")
    assert "MANDELBOT_PAUSE_OPTIONS['total'] is over" in line


@ensureDeferred
async def test_a_site_that_was_down_as_one_section_was_asked_is_told_to_have_none(webs):
    """The section answers as soon as the site does, and waits for nothing more."""
    web = shop(webs, 60)
    web.pages.update({path: html() for path in DEAD})
    for page in web.pages.values():
        page.delay = 0.2  # so that as many are in flight as may be when it goes down
    web.refuse = Closed(seconds=3, after=11, retry_after="3")

    result = await crawl(LinksSpider, start_urls=[web.url + "/"])

    assert len(set(result.urls())) == 81
    assert web.statuses().count(503) >= 3
    assert result.stats["mandelbot/pause/count"] == 1
    assert result.logged("et aside") == []
    assert "mandelbot/pause/sections" not in result.stats


@ensureDeferred
async def test_a_section_that_comes_back_is_crawled(webs):
    """Its probe finds out, and nothing fails."""
    web = shop(webs, 60, first="between")
    closed = Closed(seconds=20)
    web.refuse = lambda path: closed(path) if path.startswith("/dead/") else None
    web.pages.update({path: html() for path in DEAD})

    result = await crawl(FailuresSpider, start_urls=[web.url + "/"])

    assert len(result.items) == 81
    assert result.failures == []
    assert result.stats["mandelbot/pause/sections"] == 1
    assert "mandelbot/pause/sections_given_up" not in result.stats
    assert len(result.logged("Resumed /dead/ of ")) == 1
    assert result.seconds < 90


@ensureDeferred
async def test_a_second_outage_that_names_its_time_is_kept_to(webs):
    """Though it begins with a page that was refused in the first: nothing is sent for 9
    s.
    """
    web = site(webs, 100, delay=0.2)
    answers = iter([Answer(b"", 503), Answer(b"", 503, {"Retry-After": "9"})])
    web.pages["/page/99"] = lambda _request: next(answers, html())

    result = await crawl(LinksSpider, start_urls=[web.url + "/"])

    assert result.urls() == web.urls(100)
    second = [hit.at for hit in web.hits if hit.status == 503][1]
    assert not [hit for hit in web.hits if second + 0.05 < hit.at < second + 9]
    assert web.asked("/page/99") == 3


@ensureDeferred
async def test_of_a_site_that_is_down_for_good_each_page_is_sent_once(webs):
    """After some two hours what was never sent goes, a second apart."""
    web = site(webs, 30)
    web.refuse = Closed(seconds=10**6, after=5)
    # by the clock that pauses follow; a hit has one with other roundings
    sent: list[float] = []

    def watch(crawler):
        def note(request):
            if not request.url.endswith("/robots.txt"):
                sent.append(TIME.now())

        watch.note = note
        crawler.signals.connect(note, signal=request_reached_downloader)

    result = await crawl(FailuresSpider, start_urls=[web.url + "/"], before=watch)

    assert len(result.items) + len(result.failures) == 31
    for url in failed(result):
        assert web.asked(url.removeprefix(web.url))
    refused = web.statuses().count(503)
    assert all(b - a >= 1 for a, b in pairwise(sent[8 - refused :]))
    assert 6800 < result.seconds < 7800
    assert result.stats["mandelbot/pause/given_up"] == 1
    assert "not refused twice are sent once more" in result.logged("Gave up http")[0]


@ensureDeferred
async def test_a_good_answer_to_a_final_attempt_resumes_the_site(webs):
    """All pages that were not sent before are crawled."""
    web = site(webs, 30)
    closed = Closed(seconds=50, after=5)
    web.refuse = closed

    settings = {"MANDELBOT_PAUSE_OPTIONS": {"tries": 4}}  # 1, 3, 9, 27 s
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])

    assert len(result.items) + len(result.failures) == 31
    gone = failed(result)
    assert 1 <= len(gone) <= 29  # refused before, or within its last 10 s or so
    late = [hit for hit in web.hits if hit.status == 200 and hit.at > closed.began + 50]
    assert len(late) == len(set(late_paths(late))), "once each"
    assert result.stats["mandelbot/pause/resumed"] == 1


def late_paths(hits) -> list[str]:
    return [hit.path for hit in hits if hit.path != "/robots.txt"]


@ensureDeferred
async def test_where_only_refused_pages_are_left_a_known_one_is_asked_again(webs):
    """It tells that it is not the site: the crawl ends in minutes, not in hours."""
    web = site(webs, 6)
    dead = ["/page/0", "/page/1", "/page/2"]
    web.pages.update({path: Answer(b"dead", 503) for path in dead})

    result = await crawl(FailuresSpider, start_urls=[web.url + "/"])

    assert len(result.items) == 4
    assert failed(result) == sorted(web.url + path for path in dead)
    assert result.stats["mandelbot/pause/asked_again"] >= 1
    assert result.seconds < 1800
    assert "mandelbot/pause/given_up" not in result.stats
    assert result.stats["item_scraped_count"] == 4, (
        "what is asked again comes to no callback"
    )
