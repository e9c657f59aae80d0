"""Failures that may be a page's or its site's: which are RetryMiddleware's, and which
are waited out.
"""

from __future__ import annotations

import pytest
import scrapy
from crawling import FailuresSpider, crawl, ensureDeferred
from loop_time import TIME
from twisted.internet.protocol import Protocol
from webs import Answer, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")

QUICK = {"CONCURRENT_REQUESTS_PER_DOMAIN": 8, "MANDELBOT_STORE": "memory"}
STOCK = {"ADDONS": {}, "ROBOTSTXT_OBEY": True, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}


class ListSpider(FailuresSpider):
    """Asks for each of its URLs once."""

    def parse(self, response):
        yield {"url": response.url, "status": response.status}


def failing(webs, fails, pages=60):
    """Start a site of pages; `fails` returns what one says in place of a page."""
    web = site(webs, pages, delay=0.05)
    web.refuse = lambda path: fails(path) if path.startswith("/page/") else None
    return web, [f"{web.url}/page/{number}" for number in range(pages)]


def number_of(path: str) -> int:
    return int(path.rpartition("/")[2])


@pytest.mark.parametrize("status", [500, 502, 504, 522])
@ensureDeferred
async def test_pages_that_fail_at_a_site_that_is_well_fail_as_in_stock(webs, status):
    """As many tries, their answer for the spider, and nothing is paused."""

    def fails(path):
        return Answer(status=status) if number_of(path) % 3 == 1 else None

    _, urls = failing(webs, fails, pages=30)
    stock = await crawl(ListSpider, STOCK, start_urls=urls)
    ours = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(ours.items) == len(stock.items) == 20
    assert len(ours.failures) == len(stock.failures) == 10
    assert ours.stats["retry/count"] == stock.stats["retry/count"] == 10
    assert "mandelbot/pause/count" not in ours.stats


@pytest.mark.parametrize("first", [20, 52])
@ensureDeferred
async def test_pages_that_hang_cost_no_more_time_than_in_stock(webs, first):
    """Wherever they stand: at the end nothing else answers, and a page is asked again
    that was well.
    """

    def fails(path):
        return Answer(delay=30) if first <= number_of(path) < first + 8 else None

    _, urls = failing(webs, fails)
    more = {"DOWNLOAD_TIMEOUT": 2}
    stock = await crawl(ListSpider, STOCK | more, start_urls=urls)
    ours = await crawl(ListSpider, QUICK | more, start_urls=urls)
    assert len(ours.items) == len(stock.items) == 52
    assert len(ours.failures) == len(stock.failures) == 8
    assert ours.seconds < stock.seconds + 4
    assert "mandelbot/pause/count" not in ours.stats


@ensureDeferred
async def test_an_application_that_is_restarted_behind_a_proxy_loses_nothing(webs):
    """It says 502 without a time for four seconds; hardly anything is sent meanwhile,
    and the tries that this cost are given back.
    """
    began = []

    def fails(path):
        if number_of(path) >= 20:
            began.append(TIME.elapsed())
        if began and TIME.elapsed() < began[0] + 4:
            return Answer(status=502)
        return None

    web, urls = failing(webs, fails)
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.items) == 60
    assert not result.failures
    assert sum(hit.status == 502 for hit in web.hits) < 30
    assert result.stats["mandelbot/pause/count"] == 1


@ensureDeferred
async def test_an_outage_that_nobody_stated_is_waited_for_six_minutes(webs):
    """A broken deploy says 500 to all, for good. Then all fail, and no sooner."""
    began = []

    def fails(path):
        if number_of(path) >= 20:
            began.append(path)
        return Answer(status=500) if began else None

    web, urls = failing(webs, fails)
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.items) + len(result.failures) == 60
    assert 364 <= result.seconds < 500
    assert sum(hit.status == 500 for hit in web.hits) < 100


@ensureDeferred
async def test_a_page_that_takes_its_site_down_is_given_up_alone(webs):
    """Each time it is asked for, all pages fail for two seconds."""
    down = [-10.0]

    def fails(path):
        if number_of(path) == 20 and TIME.elapsed() > down[0] + 2:
            down[0] = TIME.elapsed()
        return Answer(status=502) if TIME.elapsed() < down[0] + 2 else None

    web, urls = failing(webs, fails)
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.items) == 59
    assert len(result.failures) == 1
    assert sum(hit.path == "/page/20" for hit in web.hits) <= 9


@ensureDeferred
async def test_a_status_that_the_spider_handles_says_nothing_of_its_site(webs):
    class Handles(ListSpider):
        handle_httpstatus_list = (502,)

    _, urls = failing(webs, lambda _path: Answer(status=502))
    result = await crawl(Handles, QUICK, start_urls=urls)
    assert [one["status"] for one in result.items] == 60 * [502]
    assert "mandelbot/pause/asked_again" not in result.stats


@ensureDeferred
async def test_a_site_that_never_answered_a_page_well_fails_as_in_stock(webs):
    """Nothing says that it will: no page is waited for."""
    _, urls = failing(webs, lambda _path: Answer(status=502))
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.failures) == 60
    assert result.stats["retry/count"] == 60
    assert "mandelbot/pause/count" not in result.stats


@ensureDeferred
async def test_without_pause_statuses_nothing_is_paused(webs):
    def fails(path):
        return Answer(status=502) if number_of(path) >= 20 else None

    _, urls = failing(webs, fails)
    settings = {**QUICK, "MANDELBOT_PAUSE_HTTP_CODES": []}
    result = await crawl(ListSpider, settings, start_urls=urls)
    assert len(result.failures) == 40
    assert "mandelbot/pause/asked_again" not in result.stats


@ensureDeferred
async def test_posts_that_fail_are_the_pages(webs):
    """A page that is read is well: nothing is paused."""

    class Posts(ListSpider):
        async def start(self):
            for url in self.start_urls:
                method = "POST" if number_of(url) >= 20 else "GET"
                yield scrapy.Request(url, method=method, errback=self.failed)

    def fails(path):
        return Answer(status=502) if number_of(path) >= 20 else None

    _, urls = failing(webs, fails)
    result = await crawl(Posts, QUICK, start_urls=urls)
    assert len(result.items) == 20
    assert len(result.failures) == 40
    assert "mandelbot/pause/count" not in result.stats


def accept_few(web, most: int) -> list[int]:
    """Let a site reset further connections; return a list that gets an entry for each
    of these.
    """
    factory = web._port.factory
    build = factory.buildProtocol
    open_ = set()
    resets = []

    class Reset(Protocol):
        def connectionMade(self):  # noqa: N802 -- Twisted's name
            resets.append(len(open_))
            self.transport.abortConnection()

    def few(address):
        if len(open_) >= most:
            return Reset()
        channel = build(address)
        ends = channel.connectionLost
        open_.add(channel)

        def lost(reason):
            open_.discard(channel)
            ends(reason)

        channel.connectionLost = lost
        return channel

    factory.buildProtocol = few
    return resets


def by_connection(web, is_broken, status: int = 502) -> list[int]:
    """Let a site answer so to all that comes by a broken connection.

    `is_broken` gets the number of a connection, the first being 1, and how many were
    made. Returns a list that gets the number of each request's connection.
    """
    numbers = {}
    asked = []
    pages = dict(web.pages)

    def answer(request):
        path = request.uri.decode()
        number = numbers.setdefault(request.channel, len(numbers) + 1)
        asked.append(number)
        if path.startswith("/page/") and is_broken(number, len(numbers)):
            return Answer(b"broken", status, delay=0.02)
        return pages[path]

    web.pages.update(dict.fromkeys(pages, answer))
    return asked


@pytest.mark.parametrize("status", [500, 502])
@ensureDeferred
async def test_a_broken_server_that_gets_one_connection_in_four_costs_no_page(
    webs, status
):
    """Its connections are closed when they fail, and not used again."""
    web, urls = failing(webs, lambda _path: None)
    asked = by_connection(web, lambda number, _: number % 4 == 3, status)
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.items) == 60
    assert not result.failures
    assert sum(number % 4 == 3 for number in asked) <= 12


@pytest.mark.parametrize("status", [502, 503])
@ensureDeferred
async def test_a_site_is_well_by_new_connections_alone(webs, status):
    """Those that are open lead to a server that is gone."""
    web, urls = failing(webs, lambda _path: None)
    old = []

    def is_broken(number, made):
        if len(asked) > 20 and not old:
            old.append(made)
        return bool(old) and number <= old[0]

    asked = by_connection(web, is_broken, status)
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.items) == 60
    assert not result.failures
    assert result.stats["elapsed_time_seconds"] < 10


@ensureDeferred
async def test_connections_are_not_closed_for_pages_that_are_dead(webs):
    """But for the first few failures."""
    web, urls = failing(webs, lambda _path: None)
    asked = by_connection(web, lambda _number, _made: False)
    web.refuse = lambda path: (
        Answer(status=502)
        if path.startswith("/page/") and number_of(path) % 2
        else None
    )
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.items) == 30
    assert len(result.failures) == 30
    assert len(set(asked)) <= 8 + 16 + 1


@ensureDeferred
async def test_a_site_that_resets_further_connections_gets_no_more_at_once(webs):
    """Its pages are all got, few are reset, and nothing is paused; the log says how
    many it accepts.
    """
    web, urls = failing(webs, lambda _path: None)
    resets = accept_few(web, 3)
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.items) == 60
    assert not result.failures
    assert len(resets) <= 16
    assert "mandelbot/pause/count" not in result.stats
    assert result.stats["mandelbot/concurrency/lowered"] == 1


@pytest.mark.parametrize("status", [502, 503])
@ensureDeferred
async def test_dead_pages_among_good_ones_do_not_hold_their_site(webs, status):
    """Those that are refused for ever are given up as docs/pauses.rst says."""

    def fails(path):
        return Answer(status=status) if number_of(path) % 20 == 0 else None

    _, urls = failing(webs, fails)
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.items) == 57
    assert len(result.failures) == 3
    assert result.seconds <= 420


@ensureDeferred
async def test_pages_that_break_off_are_answered_by_their_site(webs):
    """They are RetryMiddleware's, and their site is not in doubt."""

    def fails(path):
        if number_of(path) < 52:
            return None
        return Answer(b"short", headers={"Content-Length": "5000"}, delay=0.01)

    _, urls = failing(webs, fails)
    result = await crawl(ListSpider, QUICK, start_urls=urls)
    assert len(result.items) == 52
    assert len(result.failures) == 8
    assert "mandelbot/pause/asked_again" not in result.stats


class OnceSpider(ListSpider):
    """Asks for each of its URLs once, also over two runs."""

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, errback=self.failed)


@ensureDeferred
async def test_the_next_run_gives_the_tries_of_an_outage_back(webs, tmp_path):
    """The previous run was left in the middle of it. Each page fails once more then."""
    runs = [1]
    failed = set()
    again = set()

    def fails(path):
        if runs == [1] and (failed or number_of(path) == 30):
            failed.add(path)
            return Answer(status=502)
        if path in failed and path not in again:
            again.add(path)
            return Answer(status=502)
        return None

    _, urls = failing(webs, fails)
    settings = {**QUICK, "JOBDIR": str(tmp_path / "job")}
    close = settings | {"MANDELBOT_PAUSE_IDLE": "close"}
    one = await crawl(OnceSpider, close, start_urls=urls)
    assert one.stats["finish_reason"] == "sites_paused"
    runs.append(2)
    wait = settings | {"MANDELBOT_PAUSE_IDLE": "wait"}
    two = await crawl(OnceSpider, wait, start_urls=urls)
    assert len(one.failures) + len(two.failures) <= 1, "it may be why"
    assert len(one.items) + len(two.items) >= 59


@ensureDeferred
async def test_pages_that_hang_before_any_was_well_keep_no_other_waiting(webs):
    """The site has answered with its robots.txt only. No page can be asked again, and
    those that are sent next are well.
    """

    def fails(path):
        return Answer(delay=30) if number_of(path) < 8 else None

    _, urls = failing(webs, fails)
    more = {"DOWNLOAD_TIMEOUT": 2}
    stock = await crawl(ListSpider, STOCK | more, start_urls=urls)
    ours = await crawl(ListSpider, QUICK | more, start_urls=urls)
    assert len(ours.items) == len(stock.items) == 52
    assert len(ours.failures) == 8
    assert ours.seconds < stock.seconds + 2
    assert "mandelbot/pause/count" not in ours.stats


@ensureDeferred
async def test_a_site_that_hangs_before_any_page_was_well_is_not_waited_for(webs):
    """Only its robots.txt was well: each page has its tries, as in stock Scrapy."""

    def fails(_path):
        return Answer(delay=30) if TIME.elapsed() < began + 8 else None

    _, urls = failing(webs, fails)
    began = TIME.elapsed()
    result = await crawl(ListSpider, QUICK | {"DOWNLOAD_TIMEOUT": 2}, start_urls=urls)
    assert len(result.items) == 60
    assert not result.failures
    assert result.seconds < 12
    assert "mandelbot/pause/count" not in result.stats


@pytest.mark.parametrize(
    "more",
    [
        {"RETRY_ENABLED": False},
        {"RETRY_HTTP_CODES": [503]},
        {"status": 521},
    ],
    ids=str,
)
@ensureDeferred
async def test_an_outage_pauses_where_nothing_is_retried(webs, more):
    """What was sent before the pause fails, as stock Scrapy does not retry it; no page
    more.
    """
    status = more.get("status", 502)
    began = []

    def fails(path):
        if number_of(path) >= 20:
            began.append(TIME.elapsed())
        if began and TIME.elapsed() < began[0] + 4:
            return Answer(status=status)
        return None

    _, urls = failing(webs, fails)
    settings = {key: value for key, value in more.items() if key.isupper()}
    result = await crawl(ListSpider, QUICK | settings, start_urls=urls)
    assert len(result.items) + len(result.failures) == 60
    assert len(result.failures) <= 16, "two rounds of eight"
    assert result.stats["mandelbot/pause/count"] == 1
