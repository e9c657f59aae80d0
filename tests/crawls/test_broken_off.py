"""A robots.txt that breaks off on its way is no robots.txt, by every download handler
of Scrapy.

Three pages and the one that links to them; the rules close one. What comes of them
would open it.
"""

from __future__ import annotations

import gzip
import sqlite3
import zlib
from contextlib import closing
from functools import partial
from importlib import import_module

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from mandelbot.answers import outcome
from scrapy.utils.reactor import is_asyncio_reactor_installed
from webs import Answer, later
from wildwebs import WildWeb

RULES = b"User-agent: *\nDisallow: /page/1\nDisallow: /page/2\n"
HALF = RULES[:-8]  # cut within a rule, which would close all pages
LINES = b"User-agent: *\nDisallow: /page/1\n"
STATUS = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
LENGTH = b"Content-Length: %d\r\n\r\n" % len(RULES)
CHUNKED = (
    STATUS + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(HALF) + HALF + b"\r\n"
)
LONG = RULES + b"".join(b"Disallow: /%d\n" % (n * 7_919 % 10_007) for n in range(500))
DAY = 86_400
QUICK = {
    "MANDELBOT_STORE": "memory",
    "MANDELBOT_LIMITS": {"robots_timeout": 0.5},
    "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05},
}


def packed(coding: str, body: bytes) -> bytes:
    """Return half of a packed body, with a length that says that it is all."""
    half = body[: len(body) // 2]
    # Closed is said: where the clock is turned, a handler has no time to find out by
    # itself.
    coded = b"Connection: close\r\nContent-Encoding: %s\r\n" % coding.encode()
    return STATUS + coded + b"Content-Length: %d\r\n\r\n" % len(half) + half


# What is sent, one after the other, and what becomes of the connection then; None:
# nothing.
SHAPES = {
    "short of its length": (STATUS + LENGTH + HALF, "loseConnection"),
    "without its last chunk": (CHUNKED, "loseConnection"),
    "with a bad chunk": (CHUNKED, b"zzz\r\nnot a chunk\r\n0\r\n\r\n", "loseConnection"),
    "reset on the way": (STATUS + LENGTH + HALF, "abortConnection"),
    "too slow": (STATUS + LENGTH + HALF, None),
    "half a gzip": (packed("gzip", gzip.compress(LONG, mtime=0)), "loseConnection"),
    "half a deflate": (packed("deflate", zlib.compress(LONG)), "loseConnection"),
}
NONSENSE = {"nonsense": (b"what do you want?\r\n\r\n", "loseConnection")}
HANDLERS = {
    "http11": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler",
    "aiohttp": "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler",
    "httpx": "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler",
}


def broken(shape: str, request) -> None:
    """Answer as no well-made server does."""
    send((SHAPES | NONSENSE)[shape], request)


def send(shape: tuple, request) -> None:
    """Send pieces, and do something to the connection then."""
    *sent, then = shape
    request.notifyFinish().addErrback(lambda _: None)
    transport = request.channel.transport
    for number, piece in enumerate(sent):
        later(0.03 * number, transport.write, piece)
    if then:
        later(0.03 * len(sent), getattr(transport, then))


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.slow] * (name != "http11"))
        for name in HANDLERS
    ]
)
def handler(request):
    """The settings for one of Scrapy's download handlers."""
    path = HANDLERS[request.param]
    if request.param != "http11":
        if not is_asyncio_reactor_installed():
            pytest.skip("it takes asyncio")
        pytest.importorskip(path.rpartition(".")[0])
        if (
            request.param == "httpx"
            and import_module(path.rpartition(".")[0]).httpx is None
        ):
            pytest.skip("neither httpx nor httpx2 is installed")
    return {"DOWNLOAD_HANDLERS": {"http": path, "https": path}}


@pytest.fixture
def web(request):
    """A site whose robots.txt breaks off as often as a test says.

    Time is turned; Twisted's handler needs no socket for that.
    """
    is_twisteds = True
    if "handler" in request.fixturenames:
        settings = request.getfixturevalue("handler")
        is_twisteds = HANDLERS["http11"] in settings["DOWNLOAD_HANDLERS"].values()
    request.getfixturevalue("loop_is_turned" if is_twisteds else "sockets_are_turned")
    web = WildWeb()
    web.listen()
    web.chain(3)
    web.pages["/robots.txt"] = Answer(RULES)
    yield web
    web.close()


def is_lost(result) -> bool:
    return any(name.startswith("robotstxt/exception_count/") for name in result.stats)


def asked_pages(web) -> set[str]:
    return {hit.path for hit in web.hits} - {"/robots.txt"}


@pytest.mark.parametrize("shape", SHAPES)
@ensureDeferred
async def test_a_truncated_robots_txt_pauses_the_site_until_it_is_whole(
    web, handler, shape
):
    """The site pauses, and nothing is asked of it, until the whole file has come."""
    web.wild, web.wild_times = partial(broken, shape), 2
    result = await crawl(LinksSpider, QUICK | handler, start_urls=[web.url + "/"])
    assert [hit.path for hit in web.hits[:3]] == ["/robots.txt"] * 3
    assert asked_pages(web) == {"/", "/page/0"}
    assert result.stats["mandelbot/robots/unavailable"] == 2
    assert result.stats["mandelbot/robots/broken_off"] == 2
    assert result.stats["mandelbot/robots/rules"] == 1
    assert result.logged(f"The robots.txt of {web.url} is truncated after ")


APART = {**QUICK, "MANDELBOT_PAUSE_OPTIONS": {"first": 20}}


@pytest.fixture
def soon(monkeypatch):
    """Stretch half a minute to half an hour, as bytes have to come so far apart."""
    monkeypatch.setattr(outcome, "BROKEN_OFF_APART", 18.0)
    monkeypatch.setattr(outcome, "BROKEN_OFF_SERVES", 60.0)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("shape", SHAPES)
@ensureDeferred
async def test_the_same_half_three_times_apart_is_read_as_far_as_it_goes(
    web, handler, shape
):
    """There is no more of it, it seems: its whole lines are the rules, and half a line
    is none.
    """
    web.wild = partial(broken, shape)
    result = await crawl(LinksSpider, APART | handler, start_urls=[web.url + "/"])
    # Where the handler gives no answer at all, none of the first half is seen, and the
    # status is asked for once more.
    assert web.asked("/robots.txt") == 3 + 2 * is_lost(result)
    pages = (
        {"/", "/page/0"} if shape.startswith("half a") else {"/", "/page/0", "/page/2"}
    )
    assert asked_pages(web) == pages
    assert result.stats["mandelbot/robots/unavailable"] == 2 + is_lost(result)
    assert result.stats["mandelbot/robots/rules"] == 1
    assert any("ends there each time" in line for line in result.messages)


# What says nothing of what is closed, though a line of it is whole.
BARE = {
    "headers alone": b"",
    "half a line": b"User-agent: ",
    "a comment": b"# rules of ours\nUser-ag",
    "an agent": b"User-agent: *\nDisall",
    "a sitemap": b"Sitemap: /map.xml\n\nUser-agent: *\n",
}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("came", BARE.values(), ids=BARE)
@ensureDeferred
async def test_what_dies_before_its_first_rule_never_opens_a_site(web, handler, came):
    """However often it does: the site is given up, and no page was asked for."""
    web.wild = partial(send, (STATUS + LENGTH + came, "loseConnection"))
    settings = {
        **APART,
        **handler,
        "MANDELBOT_PAUSE_OPTIONS": {"first": 20, "tries": 4},
    }
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert asked_pages(web) == set()
    assert web.asked("/robots.txt") >= 5
    assert result.stats["mandelbot/pause/given_up"] == 1
    assert "mandelbot/robots/rules" not in result.stats
    assert "mandelbot/robots/allow_all" not in result.stats


@ensureDeferred
async def test_an_origin_that_dies_three_times_and_is_well_then_opens_nothing(web):
    """Its rules are those that it has in the end."""
    web.wild, web.wild_times = partial(send, (STATUS + LENGTH, "loseConnection")), 4
    result = await crawl(LinksSpider, QUICK, start_urls=[web.url + "/"])
    assert asked_pages(web) == {"/", "/page/0"}
    assert result.stats["mandelbot/robots/rules"] == 1


@pytest.mark.usefixtures("soon")
@ensureDeferred
async def test_half_a_file_serves_for_an_hour_and_this_run_alone(web, tmp_path):
    """Then it is asked for again; the same bytes serve on, and the whole file is what
    counts.
    """
    store = str(tmp_path / "copies.db")
    settings = APART | {
        "MANDELBOT_STORE": store,
        "MANDELBOT_CRAWL_DELAYS": {"127.0.0.1": 40},
    }
    web.wild = partial(broken, "short of its length")
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert web.asked("/robots.txt") > 3
    assert result.stats["mandelbot/robots/rules"] == web.asked("/robots.txt") - 2
    with closing(sqlite3.connect(store)) as database:
        ((copies,),) = database.execute("SELECT count(*) FROM copies")
    assert copies == 0
    web.wild = None
    web.hits.clear()
    await crawl(
        LinksSpider, QUICK | {"MANDELBOT_STORE": store}, start_urls=[web.url + "/"]
    )
    assert asked_pages(web) == {"/", "/page/0"}


@pytest.mark.parametrize("shape", ["short of its length", "too slow", "half a gzip"])
@ensureDeferred
async def test_a_good_copy_serves_on(web, tmp_path, shape):
    """Half a file does not take its place, and the site is not paused for it."""
    settings = {**QUICK, "MANDELBOT_STORE": str(tmp_path / "copies.db")}
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    with closing(sqlite3.connect(settings["MANDELBOT_STORE"])) as database:
        database.execute("UPDATE copies SET fetched_at = fetched_at - ?", (3 * DAY,))
        database.commit()
    web.wild = partial(broken, shape)
    web.hits.clear()
    settings["MANDELBOT_PAUSE_OPTIONS"] = {"first": 60}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert asked_pages(web) == {"/", "/page/0"}
    assert result.stats["mandelbot/robots/stale_used"] == 1
    assert "mandelbot/pause/count" not in result.stats
    with closing(sqlite3.connect(settings["MANDELBOT_STORE"])) as database:
        ((body,),) = database.execute("SELECT length(body) FROM copies")
    assert body > 0


@ensureDeferred
async def test_halves_that_differ_are_never_read(web):
    """What comes is another part each time: the site is given up, and no page was asked
    for.
    """
    ends = iter(range(1, len(HALF)))

    def shorter(request):
        request.notifyFinish().addErrback(lambda _: None)
        request.channel.transport.write(STATUS + LENGTH + HALF[: -next(ends)])
        request.channel.transport.loseConnection()

    web.wild = shorter
    settings = {**QUICK, "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 5}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert asked_pages(web) == set()
    assert web.asked("/robots.txt") == 6
    assert result.stats["mandelbot/pause/given_up"] == 1
    assert "downloader/response_status_count/200" in result.stats
    assert "item_scraped_count" not in result.stats


@ensureDeferred
async def test_what_makes_no_sense_is_waited_for(web, handler):
    """A host that answers, were it rubbish, is no dead one: it has the pauses of a
    site.
    """
    web.wild = partial(broken, "nonsense")
    settings = {
        **QUICK,
        **handler,
        "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 4},
    }
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert asked_pages(web) == set()
    assert result.stats["mandelbot/robots/unavailable"] == 5
    assert "mandelbot/robots/unanswered" not in result.stats


@ensureDeferred
async def test_half_an_error_page_is_an_error_page(web):
    """A status says all that a 404 has to say."""

    def missing(request):
        request.setResponseCode(404)
        request.setHeader("Content-Length", "1000")
        request.write(HALF)
        request.channel.transport.loseConnection()

    web.wild = missing
    result = await crawl(LinksSpider, QUICK, start_urls=[web.url + "/"])
    assert len(result.items) == 4
    assert result.stats["mandelbot/robots/allow_all"] == 1
