"""The table that a crawl ends with."""

from __future__ import annotations

import logging

import pytest
from clocks import MIDNIGHT as NOW

from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.report.samples import (
    PaceRecord,
    PauseRecord,
    SitemapsRecord,
    TagsRecord,
)
from scrapy_mandelbot.report.summary import CrawlSummary, headings, summary

HEADER = ["SITE", "PAGES", "END", "REFUSED", "PAUSES", "PAUSED", "FOR", "SITEMAPS"]
HEADER += ["DELAY"]


@pytest.fixture
def record() -> CrawlRecord:
    return CrawlRecord(NOW, lambda _: False, most_sites=100)


def rows(record: CrawlRecord, most: int = 20) -> list[list[str]]:
    return [line.split() for line in summary(record, NOW + 60, most).split("\n")]


def test_a_line_a_site_and_troubled_ones_first(record):
    """Pages, forbidden, refusals, pauses and seconds, pace asked and kept, sitemaps,
    tags.
    """
    large = record.of("https://large.example", NOW)
    large.pages = 12_345
    large.sitemaps = SitemapsRecord(cited=3)
    large.pace = PaceRecord(5.0, 5.0, "5 s between requests", "set manually")
    large.is_watched = True  # as with a report
    large.left(NOW)
    large.left(NOW + 5.25)
    paused = record.of("https://paused.example", NOW)
    paused.refusal("503", NOW, 60)
    paused.pause(PauseRecord(paused.site, "refused", NOW, NOW + 60, "503"))
    assert rows(record) == [
        HEADER,
        ["https://paused.example", "0", "paused", "1", "1", "60", "s"],
        ["https://large.example", "12,345", "3", "5", "s,", "obeyed"],
    ]


def test_thousands_are_folded(record):
    """So many have a line; the others have one together, with the sums of all."""
    for number in range(3_000):
        record.of(f"https://{number}.example", NOW).pages = number
    table = rows(record, most=2)
    assert [row[:2] for row in table[1:3]] == [
        ["https://2999.example", "2,999"],
        ["https://2998.example", "2,998"],
    ]
    together = sum(range(2_998))
    assert table[3] == f"2,998 more sites together {together:,}".split()
    assert len(table) == 4


def test_a_long_name_is_cut(record):
    """A site's owner chooses its name: a line stays a line."""
    record.of(f"https://{'a' * 300}.example", NOW)
    assert all(len(line) < 150 for line in summary(record, NOW, 20).split("\n"))


def a_troubled_record(record):
    """Fill in a value for each column."""
    for number in range(3):
        one = record.of(f"https://site-{number}.example", NOW)
        one.pages = 10 + number
        one.sitemaps = SitemapsRecord(cited=number)
    one = record.of("https://gone.example", NOW)
    one.refusal("503", NOW, 60)
    one.pause(PauseRecord(one.site, "refused", NOW, NOW + 60, "503"))
    one.give_up(one.site, "503", 9)
    one.count(End.SITE, 1_204)
    one.forbid("/a", 1, "Disallow: /", "*")
    one.limit = 0.5
    one.others = 3
    one.statuses = {403: 2, 404: 1}
    one.tags = TagsRecord(pages=4)
    one.pace = PaceRecord(5.0, 0.0, "5 s", "robots.txt line 2", is_obeyed=False)
    one.left(NOW)
    one.left(NOW + 0.25)
    return record


@pytest.mark.parametrize("width", [None, 200, 100, 80, 60, 40])
def test_the_table_fits_the_terminal(record, width):
    """What has no room follows below: each width shows the same values, each once."""
    a_troubled_record(record)
    table = summary(record, NOW + 60, 20, width)
    assert max(map(len, table.split("\n"))) <= (width or 300)
    for value in (*headings(), "1,204", "given up", "5 s, not obeyed: 0.25 s"):
        assert table.count(value) == 1, value
    assert table.count("30 a minute") == 1
    assert table.count("\n\n") == (
        0 if width in {None, 200} else table.count("SITE ") - 1
    )


def test_what_follows_below_has_only_sites_with_a_value_there(record):
    """A continued table does not repeat three hundred names."""
    tables = summary(a_troubled_record(record), NOW + 60, 20, 80).split("\n\n")
    assert [len(one.split("\n")) for one in tables] == [5, 4, 2]
    assert "https://site-0.example" not in tables[1]


@pytest.mark.parametrize(
    ("environment", "log_file", "width"),
    [
        ({}, None, 80),
        ({"COLUMNS": "132"}, None, 132),
        ({"COLUMNS": "132"}, "a.log", 132),
    ],
)
def test_without_a_terminal_the_table_has_80_columns(
    make_crawler, monkeypatch, environment, log_file, width
):
    """Or those that COLUMNS names."""
    monkeypatch.delenv("COLUMNS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    widths = []
    monkeypatch.setattr(
        "scrapy_mandelbot.report.summary.summary",
        lambda *args: widths.append(args[-1]) or "",
    )
    crawler = make_crawler(LOG_FILE=log_file)
    extension = CrawlSummary.from_crawler(crawler)
    Recorder.of(crawler).record.of("https://example.com", NOW).pages = 1
    extension.spider_closed(crawler.spider)
    assert widths == [width]


def test_the_table_names_sites_that_were_given_up(record):
    """It stands first, and at the end of its line."""
    gone = record.of("https://gone.example", NOW)
    gone.give_up(gone.site, "503", 9)
    record.of("https://well.example", NOW).pages = 5
    assert rows(record)[1][0] == "https://gone.example"
    assert rows(record)[1][-2:] == ["given", "up"]


def test_a_crawl_that_only_other_crawls_informed_has_no_table(make_crawler, caplog):
    """A worker without work, whose peers pause sites."""
    crawler = make_crawler()
    record = Recorder.of(crawler).record
    heard = record.of("https://elsewhere.example", NOW)
    heard.pause(PauseRecord(heard.site, "overheard", NOW, NOW + 60, "503"))
    with caplog.at_level(logging.INFO, "scrapy_mandelbot"):
        CrawlSummary.from_crawler(crawler).spider_closed(crawler.spider)
    assert "What happened" not in caplog.text


@pytest.mark.parametrize(
    ("level", "is_made"), [(logging.INFO, True), (logging.WARNING, False)]
)
def test_a_table_that_no_handler_takes_is_not_made(
    make_crawler, monkeypatch, level, is_made
):
    """As with ``LOG_LEVEL = "WARNING"``: thousands of sites would be summed up for
    nothing.
    """
    made = []
    monkeypatch.setattr(
        "scrapy_mandelbot.report.summary.summary", lambda *_: made.append(1)
    )
    package = logging.getLogger("scrapy_mandelbot")
    monkeypatch.setattr(package, "propagate", False)
    monkeypatch.setattr(package, "handlers", [logging.NullHandler(level)])
    crawler = make_crawler()
    extension = CrawlSummary.from_crawler(crawler)
    Recorder.of(crawler).record.of("https://example.com", NOW)
    extension.spider_closed(crawler.spider)
    assert bool(made) is is_made
