"""A field of a site's record is declared once, and shows wherever it should."""

from __future__ import annotations

import json

import pytest
from clocks import MIDNIGHT as NOW
from reports import a_record, a_report

from scrapy_mandelbot.fields import Column, Field, Fold, Tile, field, recorded
from scrapy_mandelbot.politeness.tally import Tally
from scrapy_mandelbot.report.crawl_page import page_of
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.job_report import JobState, job_report
from scrapy_mandelbot.report.samples import UsageRecord
from scrapy_mandelbot.report.site_record import SiteRecord
from scrapy_mandelbot.report.summary import summary
from scrapy_mandelbot.report.worker_report import compressed, filling

SITE = "https://example.com"
OF_THE_RECORDING = {"number", "is_watched", "in_flight"}
"""State of the recording itself, which says nothing about a site."""


@pytest.fixture
def received(monkeypatch) -> Field:
    """Declare a number of bytes, as one line in `Tally` would."""

    @recorded
    class One:
        received = field(
            0,
            "bytes",
            Fold.SUM,
            json="bytes",
            column=Column("BYTES", 75),
            page=[Column("Bytes", 15)],
            tile=Tile("Bytes in all", 25),
            is_detailed=True,
        )

    (declared,) = One.FIELDS.values()
    monkeypatch.setattr(Tally, "received", 0, raising=False)
    monkeypatch.setattr(
        SiteRecord, "FIELDS", {**SiteRecord.FIELDS, "received": declared}
    )
    return declared


def a_crawl(*sizes: int) -> CrawlRecord:
    """Return the record of a crawl that received so many bytes of each site."""
    record = CrawlRecord(NOW, lambda _: False)
    for number, size in enumerate(sizes):
        one = record.of(f"https://{number}.example", NOW)
        one.pages = 1
        one.received = size
    return record


def left_by(worker: int, record: CrawlRecord) -> bytes:
    data = {"worker": worker, "spider": "s", "agent": "a", "began": NOW}
    data |= {"ended": NOW + 1, "has_ended": True, "lost": []}
    for _ in filling(data, record, NOW + 1):
        pass
    return compressed(data)


@pytest.mark.usefixtures("received")
def test_a_number_that_is_declared_shows_in_json_table_and_page():
    """For each site and for all of them together; nothing else names it."""
    report = a_report(a_crawl(3_000, 2_000))
    assert sorted(one["bytes"] for one in report["sites"]) == [2_000, 3_000]
    assert report["total"]["bytes"] == 5_000
    table = summary(a_crawl(3_000, 2_000), NOW, 1)
    assert table.split("\n")[0].split() == ["SITE", "PAGES", "BYTES"]
    assert table.count("000") == 2
    page = page_of(report)
    assert '<th scope="col">Bytes</th>' in page
    assert "<td>3,000</td>" in page
    assert "Bytes in all" in page
    assert '"bytes":3000' in page


@pytest.mark.usefixtures("received")
def test_a_number_that_is_declared_adds_up_over_workers():
    """Each leaves its own in its report."""
    bodies = [left_by(1, a_crawl(3_000)), left_by(2, a_crawl(2_000))]
    made = job_report(bodies, JobState(NOW + 2, (), workers=0, unreported=0), 20)
    (site,) = made.data["sites"]
    assert site["bytes"] == made.data["total"]["bytes"] == 5_000
    assert "5,000" in made.text


def test_the_statements_of_a_site_add_up_over_workers():
    """They are of one site: the sum of all sites has none."""
    bodies = []
    for worker, said in (1, {"noai in meta": 2}), (2, {"noai in meta": 1, "tdm": 4}):
        record = a_crawl(0)
        record.of("https://0.example", NOW).usage = UsageRecord(statements=said)
        bodies.append(left_by(worker, record))
    made = job_report(bodies, JobState(NOW + 2, (), workers=0, unreported=0), 20)
    (site,) = made.data["sites"]
    assert site["usage"]["statements"] == [
        {"name": "tdm", "count": 4},
        {"name": "noai in meta", "count": 3},
    ]
    assert made.data["total"]["usage"]["statements"] == []


def test_each_number_of_a_record_is_declared():
    """One that is not would be in no sum, in no report and in no table."""
    declared = {one.name for one in SiteRecord.FIELDS.values()}
    values = {
        name
        for made in SiteRecord.__mro__
        for name, value in vars(made).items()
        if not callable(value) and not isinstance(value, property)
    }
    numbers = {name for name in values if not name.startswith("_")}
    assert numbers - declared == OF_THE_RECORDING | {"FIELDS", "LOST"}


def test_each_number_says_its_unit():
    """A reader of the code need not guess whether a sum is of seconds."""
    numbers = [
        one for one in SiteRecord.FIELDS.values() if one.fold in {Fold.SUM, Fold.SKETCH}
    ]
    assert [one.name for one in numbers if not one.unit] == []


def test_a_record_keeps_no_field_of_another():
    """Initial values are in the class; sums are of the record."""
    total, one = SiteRecord("", NOW), SiteRecord(SITE, NOW)
    one.refusal("503", NOW, 5.0)
    for _ in range(2):
        total.fold(one, NOW)
    assert total.retry_after.asked == 2
    assert one.retry_after.asked == 1
    assert SiteRecord(SITE, NOW).refusals == {}


def test_the_json_of_a_part_has_what_is_shown_of_it():
    """State that only judges the next request is not."""
    report = a_report(a_record())
    asked = next(one["retry_after"] for one in report["sites"] if one["retry_after"])
    assert list(asked) == ["asked", "longest", "kept", "broken", "soonest"]
    assert json.dumps(report)
