"""MANDELBOT_SITE_BUDGET: a quota for each site, and a second stage with a larger
one.
"""

from __future__ import annotations

import pytest
import scrapy
from crawling import SCRAPYS_FORM, LinksSpider, crawl, ensureDeferred
from webs import Answer, Closed, site

from scrapy_mandelbot.report.recorder import Recorder

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}
PAGES = 30


def budget(**limits):
    return {**IN_MEMORY, "MANDELBOT_SITE_BUDGET": limits}


def pages(web):
    return [hit.path for hit in web.hits if hit.path != "/robots.txt"]


class ErrbackSpider(LinksSpider):
    """Notes the exceptions of the pages that are not sent."""

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse, errback=self.failed)

    def failed(self, failure):
        self.failures.append(failure)


@pytest.mark.parametrize("most", [1, 2, 10, 20])
@pytest.mark.parametrize("at_once", [1, 16])
@ensureDeferred
async def test_no_more_pages_come_than_the_budget_allows(webs, most, at_once):
    """However many are requested at once; what is above it is dropped, not lost."""
    web = site(webs, 40)
    other = site(webs, 5, "127.0.0.2")
    settings = budget(sites={web.url: {"pages": most}})
    settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = at_once
    starts = [web.url + "/", other.url + "/"]
    result = await crawl(ErrbackSpider, settings, start_urls=starts, failures=[])
    assert len(pages(web)) == most
    assert len(pages(other)) == 6
    assert web.asked("/robots.txt") == 1
    dropped = 41 - most if most > 1 else 40
    stats = result.stats
    assert stats["mandelbot/budget/dropped"] == dropped
    assert stats["mandelbot/requests/above_budget"] == dropped
    assert "mandelbot/requests/lost" not in stats
    assert stats["finish_reason"] == "finished"
    assert stats["mandelbot/budget/reached"] == 1
    (line,) = result.logged(f"{web.url} has reached its budget after {most} pages")
    assert line.endswith("they are dropped)")
    names = {type(failure.value).__name__ for failure in result.spider.failures}
    assert names == {"BudgetReachedError"}
    assert len(result.spider.failures) == dropped
    assert f"{dropped} above the budget of their site" in result.logged("Requests")[0]


@ensureDeferred
async def test_each_site_has_its_own(webs):
    """The general one is for each; an entry changes what it names, None lifts it."""
    one = site(webs, 20)
    two = site(webs, 20, "127.0.0.2")
    free = site(webs, 20, "127.0.0.3")
    sites = {"127.0.0.2": {"pages": 7}, free.url: {"pages": None}}
    starts = [web.url + "/" for web in (one, two, free)]
    await crawl(LinksSpider, budget(pages=4, sites=sites), start_urls=starts)
    assert [len(pages(web)) for web in (one, two, free)] == [4, 7, 21]


@ensureDeferred
async def test_retries_errors_and_redirects_are_no_pages(webs):
    """Neither is a robots.txt; a redirect's target is one."""
    web = site(webs, 12)
    web.pages["/page/0"] = Answer(b"", 404)
    web.pages["/page/1"] = Answer(b"", 301, {"Location": "/moved"})
    web.pages["/moved"] = Answer(b"moved")
    web.pages["/page/2"] = Answer(b"", 500)
    settings = {**budget(pages=11), "RETRY_TIMES": 2}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.items) == 11
    assert result.stats["mandelbot/requests/page"] == 11


@ensureDeferred
async def test_refused_pages_do_not_use_it_up(webs):
    """They are sent again after the pause, and count once."""
    web = site(webs, 20)
    web.refuse = Closed(seconds=3, after=3, retry_after="3")
    result = await crawl(LinksSpider, budget(pages=10), start_urls=[web.url + "/"])
    assert len(result.items) == 10
    assert result.stats["mandelbot/pause/count"] == 1


@ensureDeferred
async def test_bytes_may_be_exceeded_by_what_is_in_flight(webs):
    """One at a time: by one page."""
    web = site(webs, 20)
    paths = [path for path in web.pages if path.startswith("/page")]
    web.pages.update(dict.fromkeys(paths, Answer(b"x" * 1000)))
    settings = {**budget(bytes=3500), "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    web.pages["/"] = Answer(web.pages["/"].body)
    start = len(web.pages["/"].body)
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    more = -(-(3500 - start) // 1000)
    assert len(result.items) == 1 + more
    (line,) = result.logged(f"{web.url} has reached its budget")
    assert f"{start + 1000 * more:,} bytes" in line


@ensureDeferred
async def test_seconds_begin_with_the_first_request_and_skip_pauses(webs):
    """A pause of 60 s is not part of the 10 s."""
    web = site(webs, 40, delay=1.0)
    web.refuse = Closed(seconds=60, after=3, retry_after="60")
    settings = {**budget(seconds=10), "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.stats["mandelbot/pause/count"] == 1
    assert 8 <= len(result.items) <= 11
    assert result.seconds < 80


class ExemptSpider(LinksSpider):
    async def start(self):
        yield scrapy.Request(self.web_url + "/")
        for number in range(3):
            meta = {"dont_obey_budget": True}
            yield scrapy.Request(f"{self.web_url}/page/{number}", meta=meta)


@pytest.mark.parametrize("job", [False, True])
@ensureDeferred
async def test_a_request_may_pass_it(webs, tmp_path, job):
    """With the meta key ``dont_obey_budget`` it neither counts nor waits."""
    web = site(webs, 10)
    settings = {**budget(pages=2), **({"JOBDIR": str(tmp_path)} if job else {})}
    result = await crawl(ExemptSpider, settings, web_url=web.url)
    assert len(result.items) == 5


@pytest.mark.parametrize("most", [1, 10])
@ensureDeferred
async def test_a_job_keeps_what_is_above_for_a_second_stage(webs, tmp_path, most):
    """Which goes on with a larger budget, and requests no page twice."""
    web = site(webs, 40)
    other = site(webs, 5, "127.0.0.2")
    starts = [web.url + "/", other.url + "/"]
    job = {"JOBDIR": str(tmp_path)}
    job["MANDELBOT_EXIT_STATUS"] = "left"  # what a budget keeps back is no failure
    first = await crawl(LinksSpider, {**budget(pages=most), **job}, start_urls=starts)
    (verdict,) = first.logged("OK: Finished after")
    assert "(within MANDELBOT_SITE_BUDGET)" in verdict
    assert verdict.endswith(" wait. Raise MANDELBOT_SITE_BUDGET to continue.")
    assert len(pages(web)) == most
    assert len(pages(other)) == min(6, most)
    assert first.stats["finish_reason"] == "budget_reached"
    assert first.logged(f"{web.url} has reached its budget")[0].endswith(
        "kept in the job)"
    )
    record = Recorder.of(first.crawler).record
    assert record.get(web.url).state() == "budget reached"
    whole = "budget reached" if most == 1 else "well"
    assert record.get(other.url).state() == whole
    assert "mandelbot/budget/dropped" not in first.stats

    same = await crawl(LinksSpider, {**budget(pages=most), **job}, start_urls=starts)
    assert same.stats["finish_reason"] == "budget_reached"
    assert len(pages(web)) == most
    assert not same.items

    more = await crawl(LinksSpider, {**budget(pages=25), **job}, start_urls=starts)
    assert more.stats["finish_reason"] == "budget_reached"
    assert len(pages(web)) == 25
    assert len(pages(other)) == 6

    rest = await crawl(LinksSpider, {**IN_MEMORY, **job}, start_urls=starts)
    assert rest.stats["finish_reason"] == "finished"
    assert len(set(pages(web))) == len(pages(web)) == 41


@ensureDeferred
async def test_a_budget_that_is_not_reached_changes_nothing(webs, tmp_path):
    """With and without a job."""
    for job in ({}, {"JOBDIR": str(tmp_path)}):
        web = site(webs, 20)
        result = await crawl(
            LinksSpider, {**budget(pages=21), **job}, start_urls=[web.url + "/"]
        )
        assert len(result.items) == 21
        assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_sitemaps_are_no_pages(webs):
    """They are read within the budget, and do not use it up."""
    web = site(webs, 0)
    urls = "".join(f"<url><loc>{web.url}/p/{n}</loc></url>" for n in range(9))
    web.pages["/map.xml"] = Answer(f"<urlset>{urls}</urlset>".encode())
    web.pages["/robots.txt"] = Answer(f"Sitemap: {web.url}/map.xml\n".encode())
    for number in range(9):
        web.pages[f"/p/{number}"] = Answer(b"page")
    settings = {**budget(pages=5), "MANDELBOT_SITEMAPS": "follow"}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.items) == 5
    assert web.asked("/map.xml") == 1


class FreeSpider(LinksSpider):
    async def start(self):
        for number in range(9):
            meta = {"dont_pause": True}
            yield scrapy.Request(f"{self.web_url}/page/{number}", meta=meta)


@pytest.mark.parametrize("job", [False, True])
@ensureDeferred
async def test_requests_that_wait_for_no_pause_keep_to_it(webs, tmp_path, job):
    """The meta key ``dont_pause`` is no way around it."""
    web = site(webs, 10)
    settings = {**budget(pages=4), **({"JOBDIR": str(tmp_path)} if job else {})}
    result = await crawl(FreeSpider, settings, web_url=web.url)
    assert len(result.items) == len(pages(web)) == 4


class AwaitingSpider(LinksSpider):
    async def parse(self, response):
        yield {"url": response.url}
        request = scrapy.Request(self.web_url + "/page/9", dont_filter=True)
        await self.crawler.engine.download_async(request)


@ensureDeferred
async def test_a_request_that_a_callback_awaits_belongs_to_its_page(webs):
    """It neither counts nor waits."""
    web = site(webs, 10)
    urls = [f"{web.url}/page/{number}" for number in range(5)]
    result = await crawl(
        AwaitingSpider, budget(pages=3), start_urls=urls, web_url=web.url
    )
    assert len(result.items) == 3
    assert web.asked("/page/9") == 3


@ensureDeferred
async def test_a_job_of_scrapys_form_keeps_what_is_above_too(webs, tmp_path):
    """Each run has the whole budget."""
    web = site(webs, 20)
    settings = {**budget(pages=8), **SCRAPYS_FORM, "JOBDIR": str(tmp_path)}
    for after in (8, 16, 21):
        await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
        assert len(set(pages(web))) in {after, after - 1}  # the start URL comes again
