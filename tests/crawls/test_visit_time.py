"""Sites outside of their visit times, over real HTTP, by a clock that the tests set.

"An Extended Standard for Robot Exclusion", Visit-time.
"""

from __future__ import annotations

import pytest
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from scrapy.exceptions import IgnoreRequest
from webs import Answer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("loop_is_turned")]

OBEY = {"MANDELBOT_PACE": "obey"}


def site(webs, robots: str = "", pages: int = 5, host: str = "127.0.0.1"):
    web = webs(host)
    web.chain(pages)
    web.pages["/robots.txt"] = Answer(f"User-agent: *\n{robots}".encode())
    return web


@pytest.fixture
def at_two_seconds_before():
    """Turn the crawl's clock to two seconds before a time of the day, UTC."""

    def turn(hours: int, minutes: int) -> None:
        TIME.skip(20_000 * 86_400 + hours * 3600 + minutes * 60 - 2 - TIME.now())

    return turn


@ensureDeferred
async def test_extended2_outside_of_its_visit_time_a_site_is_left_alone(
    webs, at_two_seconds_before
):
    """Its requests wait in the queue until it opens, which the hooks hear; others go
    on.
    """
    web, free = site(webs, "Visit-time: 0100-0500\n"), site(webs, "", 20, "127.0.0.2")
    at_two_seconds_before(1, 0)
    began = TIME.elapsed()

    result = await crawl(LinksSpider, OBEY, start_urls=[web.url + "/", free.url + "/"])

    assert len(result.items) == 6 + 21
    assert web.hits[0].path == "/robots.txt"
    assert web.hits[1].at >= began + 2 - 0.2
    assert max(hit.at for hit in free.hits) < web.hits[1].at
    (paused,) = result.signals("site_paused")
    assert paused["site"] == web.url
    assert paused["reason"] == "Visit-time 0100-0500"
    assert f"{paused['until']:%H:%M:%S}" == "01:00:00"
    (resumed,) = result.signals("site_resumed")
    assert resumed["paused_for"] == pytest.approx(began + 2 - web.hits[0].at, abs=0.5)
    assert "Visit-time 0100-0500" in result.logged("Paused")[0]
    assert len(result.logged("Resumed")) == 1
    assert result.stats["mandelbot/pace/shut"] == 1
    assert "mandelbot/pause/count" not in result.stats


@ensureDeferred
async def test_a_site_outside_of_its_visit_time_is_a_paused_site(
    webs, at_two_seconds_before, tmp_path
):
    """MANDELBOT_PAUSE_IDLE = "close" ends the run, and a later one goes on at the visit
    time.
    """
    web = site(webs, "Visit-time: 0100-0500\n")
    settings = {
        **OBEY,
        "JOBDIR": str(tmp_path),
        "MANDELBOT_PAUSE_IDLE": "close",
    }
    at_two_seconds_before(0, 30)
    first = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert first.stats["finish_reason"] == "sites_paused"
    assert [hit.path for hit in web.hits] == ["/robots.txt"]
    assert first.stats["mandelbot/pace/sent_back"] == 1

    at_two_seconds_before(0, 45)
    second = await crawl(LinksSpider, settings, start_urls=[])
    assert second.stats["finish_reason"] == "sites_paused"
    assert len(web.hits) == 1
    assert "mandelbot/pace/sent_back" not in second.stats, (
        "its rules are known, and when it opens"
    )

    at_two_seconds_before(1, 30)
    third = await crawl(LinksSpider, settings, start_urls=[])
    assert third.stats["finish_reason"] == "finished"
    assert len(third.items) == 6


@ensureDeferred
async def test_a_site_that_does_not_open_in_time_is_given_up(
    webs, at_two_seconds_before
):
    """The longest wait is over: its requests fail, and the crawl ends."""
    web = site(webs, "Visit-time: 0100-0500\n")
    at_two_seconds_before(0, 30)
    pages = [f"{web.url}/page/{number}" for number in range(3)]
    settings = {**OBEY, "MANDELBOT_PAUSE_OPTIONS": {"total": 0.3}}
    result = await crawl(FailuresSpider, settings, start_urls=pages)
    assert [hit.path for hit in web.hits] == ["/robots.txt"]
    assert len(result.failures) == 3
    assert all(failure.check(IgnoreRequest) for failure in result.failures)
    (line,) = result.logged("Gave up")
    assert (
        "after 0 failed probes in 0 s: MANDELBOT_PAUSE_OPTIONS['total'] is over" in line
    )


@ensureDeferred
async def test_within_its_visit_time_a_site_without_a_delay_runs_free(
    webs, at_two_seconds_before
):
    """Many at once, as any other: a visit time is no pace."""
    web = site(webs, "Visit-time: 0100-0500\n", 12)
    for number in range(12):
        web.pages[f"/page/{number}"].delay = 0.3
    at_two_seconds_before(1, 30)
    result = await crawl(LinksSpider, OBEY, start_urls=[web.url + "/"])
    assert len(result.items) == 13
    assert web.hits[-1].at - web.hits[0].at < 2
    assert "mandelbot/pace/waited" not in result.stats


@ensureDeferred
async def test_media_wait_for_a_visit_time_as_for_a_pause(
    webs, at_two_seconds_before, tmp_path
):
    """MANDELBOT_PAUSE_OPTIONS["wait"] at most: nobody waits in memory for hours."""
    web = site(webs, "", 1)
    files = site(webs, "Visit-time: 0100-0500\n", 1, "127.0.0.2")
    files.pages["/file"] = Answer(b"content")

    class Spider(LinksSpider):
        def parse(self, response):
            yield {"url": response.url, "file_urls": [files.url + "/file"]}

    settings = {
        **OBEY,
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
        "FILES_STORE": str(tmp_path),
    }
    at_two_seconds_before(1, 0)
    result = await crawl(Spider, settings, start_urls=[web.url + "/"])
    assert len(result.items[0]["files"]) == 1

    at_two_seconds_before(0, 30)
    (tmp_path / "full").rename(tmp_path / "former")
    settings["MANDELBOT_PAUSE_OPTIONS"] = {"wait": 0.3}
    result = await crawl(Spider, settings, start_urls=[web.url + "/"])
    assert result.items[0]["files"] == []
    assert files.asked("/file") == 1
