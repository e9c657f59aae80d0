"""The last line of a crawl and the first of its report: how it ended, what to do."""

from __future__ import annotations

import json
import re

import pytest
from crawling import FailuresSpider, LinksSpider, crawl, ensureDeferred
from scrapy.signals import spider_opened
from webs import Answer, Closed, html, site

from scrapy_mandelbot import engine, status

pytestmark = pytest.mark.usefixtures("loop_is_turned")

CASES = {
    "finished": ({}, False, "OK: Finished after", ["11 pages."]),
    "a limit of the project": (
        {"CLOSESPIDER_PAGECOUNT": 3, "CONCURRENT_REQUESTS": 1},
        False,
        "INCOMPLETE: Stopped after",
        [
            "(closespider_pagecount)",
            "requests were not sent.",
            "Set JOBDIR to store such",
        ],
    ),
    "the same with a job": (
        {"CLOSESPIDER_PAGECOUNT": 3, "CONCURRENT_REQUESTS": 1, "JOBDIR": "job"},
        False,
        "INCOMPLETE: Stopped after",
        ["requests wait.", "Run the same command to continue."],
    ),
    "paused sites left": (
        {"MANDELBOT_PAUSE_IDLE": 0, "JOBDIR": "job"},
        True,
        "INCOMPLETE: Stopped after",
        [
            "(only what is paused or given up is left)",
            "requests wait (next at 20",
            "Run the same command",
        ],
    ),
    "a site given up": (
        {"MANDELBOT_PAUSE_OPTIONS": {"total": 5}},
        True,
        "INCOMPLETE: Finished after",
        [
            "requests failed",
            "of sites that were given up, such as http://127.0.0.1:",
            ": 503 for <GET ",
            "Raise MANDELBOT_PAUSE_OPTIONS['total'] to wait longer",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
@ensureDeferred
async def test_the_last_line_says_how_it_ended_and_what_to_do(webs, tmp_path, case):
    """Its numbers are those of the account, and the report begins with it."""
    settings, goes_down, begins, parts = CASES[case]
    web = site(webs, 10)
    if goes_down:
        web.refuse = Closed(seconds=10**6, after=3)
    path = tmp_path / "report.html"
    settings = {**settings, "MANDELBOT_REPORT": str(path)}
    if "JOBDIR" in settings:
        settings["JOBDIR"] = str(tmp_path / "job")
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])
    (line,) = result.logged(begins)
    for part in parts:
        assert part in line
    numbers = {
        name: result.stats.get(f"mandelbot/requests/{name}", 0)
        for name in ("page", "lost")
    }
    assert f" {numbers['page']} page" in line
    assert (f" {numbers['lost']} request" in line) == bool(numbers["lost"])
    of_the_package = [
        one for one in result.messages if one.startswith(("Requests: ", begins))
    ]
    assert of_the_package[-1] == line
    report = json.loads(path.with_suffix(".json").read_text())
    assert report["result"] == line.partition(":")[0]
    said = report["verdict"].partition(" s")[2]  # the seconds go on
    assert said == line.partition(" s")[2]


@ensureDeferred
async def test_a_host_that_refuses_connections_is_unreachable(webs, tmp_path):
    """It is named, ranked first, and has asked for no wait."""
    well, gone = site(webs, 3), site(webs, 1, "127.0.0.2")
    gone_url = gone.url
    gone.close()
    path = tmp_path / "report.json"
    urls = [well.url + "/", gone_url + "/"]
    result = await crawl(
        FailuresSpider, {"MANDELBOT_REPORT": str(path)}, start_urls=urls
    )
    (line,) = result.logged("INCOMPLETE: Finished after")
    assert f"1 without an answer, such as {gone_url}: connection refused); " in line
    report = json.loads(path.read_text())
    first, second = report["sites"]
    assert (first["site"], first["state"], second["state"]) == (
        gone_url,
        "unreachable",
        "well",
    )
    assert first["refused"] > 0
    assert first["retry_after"] is None


@ensureDeferred
async def test_a_site_that_forbids_all_requests_is_named(webs, tmp_path):
    """In verdict, table, report and page, before sites that are well."""
    well, shut = site(webs, 3), site(webs, 3, "127.0.0.2")
    shut.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n")
    path = tmp_path / "report.html"
    urls = [well.url + "/", shut.url + "/", shut.url + "/page/1"]
    result = await crawl(
        FailuresSpider, {"MANDELBOT_REPORT": str(path)}, start_urls=urls
    )
    (line,) = result.logged("INCOMPLETE: Finished after")
    assert f" 1 site forbade all requests, such as {shut.url}." in line
    (table,) = result.logged("What happened at the sites:")
    assert table.splitlines()[2].startswith(shut.url)
    assert "  forbidden  " in table.splitlines()[2]
    first, second = json.loads(path.with_suffix(".json").read_text())["sites"]
    assert (first["site"], first["state"]) == (shut.url, "forbidden")
    assert (second["site"], second["state"]) == (well.url, "well")
    text = f"1 site forbade all requests by robots.txt, such as {shut.url}."
    assert text in path.read_text()


@ensureDeferred
async def test_a_site_that_forbids_some_requests_has_not_forbidden_all(webs, tmp_path):
    """Nor has one whose forbidden page is beside a page that answers 404."""
    web = site(webs, 3)
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /page\n")
    web.pages["/"] = Answer(b"", 404)
    path = tmp_path / "report.json"
    result = await crawl(
        FailuresSpider,
        {"MANDELBOT_REPORT": str(path), "HTTPERROR_ALLOW_ALL": True},
        start_urls=[web.url + "/", web.url + "/page/1"],
    )
    assert json.loads(path.read_text())["sites"][0]["state"] == "mostly errors"
    line = result.logged("INCOMPLETE: Finished after")[0]
    assert "forbade" not in line
    assert "1 answer of 404. No page came." in line


@ensureDeferred
async def test_a_section_given_up_in_a_resumed_job_is_so_everywhere(webs, tmp_path):
    """In the log, the status, the end table and the report: its requests stay in the
    job.
    """
    web = site(webs, 60)
    dead = [f"/dead/{number}" for number in range(20)]
    links = [path for path in web.pages if path not in {"/", "/robots.txt"}]
    web.pages |= {path: Answer(b"", 503) for path in dead} | {"/": html(*dead, *links)}
    path = tmp_path / "report.json"
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        "MANDELBOT_REPORT": str(path),
        "MANDELBOT_PAUSE_IDLE": 5,
    }
    first = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert first.stats["finish_reason"] == "sites_paused"
    assert first.logged("/dead/ of ")
    asked = len(web.hits)
    seen = []

    def look(crawler):
        def before_the_end():
            engine.before_requests_are_left(
                crawler, lambda: seen.append(status(crawler))
            )

        crawler.signals.connect(before_the_end, signal=spider_opened, weak=False)

    settings |= {
        "MANDELBOT_PAUSE_IDLE": "wait",
        "MANDELBOT_PAUSE_OPTIONS": {"tries": 3},
    }
    second = await crawl(LinksSpider, settings, start_urls=[], before=look)

    (line,) = second.logged("Gave up /dead/ of ")
    assert "kept for the next run" in line
    (site_status,) = seen[0].sites
    assert (str(site_status.reason), site_status.until) == ("given up", None)
    assert site_status.details.startswith("/dead/, ")
    (one,) = json.loads(path.read_text())["sites"]
    assert one["state"] == "section given up"
    assert len(web.hits) - asked < 5
    (verdict,) = second.logged("INCOMPLETE: Stopped after")
    assert f" {site_status.waiting} requests wait." in verdict


@ensureDeferred
async def test_a_limit_on_waiting_is_named_as_what_it_is(webs):
    """``total`` counts from when nothing else is left: before, no time is known."""
    web = site(webs, 10)
    web.refuse = Closed(seconds=10**6, after=3)
    settings = {"MANDELBOT_PAUSE_OPTIONS": {"total": 20}}
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])
    lines = [line for line in result.messages if " is still paused until " in line]
    known = [line for line in lines if "given up at about" in line]
    assert known
    for line in lines:
        idle = "given up 20 s after nothing else is left to do, or at about "
        assert line in known or idle in line


@ensureDeferred
async def test_sites_given_up_in_a_job_have_a_time_too(webs, tmp_path):
    """In the verdict and in what waits: the next run asks no sooner."""
    web = site(webs, 10)
    web.refuse = Closed(seconds=10**6, after=3, retry_after="7200")
    path = tmp_path / "report.json"
    settings = {
        "MANDELBOT_PAUSE_OPTIONS": {"total": 5},
        "JOBDIR": str(tmp_path / "job"),
        "MANDELBOT_REPORT": str(path),
    }
    result = await crawl(FailuresSpider, settings, start_urls=[web.url + "/"])
    (verdict,) = result.logged("INCOMPLETE: ")
    assert re.search(r"requests wait \(next at \d{4}-\d\d-\d\d ", verdict)
    (one,) = json.loads(path.read_text())["waiting"]
    assert one["reason"] == "given up"
    assert re.search(
        r"; not before \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$", one["details"]
    )


@pytest.mark.parametrize(
    ("kind", "advice", "no_advice"),
    [
        ("refused", "Nothing accepts connections there", "RETRY_TIMES"),
        ("page", "The sites answer their other pages", "Raise "),
    ],
)
@ensureDeferred
async def test_advice_is_given_only_where_it_helps(webs, kind, advice, no_advice):
    """No retry mends a refused connection, and no setting a page that is refused."""
    web = site(webs, 10)
    urls = [web.url + "/"]
    settings = {}
    if kind == "page":
        web.pages["/page/3"] = Answer(b"", 503)
    else:
        gone = site(webs, 1, "127.0.0.2")
        urls = [gone.url + "/", web.url + "/"]
        gone.close()
        settings = {"ROBOTSTXT_OBEY": False}
    result = await crawl(FailuresSpider, settings, start_urls=urls)
    (verdict,) = result.logged("INCOMPLETE: ")
    assert advice in verdict
    assert no_advice not in verdict
    assert "Set JOBDIR" not in verdict
