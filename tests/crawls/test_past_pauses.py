"""Requests with the meta key ``dont_pause`` wait for no pause of their site."""

from __future__ import annotations

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from queueing import drain, fill, open_scheduler, refuse
from test_first_contact import later
from webs import Answer, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory", "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
FREE = {"dont_pause": True}


class FreeSpider(LinksSpider):
    """Yields two pages that wait for no pause, before it or during it."""

    waits = 0.0

    async def start(self):
        url = self.web_url
        yield scrapy.Request(url + "/page/0", priority=9)
        yield scrapy.Request(url + "/page/1")
        if self.waits:
            await later(self.waits)
        yield scrapy.Request(url + "/page/2", meta=FREE)
        yield scrapy.Request(url + "/page/3", meta=FREE)


def refusing(webs, *, robots_too=False):
    """Return a site whose first answer asks to be left alone for a minute."""
    web = site(webs, 5)
    said = []

    def refuse(path):
        if said or (path == "/robots.txt" and not robots_too):
            return None
        said.append(path)
        return Answer(b"", 503, {"Retry-After": "60"})

    web.refuse = refuse
    return web


def times(web):
    """Return when each page was sent well, in seconds after the refusal."""
    began = next(hit.at for hit in web.hits if hit.status == 503)
    return {hit.path: hit.at - began for hit in web.hits if hit.status == 200}


@pytest.mark.parametrize("waits", [0.0, 5.0])
@pytest.mark.parametrize("job", [False, True])
@ensureDeferred
async def test_a_request_with_dont_pause_waits_for_no_pause(webs, tmp_path, waits, job):
    """Whether it was queued before the pause, or comes during it; others wait."""
    web = refusing(webs)
    settings = {**IN_MEMORY, **({"JOBDIR": str(tmp_path)} if job else {})}
    result = await crawl(FreeSpider, settings, web_url=web.url, waits=waits)
    assert len(result.urls()) == 4
    at = times(web)
    assert max(at["/page/2"], at["/page/3"]) < waits + 3
    assert min(at["/page/0"], at["/page/1"]) >= 60
    assert result.stats["mandelbot/pause/count"] == 1


@ensureDeferred
async def test_it_waits_for_the_rules_of_its_site_all_the_same(webs):
    """The rules are unknown if robots.txt is refused: the key opens nothing."""
    web = refusing(webs, robots_too=True)
    result = await crawl(FreeSpider, IN_MEMORY, web_url=web.url)
    assert len(result.urls()) == 4
    assert min(times(web).values()) >= 60
    assert web.asked("/robots.txt") == 2


@ensureDeferred
async def test_it_comes_though_its_site_is_given_up(webs):
    """The site's other requests fail."""
    web = refusing(webs)
    settings = {**IN_MEMORY, "MANDELBOT_PAUSE_OPTIONS": {"total": 4}}
    result = await crawl(FreeSpider, settings, web_url=web.url, waits=10.0)
    assert result.urls() == [f"{web.url}/page/{number}" for number in (2, 3)]


@ensureDeferred
async def test_a_delay_of_its_site_holds_for_it(webs):
    """The key is about pauses."""
    web = refusing(webs)
    settings = {**IN_MEMORY, "MANDELBOT_CRAWL_DELAYS": {web.host: 4}}
    await crawl(FreeSpider, settings, web_url=web.url)
    at = times(web)
    assert abs(at["/page/2"] - at["/page/3"]) >= 3.9


@pytest.mark.parametrize(
    ("obeys", "url", "goes"),
    [
        (True, "https://example.com/page", False),
        (False, "https://example.com/page", True),
        (True, "s3://bucket/page", True),
        (False, "s3://bucket/page", True),
    ],
)
def test_only_who_obeys_rules_waits_for_those_of_a_site_with_http(
    make_crawler, obeys, url, goes
):
    """In a pause; the rules are unknown as yet, and other schemes have none."""
    crawler = make_crawler(ROBOTSTXT_OBEY=obeys)
    scheduler = open_scheduler(crawler)
    refuse(crawler, url)
    fill(scheduler, url + "/free", meta=FREE)
    assert bool(drain(scheduler)) is goes
