"""A run that follows sitemaps and dies loses none of what they list."""

from __future__ import annotations

from collections import Counter

import pytest
from crawling import ensureDeferred
from dying import Noting, dies, run, run_after
from shops import FOLLOW, index, shop, urls, urlset

from scrapy_mandelbot.job.sqlite_job import SqliteJob

pytestmark = pytest.mark.usefixtures("loop_is_turned")

SETTINGS = {**FOLLOW, "CONCURRENT_REQUESTS": 2, "ROBOTSTXT_OBEY": True}
MAPS = ("/index.xml", "/a.xml", "/b.xml")


@pytest.fixture
def web(webs, monkeypatch):
    """Return a site of 80 pages in two sitemaps, of which ten wait at a time in the
    crawl.
    """
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.follower._FEW", 5)
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.follower._ENOUGH", 10)
    # What a run in good order keeps by time alone: a kill may be sooner.
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.progress._EVERY", 10**6)
    web = shop(webs, 80, "/index.xml")
    web.pages["/index.xml"] = index(f"{web.url}/a.xml", f"{web.url}/b.xml")
    web.pages["/a.xml"] = urlset(*(f"{web.url}/{number}" for number in range(60)))
    web.pages["/b.xml"] = urlset(*(f"{web.url}/{number}" for number in range(60, 80)))
    return web


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "job"


class DiesLate(Noting):
    """Dies when it has been called for so many pages."""

    at = 0

    def parse(self, response):
        yield from super().parse(response)
        if len(self.called) == self.at:
            dies(self)


class DiesReading(Noting):
    """Dies when so much of a sitemap was read, and goes on as if it had not been."""

    at = 0

    def sitemap_filter(self, entries):
        for number, entry in enumerate(entries):
            if number == self.at:
                dies(self)
            yield entry


@pytest.mark.parametrize(
    ("dying", "at"),
    [(DiesLate, 1), (DiesLate, 20), (DiesLate, 70), (DiesReading, 40)],
)
@ensureDeferred
async def test_what_was_not_fed_is_fed_by_the_next_run(web, folder, dying, at):
    """Each page's callback ends once, but for what was in flight; no sitemap is read
    twice.
    """
    spider = type(dying.__name__, (dying,), {"at": at})
    first = await run(spider, folder, [web.url + "/"], **SETTINGS)
    before = first.crawler.spider.called_then
    asked = Counter({path: web.asked(path) for path in MAPS})
    again = await run_after(folder, Noting, [web.url + "/"], **SETTINGS)
    after = again.crawler.spider.called
    assert set(before) | set(after) >= set(urls(web, *range(80)))
    assert len(before) + len(after) <= 81 + first.crawler.spider.under_way_then
    # Where all of this is younger than a second: the index comes back as what was in
    # flight, and is found once more besides.
    assert sum(web.asked(path) - asked[path] for path in MAPS) <= (4 if at == 1 else 2)
    assert not list((folder.with_name("died") / "mandelbot.sitemaps").glob("*.jsonl"))


@pytest.mark.parametrize("harm", ["deleted", "cut"])
@ensureDeferred
async def test_a_sitemap_whose_entries_are_gone_is_asked_for_again(web, folder, harm):
    """As a power cut may leave it: what was fed of it is known, the rest comes."""
    spider = type("DiesLate", (DiesLate,), {"at": 65})
    first = await run(spider, folder, [web.url + "/"], **SETTINGS)
    for file in (folder.with_name("died") / "mandelbot.sitemaps").glob("*.jsonl"):
        if harm == "deleted":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:-100])
    again = await run_after(folder, Noting, **SETTINGS)
    both = set(first.crawler.spider.called_then) | set(again.crawler.spider.called)
    assert both >= set(urls(web, *range(80)))


@ensureDeferred
async def test_a_commit_while_entries_are_fed_passes_none_over(
    web, folder, monkeypatch
):
    """An entry counts as fed when its request is in the job, and no sooner."""
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.progress._EVERY", 0)
    monkeypatch.setattr("scrapy_mandelbot.job.saves.AT_ONCE", 1)
    spiders, commit = [], SqliteJob.commit

    class Opened(Noting):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            spiders.append(self)

    def commit_and_die(job):
        commit(job)
        stats = spiders[0].crawler.stats
        if stats.get_value("mandelbot/sitemaps/fed", 0) == 33:
            dies(spiders[0])

    monkeypatch.setattr(SqliteJob, "commit", commit_and_die)
    first = await run(Opened, folder, [web.url + "/"], **SETTINGS)
    monkeypatch.setattr(SqliteJob, "commit", commit)
    again = await run_after(folder, Noting, [web.url + "/"], **SETTINGS)
    both = {*first.crawler.spider.called_then, *again.crawler.spider.called}
    assert both >= set(urls(web, *range(80)))
