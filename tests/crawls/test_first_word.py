"""Bad nights: what the last line of a crawl begins with, and what it names."""

from __future__ import annotations

import json
import re

import pytest
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from webs import Answer, Closed, html, site

pytestmark = pytest.mark.usefixtures("loop_is_turned")


def last_line(result) -> str:
    words = ("OK: ", "INCOMPLETE: ", "FAILED: ")
    return [one for one in result.messages if one.startswith(words)][-1]


class RaisingSpider(LinksSpider):
    raises_at = ("/",)

    def parse(self, response):
        yield from response.follow_all(css="a")
        if response.url.endswith(self.raises_at):
            raise KeyError("price")
        yield {"url": response.url}


class AlwaysRaisingSpider(RaisingSpider):
    raises_at = ("/", "1", "2", "3", "4")


class ItemsSpider(LinksSpider):
    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")


class RaisingPipeline:
    def process_item(self, item):
        raise ValueError(item["url"])


class FullDisk:
    """An exporter that has no room for any item."""

    def __init__(self, file, **_):
        self.fields_to_export = None

    def start_exporting(self):
        """Begin."""

    def finish_exporting(self):
        """End."""

    def export_item(self, item):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("status", [401, 403, 407, 404, 410, 500, 502])
@ensureDeferred
async def test_a_crawl_without_a_page_is_never_ok(webs, status):
    """Whatever its site answers; the line counts the answers."""
    web = site(webs, 3)
    web.pages["/"] = Answer(b"", status)
    result = await crawl(LinksSpider, {"RETRY_TIMES": 0}, start_urls=[web.url + "/"])
    line = last_line(result)
    assert not line.startswith("OK")
    assert f" 0 pages. 1 answer of {status}. " in line


@ensureDeferred
async def test_a_crawl_that_requests_nothing_has_a_last_line(webs):
    """It has failed, and no account of requests stands before it."""
    result = await crawl(LinksSpider, {}, start_urls=[])
    assert "Nothing was requested: no start URL?" in last_line(result)
    assert last_line(result).startswith("FAILED: ")
    assert not result.logged("Requests: ")


@ensureDeferred
async def test_a_page_that_always_fails_is_named_and_the_word_stays(webs, tmp_path):
    """Its site answers all others: it is in the list of lost requests, and not lost."""
    web = site(webs, 20)
    web.pages["/page/7"] = Answer(b"", 500)
    settings = {
        "MANDELBOT_REPORT": str(tmp_path / "r.json"),
        "MANDELBOT_EXIT_STATUS": "lost",
    }
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])
    line = last_line(result)
    assert line.startswith("OK: ")
    assert "20 pages. 2 answers of 500. 1 page failed (5xx) at sites that are" in line
    (lost,) = map(json.loads, (tmp_path / "r.lost.jsonl").read_text().splitlines())
    assert lost["end"] == "page_failed"
    assert lost["reason"] == "500 to the last try"
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["sites"][0]["statuses"] == [{"name": "500", "count": 2}]
    assert report["total"]["lost"] == 0


def exits_with_1(result) -> bool:
    """Return whether Scrapy's commands exit with status 1 after such a crawl."""
    return result.crawler.spider is None


@pytest.mark.parametrize("named", [None, "lost", "incomplete"])
@pytest.mark.parametrize(
    ("page", "word", "named_in_line"),
    [
        (Answer(b"", 500), "OK", "1 page failed (5xx) at sites that are well."),
        (Answer(delay=10**6), "INCOMPLETE", "no answer in time"),
    ],
    ids=["500", "hangs"],
)
@ensureDeferred
async def test_one_page_of_120_that_fails(webs, named, page, word, named_in_line):
    """A page that says 500 is known to fail; one that hangs may come the next time."""
    web = site(webs, 120)
    web.pages["/page/7"] = page
    settings = {"MANDELBOT_EXIT_STATUS": named, "DOWNLOAD_TIMEOUT": 5}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    fails = named is not None and word != "OK"
    assert last_line(result).startswith("FAILED: " if fails else f"{word}: ")
    assert named_in_line in last_line(result)
    assert " 120 pages. " in last_line(result)
    assert exits_with_1(result) == fails


@pytest.mark.parametrize("named", [None, "lost", "incomplete"])
@pytest.mark.parametrize(
    ("robots_too", "word"), [(True, "FAILED"), (False, "INCOMPLETE")]
)
@ensureDeferred
async def test_a_site_that_says_502_throughout_is_not_ok(webs, named, robots_too, word):
    """Its rules unknown, nothing is requested, which has failed; its page fails as in
    stock Scrapy, as it may be the page's own fault.
    """
    web = site(webs, 10)
    web.refuse = Closed(seconds=10**9, status=502, robots_too=robots_too)
    settings = {"MANDELBOT_EXIT_STATUS": named}
    settings["MANDELBOT_PAUSE_OPTIONS"] = {"total": 600}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    line = last_line(result)
    assert line.startswith(f"{word}: " if named is None else "FAILED: ")
    assert " 0 pages. " in line
    assert "502" in line.partition("; MANDELBOT_PAUSE_OPTIONS['total'] is over")[0]
    assert exits_with_1(result) == (named is not None)


@pytest.mark.parametrize(("denied", "word"), [(3, "OK"), (5, "INCOMPLETE")])
@ensureDeferred
async def test_a_site_that_denies_a_third_of_its_pages_is_named(webs, denied, word):
    """Eleven pages: three of 403 are below a third, five are above."""
    web = site(webs, 10)
    for number in range(1, denied + 1):
        web.pages[f"/page/{number}"] = Answer(b"", 403)
    result = await crawl(LinksSpider, {}, start_urls=[web.url + "/"])
    line = last_line(result)
    assert line.startswith(f"{word}: ")
    assert f"{denied} answers of 403." in line
    assert ("1 site does not let the crawler in" in line) == (word != "OK")


@pytest.mark.parametrize(
    ("spider", "word", "count"),
    [
        (RaisingSpider, "OK", "1 callback"),
        (AlwaysRaisingSpider, "INCOMPLETE", "4 callb"),
    ],
)
@ensureDeferred
async def test_callbacks_that_raise_are_counted(webs, spider, word, count):
    """From a third of the pages on they make a crawl incomplete."""
    web = site(webs, 4)
    result = await crawl(spider, {}, start_urls=[web.url + "/"])
    assert last_line(result).startswith(f"{word}: ")
    assert f" {count}" in last_line(result)
    assert " failed (KeyError)." in last_line(result)


@ensureDeferred
async def test_items_that_fail_in_a_pipeline_are_counted(webs):
    """All of them: the night on which the database was away."""
    web = site(webs, 4)
    settings = {"ITEM_PIPELINES": {RaisingPipeline: 300}}
    result = await crawl(ItemsSpider, settings, start_urls=[web.url + "/"])
    assert last_line(result).startswith("INCOMPLETE: ")
    assert " 5 items failed in a pipeline (ValueError)." in last_line(result)


@ensureDeferred
async def test_items_that_a_feed_cannot_write_are_counted(webs, tmp_path):
    """Scrapy logs an error for each, and goes on."""
    web = site(webs, 4)
    settings = {
        "FEEDS": {str(tmp_path / "items.full"): {"format": "full"}},
        "FEED_EXPORTERS": {"full": FullDisk},
    }
    result = await crawl(ItemsSpider, settings, start_urls=[web.url + "/"])
    assert last_line(result).startswith("INCOMPLETE: ")
    assert " 5 items could not be written (OSError)." in last_line(result)


@ensureDeferred
async def test_a_site_without_a_page_is_named_beside_one_with_pages(webs):
    """It moved or closed, which is no fault of the crawl: the word stays."""
    well, moved = site(webs, 3), site(webs, 1, "127.0.0.2")
    moved.pages["/"] = Answer(b"", 404)
    urls = [well.url + "/", moved.url + "/"]
    result = await crawl(LinksSpider, {}, start_urls=urls)
    assert last_line(result).startswith("OK: ")
    named = f"1 site brought no page, such as {moved.url} (1 answer of 404)."
    assert named in last_line(result)


@ensureDeferred
async def test_an_unchanged_page_is_a_page(webs, tmp_path):
    """A 304 is answered from Scrapy's HTTP cache: the spider has its page."""
    web = site(webs, 0)
    head = {"ETag": '"1"', "Cache-Control": "max-age=0"}
    settings = {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "HTTPCACHE_DIR": str(tmp_path),
    }
    web.pages["/"] = Answer(html().body, 200, head)
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    web.pages["/"] = Answer(b"", 304, head)
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert last_line(result).startswith("OK: ")
    assert " 1 page (1 unchanged)." in last_line(result)


@ensureDeferred
async def test_a_crawl_that_brings_less_than_expected_is_incomplete(webs, tmp_path):
    """Less than the project says, or than the last crawl; its report names it."""
    web = site(webs, 9)
    report = tmp_path / "r.json"
    settings = {
        "MANDELBOT_REPORT": str(report),
        "MANDELBOT_EXPECT": {"pages": 10, "of_last_time": 0.5},
    }
    first = await crawl(ItemsSpider, settings, start_urls=[web.url + "/"])
    assert last_line(first).startswith("OK: ")
    assert "Not compared: the previous crawl" in last_line(first)
    web.pages["/"] = html("/page/1")
    settings["MANDELBOT_EXIT_STATUS"] = "expectations"
    second = await crawl(ItemsSpider, settings, start_urls=[web.url + "/page/1"])
    line = last_line(second)
    assert line.startswith("FAILED: ")
    assert "Not as expected: 1 pages, at least 10 expected; 1 pages, 10 last" in line
    assert "Exit status 1: MANDELBOT_EXIT_STATUS names 'expectations'." in line
    data = json.loads(report.read_text())
    assert data["reasons"] == ["exit status", "expectations"]
    assert data["items"] == 1
    assert len(data["unmet"]) == 3


@pytest.mark.parametrize(
    "expected", [{"callbacks": 0}, {"sites": {"x.example": {"pages": 1}}}]
)
@ensureDeferred
async def test_expectations_may_be_strict(webs, expected):
    """One callback that raises is too many; a site that is gone is missed."""
    web = site(webs, 9)
    settings = {"MANDELBOT_EXPECT": expected}
    result = await crawl(RaisingSpider, settings, start_urls=[web.url + "/"])
    assert last_line(result).startswith("INCOMPLETE: ")
    assert " Not as expected: " in last_line(result)


@ensureDeferred
async def test_the_metrics_have_the_rules_of_the_word_and_the_errors(webs, tmp_path):
    """So that an alert fires for each."""
    pytest.importorskip("prometheus_client")
    web = site(webs, 3)
    web.pages["/"] = Answer(b"", 403)
    path = tmp_path / "links.prom"
    settings = {"MANDELBOT_METRICS": str(path)}
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    text = path.read_text()
    held = re.findall(r'mandelbot_run_reasons\{reason="([a-z ]+)".*\} 1.0', text)
    assert set(held) == {"no page", "denied"}
    assert 'mandelbot_run_reasons{reason="lost",spider="links"} 0.0' in text
    ended = re.findall(r'mandelbot_run_finish_reason\{reason="(\w+)".*\} 1.0', text)
    assert ended == ["finished"]
    errors = r'mandelbot_errors_total\{http_response_status_code="403".*\} 1.0'
    assert re.search(errors, text)
