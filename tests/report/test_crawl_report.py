"""What the report says of a crawl: the JSON, which a schema describes, and the page."""

from __future__ import annotations

import json
import re

import pytest
from clocks import MIDNIGHT as NOW
from report_schema import SCHEMA, misfits_of
from reports import WAITING, a_record, a_report

from scrapy_mandelbot.report.comparison import comparison, crawled_of
from scrapy_mandelbot.report.crawl_page import _gaps, in_short, page_of
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.samples import ConcurrencyRecord, PaceRecord, PauseRecord
from scrapy_mandelbot.report.site_record import SiteRecord
from scrapy_mandelbot.report.summary import summary

WORKER = {"worker", "pages", "lost", "began", "ended", "has_ended"}


def fields_of(data, prefix=""):
    """Return the names of all fields, such as ``sites[].site``."""
    found = set()
    for name, value in data.items():
        found.add(prefix + name)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                mark = "[]." if isinstance(value, list) else "."
                found |= fields_of(part, prefix + name + mark)
    return found


def described(schema=None, prefix=""):
    """Return the description of each field of the schema, by its name."""
    found = {}
    for name, one in (schema or SCHEMA)["properties"].items():
        found[prefix + name] = one["description"]
        inner = one.get("items", one)
        if inner.get("$ref"):  # once, as one of ``sites``
            inner = SCHEMA["$defs"]["site"] if name == "sites" else {}
        if "properties" in inner:
            mark = "[]." if "items" in one else "."
            found |= described(inner, prefix + name + mark)
    return found


def test_the_sums_are_those_of_the_sites():
    """Of each number, and of what happened when."""
    report = a_report()
    total, sites = report["total"], report["sites"]
    assert total["sites"] == len(sites) == 6
    for name in (
        "pages",
        "forbidden",
        "refused",
        "pauses",
        "paused_for",
        "others",
        "failures",
    ):
        assert total[name] == pytest.approx(sum(one[name] for one in sites)), name
    for name in ("sent", "answers", "errors", "refusals", "failures"):
        of_sites = sum(b[name] for one in sites for b in one["timeline"]["buckets"])
        assert sum(b[name] for b in total["timeline"]["buckets"]) == of_sites, name
    assert total["answers"]["all"] == sum(one["answers"]["all"] for one in sites)
    assert total["answers"]["errors"] == 8


def test_the_report_has_the_time_of_the_slowest_answers():
    """One in twenty took longer."""
    record = CrawlRecord(NOW, lambda _: False)
    record.watch()
    one = record.of("https://one.example", NOW)
    for number in range(1, 101):
        one.answered(200, 0.01 * number, NOW + number, 0.0)
    (site,) = a_report(record)["sites"]
    assert site["answers"]["time"] == pytest.approx(0.5, rel=0.06)
    assert site["answers"]["slow_time"] == pytest.approx(0.95, rel=0.04)


def test_sites_with_trouble_come_first():
    """Given up, refused, then the largest, each with its state."""
    given_up, refused, *well = a_report()["sites"]
    assert (given_up["site"], given_up["state"]) == (
        "https://site-3.example",
        "given up",
    )
    assert (refused["site"], refused["state"]) == ("https://site-0.example", "well")
    assert refused["retry_after"] == {
        "asked": 1,
        "longest": 30,
        "kept": 1,
        "broken": 0,
        "soonest": pytest.approx(100),
    }
    assert [one["pages"] for one in well] == [55, 54, 52, 51]
    (pause,) = refused["pause_list"]
    assert (pause["kind"], pause["seconds"], pause["failed_probes"]) == (
        "refused",
        120,
        2,
    )
    assert refused["pace"]["asked"] == refused["gaps"]["least"] == 6


def test_the_report_lists_the_rules_of_all_sites():
    """The same rule of several as one, with the site where it forbade most."""
    record = a_record()
    record.of("https://site-5.example", NOW).forbid("/x", 3, "Disallow: /x", "*")
    first, second = a_report(record)["rules"]
    assert (first["sites"], first["count"]) == (3, 9)
    assert first["site"] == "https://site-4.example"
    assert (second["text"], second["sites"]) == ("Disallow: /x", 1)
    assert (first["line"], first["text"]) == (7, "Disallow: /private")
    assert len(first["examples"]) == 3


def test_a_pace_that_is_not_obeyed_is_named_as_such():
    """On the page and in the table, for a site that was given up too."""
    record = CrawlRecord(NOW, lambda _: False)
    one = record.of("https://down.example", NOW)
    one.refusal("503", NOW, None)
    one.pause(PauseRecord(one.site, "refused", NOW, NOW + 9, "503"))
    one.give_up(one.site, "503", 9)
    one.pace = PaceRecord(
        9.0, 0.0, "9 s between requests", "robots.txt line 2", is_obeyed=False
    )
    report = a_report(record, ended=NOW + 60)
    assert (report["sites"][0]["state"], report["sites"][0]["resumed"]) == (
        "given up",
        0,
    )
    assert "Delay not obeyed" in page_of(report)
    table = summary(record, NOW + 60, 20)
    assert "not obeyed" in table


COST = " https://a.example: Crawl-delay 2 s asked for; requests came every 0.4 s."


@pytest.mark.parametrize(
    ("gaps", "cost"),
    [
        ([], ""),
        ([0.4], COST),
        # a pause counts as 2 s, and 0.4 is a bucket
        ([0.1, 0.4, 9], COST.replace("0.4", "0.834")),
        ([0.001] * 7 + [0.8], COST.replace("0.4", "0.101")),  # eight at a time
        ([3], ""),
    ],
)
def test_a_delay_that_is_not_obeyed_is_reported_with_the_real_gap(gaps, cost):
    """Of the site where requests came fastest, measured by the delay; none if all were
    slower.
    """
    record = CrawlRecord(NOW, lambda _: False)
    for name, asked, factor in (("b", 3.0, 2), ("a", 2.0, 1)):
        one = record.of(f"https://{name}.example", NOW)
        one.pace = PaceRecord(
            asked, 0.0, f"{asked:g} s between requests", "line 2", is_obeyed=False
        )
        now = NOW
        for gap in [0, *gaps] if gaps else []:
            now += gap * factor
            one.sent(now)
    (text,) = (
        text
        for _, title, text in _gaps(a_report(record)["sites"])
        if "not obeyed" in title
    )
    assert text == f"2 sites with a Crawl-delay; MANDELBOT_PACE is not 'obey'.{cost}"
    ignored = record.get("https://a.example").ignored_delay()
    assert cost == (f" https://a.example: {ignored}." if ignored else "")
    (row,) = (one for one in summary(record, NOW, 20).splitlines() if "/a." in one)
    shown = f": {cost.split()[-2]} s" if cost else None
    assert re.search(r"not obeyed(: .* s)?", row)[1] == shown


def test_the_report_has_the_requests_at_once_that_a_site_bears():
    """In the data and the table; nothing where nothing was found."""
    record = a_record(1)
    record.get("https://site-0.example").concurrency = None
    found = ConcurrencyRecord(4, 16, 2.1)
    record.of("https://slow.example", NOW).concurrency = found
    report = a_report(record)
    of_sites = {one["site"]: one["concurrency"] for one in report["sites"]}
    assert of_sites == {
        "https://slow.example": {"bound": 4, "most": 16, "times_as_long": 2.1},
        "https://site-0.example": None,
    }
    table = summary(record, NOW + 60, 20)
    assert "  4 of 16 at once" in table
    assert table.count("at once") == 1


def test_the_report_has_the_rate_limit_that_was_found():
    """In the data and the table, where a site has one."""
    record = a_record(1)
    record.of("https://slow.example", NOW).limit = 0.5001
    report = a_report(record)
    limits = {one["site"]: one["limit"] for one in report["sites"]}
    assert limits == {"https://slow.example": 0.5, "https://site-0.example": None}
    assert "  30 a minute" in summary(record, NOW + 60, 20)
    quiet = a_record(1)
    quiet.get("https://site-0.example").concurrency = None
    assert "LIMIT" not in summary(quiet, NOW + 60, 20), "a column that would be empty"


def test_text_from_the_web_is_escaped_in_the_report():
    """What has no place in a line is an escape, in the JSON as well."""
    record = a_record(1)
    record.of("https://evil\u202e.example\x1b[2J", NOW).pages += 1
    text = json.dumps(a_report(record, agent="x\x1b"), ensure_ascii=False)
    assert text.isprintable()
    assert page_of(a_report(record)).isascii()


def test_a_crawl_of_nothing_has_a_report():
    """No site, no second, no answer."""
    record = CrawlRecord(NOW, lambda _: False)
    report = a_report(record, ended=NOW)
    assert report["total"]["pages"] == 0
    assert report["total"]["timeline"] is None
    assert "No URL was forbidden" in page_of(report)


def test_unknown_times_are_null_in_json():
    """A pause that is ended manually has no end, and JSON has no infinity."""
    record = a_record(1)
    (one,) = record.in_order()
    one.pauses[0].until = float("inf")
    one.pauses[0].ended = None
    json.dumps(a_report(record), allow_nan=False)


@pytest.mark.parametrize(
    ("sites", "most_bytes"),
    [
        (1_000, 1_500_000),
        pytest.param(5_000, 3_000_000, marks=pytest.mark.thorough),
    ],
)
def test_a_page_of_many_sites_is_not_large(sites, most_bytes):
    """Whatever happened at them; the JSON has all of each."""
    record = a_record(sites + 200, most_sites=sites)
    report = a_report(record, waiting=WAITING * sites)
    page = page_of(report)
    assert len(page) < most_bytes
    assert report["total"]["sites"] == sites + 200
    named = set(re.findall(r"https?://[^\s\"'<>&/\\]+", page))
    assert {one["site"] for one in report["sites"]} <= named


def a_whole_report() -> dict:
    """Return a report that has a value wherever one may be."""
    report = a_report(a_record(6, most_sites=4), waiting=WAITING)
    of_one = crawled_of(a_report(a_record(1)), "")
    report["compared"] = comparison(of_one, of_one._replace(sites={}))
    report["unmet"] = ["60 pages came, and 100 are expected"]
    return report


def test_the_schema_describes_the_report():
    """As it is written, and read again."""
    report = json.loads(json.dumps(a_whole_report()))
    assert misfits_of(report) == []


def test_the_schema_describes_no_field_that_no_report_has():
    """A field that has left the records leaves the schema as well."""
    of_report = {name for name in described() if not name.startswith("workers")}
    assert of_report <= fields_of(json.loads(json.dumps(a_whole_report())))
    assert set(SCHEMA["properties"]["workers"]["items"]["properties"]) == WORKER


def test_each_field_of_a_site_is_one_of_its_record():
    """Each class of a record declares its fields; the report adds three."""
    of_record = {one.json for one in SiteRecord.FIELDS.values() if one.json}
    of_schema = set(SCHEMA["$defs"]["site"]["properties"])
    assert of_schema == of_record | {"site", "sites", "state"}


def test_each_field_has_a_description():
    """They are the reference of the report."""
    assert {name: said for name, said in described().items() if not said} == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"result": "GOOD"}, "'GOOD' is none of"),
        ({"seconds": "3"}, ".seconds: '3' is no number"),
        ({"sites": None}, ".sites: None is no array"),
        ({"ended": "2026-11-29T03:15:00"}, "is no time"),
        ({"colour": "red"}, ".colour is new"),
        ({"from_former_run": -1}, "-1 is too small"),
    ],
)
def test_a_report_that_the_schema_does_not_describe_is_noticed(change, said):
    """Else the tests here would hold nothing."""
    (one,) = misfits_of({**a_whole_report(), **change})
    assert said in one


def test_only_sites_that_answered_have_a_time_to_the_first_byte():
    """A site that never answered has none."""
    record = a_record()
    record.of("https://silent.example", NOW).refusal("no answer", NOW + 1, None)
    times = {one["site"]: one["answers"]["time"] for one in a_report(record)["sites"]}
    assert [site for site, time in times.items() if time is None] == [
        "https://silent.example"
    ]


@pytest.mark.parametrize(
    ("time", "share", "said"),
    [
        (0.15, 0.020, []),
        (0.16, 0.020, ["Slower"]),
        (0.10, 0.021, ["More 5xx"]),
        (None, 0.020, []),
    ],
)
def test_in_short_it_says_whether_the_crawl_has_hurt_its_sites(time, share, said):
    """A hundredth more of the answers, or half as long again as each site's first ones
    took.
    """
    answers = {"all": 1_000, "errors": 1_000 * share, "first": 100, "first_errors": 1}
    total = {"lost": 0, "retry_after": None, "forbidden": 0, "refused": 0}
    well = {**a_report()["sites"][-1], "forbidden": 0, "pace": None}
    site = {**well, "site": "https://a.example"}
    site["answers"] = {**answers, "time": time, "first_time": 0.10}
    found = list(in_short({"total": total, "sites": [well, site], "waiting": []}))
    assert all(
        text.startswith("1 of 2 sites, such as https://a.ex") for _, _, text in found
    )
    assert [(level, word) for level, word, _ in found] == [
        ("warning", word) for word in said
    ]


def test_a_page_denies_no_request_that_was_left():
    """Where the process exits without closing the spider, of which sites they are is
    not known.
    """
    page = page_of(
        a_report(CrawlRecord(NOW, lambda _: False), left=1, is_finished=False)
    )
    assert "<b>Left</b> 1 request not sent." in page
    assert "No request was left" not in page
    assert "unusual" not in page
    assert "No request was left" in page_of(a_report(CrawlRecord(NOW, lambda _: False)))
