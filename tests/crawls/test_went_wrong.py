"""The table *My crawl went wrong* of the documentation: crawls end with its lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from crawling import Crawled, LinksSpider, crawl, ensureDeferred
from pages import page
from redis_server import NEEDS_REDIS
from scrapy.exceptions import CloseSpider
from scrapy.utils.defer import maybe_deferred_to_future
from test_first_word import (
    AlwaysRaisingSpider,
    FullDisk,
    ItemsSpider,
    RaisingPipeline,
    RaisingSpider,
    last_line,
)
from test_job_promise import Breaks, CannotWriteTheEnd, after_three_deaths, tree
from test_network_down import SETTINGS as CUT_OFF
from test_network_down import MeetsSpider
from test_network_down import sites as known_and_new
from test_sections import shop
from twisted.internet.defer import Deferred, DeferredList
from webs import Answer, Closed, Web, site

from scrapy_mandelbot.report.account import account_of
from scrapy_mandelbot.report.judgement import HOW_RUNS_END, RULES

PAGE = "went_wrong"
VARIES = "…"
"""What stands for text that differs from crawl to crawl, in the lines of the page."""
FOR_EVER = 10**6  # seconds


class Given(NamedTuple):
    """What a crawl is given to go wrong with."""

    webs: Callable[..., Web]
    folder: Path
    redis: str = ""
    """The address of an empty Redis."""


class Ending(NamedTuple):
    """A crawl that ends with a line of the page."""

    run: Callable[[Given], Awaitable[Crawled]]
    rule: str
    """The rule of the first word that makes it so; empty: none, it is OK."""
    needs_redis: bool


ENDINGS: dict[str, Ending] = {}
"""By their lines, in the order of the page."""


def ends_with(line: str, rule: str = "", *, needs_redis: bool = False):
    """Add a crawl that ends with this line."""

    def add(run):
        assert line not in ENDINGS
        ENDINGS[line] = Ending(run, rule, needs_redis)
        return run

    return add


def lines(*, needs_redis: bool) -> list[str]:
    return [line for line, one in ENDINGS.items() if one.needs_redis == needs_redis]


class Stopped(LinksSpider):
    """Is stopped in its first callback."""

    reason = "shutdown"

    def parse(self, response):
        yield from super().parse(response)
        raise CloseSpider(self.reason)


class StoppedAtOnce(LinksSpider):
    async def start(self):
        raise CloseSpider("memusage_exceeded")
        yield


class AsksTheEngine(LinksSpider):
    """Fetches a page in a callback, as a pipeline for files does."""

    async def parse(self, response):
        other = response.follow(response.css("a::attr(href)").get())
        await self.crawler.engine.download_async(other)
        yield {"url": response.url}


class RaisingMiddleware:
    def process_request(self, request):
        if "/page/" in request.url:
            raise KeyError("proxy")


def closed_after(webs, pages: int, seconds: float = FOR_EVER, **refusal) -> Web:
    """Return a site of eleven pages that goes down after so many."""
    web = site(webs, 10)
    web.refuse = Closed(seconds, after=pages, **refusal)
    return web


def always(webs, answer: Answer) -> Web:
    """Return a site that answers so, whatever the page."""
    web = site(webs, 10)
    web.refuse = lambda path: None if path == "/robots.txt" else answer
    return web


def gone(webs) -> str:
    """Return the URL of a server that accepts no connections."""
    web = site(webs, 1)
    url = web.url + "/"
    web.close()
    return url


@ends_with("FAILED: … Nothing was requested: no start URL?", "nothing requested")
async def no_start_url(given):
    return await crawl(LinksSpider, {}, start_urls=[])


@ends_with(
    "FAILED: Stopped after … (memusage_exceeded). … Nothing was requested.",
    "nothing requested",
)
async def stopped_at_once(given):
    return await crawl(StoppedAtOnce, {})


@ends_with(
    "FAILED: … No host was found (DNS), such as …: is the network up?", "no such host"
)
async def no_host(given):
    return await crawl(
        LinksSpider, {"DNS_TIMEOUT": 1}, start_urls=["http://a.invalid/"]
    )


@ends_with(
    "FAILED: … connection refused); … Nothing accepts connections there: is it down"
    " for good?",
    "no answer",
)
async def nothing_accepts_connections(given):
    settings = {"ROBOTSTXT_OBEY": False}
    return await crawl(LinksSpider, settings, start_urls=[gone(given.webs)])


@ends_with(
    "FAILED: … Of hosts that never answered, robots.txt alone was asked for: see the"
    " warnings.",
    "no answer",
)
async def never_answered(given):
    return await crawl(LinksSpider, {}, start_urls=[gone(given.webs)])


@ends_with("FAILED: Stopped after … (the job could not be saved). …", "exit status")
async def job_not_saved(given):
    web = tree(given.webs)
    settings = {"JOBDIR": str(given.folder / "job"), "CONCURRENT_REQUESTS": 1}
    return await crawl(CannotWriteTheEnd, settings, start_urls=[web.url + "/"])


@ends_with(
    "FAILED: Stopped after … (the job could not be read). … See the error in the log.",
    "exit status",
)
async def job_unreadable(given):
    web = tree(given.webs)
    settings = {"JOBDIR": str(given.folder / "job"), "ROBOTSTXT_OBEY": False}
    return await crawl(Breaks, settings, start_urls=[web.url + "/"])


@ends_with(
    "FAILED: Stopped after … (Redis has lost the job).",
    "exit status",
    needs_redis=True,
)
async def job_forgotten(given):
    from redis import Redis

    web = tree(given.webs)

    class Emptying(LinksSpider):
        def parse(self, response):
            if response.url == web.url + "/1":
                with Redis.from_url(given.redis) as redis:
                    redis.flushall()
            yield from super().parse(response)

    settings = {"MANDELBOT_JOB": given.redis, "CONCURRENT_REQUESTS": 1}
    return await crawl(Emptying, settings, start_urls=[web.url + "/"])


@ends_with(
    "FAILED: … Exit status 1: MANDELBOT_EXIT_STATUS names 'lost'.", "exit status"
)
async def a_kind_that_the_project_names(given):
    web = always(given.webs, Answer(status=503))
    settings = {"MANDELBOT_EXIT_STATUS": "lost"}
    settings["MANDELBOT_PAUSE_OPTIONS"] = {"total": 5}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ends_with("INCOMPLETE: … No site answered at the end: is the network up?", "lost")
async def network_down(given):
    known, new = known_and_new(given.webs, 3, 3)
    settings = {**CUT_OFF, "MANDELBOT_PAUSE_OPTIONS": {"total": 120}}
    return await crawl(MeetsSpider, settings, known=known, new=new, lasts=FOR_EVER)


@ends_with(
    "INCOMPLETE: … 8 requests failed (8 of sites that were given up, such as …: 503 for"
    " …; MANDELBOT_PAUSE_OPTIONS['total'] is over); …",
    "lost",
)
async def given_up_by_total(given):
    web = closed_after(given.webs, 3)
    settings = {"MANDELBOT_PAUSE_OPTIONS": {"total": 5}}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: … 8 requests failed (8 of sites that were given up, such as …: 503 to"
    " the last try); … Raise MANDELBOT_PAUSE_OPTIONS['tries'] to wait longer for such"
    " sites.",
    "lost",
)
async def given_up_by_tries(given):
    web = closed_after(given.webs, 3)
    settings = {"MANDELBOT_PAUSE_OPTIONS": {"tries": 2}}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: … 20 requests failed (20 of sections that were given up, such as …:"
    " 503 to the last try); …",
    "lost",
)
async def section_given_up(given):
    web = shop(given.webs, 60)
    return await crawl(LinksSpider, {}, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: … 1 request failed (1 given up, as its page alone is refused, …); …",
    "lost",
)
async def page_given_up(given):
    web = site(given.webs, 10)
    web.pages["/page/3"] = Answer(status=503)
    return await crawl(LinksSpider, {}, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: … 1 request failed (1 without an answer, such as …: no answer in"
    " time); … Raise RETRY_TIMES to retry more often.",
    "lost",
)
async def page_that_hangs(given):
    web = site(given.webs, 9)
    web.pages["/page/3"].delay = FOR_EVER
    settings = {"DOWNLOAD_TIMEOUT": 10}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: … 1 request failed (1 answered with 5xx by a site in doubt, such as …:"
    " 500 to the last try); …",
    "lost",
)
async def site_that_fails(given):
    web = always(given.webs, Answer(status=500))
    return await crawl(LinksSpider, {}, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: … 1 request failed (1 that waited too long, …); … Raise"
    " MANDELBOT_PAUSE_OPTIONS['wait'] to wait longer outside the queue.",
    "lost",
)
async def waited_too_long(given):
    web = closed_after(given.webs, 1, 100, retry_after="100")
    settings = {"MANDELBOT_PAUSE_OPTIONS": {"wait": 1}}
    return await crawl(AsksTheEngine, settings, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: … 10 requests failed (10 ended by an error in the project, …); …",
    "lost",
)
async def middleware_that_raises(given):
    web = site(given.webs, 10)
    settings = {"DOWNLOADER_MIDDLEWARES": {RaisingMiddleware: 50}}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ends_with("INCOMPLETE: … 0 pages. 1 answer of 404. No page came.", "no page")
async def not_found(given):
    web = always(given.webs, Answer(status=404))
    return await crawl(LinksSpider, {}, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: … 1 site does not let the crawler in (such as …: 5 of 11 answers are"
    " 401, 403 or 407).",
    "denied",
)
async def denied(given):
    web = site(given.webs, 10)
    for number in range(5):
        web.pages[f"/page/{number}"] = Answer(status=403)
    return await crawl(LinksSpider, {}, start_urls=[web.url + "/"])


@ends_with("INCOMPLETE: … 1 site forbade all requests, such as ….", "forbidden")
async def forbidden(given):
    web = site(given.webs, 10)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n")
    return await crawl(LinksSpider, {}, start_urls=[web.url + "/"])


@ends_with("INCOMPLETE: … 4 callbacks failed (KeyError).", "callbacks")
async def callbacks_that_raise(given):
    web = site(given.webs, 4)
    return await crawl(AlwaysRaisingSpider, {}, start_urls=[web.url + "/"])


@ends_with("INCOMPLETE: … 5 items failed in a pipeline (ValueError).", "items")
async def pipeline_that_raises(given):
    web = site(given.webs, 4)
    settings = {"ITEM_PIPELINES": {RaisingPipeline: 300}}
    return await crawl(ItemsSpider, settings, start_urls=[web.url + "/"])


@ends_with("INCOMPLETE: … 5 items could not be written (OSError).", "unwritten")
async def feed_without_room(given):
    web = site(given.webs, 4)
    settings = {
        "FEEDS": {str(given.folder / "items.full"): {"format": "full"}},
        "FEED_EXPORTERS": {"full": FullDisk},
    }
    return await crawl(ItemsSpider, settings, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: … Not as expected: 5 pages, at least 10 expected.", "expectations"
)
async def fewer_than_expected(given):
    web = site(given.webs, 4)
    settings = {"MANDELBOT_EXPECT": {"pages": 10}}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: Stopped after … (Ctrl-C or SIGTERM). … 3 requests were not sent. Set"
    " JOBDIR to store such requests for the next run.",
    "left",
)
async def stopped_by_hand(given):
    web = site(given.webs, 10)
    return await crawl(Stopped, {}, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: Stopped after … (Ctrl-C or SIGTERM). … 3 requests wait. Run the same"
    " command to continue.",
    "stopped",
)
async def stopped_by_hand_with_a_job(given):
    web = site(given.webs, 10)
    settings = {"JOBDIR": str(given.folder / "job")}
    return await crawl(Stopped, settings, start_urls=[web.url + "/"])


@ends_with("INCOMPLETE: Stopped after … (closespider_errorcount). …", "stopped")
async def stopped_by_a_limit(given):
    web = site(given.webs, 10)
    settings = {"CLOSESPIDER_ERRORCOUNT": 1}
    return await crawl(RaisingSpider, settings, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: Stopped after … (only what is paused or given up is left). … 8"
    " requests wait (next at …). Run the same command to continue.",
    "left",
)
async def only_paused_sites_left(given):
    web = closed_after(given.webs, 3)
    settings = {"JOBDIR": str(given.folder / "job"), "MANDELBOT_PAUSE_IDLE": 0}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ends_with(
    "INCOMPLETE: Finished after … (but for requests set aside, which `scrapy robots"
    " job` lists). … 1 request is set aside, such as ….",
    "stopped",
)
async def requests_set_aside(given):
    other = given.webs("127.0.0.2")
    other.pages["/robots.txt"] = Answer(status=404, delay=9.0)
    settings = {"ROBOTSTXT_OBEY": True, "DOWNLOAD_TIMEOUT": 30}
    folder = given.folder / "job"
    return await after_three_deaths(given.webs, folder, other, **settings)


@ends_with("OK: Finished after … 11 pages.")
async def all_pages(given):
    web = site(given.webs, 10)
    return await crawl(LinksSpider, {}, start_urls=[web.url + "/"])


@ends_with(
    "OK: Finished after … (within MANDELBOT_SITE_BUDGET). … 9 requests wait. Raise"
    " MANDELBOT_SITE_BUDGET to continue."
)
async def within_the_budget(given):
    web = site(given.webs, 10)
    settings = {"JOBDIR": str(given.folder), "MANDELBOT_SITE_BUDGET": {"pages": 2}}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ends_with("OK: … 1 page failed (5xx) at sites that are well.")
async def page_that_fails(given):
    web = site(given.webs, 10)
    web.pages["/page/3"] = Answer(status=500)
    return await crawl(LinksSpider, {}, start_urls=[web.url + "/"])


@ends_with("OK: … 1 site brought no page, such as … (1 answer of 404).")
async def site_without_a_page(given):
    well, moved = site(given.webs, 3), site(given.webs, 1, "127.0.0.2")
    moved.pages["/"] = Answer(status=404)
    return await crawl(LinksSpider, {}, start_urls=[well.url + "/", moved.url + "/"])


@ends_with("OK: … 1 request went to hosts that do not exist (DNS), such as ….")
async def host_that_does_not_exist(given):
    web = site(given.webs, 3)
    urls = [web.url + "/", "http://a.invalid/"]
    return await crawl(LinksSpider, {"DNS_TIMEOUT": 1}, start_urls=urls)


@ends_with("OK: … 1 callback failed (KeyError).")
async def one_callback_that_raises(given):
    web = site(given.webs, 10)
    return await crawl(RaisingSpider, {}, start_urls=[web.url + "/"])


@ends_with("OK: … Not compared: the previous crawl (MANDELBOT_REPORT keeps it).")
async def nothing_to_compare_with(given):
    web = site(given.webs, 10)
    settings = {"MANDELBOT_EXPECT": {"of_last_time": 0.8}}
    return await crawl(LinksSpider, settings, start_urls=[web.url + "/"])


@ends_with(
    "OK: Stopped after … (other workers go on). … No site was left for this worker.",
    needs_redis=True,
)
async def worker_without_a_site(given):
    web = site(given.webs, 0)
    settings = {"MANDELBOT_JOB": given.redis, "MANDELBOT_PAUSE_IDLE": 0.2}
    settings["MANDELBOT_JOB_OPTIONS"] = {"name": "shops"}
    is_over = Deferred()

    class Busy(LinksSpider):
        async def parse(self, response):
            await maybe_deferred_to_future(is_over)
            yield {"url": response.url}

    async def idle():
        result = await crawl(LinksSpider, settings)
        is_over.callback(None)
        return result

    busy = crawl(Busy, settings, start_urls=[web.url + "/"])
    both = [Deferred.fromCoroutine(one) for one in (busy, idle())]
    _, (_, result) = await DeferredList(both, fireOnOneErrback=True)
    return result


NOT_STARTED = "CRITICAL: MANDELBOT_PACE = 'slow': it takes …"
KILLED = "none, and exit status 137"
WITHOUT_A_LINE = [NOT_STARTED, KILLED]
"""What the page has in place of a line, where a run has none."""
SPIDER = """
import os, signal
import scrapy

class ShopSpider(scrapy.Spider):
    name = "shop"
    start_urls = ["data:,"]
    custom_settings = {"ADDONS": {"scrapy_mandelbot.Addon": 500}}

    def parse(self, response):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def as_pattern(line: str) -> str:
    """Return what a whole line matches."""
    return ".*".join(re.escape(part.strip()) for part in line.split(VARIES))


async def check(line: str, given: Given) -> None:
    ending = ENDINGS[line]
    result = await ending.run(given)
    assert re.search(as_pattern(line), last_line(result)), last_line(result)
    judged = account_of(result.crawler).judged(result.stats["finish_reason"])
    if ending.rule:
        assert ending.rule in judged.reasons
    else:
        assert not judged.reasons


@pytest.mark.usefixtures("loop_is_turned")
@pytest.mark.parametrize("line", lines(needs_redis=False))
@ensureDeferred
async def test_a_crawl_ends_with_each_line(webs, tmp_path, line):
    """Its word is for the rule that the row is about."""
    await check(line, Given(webs, tmp_path))


@NEEDS_REDIS
@pytest.mark.parametrize("line", lines(needs_redis=True))
@ensureDeferred
async def test_a_worker_ends_with_each_line(webs, tmp_path, redis_server, line):
    """That of a job on Redis."""
    await check(line, Given(webs, tmp_path, redis_server.url))


def test_a_run_that_does_not_start_or_is_killed_has_no_such_line(tmp_path, forked):
    """One line names the setting; a shell adds 128 to the number of the signal."""
    (tmp_path / "shop.py").write_text(SPIDER)
    command = ("scrapy", "runspider", "shop.py")
    wrong = forked.program(tmp_path, *command, "-s", "MANDELBOT_PACE=slow")
    assert wrong.returncode == 1
    said = wrong.stderr.decode()
    assert re.search(as_pattern(NOT_STARTED), said)
    killed = forked.program(tmp_path, *command)
    assert killed.returncode in {-9, 137}
    assert not re.search("(OK|INCOMPLETE|FAILED): ", said + killed.stderr.decode())


def rows_of_the_page() -> list[list[str]]:
    """Return the rows of the table, its heading left out."""
    table = page(PAGE).partition("\nThe last line\n---")[2]
    table = table.partition("\n.. csv-table::\n")[2]
    rows = re.findall(r"(?m)^   ([^:\s].*)", table.partition("\n\n\n")[0])
    return list(csv.reader(rows, delimiter=";", skipinitialspace=True))


def test_the_page_has_a_row_for_each_crawl():
    """With the line, what it means, and what to do; and no other row."""
    rows = rows_of_the_page()
    assert all(len(row) == 3 and all(row) for row in rows)
    found = [row[0].strip("`").replace("\\`", "`") for row in rows]
    assert found == [*ENDINGS, *WITHOUT_A_LINE]


def test_the_page_has_a_row_for_each_ending():
    """Each rule of the first word, and each reason for which a run ends."""
    assert {one.rule for one in ENDINGS.values()} >= {rule.name for rule in RULES}
    listed = "\n".join(ENDINGS)
    for reason, (first, why) in HOW_RUNS_END.items():
        if reason != "not finished":
            assert f"{first} after … ({why})" in listed if why else first in listed
