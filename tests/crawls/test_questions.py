"""What docs/went_wrong.rst answers is so."""

from __future__ import annotations

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from webs import Answer, Closed, site

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("loop_is_turned")]


@ensureDeferred
async def test_a_project_is_tested_without_waiting(webs):
    """A Retry-After of an hour, and refusals without one, cost less than a second."""
    web = site(webs, 8)
    refusals = iter(
        [Answer(b"", 503, {"Retry-After": "3600"}), *[Answer(b"", 503)] * 2]
    )
    web.refuse = lambda path: None if path == "/robots.txt" else next(refusals, None)
    quick = {
        "MANDELBOT_STORE": "memory",
        "MANDELBOT_PAUSE_OPTIONS": {
            "first": 0.01,
            "retry_after": 0.01,
            "recovery": False,
        },
    }
    run = await crawl(LinksSpider, quick, start_urls=[web.url + "/"])
    assert run.urls() == web.urls(8)
    assert run.stats["mandelbot/pause/bounced"] == 3
    assert run.seconds < 1


@ensureDeferred
async def test_a_status_that_pauses_does_so_for_robots_txt_too(webs):
    """403 among MANDELBOT_PAUSE_HTTP_CODES: not "there are no rules", but a pause."""
    web = site(webs, 3)
    web.refuse = Closed(20, status=403)
    codes = {"MANDELBOT_PAUSE_HTTP_CODES": [503, 429, 403]}
    run = await crawl(LinksSpider, codes, start_urls=[web.url + "/"])
    assert run.urls() == web.urls(3)
    assert {hit.path for hit in web.hits if hit.status == 403} == {"/robots.txt"}


@ensureDeferred
async def test_the_next_run_need_not_know_of_a_pause(webs, tmp_path):
    """With MANDELBOT_STORE = "memory" it asks at once, with the file of the former run
    it waits.
    """
    web = site(webs, 3)
    web.refuse = closed = Closed(3600, after=2, retry_after="3600")
    kept = {
        "MANDELBOT_STORE": str(tmp_path / "kept.db"),
        "MANDELBOT_PAUSE_OPTIONS": {"total": 1},
    }
    await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    closed.seconds = 0
    asked = len(web.hits)
    waited = await crawl(LinksSpider, kept, start_urls=[web.url + "/"])
    assert (len(web.hits), waited.items) == (asked, [])
    fresh = {**kept, "MANDELBOT_STORE": "memory"}
    run = await crawl(LinksSpider, fresh, start_urls=[web.url + "/"])
    assert run.urls() == web.urls(3)
