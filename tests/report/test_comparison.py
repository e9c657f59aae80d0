"""What the report says of the crawl before, and the file that keeps it."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

import pytest
from reports import a_record, a_report

from scrapy_mandelbot import events
from scrapy_mandelbot.report.comparison import (
    CHANGES,
    MOST_COMPARED,
    Crawled,
    CrawledSite,
    comparison,
    crawled_of,
)
from scrapy_mandelbot.report.crawl_page import changes, page_of
from scrapy_mandelbot.report.crawl_report import _replace
from scrapy_mandelbot.report.previous_crawl import (
    LONGEST_FILE,
    PreviousCrawl,
    previous_path,
)


def a_crawl(sites, **about):
    values = {
        "ended": "2026-11-22T12:00:00+00:00",
        "reason": "finished",
        "job": "",
        "is_whole": True,
        "pages": sum(one[0] for one in sites.values()),
        "sites": {name: CrawledSite(*one) for name, one in sites.items()},
        **about,
    }
    return Crawled(**values)


def changed(before, now):
    """Return the sites that changed, by kind."""
    found = {}
    for one in comparison(before, now)["changes"]:
        found.setdefault(one["change"], []).append(one["site"])
    return found


@pytest.mark.parametrize(
    ("was", "is_now", "kind"),
    [
        ((40, "well", 0.1), (40, "well", 0.15), None),
        ((40, "well", 0.1), (40, "well", 0.16), "slower"),
        ((9, "well", 0.1), (9, "well", 0.9), None),
        ((40, "well", None), (40, "well", 0.9), None),
        ((40, "well", 0.1), (20, "well", 0.1), None),
        ((40, "well", 0.1), (19, "well", 0.1), "fewer pages"),
        ((9, "well", 0.1), (0, "well", None), None),
        ((40, "well", 0.1), (0, "forbidden", None), "closed"),
        ((40, "paused", 0.1), (3, "given up", 0.1), "closed"),
        ((40, "well", 0.1), (0, "unreachable", None), "closed"),
        ((0, "well", None), (0, "unreachable", None), None),
        ((0, "forbidden", None), (0, "forbidden", None), None),
        ((0, "forbidden", None), (5, "well", 0.1), "open again"),
        ((40, "well", 0.1), None, "gone"),
        ((0, "unreachable", None), None, None),
        (None, (1, "well", 0.1), "new"),
    ],
)
def test_each_change_of_a_site_has_a_name(was, is_now, kind):
    """Below ten pages neither times nor numbers of pages are compared."""
    before = a_crawl({} if was is None else {"https://a.example": was})
    now = a_crawl({} if is_now is None else {"https://a.example": is_now})
    expected = {} if kind is None else {kind: ["https://a.example"]}
    assert changed(before, now) == expected


def test_sites_that_were_not_kept_are_neither_new_nor_gone():
    """A crawl of more sites than are kept is compared by those that both have."""
    many = a_crawl({"https://a.example": (1, "well", 0.1)}, is_whole=False)
    other = a_crawl({"https://b.example": (1, "well", 0.1)})
    assert changed(many, other) == {"gone": ["https://a.example"]}
    assert changed(other, many) == {"new": ["https://a.example"]}


def test_a_report_of_many_sites_keeps_the_most_troubled():
    """And says that these are not all."""
    report = a_report(a_record(3))
    report["sites"] = report["sites"] * MOST_COMPARED
    kept = crawled_of(report, "")
    assert not kept.is_whole
    assert len(kept.sites) == 3
    assert crawled_of(a_report(a_record(3)), "").is_whole


def test_the_page_shows_what_has_changed():
    """A sentence first, then a row for each site."""
    before = a_crawl(
        {
            "https://closed.example": (40, "well", 0.1),
            "https://gone.example": (30, "well", 0.1),
            "https://same.example": (30, "well", 0.1),
        }
    )
    now = a_crawl(
        {
            "https://closed.example": (0, "forbidden", None),
            "https://same.example": (60, "well", 0.4),
            "https://new.example": (6, "well", 0.4),
        }
    )
    report = a_report()
    report["compared"] = comparison(before, now)
    assert changes(report["compared"]) == (
        "66 pages (34% fewer), 100 last time; 1 closed; 1 gone; 1 slower; 1 new."
    )
    page = page_of(report)
    assert '<h2 id="changes-head">Since the previous crawl</h2>' in page
    rows = page.partition('id="changes-head"')[2].partition("</section>")[0]
    for site, change in (
        ("closed", "closed"),
        ("gone", "gone"),
        ("same", "slower"),
        ("new", "new"),
    ):
        name = f'<th scope="row">https://{site}.example</th>'
        assert f'{name}<td class="text">{change}</td>' in rows
    assert "changes-head" not in page_of(a_report())


class Noted(NamedTuple):
    """Stands in for the events of a crawl."""

    of: list
    subscribed: dict

    def emit(self, event, **values):
        self.of.append((event, values))

    def subscribe(self, call, event):
        self.subscribed[event] = call


def run(path, sites, spider="shop", *, job="", is_resumed=False, **about):
    """Compare one crawl and keep it; return the comparison and what was logged."""
    noted = Noted([], {})
    continues = about.pop("continues", False)
    previous = PreviousCrawl(path, spider, noted)
    previous.read()
    if continues:
        noted.subscribed[events.JOB_HAD_FINISHED]({})
    report = a_report(a_record(0), **about)
    report["sites"] = [
        {"site": name, "pages": pages, "state": "well", "answers": {"time": 0.1}}
        for name, pages in sites.items()
    ]
    report["total"]["pages"] = sum(sites.values())
    compared = previous.compared(report, job, is_resumed=is_resumed)
    previous.write(_replace)
    return compared, noted.of


def pages_of(compared):
    return compared and (compared["previous_pages"], compared["pages"])


def test_each_crawl_is_compared_with_the_one_before(tmp_path):
    """The first with none."""
    path = tmp_path / "shop.previous.json"
    first, _ = run(path, {"a": 40})
    second, _ = run(path, {"a": 30, "b": 5})
    third, _ = run(path, {"a": 31, "b": 5})
    assert first is None
    assert pages_of(second) == (40, 35)
    assert pages_of(third) == (35, 36)
    assert [one["name"] for one in third["counts"]] == list(CHANGES)


def test_the_runs_of_a_job_are_one_crawl(tmp_path):
    """Each that resumes it adds to it, as does one in a job that had finished."""
    path = tmp_path / "shop.previous.json"
    run(path, {"a": 40}, job="/monday")
    run(path, {"a": 10}, job="/tuesday", reason="sites_paused")
    resumed, _ = run(path, {"a": 20, "b": 3}, job="/tuesday", is_resumed=True)
    again, _ = run(path, {"a": 1}, job="/tuesday", continues=True)
    assert pages_of(resumed) == (40, 33)
    assert pages_of(again) == (40, 34)
    wednesday, _ = run(path, {"a": 39, "b": 3}, job="/wednesday")
    assert pages_of(wednesday) == (34, 42)


def test_a_resumed_run_that_knows_no_time_keeps_that_of_the_first():
    """Of a site from which it got no page, or too few."""
    first = a_crawl({"a": (40, "well", 0.1), "b": (40, "well", 0.1)})
    then = first.then(a_crawl({"a": (0, "down", None), "b": (2, "well", 0.4)}))
    assert then.sites == {
        "a": CrawledSite(40, "down", 0.1),
        "b": CrawledSite(42, "well", 0.4),
    }


def test_a_resumed_run_of_another_job_is_not_compared(tmp_path):
    """Its first run is unknown; the crawl that is known stays."""
    path = tmp_path / "shop.previous.json"
    run(path, {"a": 40}, job="/monday")
    known = path.read_text()
    assert run(path, {"a": 7}, job="/other", is_resumed=True) == (None, [])
    assert path.read_text() == known


def test_a_crawl_that_was_stopped_is_not_what_others_are_compared_with(tmp_path):
    """Ctrl-C after three pages: the next crawl has not gained 37."""
    path = tmp_path / "shop.previous.json"
    run(path, {"a": 40})
    stopped, _ = run(path, {"a": 3}, reason="shutdown")
    after, _ = run(path, {"a": 40})
    assert pages_of(stopped) == (40, 3)
    assert pages_of(after) == (40, 40)


def nested() -> str:
    return "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it was not written by this version of scrapy-mandelbot"),
        ("{", "it was not written by this version of scrapy-mandelbot"),
        ('{"my": "data"}', "it was not written by this version of scrapy-mandelbot"),
        ("OF ANOTHER SPIDER", "it is of the spider 'other'"),
        ("DAMAGED", "it is damaged"),
        ("NO CRAWL", "it is damaged"),
        ("NESTED", ""),
        ("LONG", f"it has more than {LONGEST_FILE:,} bytes"),
    ],
)
def test_a_file_that_is_not_ours_is_neither_used_nor_replaced(tmp_path, content, why):
    """One line names it; the crawl and its report go on."""
    path = tmp_path / "shop.previous.json"
    run(path, {"a": 40}, "other" if content == "OF ANOTHER SPIDER" else "shop")
    if content == "DAMAGED":
        data = json.loads(path.read_text())
        data["last"]["sites"]["a"] = [1]
        content = json.dumps(data)
    elif content == "NO CRAWL":
        data = json.loads(path.read_text())
        data["last"] = 7
        content = json.dumps(data)
    elif content == "NESTED":
        content = nested()
    elif content == "LONG":
        content = " " * (LONGEST_FILE + 1)
    elif content == "OF ANOTHER SPIDER":
        content = path.read_text()
    path.write_text(content)
    compared, ((event, values),) = run(path, {"a": 30})
    assert compared is None
    assert event is events.NOT_COMPARED
    assert values["path"] == str(path)
    assert why in values["why"]
    assert path.read_text() == content


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e400", "9" * 400, '"x"', "[]"])
@pytest.mark.parametrize("field", ["pages", "time", "all pages"])
def test_a_number_that_no_crawl_has_is_damage(tmp_path, field, number):
    """The file is named, and stays as it is."""
    path = tmp_path / "shop.previous.json"
    run(path, {"a": 40})
    data = json.loads(path.read_text())
    if field == "all pages":
        data["last"]["pages"] = "HERE"
    elif field == "pages":
        data["last"]["sites"]["a"] = ["HERE", "reachable", 1]
    else:
        data["last"]["sites"]["a"] = [40, "reachable", "HERE"]
    content = json.dumps(data).replace('"HERE"', number)
    path.write_text(content)
    compared, ((event, values),) = run(path, {"a": 30})
    assert compared is None
    assert event is events.NOT_COMPARED
    assert values["why"] == "it is damaged"
    assert path.read_text() == content


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_place_of_the_file_is_not_waited_for(tmp_path):
    path = tmp_path / "shop.previous.json"
    os.mkfifo(path)
    compared, ((event, values),) = run(path, {"a": 30})
    assert compared is None
    assert event is events.NOT_COMPARED
    assert "Not a regular file" in values["why"]


@pytest.mark.parametrize(
    ("setting", "file"),
    [
        ("reports/%(name)s-%(time)s.html", "reports/shop.previous.json"),
        ("reports/%(time)s/%(name)s.json", "reports/shop.previous.json"),
        ("%(time)s.html", "shop.previous.json"),
        ("report.html", "report-shop.previous.json"),
        ("out/%(time)s %(name)s %(country)s.html", "out/shop fr.previous.json"),
    ],
)
def test_the_file_is_named_by_the_report_and_the_spider(make_crawler, setting, file):
    """So that spiders, and their arguments that name the report, do not mix."""
    crawler = make_crawler()
    crawler.spider.name = "shop"
    crawler.spider.country = "fr"
    assert str(previous_path(setting, crawler)) == file
