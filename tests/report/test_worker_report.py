"""What a worker leaves for the report of its job, and what becomes of several."""

from __future__ import annotations

import json
import zlib

import pytest
from clocks import MIDNIGHT as NOW
from reports import a_record

from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report import worker_report
from scrapy_mandelbot.report.crawl_page import page_of
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.job_report import JobState, job_report
from scrapy_mandelbot.report.samples import PauseRecord
from scrapy_mandelbot.report.site_record import SiteRecord
from scrapy_mandelbot.report.worker_report import (
    MOST_SITES,
    compressed,
    filling,
    read,
)

SITE = "https://example.com"
DONE = JobState(now=NOW + 100, waiting=(), workers=0, unreported=0)


def body_of(
    record, worker=1, *, ended=NOW + 60, has_ended=True, lost=(), project=None
) -> bytes:
    """Return what a worker leaves with such a record."""
    data = {
        "worker": worker,
        "spider": "shops",
        "agent": "Examplebot/1.0",
        "began": record.began,
        "ended": ended,
        "has_ended": has_ended,
        "lost": list(lost),
        "project": project,
    }
    for _ in filling(data, record, ended):
        pass
    return compressed(data)


def a_crawl(*sites: SiteRecord, began=NOW) -> CrawlRecord:
    """Return the record of a crawl of these sites."""
    record = CrawlRecord(began, lambda _: False)
    for one in sites:
        record.of(one.site, began).fold(one, NOW)
        record.of(one.site, began).sites = 1
        record.of(one.site, began).pauses = one.pauses
        record.of(one.site, began).rules = one.rules
    return record


def a_site(pages=0, taken=None, site=SITE, **ends) -> SiteRecord:
    """Return the record of a site with so many pages and other ends."""
    one = SiteRecord(site, NOW)
    one.pages = pages
    one.ends = {End(end): count for end, count in ends.items()}
    one.taken = one.ended if taken is None else taken
    return one


def test_what_is_read_is_what_was_left():
    """Of all kinds of sites, but for what needs each request to be recorded."""
    record = a_record()
    back = read(body_of(record, 7, has_ended=False, lost=[{"url": SITE}]))
    assert (back.worker, back.has_ended, back.lost) == (7, False, [{"url": SITE}])
    assert [one.site for one in back.sites] == [one.site for one in record.in_order()]
    for one, other in zip(back.sites, record.in_order(), strict=True):
        assert one.by_end() == other.by_end()
        assert one.taken == other.taken
        assert one.refusals == other.refusals
        for name in ("pauses", "robots", "rules", "pace", "sitemaps", "tags", "usage"):
            assert getattr(one, name) == getattr(other, name), name
        assert one.state() == other.state()


def test_a_report_is_bounded_however_many_sites_there_are():
    """The most troubled and largest have rows; the others are added up."""
    record = a_crawl(
        *(a_site(1, site=f"https://{number}.example") for number in range(5_000)),
        a_site(1, site=SITE, no_answer=1),
    )
    body = body_of(record)
    assert len(body) < 100 * MOST_SITES
    back = read(body)
    assert len(back.sites) == MOST_SITES
    assert back.sites[0].site == SITE
    assert back.rest.sites + MOST_SITES == 5_001
    assert back.rest.pages + sum(one.pages for one in back.sites) == 5_001


GOOD = json.loads(zlib.decompress(body_of(a_record())))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not compressed",
        zlib.compress(b"{"),
        zlib.compress(b"[]"),
        zlib.compress(b'{"version": 2}'),
        zlib.compress(json.dumps({**GOOD, "version": 1}).encode()),
        zlib.compress(json.dumps({**GOOD, "began": "today"}).encode()),
        zlib.compress(json.dumps({**GOOD, "sites": [{"site": SITE}]}).encode()),
        zlib.compress(json.dumps({**GOOD, "rest": None}).encode()),
        zlib.compress(
            b" " * (worker_report.MOST_BYTES + 1) + json.dumps(GOOD).encode()
        ),
    ],
    ids=[
        "empty",
        "raw",
        "cut",
        "list",
        "short",
        "old",
        "time",
        "site",
        "rest",
        "large",
    ],
)
def test_what_is_no_report_is_an_error_and_costs_no_other(body):
    """The verb names it, and reports on the rest."""
    with pytest.raises(ValueError, match=r".+"):
        read(body)
    made = job_report([body, body_of(a_record())], DONE, 20)
    assert len(made.remarks) == 1
    assert len(made.data["workers"]) == 1


def test_workers_add_up_to_one_report():
    """Sites that several of them crawled have one row; the account balances."""
    first = a_crawl(
        a_site(41, other_answer=1, seen=80), a_site(2, site="https://b.example")
    )
    second = a_crawl(a_site(3, no_answer=2), began=NOW + 5)
    lost = [{"url": f"{SITE}/{number}"} for number in range(2)]
    made = job_report([body_of(second, 2, lost=lost), body_of(first)], DONE, 20)
    total = made.data["total"]
    assert (total["pages"], total["lost"], total["sites"]) == (46, 2, 2)
    assert total["taken_in"] == sum(one["count"] for one in total["ends"])
    assert [one["site"] for one in made.data["sites"]] == [SITE, "https://b.example"]
    assert [one["worker"] for one in made.data["workers"]] == [1, 2]
    assert made.data["verdict"] == (
        "Finished after 60 s. 46 pages. 2 requests failed (2 without an answer)."
    )
    assert made.data["result"] == "INCOMPLETE"
    assert made.text.startswith("INCOMPLETE: Finished after")
    assert made.lost == lost
    assert SITE in made.text
    assert page_of(made.data)


@pytest.mark.parametrize(
    ("site", "result"),
    [
        (a_site(3), "OK"),
        (a_site(3, no_answer=1), "INCOMPLETE"),
        (a_site(0, no_answer=1), "FAILED"),
    ],
)
def test_one_word_says_how_the_job_went(site, result):
    made = job_report([body_of(a_crawl(site))], DONE, 20)
    assert made.data["result"] == result
    assert made.text.startswith(f"{result}: Finished after")


def test_a_job_that_runs_or_waits_says_so():
    """By its workers, and by what waits in it."""
    body = body_of(a_crawl(a_site(1)), has_ended=False)
    waiting = [{"site": SITE, "waiting": 2, "under_way": 1}]
    running = JobState(NOW + 90, waiting, workers=2, unreported=0)
    made = job_report([body], running, 20)
    assert made.data["verdict"].startswith("Running for 90 s (2 workers). 1 page.")
    assert "3 requests wait" in made.data["verdict"]
    assert made.data["result"] == "INCOMPLETE"
    assert made.data["is_finished"] is False
    assert "its last report" in made.text
    left = job_report([body], running._replace(workers=0), 20)
    assert left.data["verdict"].startswith("Stopped after 60 s.")
    assert job_report([], DONE, 20) is None
    gone = job_report([body], DONE._replace(unreported=3), 20)
    assert gone.remarks == ["the reports of 3 workers are gone: there were too many"]


def paused(since, ended=None, kind="refused") -> PauseRecord:
    return PauseRecord(SITE, kind, since, since + 20, "503", ended=ended)


def test_a_pause_that_the_next_owner_took_over_is_one_pause():
    """It ends where that one ended it, and the site is well."""
    first, second = a_site(1), a_site(1)
    first.pauses_seen = 1
    first.pauses = [paused(NOW)]
    second.pauses_seen = second.pauses_ended = 1
    second.pauses = [paused(NOW + 15, NOW + 20, "previous run")]
    for order in ((first, second), (second, first)):
        bodies = [body_of(a_crawl(one)) for one in order]
        (site,) = job_report(bodies, DONE, 20).data["sites"]
        assert (site["pauses"], site["state"]) == (1, "well")
        (pause,) = site["pause_list"]
        assert pause["seconds"] == 20


def test_a_pause_that_nobody_took_over_is_over_when_the_next_begins():
    """Its end is not known."""
    first, second = a_site(1), a_site(1)
    first.pauses = [paused(NOW)]
    second.pauses = [paused(NOW + 30, NOW + 40)]
    bodies = [body_of(a_crawl(one)) for one in (first, second)]
    (site,) = job_report(bodies, DONE, 20).data["sites"]
    assert [one["seconds"] for one in site["pause_list"]] == [30, 10]


def test_the_same_rule_of_two_workers_is_one():
    """Its counts are added up."""
    sites = []
    for url in ("/a", "/b"):
        one = a_site()
        one.forbid(SITE + url, 2, "Disallow: /", "*")
        one.count(End.FORBIDDEN)
        sites.append(one)
    made = job_report([body_of(a_crawl(one)) for one in sites], DONE, 20)
    (rule,) = made.data["sites"][0]["rules"]
    assert (rule["count"], made.data["sites"][0]["forbidden"]) == (2, 2)


WELL = {"items": 50, "callbacks": {}, "failed_items": {}, "unwritten": {}}


def of_fleet(*projects, expected=(), failing=(), workers=0):
    """Return the report of a fleet, each worker of which brought 50 pages."""
    bodies = [
        body_of(a_crawl(a_site(50, site=f"https://{n}.example")), n, project=project)
        for n, project in enumerate(projects, start=1)
    ]
    state = DONE._replace(expected=dict(expected), failing=failing, workers=workers)
    return job_report(bodies, state, 20)


@pytest.mark.parametrize(
    ("errors", "rule", "sentence"),
    [
        ({}, None, " 100 pages."),
        (
            {"callbacks": {"KeyError": 40}},
            "callbacks",
            " 40 callbacks failed (KeyError).",
        ),
        (
            {"failed_items": {"OSError": 90}},
            "items",
            " 90 items failed in a pipeline (OSError).",
        ),
        ({"unwritten": {"": 1}}, "unwritten", " 1 item could not be written."),
        ({"callbacks": {"KeyError": 1}}, None, " 1 callback failed (KeyError)."),
    ],
)
def test_a_fleet_is_judged_by_the_errors_of_all_workers(errors, rule, sentence):
    """Its word is as that of a crawl which did all of it."""
    made = of_fleet(WELL, {**WELL, **errors})
    assert made.data["result"] == ("OK" if rule is None else "INCOMPLETE")
    assert made.data["reasons"] == ([] if rule is None else [rule])
    assert sentence in made.data["verdict"]
    assert made.data["items"] == 100


@pytest.mark.parametrize(
    ("expected", "unmet"),
    [
        ({"pages": 100, "items": 100, "callbacks": 0}, []),
        ({"pages": 101}, ["100 pages, at least 101 expected"]),
        ({"items": 101}, ["100 items, at least 101 expected"]),
        (
            {"sites": {"https://1.example": {"pages": 60}}},
            ["50 pages of https://1.example, at least 60 expected"],
        ),
    ],
)
def test_a_fleet_is_judged_as_a_whole(expected, unmet):
    """No worker alone has brought what is expected."""
    made = of_fleet(WELL, WELL, expected=expected, failing=["expectations"])
    assert made.data["unmet"] == unmet
    assert made.data["result"] == ("FAILED" if unmet else "OK")
    assert made.has_failed == bool(unmet)
    assert all(one in made.data["verdict"] for one in unmet)


def test_a_fleet_that_runs_is_not_judged_yet():
    """What is missing may come."""
    made = of_fleet(
        WELL,
        expected={"pages": 1000},
        failing=["incomplete", "expectations"],
        workers=1,
    )
    assert made.data["unmet"] == []
    assert not made.has_failed


def test_what_a_fleet_cannot_be_compared_with_is_no_failure():
    """No last crawl is kept; workers of an older version leave no items."""
    made = of_fleet(WELL, None, expected={"of_last_time": 0.8, "items": 1})
    assert made.data["result"] == "OK"
    assert made.data["items"] is None
    assert "Not compared: items " in made.data["verdict"]
    assert "the previous crawl, of which a job on Redis keeps none" in made.text
