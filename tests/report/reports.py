"""Records of crawls that never were, as large and as bad as a test wants them."""

from __future__ import annotations

from clocks import MIDNIGHT as NOW

from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.crawl_report import ReportHeader, report_of
from scrapy_mandelbot.report.samples import (
    ConcurrencyRecord,
    PaceRecord,
    PauseRecord,
    RobotsRecord,
    SitemapsRecord,
    TagsRecord,
    UsageRecord,
)

AGENT = "Examplebot/1.0 (+https://example.com/bot)"
SECONDS = 600.0


def a_record(sites: int = 6, **limits) -> CrawlRecord:
    """Return a record: every third site was down, and every second one forbade
    something.
    """
    record = CrawlRecord(NOW, lambda _: False, **limits)
    record.watch()
    for number in range(sites):
        name = f"https://site-{number}.example"
        one = record.of(name, NOW)
        one.answered_robots(
            RobotsRecord(NOW + 1, "rules", "robots.txt: 200, has rules", 0.1)
        )
        one.pages += 50 + number
        for second in range(0, 300, 6):
            one.sent(NOW + second)
            one.answered(200, 0.1 + second / 10_000, NOW + second + 0.2, 0.0, 1)
        if number % 3 == 0:
            down(one, name, number)
        if number % 2 == 0:
            for page in range(number % 7 + 1):
                one.forbid(f"{name}/private/{page}", 7, "Disallow: /private", "*")
        if number % 5 == 0:
            one.concurrency = ConcurrencyRecord(4, 16, 2.1)
            one.pace = PaceRecord(6.0, 6.0, "6 s between requests", "robots.txt line 3")
    first = record.of("https://site-0.example", NOW)
    first.sitemaps = SitemapsRecord(
        2, ["https://site-0.example/sitemap.xml"], 1, 1, 500
    )
    first.tags = TagsRecord(3, 1, 2, 0)
    first.others = 4
    first.statuses = {403: 3, 404: 1}
    first.usage = UsageRecord(5, 3, 1, 1, 0, {"noai in meta": 2})
    return record


def down(one, name: str, number: int) -> None:
    for tries in range(4):
        one.refusal("503", NOW + 300 + tries, 30.0 if tries == 0 else None)
        one.answered(503, 0.01, NOW + 300 + tries, 0.0)
    one.pause(
        PauseRecord(name, "refused", NOW + 300, NOW + 330, f"503 for <GET {name}/>")
    )
    one.prolong(name, NOW + 420, "503 for the probe", 2)
    if number % 2:
        one.give_up(name, "503 for the probe", 9)
        return
    one.resume(name, NOW + 420, 120.0)
    for second in range(430, 590, 10):
        one.sent(NOW + second)
        one.answered(200, 0.2, NOW + second + 0.2, 2.5)


def a_report(record: CrawlRecord | None = None, **about) -> dict:
    """Return the report of a record."""
    header = {
        "spider": "demo",
        "agent": AGENT,
        "ended": NOW + SECONDS,
        "reason": "finished",
        **about,
    }
    return report_of(a_record() if record is None else record, ReportHeader(**header))


WAITING = [
    {
        "site": "https://site-1.example",
        "reason": "paused",
        "until": "2026-11-22T12:00:00+00:00",
        "details": "503 for <GET https://site-1.example/>",
        "waiting": 1_204,
        "under_way": 0,
    }
]
