"""The report on a crawl of real sites, and what happens where it cannot be written."""

from __future__ import annotations

import json
import re
from importlib import util

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from report_schema import misfits_of
from twisted.internet.defer import Deferred, gatherResults
from webs import Answer, Closed, html, site

from scrapy_mandelbot import SettingsError
from scrapy_mandelbot.report import crawl_report
from scrapy_mandelbot.settings.config import Config

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
async def test_a_crawl_leaves_a_page_and_its_data(webs, tmp_path):
    """What the sites saw: pages, a rule, a pause, its Retry-After; placeholders are
    filled in.
    """
    web, other = site(webs, 10), site(webs, 5, "127.0.0.2")
    web.pages["/"] = html("/private/a", *(f"/page/{number}" for number in range(10)))
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /private\n")
    web.refuse = Closed(seconds=5, after=5, retry_after="5", robots_too=False)

    result = await crawl(
        LinksSpider,
        {"MANDELBOT_REPORT": str(tmp_path / "made" / "%(name)s-%(time)s.html")},
        start_urls=[web.url + "/", other.url + "/"],
    )

    kept = tmp_path / "made" / "links.previous.json"
    assert kept.exists()
    data, page = sorted(
        set((tmp_path / "made").iterdir()) - {kept},
        key=lambda path: path.suffix,
        reverse=True,
    )
    assert re.fullmatch(r"links-\d{4}(-\d\d){2}T\d\d(-\d\d){2}\+00-00\.html", page.name)
    assert result.logged("Wrote the report on the crawl: ") == [
        f"Wrote the report on the crawl: {page}"
    ]
    report = json.loads(data.read_text())
    assert misfits_of(report) == []
    assert [one["site"] for one in report["sites"]] == [web.url, other.url]
    troubled = report["sites"][0]
    assert (troubled["pages"], troubled["forbidden"]) == (11, 1)
    assert troubled["rules"][0]["examples"] == [f"{web.url}/private/a"]
    assert troubled["refused"] == web.statuses().count(503)
    assert (troubled["retry_after"]["kept"], troubled["retry_after"]["broken"]) == (
        1,
        0,
    )
    sent = sum(bucket["sent"] for bucket in troubled["timeline"]["buckets"])
    assert sent == len(web.hits)
    assert report["reason"] == "finished"
    assert report["waiting"] == []
    assert web.url in page.read_text()


@ensureDeferred
async def test_each_crawl_is_compared_with_the_previous_one(webs, tmp_path):
    """In the report and on its page: a site forbids everything since."""
    web, other = site(webs, 12), site(webs, 12, "127.0.0.2")
    settings = {"MANDELBOT_REPORT": str(tmp_path / "%(name)s.html")}
    urls = [web.url + "/", other.url + "/"]
    path = tmp_path / "links.json"
    await crawl(LinksSpider, settings, start_urls=urls)
    assert json.loads(path.read_text())["compared"] is None
    other.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n")

    await crawl(
        LinksSpider, {**settings, "MANDELBOT_CACHE": {"ttl": 0}}, start_urls=urls
    )

    report = json.loads(path.read_text())
    assert misfits_of(report) == []
    assert report["result"] == "INCOMPLETE"
    compared = report["compared"]
    assert (compared["previous_pages"], compared["pages"]) == (26, 13)
    (change,) = compared["changes"]
    assert (change["change"], change["site"]) == ("closed", other.url)
    page = path.with_suffix(".html").read_text()
    assert '<b class="result warning">INCOMPLETE</b>' in page
    assert "13 pages (50% fewer), 26 last time; 1 closed." in page


@ensureDeferred
async def test_two_spiders_with_one_report_do_not_mix(webs, tmp_path):
    """Each has its own previous crawl beside the report that they overwrite."""
    settings = {"MANDELBOT_REPORT": str(tmp_path / "report.json")}
    urls = [site(webs, 3).url + "/"]

    class OtherSpider(LinksSpider):
        name = "other"

    await crawl(LinksSpider, settings, start_urls=urls)
    await crawl(OtherSpider, settings, start_urls=urls)
    assert json.loads((tmp_path / "report.json").read_text())["compared"] is None
    await crawl(LinksSpider, settings, start_urls=urls)
    compared = json.loads((tmp_path / "report.json").read_text())["compared"]
    assert compared["previous_pages"] == compared["pages"] == 4
    assert {path.name for path in tmp_path.glob("*.previous.json")} == {
        "report-links.previous.json",
        "report-other.previous.json",
    }


@ensureDeferred
async def test_two_crawls_of_one_process_have_an_end_each(webs, tmp_path):
    """A report, a previous crawl, a file of metrics, a word and a hook of their own."""
    verdicts = {}

    class Spider(LinksSpider):
        def crawl_ended(self, verdict):
            verdicts[self.name] = verdict

    class OtherSpider(Spider):
        name = "other"

    web, gone = site(webs, 3), site(webs, 3, "127.0.0.2")
    gone_url = gone.url
    gone.close()
    settings = {
        "MANDELBOT_REPORT": str(tmp_path / "%(name)s.json"),
        "MANDELBOT_METRICS": str(tmp_path / "%(name)s.prom"),
        "ROBOTSTXT_OBEY": False,
    }
    crawls = [
        Deferred.fromCoroutine(crawl(spider, settings, start_urls=[url + "/"]))
        for spider, url in ((Spider, web.url), (OtherSpider, gone_url))
    ]
    await gatherResults(crawls)
    for name, result, lost in (("links", "OK", 0), ("other", "FAILED", 1)):
        report = json.loads((tmp_path / f"{name}.json").read_text())
        assert (report["result"], report["total"]["lost"]) == (result, lost)
        assert verdicts[name].startswith(f"{result}: Finished after ")
        assert (tmp_path / f"{name}.previous.json").exists()
        assert f'spider="{name}"' in (tmp_path / f"{name}.prom").read_text()


@ensureDeferred
async def test_a_comparison_that_cannot_be_kept_harms_no_report(webs, tmp_path):
    """As where a folder has its name: one line, and the report is written."""
    (tmp_path / "links.previous.json").mkdir()
    path = tmp_path / "links.json"
    settings = {"MANDELBOT_REPORT": str(tmp_path / "%(name)s.json")}
    result = await crawl(LinksSpider, settings, start_urls=[site(webs, 3).url + "/"])
    assert len(result.logged("Not compared with the previous crawl, as ")) == 1
    assert json.loads(path.read_text())["is_finished"]


@ensureDeferred
async def test_what_waits_at_the_end_is_told(webs, tmp_path):
    """A run that ends while a site is paused: how many requests it has, until when, and
    why.
    """
    web = site(webs, 30)
    web.refuse = Closed(seconds=5000, after=5, retry_after="1000", robots_too=False)

    await crawl(
        LinksSpider,
        {
            "MANDELBOT_REPORT": str(tmp_path / "report.json"),
            "MANDELBOT_PAUSE_OPTIONS": {"total": 5},
            "JOBDIR": str(tmp_path / "job"),
        },
        start_urls=[web.url + "/"],
    )

    assert not (tmp_path / "report.html").exists(), "data alone was wanted"
    report = json.loads((tmp_path / "report.json").read_text())
    (waits,) = report["waiting"]
    assert (waits["site"], report["sites_waiting"]) == (web.url, 1)
    assert waits["waiting"] > 10
    assert report["sites"][0]["state"] in {"paused", "given up"}


@pytest.mark.parametrize("gone", ["no scheduler", "a close that stays"])
@ensureDeferred
async def test_a_report_needs_no_private_name(webs, tmp_path, gone, monkeypatch):
    """Where it cannot be asked before the end what waits, nothing is told of that, and
    no more.
    """
    from scrapy_mandelbot import engine

    class Closed:
        __slots__ = ()

        def close(self, reason):
            raise AssertionError(reason)

    scheduler = None if gone == "no scheduler" else Closed()
    before = engine.before_requests_are_left

    def without(crawler, call):
        with monkeypatch.context() as patch:
            patch.setattr(engine, "_scheduler", lambda _: scheduler)
            before(crawler, call)

    monkeypatch.setattr(engine, "before_requests_are_left", without)
    web = site(webs, 3)
    path = tmp_path / "report.json"

    result = await crawl(
        LinksSpider, {"MANDELBOT_REPORT": str(path)}, start_urls=[web.url + "/"]
    )

    assert len(result.items) == 4
    assert json.loads(path.read_text())["waiting"] == []
    assert "mandelbot/report/failed" not in result.stats


@pytest.mark.parametrize(
    "trouble", ["no folder", "full", "no spider attribute of ours"]
)
@ensureDeferred
async def test_a_report_that_cannot_be_written_costs_nothing_else(
    webs, tmp_path, trouble, monkeypatch, caplog
):
    """A line in the log, a stat, every page; a report that was there stays as it was.

    An error of the disk has no traceback.
    """
    web = site(webs, 3)
    path = tmp_path / "report.html"
    path.write_text("the former one")
    if trouble == "no folder":
        path = path / "in a file.html"
    elif trouble == "full":

        def full(_number):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
    else:
        monkeypatch.setattr(
            "scrapy_mandelbot.report.crawl_report.iso_time", lambda *_: 1 / 0
        )

    result = await crawl(
        LinksSpider, {"MANDELBOT_REPORT": str(path)}, start_urls=[web.url + "/"]
    )

    assert len(result.items) == 4
    assert result.stats["finish_reason"] == "finished"
    assert result.stats["mandelbot/report/failed"] >= 1
    assert result.logged("The report on the crawl cannot be written to ")
    of_report = [
        one for one in caplog.records if "cannot be written to" in one.getMessage()
    ]
    assert {bool(one.exc_info) for one in of_report} == {
        trouble not in {"no folder", "full"}
    }
    assert len(of_report) == 1 or trouble not in {"no folder", "full"}
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_bytes() == b"the former one"


@ensureDeferred
async def test_a_placeholder_that_nothing_fills_is_said_at_start(webs, tmp_path):
    """As feeds have them; an attribute of the spider is one."""
    with pytest.raises(SettingsError, match=r"MANDELBOT_REPORT = .*%\(name\)s"):
        await crawl(LinksSpider, {"MANDELBOT_REPORT": str(tmp_path / "%(shop)s.html")})


@pytest.mark.parametrize(
    "value", ["report", "report.txt", "s3://bucket/report.html", 5, "reports/"]
)
def test_what_is_no_path_of_a_report_is_said(value):
    """With what it takes."""
    from scrapy.settings import Settings

    with pytest.raises(SettingsError, match=r"MANDELBOT_REPORT = .*'report\.html'"):
        Config.from_settings(Settings({"MANDELBOT_REPORT": value}))


def test_a_page_needs_jinja(monkeypatch):
    """It is said at start, with what brings it; the data need nothing."""
    from scrapy.settings import Settings

    find = util.find_spec
    monkeypatch.setattr(
        "scrapy_mandelbot.settings.values.find_spec",
        lambda name: None if name == "jinja2" else find(name),
    )
    with pytest.raises(SettingsError, match=r"scrapy-mandelbot\[html\]"):
        Config.from_settings(Settings({"MANDELBOT_REPORT": "report.html"}))
    assert Config.from_settings(Settings({"MANDELBOT_REPORT": "report.json"})).report


@ensureDeferred
async def test_the_report_and_the_log_agree_on_the_time(webs, tmp_path, monkeypatch):
    """However long the report takes to write, both say when the crawl ended, once."""
    page_of = crawl_report.page_of

    def slowly(report):
        if report["is_finished"]:
            TIME.skip(5)
        return page_of(report)

    monkeypatch.setattr(crawl_report, "page_of", slowly)
    path = tmp_path / "report.html"
    settings = {"MANDELBOT_REPORT": str(path)}
    result = await crawl(LinksSpider, settings, start_urls=[site(webs, 3).url + "/"])
    (verdict,) = result.logged("OK: Finished after ")
    assert json.loads(path.with_suffix(".json").read_text())[
        "verdict"
    ] == verdict.removeprefix("OK: ")
    head = path.read_text().partition('<dl class="tiles">')[0]
    assert re.findall(r"[0-9.]+ s\b", head.partition("<header>")[2]) == [
        verdict.split()[3] + " s"
    ]


@ensureDeferred
async def test_each_lost_request_is_listed_beside_the_report(webs, tmp_path):
    """Ten of a site are logged; Scrapy logs an error of the project."""
    web, other = site(webs, 30), site(webs, 1, "127.0.0.2")

    class Raises:
        def process_request(self, request, spider=None):
            if request.url.startswith(other.url):
                raise ValueError("of the project")

    web.pages["/"] = html(*(f"/page/{number}" for number in range(30)))
    web.refuse = Closed(seconds=10**6, after=1, robots_too=False)
    path = tmp_path / "report.json"
    listed = tmp_path / "report.lost.jsonl"
    listed.write_text("of the previous run\n")
    settings = {
        "MANDELBOT_REPORT": str(path),
        "MANDELBOT_PAUSE_OPTIONS": {"total": 30},
        "DOWNLOADER_MIDDLEWARES": {Raises: 500},
    }
    urls = [web.url + "/", other.url + "/"]
    result = await crawl(LinksSpider, settings, start_urls=urls)
    lines = [json.loads(line) for line in listed.read_text().splitlines()]
    assert len(lines) == json.loads(path.read_text())["total"]["lost"] == 31
    assert {line["url"] for line in lines} == {
        *(f"{web.url}/page/{number}" for number in range(30)),
        f"{other.url}/",
    }
    assert {line["method"] for line in lines} == {"GET"}
    assert {line["end"] for line in lines} == {"site_given_up", "error"}
    logged = result.logged("Lost <GET ")
    assert len(logged) == 10
    assert all(web.url in line for line in logged)
    (further,) = result.logged("Further lost requests of ")
    assert further.startswith(f"Further lost requests of {web.url} are not logged")


@ensureDeferred
async def test_a_crawl_that_loses_nothing_leaves_no_list(webs, tmp_path):
    """And removes that of the previous run."""
    web = site(webs, 3)
    listed = tmp_path / "report.lost.jsonl"
    listed.write_text("of the previous run\n")
    settings = {"MANDELBOT_REPORT": str(tmp_path / "report.json")}
    await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert not listed.exists()


@ensureDeferred
async def test_a_list_that_cannot_be_written_is_one_error(webs, tmp_path):
    """The crawl and its report go on."""
    web = site(webs, 5)
    web.refuse = Closed(seconds=10**6, after=1, robots_too=False)
    (tmp_path / "report.lost.jsonl").mkdir()
    path = tmp_path / "report.json"
    settings = {
        "MANDELBOT_REPORT": str(path),
        "MANDELBOT_PAUSE_OPTIONS": {"total": 30},
    }
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.logged("The list of lost requests cannot be written to ")) == 1
    assert json.loads(path.read_text())["total"]["lost"] == 5
