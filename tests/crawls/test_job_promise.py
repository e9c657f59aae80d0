"""A run that dies loses nothing, whatever it was in the middle of.

A copy of JOBDIR, made in the middle of a run, is what a kill at that moment would have
left: the next run goes on with the copy. ``benchmarks/job_kill.py`` kills real
processes.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest
import scrapy
from crawling import SCRAPYS_FORM, LinksSpider, crawl, ensureDeferred
from dying import Noting, dies, run, run_after
from scrapy.exporters import PprintItemExporter
from scrapy.extensions.feedexport import FeedExporter
from scrapy.http.request import NO_CALLBACK
from webs import Answer, html, site

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.job import held_file, opening, saves
from scrapy_mandelbot.job.job import Job, JobError
from scrapy_mandelbot.job.job_file import name_seed
from scrapy_mandelbot.job.repair import repair

# turns of the loop: a busy machine does as much in them as an idle one
TURNS = 50


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "job"


async def next_turns() -> None:
    """Wait until what a callback gave is queued, and what was settled can be saved."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


def requests_of(result) -> Counter:
    return Counter(result.crawler.spider.called)


class DiesInPage(Noting):
    """Dies in the callback of page 1, when half of its output is out."""

    async def parse(self, response):
        output = list(LinksSpider.parse(self, response))
        half = len(output) // 2 if response.url.endswith("/1") else len(output)
        for one in output[:half]:
            yield one
        if half < len(output):
            await next_turns()
            Job.of(self.crawler).saves.now()
            dies(self)
        for one in output[half:]:
            yield one
        self.called.append(response.url)


def tree(webs):
    """Return a site whose front page links to three, and page 1 to ten others."""
    web = webs()
    web.pages["/"] = html("/1", "/2", "/3")
    web.pages["/1"] = html(*(f"/1/{number}" for number in range(10)))
    web.pages |= {path: html() for path in ("/2", "/3")}
    web.pages |= {f"/1/{number}": html() for number in range(10)}
    return web


@ensureDeferred
async def test_a_callback_that_was_cut_is_called_again(webs, folder):
    """And all of its children come: those that were kept, and those that it had not
    given yet.
    """
    web = tree(webs)
    first = await run(DiesInPage, folder, [web.url + "/"])
    assert first.stats["finish_reason"] == "finished"
    second = await run_after(folder, Noting, [web.url + "/"])
    called = requests_of(second)
    assert called[web.url + "/1"] == 1
    assert set(called.values()) == {1}
    then = first.crawler.spider.called_then
    assert web.url + "/1" not in then
    assert {*then, *called} == {web.url + path for path in web.pages}


class Unfiltered(DiesInPage):
    """All links with dont_filter."""

    def parse(self, response):
        async def unfiltered():
            async for one in super(Unfiltered, self).parse(response):
                is_request = isinstance(one, scrapy.Request)
                yield one.replace(dont_filter=True) if is_request else one

        return unfiltered()


class UnfilteredAgain(Noting):
    def parse(self, response):
        for one in super().parse(response):
            is_request = isinstance(one, scrapy.Request)
            yield one.replace(dont_filter=True) if is_request else one


@ensureDeferred
async def test_unfiltered_children_of_a_cut_callback_come_once(webs, folder):
    """No fingerprint stops them: those that were kept are counted, and passed over."""
    web = tree(webs)
    first = await run(Unfiltered, folder, [web.url + "/"])
    second = await run_after(folder, UnfilteredAgain, [web.url + "/"])
    called = requests_of(second)
    assert set(called.values()) == {1}
    then = first.crawler.spider.called_then
    assert {*then, *called} == {web.url + path for path in web.pages}
    assert second.stats["mandelbot/job/passed_over"] == 5, (
        "four of the page, and the start"
    )


class DiesWhileOneWaits(Noting):
    """Fetches a page of its own; dies five seconds later, while another page waits."""

    def __init__(self, first, waits, next_job, **arguments):
        super().__init__(**arguments)
        self.first = first
        self.waits = waits
        self.next_job = next_job

    async def start(self):
        yield scrapy.Request(self.first, priority=1)
        yield scrapy.Request(self.waits)

    def parse(self, response):
        if response.url == self.first:
            Crawl.of(self.crawler).clock.call_later(5, self.die)
        yield from super().parse(response)

    def die(self):
        """Keep what is in JOBDIR now for the next run."""
        shutil.copytree(self.settings["JOBDIR"], self.next_job)


async def after_three_deaths(webs, folder, other, **settings):
    """Return the fourth run, after three that died while a page of a site waited."""
    web = webs()
    web.pages = {f"/{number}": html() for number in range(3)}
    other = other or web
    other.pages["/waits"] = html()
    for number in range(3):
        next_job = folder.with_name(f"job-{number + 1}")
        await crawl(
            DiesWhileOneWaits,
            {
                "JOBDIR": str(folder.with_name(f"job-{number}")),
                "ROBOTSTXT_OBEY": False,
                **settings,
            },
            first=f"{web.url}/{number}",
            waits=f"{other.url}/waits",
            next_job=next_job,
        )
    return await run(Noting, next_job)


@ensureDeferred
async def test_no_death_counts_for_a_page_that_only_waits(webs, folder, loop_is_turned):
    """In its download slot: three runs die, and the fourth sends it."""
    last = await after_three_deaths(
        webs, folder, None, DOWNLOAD_DELAY=20, RANDOMIZE_DOWNLOAD_DELAY=False
    )
    assert last.stats["finish_reason"] == "finished"
    assert [url.rpartition("/")[2] for url in requests_of(last)] == ["waits"]


@ensureDeferred
async def test_deaths_count_for_a_page_whose_robots_txt_is_fetched(
    webs, folder, loop_is_turned
):
    """That file may be the cause, and would be of each run that asks for it."""
    other = webs("127.0.0.2")
    other.pages["/robots.txt"] = Answer(b"", 404, delay=9.0)
    last = await after_three_deaths(
        webs, folder, other, ROBOTSTXT_OBEY=True, DOWNLOAD_TIMEOUT=30
    )
    assert last.stats["finish_reason"] == "job_set_aside"
    assert not requests_of(last)
    (verdict,) = last.logged("INCOMPLETE: Finished")
    assert f"1 request is set aside, such as <GET {other.url}/waits>." in verdict
    again = await run(Noting, folder.with_name("job-3"), MANDELBOT_EXIT_STATUS="lost")
    (verdict,) = again.logged("FAILED: Finished")
    assert "such as" in verdict, "each run names it, until it is requeued"
    assert again.crawler.spider is None, "scrapy crawl exits with 1"


class DiesInStart(Noting):
    """Gives fifty start requests with dont_filter, one of them twice, and dies after
    thirty.
    """

    given = 0
    dies_after = 30

    async def start(self):
        for number in [*range(49), 7]:
            DiesInStart.given += 1
            yield scrapy.Request(f"{self.start_urls[0]}{number}", dont_filter=True)
            if number == self.dies_after:
                await next_turns()
                Job.of(self.crawler).saves.now()
                dies(self)


@pytest.mark.usefixtures("loop_is_turned")
@ensureDeferred
async def test_what_start_yields_itself_is_sent_once_in_each_run(webs, folder):
    """No start request is lost. Of those that the job still has none comes twice, the
    others are sent again, as without a job; after the end all come.
    """
    web = webs()
    web.pages |= {f"/{number}": html() for number in range(49)}
    slow = replace(html(), delay=1.0)
    web.pages["/5"] = slow  # under way at the death: the job still has it
    first = await run(DiesInStart, folder, [web.url + "/"])
    done_then = len(requests_of(first))
    assert done_then == 49
    before = len(web.hits)
    second = await run_after(folder, DiesInStart, [web.url + "/"])
    called = requests_of(second)
    assert {f"{web.url}/{number}" for number in range(31, 49)} <= set(called)
    assert f"{web.url}/5" not in first.crawler.spider.called_then
    assert called[f"{web.url}/5"] == 1
    assert second.stats["mandelbot/job/passed_over"] > 0
    assert sum(called.values()) == 50
    assert len(web.hits) - before == sum(called.values())
    third = await run_after(folder, DiesInStart, [web.url + "/"])
    assert sum(requests_of(third).values()) == 50


class Retried(Noting):
    """Dies while a start request is tried again after a failure."""

    def parse(self, response):
        if response.url.endswith("/dies"):
            Job.of(self.crawler).saves.now()
            dies(self)
        yield from super().parse(response)


class LogsIn(Noting):
    """Keeps a token in an attribute, which each run's start() fetches."""

    token = ""

    async def start(self):
        yield scrapy.Request(self.start_urls[0], self.has_token, dont_filter=True)

    def has_token(self, response):
        self.token = "token"
        yield from self.parse(response)

    def parse(self, response):
        if not self.token:
            raise ValueError("no token")
        yield from super().parse(response)
        if len(self.called) == 3 and not Path(self.settings["JOBDIR"], "once").exists():
            Path(self.settings["JOBDIR"], "once").touch()
            raise scrapy.exceptions.CloseSpider("shutdown")


@ensureDeferred
async def test_what_start_sends_first_is_sent_before_what_the_job_has(webs, folder):
    """In each run: callbacks of the pages that wait need what its callback keeps."""
    web = tree(webs)
    one_by_one = {"CONCURRENT_REQUESTS": 1}
    first = await run(LogsIn, folder, [web.url + "/"], **one_by_one)
    assert first.stats["finish_reason"] == "shutdown"
    web.hits.clear()
    second = await run(LogsIn, folder, [web.url + "/"], **one_by_one)
    assert web.hits[0].path == "/"
    assert second.stats["finish_reason"] == "finished"
    called = {*first.spider.called, *second.spider.called}
    assert called == {web.url + path for path in web.pages}


@ensureDeferred
async def test_another_try_of_a_start_request_is_not_passed_over(webs, folder):
    """It is marked as a start request too, as its meta is copied: it comes all the
    same.
    """
    web = webs()
    web.pages["/flaky"] = lambda _: Answer(status=500 if flaky.pop() else 200)
    web.pages["/dies"] = html()
    flaky = [0, 0, 1]
    settings = {"CONCURRENT_REQUESTS": 1, "RETRY_TIMES": 5}
    starts = [web.url + "/flaky", web.url + "/dies"]
    await run(Retried, folder, starts, **settings)
    flaky[:] = [0, 0, 1]
    second = await run_after(folder, Noting, starts, **settings)
    assert requests_of(second)[web.url + "/flaky"] == 1


class Lambdas(Noting):
    """Gives a request that cannot be written down, and dies while it is in flight."""

    def parse(self, response):
        if response.url.endswith("/"):
            yield response.follow("/slow", functools.partial(self.parse))
        else:
            Job.of(self.crawler).saves.now()
            dies(self)
        self.called.append(response.url)


@ensureDeferred
async def test_what_is_in_memory_only_comes_again_from_its_page(webs, folder):
    """The page stays in the job until all in memory that came of it are settled."""
    web = webs()
    web.pages |= {"/": html(), "/slow": html()}
    first = await run(Lambdas, folder, [web.url + "/"])
    assert requests_of(first) == {web.url + "/": 1, web.url + "/slow": 1}
    assert first.stats["mandelbot/job/in_memory"] == 1
    second = await run_after(folder, Lambdas, [web.url + "/"])
    assert requests_of(second) == {web.url + "/": 1, web.url + "/slow": 1}
    third = await run(Lambdas, folder, [])
    assert requests_of(third) == {}, "it was settled in the end"


class Redirected(Noting):
    """The same, of a request in memory that is redirected."""

    def parse(self, response):
        if response.url.endswith("/"):
            yield response.follow("/moved", functools.partial(self.parse))
        else:
            Job.of(self.crawler).saves.now()
            dies(self)
        self.called.append(response.url)


@ensureDeferred
async def test_a_redirect_of_one_in_memory_is_waited_for_too(webs, folder):
    """It has the callback of the one that it takes the place of."""
    web = webs()
    web.pages |= {
        "/": html(),
        "/moved": Answer(status=302, headers={"Location": "/there"}),
        "/there": html(),
    }
    await run(Redirected, folder, [web.url + "/"])
    second = await run_after(folder, Redirected, [web.url + "/"])
    assert requests_of(second) == {web.url + "/": 1, web.url + "/there": 1}


class Inline(Noting):
    """Sends its own request again in its callback, and dies after the answer."""

    async def parse(self, response):
        if response.url.endswith("/1"):
            again = response.request.replace(callback=NO_CALLBACK)
            await self.crawler.engine.download_async(again)
            await self.crawler.engine.download_async(response.request)
            await next_turns()
            Job.of(self.crawler).saves.now()
            dies(self)
        for one in super().parse(response):
            yield one


@ensureDeferred
async def test_a_request_that_is_sent_again_within_its_callback_is_not_settled_by_that(
    webs, folder
):
    """It is settled when its callback has run to its end."""
    web = tree(webs)
    await run(Inline, folder, [web.url + "/"])
    second = await run_after(folder, Noting, [web.url + "/"])
    assert requests_of(second)[web.url + "/1"] == 1


class Fails(Noting):
    """Raises in the middle of its output, or is never called."""

    def parse(self, response):
        yield {"url": response.url}
        raise ValueError(response.url)


@ensureDeferred
async def test_what_ends_in_an_error_is_settled(webs, folder):
    """An exception, a 404, a redirect, an offsite page, no answer: none comes again."""
    web = webs()
    web.pages |= {
        "/raises": html(),
        "/moved": Answer(status=301, headers={"Location": "/raises?"}),
        "/gone": Answer(status=404),
        "/error": Answer(status=500),
    }
    starts = [f"{web.url}/{name}" for name in ("raises", "moved", "gone", "error")]
    await run(Fails, folder, [*starts, "http://127.0.0.1:9/nobody"], RETRY_TIMES=1)
    assert (folder / "job.sqlite").exists()
    hits = len(web.hits)
    again = await run(Fails, folder, [])
    assert len(web.hits) == hits
    assert "mandelbot/job/resumed" not in again.stats


class Odd(Noting):
    """Gives requests that no pickle takes, for several reasons."""

    def parse(self, response):
        if response.url.endswith("/"):
            deep: list = []
            for _ in range(100_000):
                deep = [deep]
            for number, meta in enumerate((deep, open, lambda: 0, iter([]))):
                yield response.follow(f"/{number}", self.parse, meta={"odd": meta})
                meta = None  # noqa: PLW2901
            while deep:
                deep = deep.pop()
        self.called.append(response.url)


@ensureDeferred
async def test_nothing_that_a_request_holds_raises_out_of_the_scheduler(webs, folder):
    """Scrapy would lose the other children of the page, or wait for ever."""
    web = webs()
    web.pages |= {path: html() for path in ("/", "/0", "/1", "/2", "/3")}
    result = await run(Odd, folder, [web.url + "/"])
    assert len(requests_of(result)) == 5
    assert result.stats["finish_reason"] == "finished"
    assert "log_count/ERROR" not in result.stats


class CannotWrite(Noting):
    """Cannot write to JOBDIR any more in the middle, and again after ten more pages, if
    ever.
    """

    better_after = 10

    def parse(self, response):
        yield from super().parse(response)
        database = Job.of(self.crawler).store.database
        if len(self.called) == 5:
            database.execute("PRAGMA query_only = 1")
        elif len(self.called) == 5 + self.better_after:
            # in vain, if there was no commit meanwhile
            Job.of(self.crawler).saves.now()
            database.execute("PRAGMA query_only = 0")
            Job.of(self.crawler).saves.now()
            dies(self)


@ensureDeferred
async def test_a_file_that_cannot_be_written_for_a_while_costs_nothing(webs, folder):
    """One warning; what was done meanwhile is written then, and a run that dies goes on
    from there.

    A full disk, to SQLite and to us, is one of its kinds.
    """
    web = site(webs, 60)
    first = await run(CannotWrite, folder, [web.url + "/"], CONCURRENT_REQUESTS=1)
    assert len(requests_of(first)) == 61
    assert first.stats["mandelbot/job/not_saved"] == 1
    assert first.logged("The job is saved again")
    second = await run_after(folder, Noting)
    both = [*first.crawler.spider.called_then, *second.crawler.spider.called]
    assert sorted(set(both)) == web.urls(60)
    assert len(both) <= 61 + first.crawler.spider.under_way_then


class NeverWritesAgain(CannotWrite):
    better_after = 10**6


@ensureDeferred
async def test_a_file_that_cannot_be_written_any_more_closes_the_spider(
    webs, folder, monkeypatch
):
    """As job_not_saved, when too much is in memory; the next run finds what was saved
    before.
    """
    monkeypatch.setattr(saves, "MOST_OPERATIONS", 30)
    web = webs()
    for number in range(60):
        web.pages[f"/{number}"] = html(f"/{number + 1}", f"/{number}?b")
        web.pages[f"/{number}?b"] = html()
    web.pages["/"], web.pages["/60"] = html("/0"), html()
    first = await run(NeverWritesAgain, folder, [web.url + "/"], CONCURRENT_REQUESTS=1)
    assert first.stats["finish_reason"] == "job_not_saved"
    assert first.logged("The end of this run is not saved")
    second = await run(Noting, folder)
    assert second.stats["finish_reason"] == "finished"
    both = {*first.spider.called[:5], *second.crawler.spider.called}
    assert both >= {web.url + path for path in web.pages}


class DiskIsFull(Noting):
    """Finds no room on the disk of its feed once, from the 20th page on."""

    has_room = True

    def parse(self, response):
        yield from super().parse(response)
        if len(self.called) == 20:
            DiskIsFull.has_room = False
            Job.of(self.crawler).saves.now()


@ensureDeferred
async def test_a_feed_without_room_for_a_while_loses_no_item(webs, folder, monkeypatch):
    """Nothing is committed until its items are in the file, and nothing is crawled
    twice.
    """
    web = site(webs, 60)
    feed = folder.with_name("items.jsonl")

    def write(file: int, part: bytearray) -> int:
        if DiskIsFull.has_room:
            return os.write(file, part)
        DiskIsFull.has_room = True  # for the next one
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(held_file, "write_to", write)
    feeds = {str(feed): {"format": "jsonlines"}}
    result = await run(DiskIsFull, folder, [web.url + "/"], FEEDS=feeds)
    assert result.stats["finish_reason"] == "finished"
    assert result.logged("The job is saved again")
    written = [json.loads(line)["url"] for line in feed.read_text().splitlines()]
    assert sorted(written) == web.urls(60)
    assert not result.logged("INCOMPLETE: ")


class CannotWriteTheEnd(Noting):
    """Cannot write to JOBDIR from its last page on, as if the disk were full."""

    def parse(self, response):
        yield from super().parse(response)
        if len(self.called) == 14:
            Job.of(self.crawler).store.database.execute("PRAGMA query_only = 1")


@ensureDeferred
@pytest.mark.parametrize("is_seen_before", [True, False])
async def test_a_run_whose_end_cannot_be_saved_has_not_finished(
    webs, folder, monkeypatch, is_seen_before
):
    """It fails as job_not_saved, also where only the last commit fails; the last line
    says more.
    """
    web = tree(webs)
    if not is_seen_before:
        monkeypatch.setattr(Job, "_spider_idle", lambda _: None)
    first = await run(CannotWriteTheEnd, folder, [web.url + "/"], CONCURRENT_REQUESTS=1)
    assert first.stats["finish_reason"] == "job_not_saved"
    assert first.crawler.spider is None  # so that Scrapy's commands exit with status 1
    (line,) = first.logged(
        "The end of this run is not saved; the next run fetches its last pages"
    )
    assert line in first.messages[-1]
    second = await run(Noting, folder)
    assert second.stats["finish_reason"] == "finished"
    assert {*first.spider.called[:-1], *second.crawler.spider.called} >= {
        web.url + path for path in web.pages
    }


@ensureDeferred
async def test_a_second_run_in_one_jobdir_says_who_holds_it_and_ends(webs, folder):
    """Before anything is sent; and it disturbs the first in nothing."""
    web = tree(webs)
    errors = []

    class Both(Noting):
        async def parse(self, response):
            if response.url.endswith("/"):
                try:
                    await run(Noting, folder, [web.url + "/2"])
                except JobError as error:
                    errors.append(str(error))
            for one in super().parse(response):
                yield one

    result = await run(Both, folder, [web.url + "/"])
    (error,) = errors
    assert "is in use by process" in error
    assert result.stats["finish_reason"] == "finished"
    assert len(requests_of(result)) == 14


@ensureDeferred
async def test_no_run_begins_on_a_damaged_file_until_it_is_repaired(webs, folder):
    """One line names the command; nothing is sent, and nothing is changed."""
    web = tree(webs)
    await run(Noting, folder, [web.url + "/"])
    path = folder / "job.sqlite"
    path.write_bytes(b"\xff" * 2048 + path.read_bytes()[2048:])
    before = path.read_bytes()
    web.hits.clear()
    for _ in range(2):
        with pytest.raises(JobError, match=rf"scrapy robots job {folder} repair`"):
            await run(Noting, folder, [web.url + "/"])
    assert not web.hits
    assert path.read_bytes() == before
    repair(folder)
    result = await run(Noting, folder, [web.url + "/"])
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_a_disk_of_the_network_is_told_at_the_start(webs, folder, monkeypatch):
    """SQLite's locks may not hold there."""
    web = tree(webs)
    assert not (await run(Noting, folder, [web.url + "/2"])).logged(
        "a disk of the network"
    )
    monkeypatch.setattr(opening, "network_disk", lambda _: "nfs4")
    result = await run(Noting, folder, [web.url + "/2"])
    assert result.logged("JOBDIR is on a disk of the network (nfs4)")


class Renamed(Noting):
    """Has a callback that another version of it has not."""

    async def parse(self, response):
        for one in super().parse(response):
            yield one
        if response.url.endswith("/1"):
            for number in range(80):
                yield response.follow(f"/item/{number}", self.parse_item)
            await next_turns()
            Job.of(self.crawler).saves.now()
            dies(self)

    def parse_item(self, response):
        self.called.append(response.url)


@ensureDeferred
async def test_what_no_callback_is_there_for_is_set_aside_and_the_job_not_finished(
    webs, folder
):
    """One error and a number; the run that can read it keeps the feed."""
    web = tree(webs)
    web.pages.update({f"/item/{number}": html() for number in range(80)})
    feed = folder.with_name("items")
    settings = {"FEEDS": {str(feed): {"format": "jsonlines"}}, "CONCURRENT_REQUESTS": 1}
    await run(Renamed, folder, [web.url + "/"], **settings)
    job = folder.with_name("died")
    settings["FEEDS"][str(feed)]["overwrite"] = True
    result = await run(Noting, job, [web.url + "/"], **settings)
    assert result.stats["finish_reason"] == "job_set_aside"
    count = result.stats["mandelbot/job/unreadable"]
    assert count > 40
    assert (
        len([one for one in result.messages if "and is set aside in the job" in one])
        == 1
    )
    assert result.logged(f"{count} requests of the job could not be restored")
    items = feed.read_text().splitlines()
    result = await run(Renamed, job, [web.url + "/"], **settings)
    assert result.stats["finish_reason"] == "finished"
    assert (
        len([url for url in result.crawler.spider.called if "/item/" in url]) == count
    )
    assert feed.read_text().splitlines()[: len(items)] == items


class RenamesParse(Noting):
    """Waits for pages with each kind of callback that a release can lose."""

    async def start(self):
        for url in self.start_urls:
            yield scrapy.Request(url, dont_filter=True)

    async def parse(self, response):
        self.called.append(response.url)
        if response.url.endswith("/"):
            for number in range(0, 30, 3):
                yield response.follow(f"/{number}")
                yield response.follow(f"/{number + 1}", self.parse)
                yield response.follow(
                    f"/{number + 2}", self.parse_any, errback=self.parse
                )
            await next_turns()
            Job.of(self.crawler).saves.now()
            dies(self)

    def parse_any(self, response):
        self.called.append(response.url)


class NextRelease(scrapy.Spider):
    """The next release: `parse` has a new name."""

    name = Noting.name

    def parse_page(self, response):
        """Do what `parse` did."""

    def parse_any(self, response):
        """Be a callback that both releases have."""


@ensureDeferred
async def test_requests_for_a_parse_that_the_next_release_renamed_are_set_aside(
    webs, folder
):
    """None is sent to Scrapy's own `parse`, which raises; the earlier release crawls
    them all.
    """
    web = tree(webs)
    web.pages |= {f"/{number}": html() for number in range(30)}
    # all links before a page
    settings = {"CONCURRENT_REQUESTS": 1, "CONCURRENT_ITEMS": 100}
    first = await run(RenamesParse, folder, [web.url + "/"], **settings)
    before = len(web.statuses())
    result = await run_after(folder, NextRelease, **settings)
    assert result.stats["finish_reason"] == "job_set_aside"
    assert "spider_exceptions/count" not in result.stats
    left = result.stats["mandelbot/job/unreadable"]
    # all but robots.txt, the first page, and what was done before
    assert left >= 32 - before
    told = result.logged(f"{left} requests of the job could not be restored")
    assert told or left == 1  # of a single one its own line says it
    assert len(web.statuses()) == before  # no request is sent
    result = await run_after(folder, RenamesParse, [web.url + "/"], **settings)
    assert result.stats["finish_reason"] == "finished"
    called = {*first.crawler.spider.called_then, *result.crawler.spider.called}
    assert called == {f"{web.url}/{number}" for number in ("", *range(30))}


class Breaks(Noting):
    """Finds its file broken in the middle of the run."""

    def parse(self, response):
        yield from super().parse(response)
        if response.url.endswith("/"):
            job = Job.of(self.crawler)
            job.saves.now()
            job.store.database.execute("DROP TABLE requests")


@ensureDeferred
async def test_a_file_that_breaks_in_a_run_closes_the_spider(webs, folder):
    """With a reason, and an error that names the command; the file stays."""
    web = tree(webs)
    result = await run(Breaks, folder, [web.url + "/"])
    assert result.stats["finish_reason"] == "job_unreadable"
    (line,) = result.logged("The spider is closed, as the job cannot be read")
    assert f"`scrapy robots job {folder} repair`" in line
    assert (folder / "job.sqlite").exists()


class Deletes(Noting):
    """Has a file of the job deleted, or the folder moved, while it runs."""

    def parse(self, response):
        yield from super().parse(response)
        if response.url.endswith("/"):
            self.change()


def deletes_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def deletes_file(folder: Path) -> None:
    (folder / "job.sqlite").unlink()


def replaces_file(folder: Path) -> None:
    (folder / "job.sqlite").unlink()
    (folder / "job.sqlite").write_bytes(b"")


@pytest.mark.parametrize("change", [deletes_folder, deletes_file, replaces_file])
@ensureDeferred
async def test_a_job_that_was_deleted_closes_the_spider(webs, folder, change):
    """At the next commit: nothing that is written to such a file is kept."""
    web = tree(webs)
    spider = type("Changes", (Deletes,), {"change": lambda _: change(folder)})
    result = await run(spider, folder, [web.url + "/"])
    assert result.stats["finish_reason"] == "job_not_saved"
    assert result.logged(
        f"The spider is closed, as the job cannot be saved: {folder}/job.sqlite was"
    )
    assert result.crawler.spider is None, "scrapy crawl exits with 1"


@ensureDeferred
async def test_a_job_that_was_moved_goes_on(webs, folder):
    """Its file is open, and goes with the folder."""
    web = tree(webs)
    moved = folder.with_name("moved")
    spider = type("Moves", (Deletes,), {"change": lambda _: folder.rename(moved)})
    result = await run(spider, folder, [web.url + "/"])
    assert result.stats["finish_reason"] == "finished"
    again = await run(Noting, moved, [web.url + "/"])
    assert again.logged("This JOBDIR finished at")


class DiesWithItems(Noting):
    """Counts in spider.state; dies when six pages are settled, with more items in the
    feed.
    """

    def parse(self, response):
        yield from super().parse(response)
        self.state["pages"] = self.state.get("pages", 0) + 1
        if len(self.called) == 6:
            Job.of(self.crawler).saves.now()
        if len(self.called) == 9:
            dies(self)
            feed = Path(next(iter(self.settings["FEEDS"])))
            torn = feed.read_bytes() + b'{"url": "half of a li'
            feed.with_name(f"died-{feed.name}").write_bytes(torn)


@pytest.mark.parametrize("kind", ["jsonlines", "csv"])
@ensureDeferred
async def test_a_feed_is_cut_where_it_was_at_the_last_commit(webs, folder, kind):
    """No item is lost, none of a settled page comes twice; what is cut is kept beside
    the job.
    """
    web = tree(webs)
    feed = folder.with_name("items")
    first = await run(
        DiesWithItems,
        folder,
        [web.url + "/"],
        FEEDS={str(feed): {"format": kind}},
        CONCURRENT_REQUESTS=1,
    )
    died = feed.with_name("died-items")
    # The copy has another name, and so has what the job knows of it.
    job = folder.with_name("died")
    rename_feed(job, feed, died)
    second = await run(
        Noting, job, [], FEEDS={str(died): {"format": kind}}, CONCURRENT_REQUESTS=1
    )
    text = died.read_text()
    urls = Counter(
        [json.loads(line)["url"] for line in text.splitlines()]
        if kind == "jsonlines"
        else [
            line.split(",")[0]
            for line in text.splitlines()
            if not line.startswith("url,")
        ]
    )
    assert len(urls) == 14
    assert sum(urls.values()) - 14 <= first.crawler.spider.under_way_then
    assert second.logged("Cut ")
    assert (job / "cut-died-items").read_bytes().endswith(b"half of a li")
    assert first.stats["finish_reason"] == "finished"


class DiesAtOnce(Noting):
    """Dies before its first item."""

    def parse(self, response):
        dies(self)
        yield from super().parse(response)


@ensureDeferred
async def test_what_others_write_to_a_feed_between_two_runs_is_not_cut(webs, folder):
    """A run that dies has written nothing to it: it is cut to what it was when that run
    began.
    """
    web = tree(webs)
    feed = folder.with_name("items")
    feeds = {str(feed): {"format": "jsonlines"}}
    await run(Noting, folder, [web.url + "/2"], FEEDS=feeds)
    before = feed.read_bytes() + b'{"by": "hand"}\n'
    feed.write_bytes(before)
    await run(DiesAtOnce, folder, [web.url + "/3"], FEEDS=feeds)
    feed.write_bytes(before)
    await run_after(folder, Noting, [], FEEDS=feeds)
    assert feed.read_bytes().startswith(before)


@pytest.mark.parametrize("lines", [0, 1, 1_000])
@pytest.mark.parametrize("kind", ["jsonlines", "csv", "json"])
@ensureDeferred
async def test_a_file_in_the_place_of_a_feed_is_not_cut(webs, folder, kind, lines):
    """It was rotated: what is there is another's, and is appended to, as in stock."""
    web = tree(webs)
    feed = folder.with_name("items")
    feeds = {str(feed): {"format": kind}}
    await run(DiesWithItems, folder, [web.url + "/"], FEEDS=feeds)
    feed.rename(feed.with_name("yesterday"))
    others = b"another line, of another program" * 2 + b"\n"
    feed.write_bytes(others * lines)
    job = folder.with_name("died")
    result = await run(Noting, job, [], FEEDS=feeds)
    assert feed.read_bytes().startswith(others * lines)
    assert result.logged(f"{feed} is not the feed that the previous run wrote")
    assert not result.logged("Cut ")


@ensureDeferred
async def test_a_feed_that_is_rotated_under_a_run_is_not_cut(webs, folder):
    """The run goes on with the file that it has open; another's is in its place."""
    web = tree(webs)
    feed = folder.with_name("items")
    feeds = {str(feed): {"format": "jsonlines"}}
    others = b'{"by": "another"}\n' * 1_000

    class Rotated(DiesWithItems):
        def parse(self, response):
            if len(self.called) == 3:
                Job.of(self.crawler).saves.now()
                feed.rename(feed.with_name("yesterday"))
                feed.write_bytes(others)
            yield from super().parse(response)

    await run(Rotated, folder, [web.url + "/"], FEEDS=feeds, CONCURRENT_REQUESTS=1)
    await run_after(folder, Noting, [], FEEDS=feeds)
    assert feed.read_bytes().startswith(others)


def rename_feed(job: Path, before: Path, after: Path) -> None:
    import sqlite3

    database = sqlite3.connect(job / "job.sqlite", isolation_level=None)
    database.create_function(
        "crc", 2, lambda name, value: crc32(value, name_seed(name))
    )
    database.execute(
        "UPDATE state SET name = replace(name, :before, :after), checksum ="
        " crc(replace(name, :before, :after), value) WHERE name LIKE 'feed/%'",
        {"before": str(before), "after": str(after)},
    )
    database.close()


@ensureDeferred
async def test_a_damaged_row_costs_its_request_alone(webs, folder):
    """It is set aside with its reason, in the next run as well; others go on."""
    import sqlite3

    web = tree(webs)
    await run(DiesInPage, folder, [web.url + "/"], CONCURRENT_REQUESTS=1)
    path = folder.with_name("died") / "job.sqlite"
    database = sqlite3.connect(path, isolation_level=None)
    query = "SELECT max(number), count(*) FROM requests WHERE line > 0"
    number, left = database.execute(query).fetchone()
    damage = "UPDATE requests SET body = zeroblob(9) WHERE number = ?"
    database.execute(damage, (number,))
    database.close()
    second = await run_after(folder, Noting, [])
    assert second.stats["mandelbot/job/unreadable"] == 1
    assert len(second.crawler.spider.called) >= left - 1
    third = await run_after(folder, Noting, [])
    assert third.stats["mandelbot/job/unreadable"] == 1
    assert third.crawler.spider.called == []


class Resumed(Noting):
    def parse(self, response):
        yield from super().parse(response)
        self.state["pages"] = self.state.get("pages", 0) + 1


@ensureDeferred
async def test_spider_state_outlasts_a_run_that_died(webs, folder):
    """As it was at the last commit: what was counted of settled pages is there."""
    web = tree(webs)
    feeds = {str(folder.with_name("items")): {"format": "jsonlines"}}
    first = await run(
        DiesWithItems, folder, [web.url + "/"], FEEDS=feeds, CONCURRENT_REQUESTS=1
    )
    second = await run_after(folder, Resumed, [], CONCURRENT_REQUESTS=1)
    again = second.crawler.spider.state["pages"] - 14
    assert 0 <= again <= first.crawler.spider.under_way_then


class PrettyExporter(PprintItemExporter):
    """Writes as nobody else does."""


@ensureDeferred
async def test_feeds_that_a_crash_may_harm_are_named_at_start(webs, folder):
    """With the reason, once: those of a class that nobody knows, and batches before
    Scrapy 2.15.
    """
    web = webs()
    web.pages["/"] = html()
    feeds = {str(folder.with_name("a")): {"format": "pretty"}}
    feeds |= {str(folder.with_name("good")): {"format": "json"}}
    feeds |= {
        str(folder.with_name("b%(batch_id)d")): {"format": "csv", "batch_item_count": 5}
    }
    exporters = {"pretty": PrettyExporter}
    result = await run(
        Noting, folder, [web.url + "/"], FEEDS=feeds, FEED_EXPORTERS=exporters
    )
    line, *batches = result.logged("After a crash the feed")
    assert "pretty uses a custom exporter" in line
    stores_when_full = hasattr(FeedExporter, "_schedule_slot_close")
    assert [one.endswith("it is written in batches") for one in batches] == (
        [] if stores_when_full else [True]
    )


@pytest.mark.parametrize(
    ("settings", "is_ours"),
    [
        ({}, True),
        ({"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}, False),
        ({"SCHEDULER_DISK_QUEUE": "scrapy.squeues.MarshalFifoDiskQueue"}, True),
        ({"SCHEDULER_START_DISK_QUEUE": None}, True),
        ({"MANDELBOT_ENABLED": False}, False),
        ({"MANDELBOT_JOB_OPTIONS": {"sync": "full"}}, True),
    ],
)
@ensureDeferred
async def test_what_the_project_has_chosen_stays(webs, folder, settings, is_ours):
    """A job is kept in one file where scheduler, dupe filter and queues are Scrapy's
    own.
    """
    web = tree(webs)
    result = await run(Noting, folder, [web.url + "/"], **settings)
    assert len(requests_of(result)) == 14
    assert (folder / "job.sqlite").exists() == is_ours
    assert bool(result.logged("JOBDIR has Scrapy's format")) == (
        "DUPEFILTER_CLASS" in settings
    )
    assert (folder / "requests.queue").exists() != is_ours


@ensureDeferred
async def test_a_run_that_does_not_go_on_with_a_job_says_so(webs, folder):
    """One line names the file whose requests it leaves alone."""
    web = tree(webs)
    await run(Noting, folder, [web.url + "/"])
    result = await run(Noting, folder, [web.url + "/"], **SCRAPYS_FORM)
    (line,) = result.logged(f"{folder / 'job.sqlite'} holds a job")
    assert "Scheduler" in line


@ensureDeferred
async def test_a_run_without_the_package_in_it_says_so_too(webs, folder):
    """MANDELBOT_ENABLED = False crawls anew, beside a job that it does not see."""
    web = tree(webs)
    await run(Noting, folder, [web.url + "/"])
    result = await run(Noting, folder, [web.url + "/"], MANDELBOT_ENABLED=False)
    (line,) = result.logged(f"{folder / 'job.sqlite'} holds a job")
    assert "because MANDELBOT_ENABLED is False" in line


def named(name: str, parent: type[Noting] = Noting) -> type[Noting]:
    """Return a spider of that name."""
    return type(name, (parent,), {"name": name})


class Interrupted(Noting):
    """Is stopped after its first page, as by Ctrl-C."""

    def parse(self, response):
        yield from super().parse(response)
        raise scrapy.exceptions.CloseSpider("shutdown")


@ensureDeferred
async def test_spiders_take_turns_in_a_jobdir_if_each_runs_to_its_end(webs, folder):
    """As in stock Scrapy: nothing is left of the one when the other begins."""
    web = tree(webs)
    for name in ("a", "b", "a"):
        result = await run(named(name), folder, [web.url + "/"])
        assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_requests_of_another_spider_are_refused(webs, folder):
    """Its callbacks would be called with them; the job stays as it is, and goes on."""
    web = tree(webs)
    first = await run(named("a", Interrupted), folder, [web.url + "/"])
    web.hits.clear()
    for _ in range(2):
        with pytest.raises(JobError, match="of the spider 'a', and this is 'b': give"):
            await run(named("b"), folder, [web.url + "/"])
    assert not web.hits
    last = await run(named("a"), folder, [web.url + "/"])
    assert last.stats["finish_reason"] == "finished"
    done = {*first.spider.called, *last.spider.called}
    assert done == {web.url + path for path in web.pages}


@ensureDeferred
async def test_a_renamed_spider_continues_its_job_under_the_old_name(webs, folder):
    """By the option that names a job; from then on the job has that name."""
    web = tree(webs)
    await run(named("a", Interrupted), folder, [web.url + "/"])
    options = {"name": "a"}
    result = await run(
        named("b"), folder, [web.url + "/"], MANDELBOT_JOB_OPTIONS=options
    )
    assert result.stats["finish_reason"] == "finished"


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="there is no list of open files"
)
@ensureDeferred
async def test_a_job_opens_four_files_however_many_sites(webs, folder, loop_is_turned):
    """The file, its log, their index, and the lock."""
    web = site(webs, 1)
    job_files = set()

    class Looks(Noting):
        def parse(self, response):
            for number in range(500):
                yield scrapy.Request(f"http://127.1.{number // 100}.{number % 100}/")
            Job.of(self.crawler).saves.now()
            for link in Path("/proc/self/fd").iterdir():
                if link.exists() and str(link.resolve()).startswith(
                    str(folder / "job.")
                ):
                    job_files.add(link.resolve().name)
            raise scrapy.exceptions.CloseSpider("enough")

    await run(Looks, folder, [web.url + "/"])
    assert job_files == {"job.sqlite", "job.sqlite-wal", "job.sqlite-shm", "job.lock"}
