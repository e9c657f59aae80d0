"""The account of each worker of a shared job, and the report of the whole job."""

from __future__ import annotations

import json
import logging
import time
from contextlib import closing

import pytest
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from redis_server import NEEDS_REDIS
from report_schema import misfits_of
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.threads import deferToThread
from webs import Answer, Closed, html, site

from scrapy_mandelbot.fleet.server_job import ServerJob
from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report import worker_report
from scrapy_mandelbot.report.job_report import JobState, job_report

pytestmark = NEEDS_REDIS


class Impatience:
    """Waits but a moment for the page that does not come.

    For others as long as Scrapy does: a busy machine may bring them late.
    """

    def process_request(self, request):
        if request.url.endswith("/late"):
            request.meta["download_timeout"] = 0.3


@pytest.fixture
def settings(redis_server):
    return {
        "MANDELBOT_JOB": redis_server.url,
        "DOWNLOADER_MIDDLEWARES": {Impatience: 1},
        "RETRY_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
    }


def together(*crawls):
    """Run crawls beside each other; return what each of them left."""
    return DeferredList(
        [Deferred.fromCoroutine(one) for one in crawls], fireOnOneErrback=True
    ).addCallback(lambda results: [result for _, result in results])


def reports(redis_server, name: str) -> tuple[list[bytes], int]:
    with closing(ServerJob(f"{redis_server.url}#{name}")) as job:
        return job.reports()


def reported(redis_server, name: str):
    bodies, gone = reports(redis_server, name)
    state = JobState(time.time(), (), workers=0, unreported=gone)
    return job_report(bodies, state, 20)


def count(result, what: str) -> int:
    return result.stats.get(f"mandelbot/requests/{what}", 0)


@ensureDeferred
async def test_the_account_of_each_worker_balances_and_names_what_is_lost(
    webs, settings, redis_server, caplog
):
    """Each counts what it has sent, whoever found the link; so does the report."""
    caplog.set_level(logging.INFO)
    front = webs("127.0.0.1")
    others = [site(webs, 8, f"127.0.0.{number}") for number in (2, 3, 4)]
    front.pages["/"] = html(*(web.url + "/" for web in others), "/late")
    front.pages["/late"] = Answer(delay=30)
    others[0].refuse = Closed(seconds=1, after=3)
    results = await together(
        *(
            crawl(FailuresSpider, settings, start_urls=[front.url + "/"])
            for _ in range(2)
        )
    )
    for result in results:
        ends = {str(end): count(result, str(end)) for end in End}
        assert count(result, "taken_in") == sum(ends.values()), ends
        assert ends["left"] == 0
        pages = f" s. {ends['page']} page"
        (verdict,) = (
            one for one in caplog.messages if ": Finished after" in one and pages in one
        )
        assert ("failed (1 without an answer" in verdict) == (ends["no_answer"] == 1)
    assert sum(count(result, "lost") for result in results) == 1
    made = reported(redis_server, "links")
    pages = sum(count(result, "page") for result in results)
    assert made.data["total"]["pages"] == pages >= 28
    assert made.data["verdict"].endswith("1 request failed (1 without an answer).")
    assert [one["url"] for one in made.lost] == [front.url + "/late"]
    assert [one["has_ended"] for one in made.data["workers"]] == [True, True]
    of_site = {one["site"]: one for one in made.data["sites"]}
    assert of_site.keys() == {web.url for web in (front, *others)}
    assert of_site[others[0].url]["refused"] > 0
    assert of_site[others[0].url]["state"] == "well"


@ensureDeferred
async def test_a_worker_leaves_reports_while_it_works(
    webs, settings, redis_server, monkeypatch
):
    """If it is killed, the last one stays with the job."""
    monkeypatch.setattr(worker_report, "EVERY", 0.02)
    web = site(webs, 30)
    found = []

    class Looking(LinksSpider):
        def parse(self, response):
            yield from super().parse(response)
            if len(found) < 20:
                bodies, _ = reports(redis_server, "links")
                found.extend(map(worker_report.read, bodies))

    one_at_a_time = {**settings, "CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.02}
    await crawl(Looking, one_at_a_time, start_urls=[web.url + "/"])
    assert found
    assert not any(one.has_ended for one in found)
    made = reported(redis_server, "links")
    (worker,) = made.data["workers"]
    assert (worker["has_ended"], worker["pages"]) == (True, 31)


class Raising(LinksSpider):
    """Raises for each page but the first."""

    def parse(self, response):
        yield from super().parse(response)
        if "/page/" in response.url:
            raise KeyError("price")


@ensureDeferred
async def test_the_report_of_a_job_counts_what_failed_in_the_project(
    webs, settings, redis_server
):
    """Each worker leaves its part, and does not judge the whole by it."""
    sites = [site(webs, 5, f"127.0.0.{number}") for number in (2, 3)]
    urls = [web.url + "/" for web in sites]
    expect = {**settings, "MANDELBOT_EXPECT": {"pages": 12}}
    results = await together(
        *(crawl(Raising, expect, start_urls=[url]) for url in urls)
    )
    assert not any("Not as expected" in one.messages[-1] for one in results)
    made = reported(redis_server, "links")
    assert made.data["items"] == 12
    assert made.data["reasons"] == ["callbacks"]
    assert " 10 callbacks failed (KeyError)." in made.data["verdict"]


@ensureDeferred
async def test_the_next_run_has_a_report_of_its_own(webs, settings, redis_server):
    """That of the run before is gone: the counts of a night are those of a night."""
    web = site(webs, 5)
    for pages in (6, 1):
        await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
        made = reported(redis_server, "links")
        assert made.data["total"]["pages"] == pages
        assert len(made.data["workers"]) == 1


@ensureDeferred
async def test_a_report_that_cannot_be_left_fails_no_crawl(
    webs, settings, monkeypatch, redis_server
):
    """What is settled is settled."""
    from scrapy_mandelbot.fleet.redis_job import RedisJobServer
    from scrapy_mandelbot.job.job_store import StorageError

    exchange = RedisJobServer.exchange

    def without_reports(server, one):
        if any(entry[0] == "report" for entry in one.entries):
            raise StorageError("it is full")
        return exchange(server, one)

    monkeypatch.setattr(RedisJobServer, "exchange", without_reports)
    web = site(webs, 3)
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "finished"
    assert result.logged("The report of the job lacks the end of this worker")
    assert reports(redis_server, "links") == ([], 0)


@ensureDeferred
async def test_one_command_reports_on_the_whole_job(
    webs, settings, redis_server, forked, tmp_path
):
    """As text, as data, and as a page with the list of what was lost."""
    web = site(webs, 3)
    web.pages["/late"] = Answer(delay=30)
    urls = [web.url + "/", web.url + "/late"]
    await crawl(LinksSpider, settings, start_urls=urls)
    job = f"{redis_server.url}#links"

    def robots(*arguments):
        return deferToThread(forked.run, tmp_path, *arguments)

    run = await robots("job", job, "--report", "night.html")
    assert run.returncode == 0, run.stderr
    text = run.stdout.decode()
    assert text.startswith("INCOMPLETE: Finished after ")
    assert "4 pages. 1 request failed (1 without an answer)." in text
    assert web.url in text
    data = json.loads((tmp_path / "night.json").read_text())
    assert misfits_of(data) == []
    assert data["total"]["lost"] == 1
    assert web.url in (tmp_path / "night.html").read_text()
    (line,) = (tmp_path / "night.lost.jsonl").read_text().splitlines()
    assert json.loads(line)["url"] == web.url + "/late"
    run = await robots("job", job, "add", "night.lost.jsonl")
    assert b"1 request added" in run.stdout
    run = await robots("job", job, "--report", "--format", "json")
    assert json.loads(run.stdout)["total"]["pages"] == 4
    run = await robots("job", job, "--report", "night.txt")
    assert (run.returncode, b".json or .html" in run.stderr) == (2, True)
    run = await robots("job", job, "--report", "--export")
    assert (run.returncode, b"cannot be used together" in run.stderr) == (2, True)
