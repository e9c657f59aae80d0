"""A site with a pace, asked by one run after another: the next comes no sooner than
asked.

Between two runs the clock is turned, so that no test waits for a minute.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from webs import Answer, html

pytestmark = pytest.mark.usefixtures("loop_is_turned")

HAIR = 0.05  # seconds; between a site's look at its clock and ours
COUNTS = tuple(f"mandelbot/pace/{name}" for name in ("sites", "restored", "waited"))


@pytest.fixture
def turn_clock():
    """Return what turns the clock of the crawls that begin from now on, by seconds from
    now.
    """
    began = TIME.now() - TIME.elapsed()

    def turn(seconds: float) -> None:
        TIME.skip(began + TIME.elapsed() + seconds - TIME.now())

    return turn


@pytest.fixture
def web(webs):
    web = webs()
    web.pages |= {
        "/": html(),
        "/1": html(),
        "/robots.txt": Answer(b"User-agent: *\nDisallow:"),
    }
    return web


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store.db"


async def run(web, store, path: str = "/", **settings):
    """Crawl one page; return when the first request came, and the counts."""
    before = len(web.hits)
    settings = {"MANDELBOT_STORE": str(store), **settings}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + path])
    assert result.urls() == [web.url + path]
    assert "log_count/ERROR" not in result.stats
    return web.hits[before].at, [result.stats.get(name, 0) for name in COUNTS]


def by_hand(seconds: float) -> dict[str, object]:
    return {"ROBOTSTXT_OBEY": False, "MANDELBOT_CRAWL_DELAYS": {"127.0.0.1": seconds}}


@ensureDeferred
async def test_a_delay_by_hand_holds_from_one_run_to_the_next(web, store, turn_clock):
    """Two seconds of the minute are left when the next one begins, and it waits for
    them.
    """
    first, counts = await run(web, store, **by_hand(60))
    assert counts == [1, 0, 0]
    turn_clock(58)
    second, counts = await run(web, store, "/1", **by_hand(60))
    assert counts == [1, 1, 1]
    assert second - first >= 2 - HAIR


@ensureDeferred
async def test_so_does_the_delay_of_a_robots_txt(web, store, turn_clock):
    """Its copy is known, so the first thing that is asked for is a page."""
    web.pages["/robots.txt"].body += b"\nCrawl-delay: 60"
    await run(web, store)  # which obeys no pace
    first, counts = await run(web, store, MANDELBOT_PACE="obey")
    assert counts == [1, 0, 0]
    turn_clock(58)
    second, counts = await run(web, store, "/1", MANDELBOT_PACE="obey")
    assert counts == [1, 1, 1]
    assert second - first >= 2 - HAIR
    assert web.asked("/robots.txt") == 1


@ensureDeferred
async def test_a_robots_txt_waits_as_a_page_does(web, store, turn_clock):
    """No copy serves any more, so it is asked for first, and not too soon; then it
    decides.
    """
    web.pages["/robots.txt"].body += b"\nCrawl-delay: 60"
    await run(web, store)
    first, _ = await run(web, store, MANDELBOT_PACE="obey")
    turn_clock(58)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow:")
    settings = {"MANDELBOT_PACE": "obey", "MANDELBOT_CACHE": {"ttl": 0}}
    second, counts = await run(web, store, "/1", **settings)
    assert counts == [0, 1, 1]
    assert second - first >= 2 - HAIR
    assert [hit.path for hit in web.hits[-2:]] == ["/robots.txt", "/1"]
    assert web.hits[-1].at - web.hits[-2].at < 5, "it asks for no delay any more"


@ensureDeferred
async def test_a_delay_that_nobody_obeys_any_more_is_not_waited_for(
    web, store, turn_clock
):
    """Be there paces for other sites or none at all."""
    await run(web, store, **by_hand(60))
    turn_clock(1)
    _, counts = await run(web, store, "/1", MANDELBOT_CRAWL_DELAYS={"example.com": 5})
    assert counts == [0, 0, 0]
    _, counts = await run(web, store, "/1")
    assert counts == [0, 0, 0]


@pytest.mark.parametrize(
    ("clock", "delay", "waits"),
    [
        (-86_400, 1, 1),
        (-5, 1, 1),
        (0, 0, 0),
        (61, 60, 0),
        (86_400, 60, 0),
    ],
    ids=[
        "the clock was set back",
        "a shorter delay",
        "no delay",
        "it is over",
        "long over",
    ],
)
@ensureDeferred
async def test_nobody_waits_longer_than_is_asked_for_now(  # noqa: PLR0917 -- fixtures and cases
    web, store, turn_clock, clock, delay, waits
):
    """Whatever the clock or the delay was when the last run ended."""
    first, _ = await run(web, store, **by_hand(60))
    turn_clock(clock)
    second, counts = await run(web, store, "/1", **by_hand(delay))
    assert counts == [delay > 0, waits, waits]
    assert second - first < 30


@ensureDeferred
async def test_a_turn_is_in_the_file_before_the_page_is_answered(web, store):
    """A kill -9 loses none of it."""
    kept = []

    def look() -> None:
        with closing(sqlite3.connect(store)) as database:
            kept.extend(database.execute("SELECT site, due FROM turns"))

    def page(_request) -> Answer:
        from twisted.internet import reactor

        reactor.callLater(0.2, look)
        return Answer(b"<html></html>", delay=0.4)

    web.pages["/"] = page
    began = TIME.now()
    await run(web, store, **by_hand(60))
    ((site, due),) = kept
    assert site == web.url
    assert began + 60 - HAIR < due < TIME.now() + 60 - 0.4 + HAIR


@pytest.mark.parametrize(
    "settings",
    [
        {"ROBOTSTXT_OBEY": False},
        {"MANDELBOT_PACE": "obey"},
    ],
    ids=["no pace", "none asks for one"],
)
@ensureDeferred
async def test_runs_without_a_delay_write_nothing_of_it(web, store, settings):
    """Not a row."""
    await run(web, store, **settings)
    with closing(sqlite3.connect(store)) as database:
        assert database.execute("SELECT * FROM turns").fetchall() == []
