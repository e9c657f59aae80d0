"""The budget of a site is one for all workers of a job on Redis."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from redis_server import NEEDS_REDIS
from test_job_shared import together
from webs import Closed, site

from scrapy_mandelbot.fleet.server_job import ServerJob

pytestmark = NEEDS_REDIS


def pages(web):
    return [hit.path for hit in web.hits if hit.path != "/robots.txt"]


def workers(count, redis_server, starts, **settings):
    every = {
        "MANDELBOT_JOB": redis_server.url,
        "MANDELBOT_STORE": "memory",
        "CONCURRENT_REQUESTS": 3,
        **settings,
    }
    return together(
        *(crawl(LinksSpider, every, start_urls=starts) for _ in range(count))
    )


@pytest.mark.parametrize("most", [1, 7])
@ensureDeferred
async def test_workers_share_the_budget_of_a_site(webs, redis_server, most):
    """And a second stage, with a larger one, goes on where they have stopped."""
    several = [site(webs, 20, f"127.0.0.{number}") for number in range(1, 5)]
    starts = [web.url + "/" for web in several]
    found = await workers(
        2, redis_server, starts, MANDELBOT_SITE_BUDGET={"pages": most}
    )
    assert {len(pages(web)) for web in several} == {most}
    assert {one.stats["finish_reason"] for one in found} == {"sites_paused"}
    reached = sum(one.stats.get("mandelbot/budget/reached", 0) for one in found)
    assert reached == 4

    more = most + 6
    await workers(2, redis_server, starts, MANDELBOT_SITE_BUDGET={"pages": more})
    # start() is asked anew by a run, and what it gives passes the filter
    assert {len(set(pages(web))) for web in several} <= {more, more - 1}
    assert {len(pages(web)) for web in several} == {more}

    rest = await workers(1, redis_server, starts)
    assert rest[0].stats["finish_reason"] == "finished"
    assert {len(set(pages(web))) for web in several} == {21}


@ensureDeferred
async def test_the_budget_outlasts_a_site_that_is_given_back(webs, redis_server):
    """In a pause, to a worker that may not be the first one."""
    several = [site(webs, 20, f"127.0.0.{number}") for number in range(1, 3)]
    for web in several:
        web.refuse = Closed(seconds=1, after=4, retry_after="1")
    starts = [web.url + "/" for web in several]
    await workers(2, redis_server, starts, MANDELBOT_SITE_BUDGET={"pages": 9})
    good = [
        len([hit for hit in web.hits if hit.status == 200]) - web.asked("/robots.txt")
        for web in several
    ]
    assert good == [9, 9]


@ensureDeferred
async def test_requeue_does_not_renew_it(webs, redis_server):
    """It ends pauses; what is used up stays so."""
    web = site(webs, 20)
    limits = {"MANDELBOT_SITE_BUDGET": {"pages": 5}}
    await workers(1, redis_server, [web.url + "/"], **limits)
    job = ServerJob(f"{redis_server.url}#links")
    stored = job.contents().known[web.url].budget
    assert (stored.spent.pages, stored.is_reached) == (5, True)
    assert job.requeue(web.url) == [web.url]
    job.close()
    await workers(1, redis_server, [web.url + "/"], **limits)
    assert len(pages(web)) == 5
