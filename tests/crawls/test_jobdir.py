"""A crawl that is stopped in a pause and goes on in a second run, as ``scrapy`` runs
it.
"""

from __future__ import annotations

import pytest
from crawling import ensureDeferred
from jobs import SPIDER
from webs import Closed, site


@ensureDeferred
async def test_interrupted_in_a_pause_and_resumed(webs, job):
    """Over both runs every page exactly once, but the start URL, which Scrapy asks for
    again.
    """
    web = site(webs, 60)
    web.refuse = closed = Closed(seconds=10**6, after=10, retry_after="1")

    log, _ = await job.run([web.url + "/"], paused="SIGINT")
    assert "Closing spider (shutdown)" in log, log
    assert "Resumed " not in log, "a pause does not hold up the end"
    first = job.items()
    assert 9 <= len(first) < 61

    closed.seconds = 0
    log, _ = await job.run([web.url + "/"])

    assert "Closing spider (finished)" in log, log
    both = job.items()
    assert len(both) == 61
    assert both.pop(web.url + "/") in {1, 2}
    assert set(both.values()) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("by", ["SIGTERM", "SIGHUP"])
@ensureDeferred
async def test_ended_by_its_supervisor_in_a_pause_and_resumed(webs, job, by):
    """SIGTERM ends a run in order. SIGHUP, as a terminal that closes sends it, kills it
    (Scrapy has no handler): pages that were in flight may come twice, none is lost.
    """
    web = site(webs, 60)
    web.refuse = closed = Closed(seconds=10**6, after=10, retry_after="1")
    log, _ = await job.run([web.url + "/"], paused=by)
    assert ("Closing spider (shutdown)" in log) is (by == "SIGTERM"), log
    closed.seconds = 0
    log, _ = await job.run([web.url + "/"])
    assert "Closing spider (finished)" in log, log
    both = job.items()
    assert len(both) == 61
    if by == "SIGTERM":
        assert both.pop(web.url + "/") in {1, 2}
        assert set(both.values()) == {1}


@ensureDeferred
async def test_given_up_with_jobdir_keeps_the_requests(webs, job):
    """The spider closes as sites_paused when nothing else is left; the next run goes
    on.
    """
    web, healthy = site(webs, 12), site(webs, 12, "127.0.0.2")
    web.refuse = closed = Closed(seconds=10**6, after=3)
    starts = [web.url + "/", healthy.url + "/"]
    quick = ['MANDELBOT_PAUSE_OPTIONS={"first": 0.1, "tries": 2}']

    log, _ = await job.run(starts, *quick)
    assert "Closing spider (sites_paused)" in log, log
    assert "kept for the next run" in log
    (pause,) = job.pauses().values()
    assert pause.failed_probes == 2, "so `scrapy robots job` says that it was given up"
    assert sum(url.startswith(healthy.url) for url in job.items()) == 13

    closed.seconds = 0
    log, _ = await job.run(starts, *quick)
    assert "Closing spider (finished)" in log, log
    both = job.items()
    assert len(both) == 26
    assert {count for url, count in both.items() if url not in starts} == {1}


BAD = [
    (
        "MANDELBOT_DIALECT=googel",
        "MANDELBOT_DIALECT = 'googel': it takes a Dialect or one of",
    ),
    (
        'MANDELBOT_PAUSE_OPTIONS={"first": -60}',
        'MANDELBOT_PAUSE_OPTIONS["first"] = -60: it takes a number of seconds',
    ),
    ("MANDELBOT_STORE=memry", "MANDELBOT_STORE = 'memry': it takes 'memory'"),
]


@pytest.mark.parametrize(("setting", "message"), BAD)
@ensureDeferred
async def test_a_bad_setting_is_an_error_at_start(job, setting, message):
    """It names the setting and what it takes, and nothing is crawled."""
    log, _ = await job.run([], setting)
    assert message in log
    assert "Spider opened" not in log


LAMBDAS = SPIDER.replace("self.parse)", "lambda response: self.parse(response))")


@ensureDeferred
async def test_what_cannot_be_written_to_disk_is_named(webs, job):
    """If Scrapy keeps them in memory, they end with the run: a warning says so."""
    web = site(webs, 20)
    web.refuse = Closed(seconds=10**6, after=5, retry_after="300")

    log, _ = await job.run(
        [web.url + "/"],
        "DUPEFILTER_CLASS=scrapy.dupefilters.BaseDupeFilter",
        paused="SIGINT",
        spider=LAMBDAS,
    )

    (line,) = [line for line in log.splitlines() if "not kept in JOBDIR" in line]
    left = 20 - (len(job.items()) - 1)
    assert f"Lost {left} requests that cannot be written" in line
    assert f"<GET {web.url}/page/" in line
    assert line.count("<GET") == 10
    assert line.endswith(", …")


@ensureDeferred
async def test_what_cannot_be_written_down_comes_again_from_its_page(webs, job):
    """It is named at once, and the page whose callback gave it is asked for again: none
    is lost.
    """
    web = site(webs, 20)
    web.refuse = closed = Closed(seconds=10**6, after=5, retry_after="1")

    log, _ = await job.run([web.url + "/"], paused="SIGINT", spider=LAMBDAS)

    named = [line for line in log.splitlines() if "Stored in memory only" in line]
    assert len(named) == 10
    assert f"<GET {web.url}/page/" in named[0]
    assert "that only memory held" in log
    closed.seconds = 0
    log, _ = await job.run([web.url + "/"], spider=LAMBDAS)
    assert "Closing spider (finished)" in log, log
    assert sorted(job.items()) == web.urls(20)
