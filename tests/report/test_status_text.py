"""How a crawl's standing reads."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

from scrapy_mandelbot.console import why_idle_text
from scrapy_mandelbot.report.status import (
    CrawlStatus,
    Reason,
    SiteStatus,
)
from scrapy_mandelbot.time_text import moment

NOON = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
PAUSED = SiteStatus(
    "https://example.com",
    Reason.PAUSED,
    NOON + timedelta(seconds=200),
    "503 for <GET https://example.com/a>",
    1_200,
    0,
)
HELD = SiteStatus("https://example.org", Reason.MANUAL, moment(float("inf")), "", 40, 0)
BUSY = SiteStatus("https://example.net", Reason.ASKED, None, "", 8, 8)


def test_the_line_names_what_waits_and_what_is_next():
    """Sites by reason, requests, the first time and its site."""
    status = CrawlStatus(NOON, (HELD, PAUSED))
    assert (
        status.as_text()
        == "1 site paused manually, 1 site paused, 1,240 requests wait, next at"
        " 12:03:20 UTC: https://example.com"
    )


def test_the_table_has_a_line_a_site():
    """Numbers are aligned to the right; a manual pause ends when resumed."""
    assert CrawlStatus(NOON, (HELD, PAUSED, BUSY)).table().split("\n") == [
        "SITE                  WAIT  UNDER WAY  UNTIL         WHY",
        "https://example.org     40          0  resumed       paused manually",
        (
            "https://example.com  1,200          0  12:03:20 UTC  paused: 503 for"
            " <GET https://example.com/a>"
        ),
        "https://example.net      8          8                asked",
    ]


def test_thousands_of_sites_stay_readable():
    """The first are listed, the others counted."""
    status = CrawlStatus(NOON, (PAUSED,) * 5_000)
    assert len(status.table().split("\n")) == 22
    assert status.table().endswith(
        "and 4,980 more sites for which 5,976,000 requests wait"
    )


def test_another_day_is_named():
    """A pause until tomorrow is not read as one until today."""
    later = SiteStatus(PAUSED.site, PAUSED.reason, NOON + timedelta(days=1), "", 1, 0)
    assert "next at 2026-11-23 12:00:00 UTC" in CrawlStatus(NOON, (later,)).as_text()


def test_why_it_is_idle():
    """Each answer says first whether it is."""
    assert why_idle_text(CrawlStatus(NOON, (PAUSED,))).startswith(
        "It waits: 1 site paused"
    )
    assert why_idle_text(CrawlStatus(NOON, (PAUSED, BUSY))).startswith(
        "It is not idle: 8"
    )
    assert why_idle_text(CrawlStatus(NOON, ())).startswith("No request waits")
    ready = SiteStatus("https://example.net", Reason.NEXT, None, "", 8, 0)
    assert why_idle_text(CrawlStatus(NOON, (ready,))).startswith(
        "It is not idle: requests are about"
    )


def test_it_is_plain_data():
    """For JSON, with all sites."""
    data = json.loads(json.dumps(CrawlStatus(NOON, (HELD, PAUSED, BUSY)).as_data()))
    assert data["by_reason"] == {"paused manually": 1, "paused": 1, "asked": 1}
    assert data["sites"][1]["until"] == "2026-11-22T12:03:20+00:00"
    assert (data["waiting"], data["under_way"], data["is_idle"]) == (1_248, 8, False)
