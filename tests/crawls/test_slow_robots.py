"""A robots.txt that is slow to come: it has the time of a page, as with Scrapy alone.

After ten seconds the site is named in the log, and other sites go on.
"""

from __future__ import annotations

import pytest
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from webs import Answer, later, site
from wildwebs import WildWeb

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}
RULES = b"User-agent: *\nDisallow: /page/1\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
DAY = 86_400


@pytest.fixture
def web():
    """A site of three pages, of which robots.txt forbids one."""
    web = WildWeb()
    web.listen()
    web.chain(3)
    yield web
    web.close()


@pytest.mark.parametrize(
    ("seconds", "awaited"), [(5, None), (9, None), (11, 1), (12, 1), (30, 1)]
)
@ensureDeferred
async def test_a_robots_txt_that_is_late_is_obeyed(web, seconds, awaited):
    """It is asked for once, and no site is paused."""
    web.pages["/robots.txt"] = Answer(RULES, delay=float(seconds))
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert result.stats["mandelbot/robots/rules"] == 1
    assert result.stats["response_received_count"] == len(result.items) + 1
    assert result.stats["mandelbot/requests/forbidden"] == 1
    assert web.asked("/robots.txt") == 1
    assert result.stats.get("mandelbot/robots/awaited") == awaited
    assert "mandelbot/pause/count" not in result.stats
    assert result.seconds < seconds + 3


def dripped(pieces: list[bytes], every: float):
    """Return an answer that sends pieces one after the other, and then nothing."""

    def answer(request) -> None:
        request.notifyFinish().addErrback(lambda _: None)
        transport = request.channel.transport
        for number, piece in enumerate(pieces):
            later(every * number, transport.write, piece)

    return answer


@ensureDeferred
async def test_a_robots_txt_that_drips_is_obeyed_when_it_is_complete(web):
    """It takes 33 seconds, a byte a second."""
    pieces = [HEAD % len(RULES), *(RULES[n : n + 1] for n in range(len(RULES)))]
    web.wild = dripped(pieces, 1.0)
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert result.stats["mandelbot/robots/rules"] == 1
    assert result.stats["mandelbot/requests/forbidden"] == 1
    assert web.asked("/robots.txt") == 1
    assert "mandelbot/pause/count" not in result.stats


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [HEAD % len(RULES)],
        [HEAD % len(RULES), RULES[:-8]],
        [HEAD % DAY, *[b"#"] * 500],
    ],
    ids=["no byte", "its headers", "half of it", "a byte a second for ever"],
)
@ensureDeferred
async def test_a_robots_txt_that_never_ends_ends_at_the_download_timeout(web, pieces):
    """No page is requested meanwhile, and no second robots.txt."""
    web.wild = dripped(pieces, 1.0)
    settings = {
        **IN_MEMORY,
        "DOWNLOAD_TIMEOUT": 40,
        "CLOSESPIDER_TIMEOUT": 35,
        "CLOSESPIDER_TIMEOUT_NO_ITEM": 0,
    }
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert web.asked("/robots.txt") == 1
    assert len(web.hits) == 1
    assert not result.items
    assert 39 < result.seconds < 60


@ensureDeferred
async def test_a_host_that_is_silent_for_long_is_given_up(web):
    """After one such silence, where the crawl waits for nothing else: it is as long as
    all short tries.
    """
    web.wild = dripped([], 1.0)
    result = await crawl(FailuresSpider, IN_MEMORY, start_urls=[web.url + "/"])
    assert web.asked("/robots.txt") == 1
    assert len(result.failures) == 1
    assert 180 <= result.seconds < 200


@ensureDeferred
async def test_slow_sites_do_not_hold_up_one_that_answers(webs):
    """They are as many as the places for requests."""
    slow = [webs(f"127.0.1.{n}") for n in range(1, 9)]
    for one in slow:
        one.refuse = lambda _path: Answer(delay=10_000.0)
    web = site(webs, 30)
    urls = [*(one.url + "/" for one in slow), web.url + "/"]
    settings = {**IN_MEMORY, "CONCURRENT_REQUESTS": 8, "CLOSESPIDER_ITEMCOUNT": 30}
    settings["DOWNLOAD_TIMEOUT"] = 60
    await crawl(FailuresSpider, settings, start_urls=urls)
    at = sorted(hit.at for hit in web.hits)
    assert len(at) > 30
    assert at[-1] - at[0] < 20


@ensureDeferred
async def test_a_robots_timeout_of_the_project_stays_the_deadline(web):
    """As before: it asks again after this time."""
    web.wild = dripped([], 1.0)
    settings = {**IN_MEMORY, "MANDELBOT_LIMITS": {"robots_timeout": 5}}
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])
    assert web.asked("/robots.txt") == 5
    assert "mandelbot/robots/awaited" not in result.stats


@ensureDeferred
async def test_while_a_copy_serves_no_page_waits_for_a_slow_robots_txt(web, tmp_path):
    """The copy of the day before is used after ten seconds."""
    settings = {"MANDELBOT_STORE": str(tmp_path / "copies.db")}
    settings["MANDELBOT_CACHE"] = {"ttl": 0}
    web.pages["/robots.txt"] = Answer(RULES)
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    web.pages["/robots.txt"] = Answer(RULES, delay=12.0)
    web.hits.clear()
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.stats["mandelbot/robots/stale_used"] >= 1
    assert result.items
    assert result.seconds < 60
