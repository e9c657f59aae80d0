"""Pages that alone are refused: with a job the next run tries them again.

(Mandelbot, "Temporarily Stop Crawling": "resume at some later time")
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Any

import pytest
import scrapy
from crawling import SCRAPYS_FORM, FailuresSpider, crawl, ensureDeferred
from redis_server import NEEDS_REDIS
from scrapy.core.scheduler import Scheduler
from scrapy.exceptions import DontCloseSpider
from webs import Answer, Web, html, site

from scrapy_mandelbot.fleet.server_job import ServerJob
from scrapy_mandelbot.job.job_folder import JobFolder
from scrapy_mandelbot.report.status import Reason
from scrapy_mandelbot.report.survey import status

pytestmark = pytest.mark.usefixtures("loop_is_turned")

DEAD = ["/page/50", "/page/51"]
OPTIONS = {"MANDELBOT_PAUSE_OPTIONS": {"first": 0.1, "tries": 3}}


class OwnScheduler(Scheduler):
    """A project's own: requests that wait are parked in front of it."""


def broken(webs) -> Web:
    """Serve sixty pages, of which two answer 503 for good."""
    web = site(webs, 60)
    web.pages |= {path: Answer(b"broken", 503) for path in DEAD}
    return web


def mended(web: Web) -> None:
    web.pages |= {path: html() for path in DEAD}


def urls(web: Web, paths) -> list[str]:
    return sorted(web.url + path for path in paths)


@pytest.fixture
def kept_in(request, tmp_path) -> tuple[dict[str, Any], Any]:
    """The settings of a job, and what looks into it, where that can be done."""
    folder = {"JOBDIR": str(tmp_path)}
    if request.param == "redis":
        server = request.getfixturevalue("redis_server")
        look = partial(ServerJob, f"{server.url}#links")
        return {"MANDELBOT_JOB": server.url}, look
    if request.param == "a file":
        return folder, partial(JobFolder, str(tmp_path))
    if request.param == "Scrapy's queues":
        return folder | SCRAPYS_FORM, None
    return folder | {"SCHEDULER": OwnScheduler}, None


@pytest.mark.parametrize(
    "kept_in",
    [
        "a file",
        pytest.param("redis", marks=NEEDS_REDIS),
        "Scrapy's queues",
        "another scheduler",
    ],
    indirect=True,
)
@ensureDeferred
async def test_the_next_run_tries_the_pages_again_that_this_one_gave_up(webs, kept_in):
    """As often as this one did, and in each run; they are left, and not lost."""
    job, look = kept_in
    web = broken(webs)
    settings = {**OPTIONS, **job}

    first = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])
    asked = [web.asked(path) for path in DEAD]
    if look is not None:
        with closing(look()) as there:
            contents = there.contents()
        assert contents.requests[web.url] == len(DEAD)
        assert not contents.given_up, "none of them waits for a requeue"
    second = await crawl(FailuresSpider, settings, start_urls=[])
    mended(web)
    third = await crawl(FailuresSpider, settings, start_urls=[])

    assert len(first.items) == 59
    assert first.failures == second.failures == third.failures == []
    assert first.stats["finish_reason"] == "sites_paused"
    # by the clock of a server the site may be given up with its last two pages
    if "MANDELBOT_JOB" not in job:
        assert first.stats["mandelbot/pause/pages_given_up"] == len(DEAD)
        assert "mandelbot/pause/given_up" not in first.stats
        assert asked == [5, 5], "as without a job"
        assert len(first.logged("Gave up <GET")) == 1, "one line for all of a site"
    assert second.stats["finish_reason"] == "sites_paused"
    assert second.items == []
    assert third.urls() == urls(web, DEAD)
    assert third.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_other_pages_of_the_site_do_not_wait_for_them(webs, tmp_path):
    """Nor do batches that a spider feeds once it is idle."""
    web = broken(webs)
    other = webs("127.0.0.3")
    other.pages = {"/": html()}
    seen = []

    class BatchesSpider(FailuresSpider):
        name = "batches"

        @classmethod
        def from_crawler(cls, crawler, *args, **kwargs):
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.feed, scrapy.signals.spider_idle)
            return spider

        def feed(self):
            if not seen:
                seen.extend(status(self.crawler).sites)
                self.crawler.engine.crawl(scrapy.Request(other.url + "/"))
                raise DontCloseSpider

    settings = {**OPTIONS, "JOBDIR": str(tmp_path)}
    result = await crawl(BatchesSpider, settings, start_urls=[web.url + "/"])

    assert other.url + "/" in result.urls()
    assert len(result.items) == 60
    assert result.stats["finish_reason"] == "sites_paused"
    (waits,) = seen
    assert (waits.site, waits.reason, waits.waiting) == (web.url, Reason.PAGE, 2)
    assert waits.until is None, "not in this run"


class OutsideSpider(FailuresSpider):
    """Sends pages that the project does not let retry, or that no job can store."""

    def __init__(self, *args: Any, meta=None, callback=None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.meta = meta or {}
        self.callback = callback

    def parse(self, response):
        for one in super().parse(response):
            if isinstance(one, scrapy.Request) and one.url.endswith(DEAD[0]):
                yield one.replace(meta=self.meta, callback=self.callback or self.parse)
            else:
                yield one


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [({"meta": {"dont_retry": True}}, 2), ({"callback": lambda response: None}, 5)],
    ids=["not to be retried", "in memory alone"],
)
@ensureDeferred
async def test_what_no_next_run_can_try_is_handed_on(webs, tmp_path, arguments, asked):
    web = broken(webs)
    web.pages[DEAD[1]] = html()

    settings = {**OPTIONS, "JOBDIR": str(tmp_path)}
    result = await crawl(
        OutsideSpider, settings, start_urls=[web.url + "/"], **arguments
    )

    (failure,) = result.failures
    assert failure.value.response.status == 503
    assert web.asked(DEAD[0]) == asked
    assert result.stats["finish_reason"] == "finished"
    assert result.stats["mandelbot/requests/page_given_up"] == 1


@ensureDeferred
async def test_a_page_that_the_projects_function_refuses_reaches_the_spider(
    webs, tmp_path
):
    """It has status 200, and may be a page with such a mark: no run would get it."""
    web = site(webs, 60)
    web.pages["/page/50"] = html(title="captcha")

    settings = {
        **OPTIONS,
        "JOBDIR": str(tmp_path),
        "MANDELBOT_REFUSAL": lambda response: b"captcha" in response.body,
    }
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])

    assert result.urls() == web.urls(60)
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_the_table_and_the_account_count_them_as_left(webs, tmp_path):
    """They are not lost."""
    web = broken(webs)

    settings = {**OPTIONS, "JOBDIR": str(tmp_path)}
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])

    (table,) = result.logged("What happened at the sites")
    assert "  page given up  " in table
    assert " LOST " not in table
    assert result.stats["mandelbot/requests/left"] == len(DEAD)
    assert result.stats.get("mandelbot/requests/lost", 0) == 0
    (verdict,) = result.logged("INCOMPLETE: Stopped after")
    assert "2 requests wait. Run the same command to continue." in verdict
    assert "failed" not in verdict


@ensureDeferred
async def test_pages_are_kept_beside_a_site_that_is_given_up(webs, tmp_path):
    """The run ends once nothing else is left, and both wait for the next one."""
    web = broken(webs)
    down = webs("127.0.0.3")
    down.pages = {"/": html("/1"), "/1": Answer(b"", 503)}

    settings = {**OPTIONS, "JOBDIR": str(tmp_path)}
    first = await crawl(
        FailuresSpider, settings, start_urls=[web.url + "/", down.url + "/"]
    )
    mended(web)
    down.pages["/1"] = html()
    second = await crawl(FailuresSpider, settings, start_urls=[])

    assert first.stats["finish_reason"] == "sites_paused"
    assert first.stats["mandelbot/requests/left"] == 3
    assert second.urls() == sorted([*urls(web, DEAD), down.url + "/1"])
    assert second.stats["finish_reason"] == "finished"
