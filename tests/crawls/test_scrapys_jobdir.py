"""A JOBDIR that Scrapy's own scheduler began is continued by it."""

from __future__ import annotations

from crawling import LinksSpider, crawl, ensureDeferred
from webs import site


@ensureDeferred
async def test_a_job_of_scrapys_is_continued_in_its_format(webs, tmp_path, caplog):
    """No page is lost, and one line says that a crash would lose some."""
    web = site(webs, 30)
    settings = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
    stock = {"MANDELBOT_ENABLED": False, "CLOSESPIDER_PAGECOUNT": 10}
    first = await crawl(LinksSpider, settings | stock, start_urls=[web.url + "/"])
    second = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(first.items) < 31
    found = [item["url"] for item in [*first.items, *second.items]]
    assert len(set(found)) == 31
    assert len(found) <= 32  # the start request is not filtered, as in Scrapy
    assert caplog.text.count("holds a job in Scrapy's format") == 1
    assert not (tmp_path / "job" / "job.sqlite").exists()
