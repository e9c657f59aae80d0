"""What is measured, with labels that stay few and counters that never go back."""

from __future__ import annotations

from collections import defaultdict
from itertools import count

import pytest
from clocks import MIDNIGHT as NOW

from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.measurements import (
    METRICS,
    MOST_LABELLED,
    OTHERS,
    Labels,
    measuring,
)
from scrapy_mandelbot.report.samples import (
    ConcurrencyRecord,
    PauseRecord,
    RobotsRecord,
)
from scrapy_mandelbot.report.status import CrawlStatus, Reason, SiteStatus
from scrapy_mandelbot.time_text import moment

SERVER = {"server.address": "example.com", "server.port": 443, "url.scheme": "https"}
NOTHING = CrawlStatus(moment(NOW), ())


@pytest.fixture
def record() -> CrawlRecord:
    return CrawlRecord(NOW, lambda _: False, most_sites=200)


def measure(record, status, labels, now, meanwhile=lambda: None):
    """Measure at once; call what happens meanwhile wherever there could be a break."""
    steps = measuring(record, labels, now, status.sites, status.elsewhere)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        meanwhile()


def values(found, name: str, label: str = "server.address") -> dict[str, float]:
    return {one.labels[label]: one.value for one in found[name]}


def test_a_site_has_its_own_label(record):
    """As long as there are few; all its counts are its own."""
    site = record.of("https://example.com", NOW)
    site.pages = 7
    site.refusal("503", NOW, None)
    site.answered_robots(RobotsRecord(NOW, "rules", "200"))
    found = measure(record, NOTHING, Labels(), NOW)
    assert values(found, "mandelbot.pages") == {"example.com": 7, OTHERS: 0}
    refusals = {
        (one.labels["server.address"], one.labels["http.response.status_code"]): (
            one.value
        )
        for one in found["mandelbot.refusals"]
    }
    of_others = {(OTHERS, 429): 0, (OTHERS, 503): 0}
    assert refusals == {("example.com", 503): 1, **of_others}
    assert found["mandelbot.refusals"][0].labels.items() >= SERVER.items()
    assert values(found, "mandelbot.robots_txt.answers", "case") == {"rules": 1}


@pytest.mark.parametrize(
    ("site", "address", "port", "scheme"),
    [
        ("https://example.com", "example.com", 443, "https"),
        ("http://example.com", "example.com", 80, "http"),
        ("http://127.0.0.1:8080", "127.0.0.1", 8080, "http"),
        ("https://[::1]:8443", "::1", 8443, "https"),
        ("http://example.com:port", "example.com", 0, "http"),
        ("http://example.com:99999", "example.com", 0, "http"),
    ],
)
def test_a_site_is_named_by_the_semantic_conventions(site, address, port, scheme):
    """server.address, server.port, url.scheme."""
    labels = Labels(before={site: {}}).of(site)
    assert labels == {
        "server.address": address,
        "server.port": port,
        "url.scheme": scheme,
    }


def test_a_failure_without_a_status_is_an_error_type(record):
    """A failure has no status code."""
    record.of("https://example.com", NOW).refusal("timeout", NOW, None)
    found = measure(record, NOTHING, Labels(), NOW)
    assert found["mandelbot.refusals"][0].labels == {**SERVER, "error.type": "timeout"}


def test_counters_of_trouble_are_zero_from_the_start(record):
    """Prometheus sees no increase of a counter that begins with its first event."""
    found = measure(record, NOTHING, Labels(), NOW)
    for name in ("requests.lost", "requests.forbidden", "pauses", "pause.time"):
        assert values(found, f"mandelbot.{name}") == {OTHERS: 0}
    assert {one.value for one in found["mandelbot.refusals"]} == {0}


def test_sites_that_forbid_everything_are_a_state(record):
    """As many as there are; none: there is no such state."""
    assert "forbidden" not in values(
        measure(record, NOTHING, Labels(), NOW), "mandelbot.sites", "state"
    )
    for number in range(3):
        site = record.of(f"https://{number}.example", NOW)
        site.count(End.FORBIDDEN, 2)
    site.pages = 1
    found = measure(record, NOTHING, Labels(), NOW)
    assert values(found, "mandelbot.sites", "state") == {"forbidden": 2}


def test_the_requests_at_once_that_a_site_bears_are_a_gauge(record):
    """Of the sites of which that was measured, and no others."""
    for site in ("https://example.com", "https://example.org"):
        record.of(site, NOW).pages = 7
    record.of("https://example.com", NOW).concurrency = ConcurrencyRecord(4, 16, 2.1)
    found = measure(record, NOTHING, Labels(), NOW)
    assert values(found, "mandelbot.concurrency.limit") == {"example.com": 4}


def test_lost_requests_are_counted(record):
    """Those that a patient visitor could have had; others are not."""
    site = record.of("https://example.com", NOW)
    site.pages = 1
    site.count(End.NETWORK, 2)
    site.count(End.FORBIDDEN)
    found = measure(record, NOTHING, Labels(), NOW)
    assert values(found, "mandelbot.requests.lost") == {"example.com": 2, OTHERS: 0}


def test_counters_never_go_back_and_labels_stay_few(record):
    """However many sites come, change their order, are folded or get a label of their
    own.
    """
    labels, last, sites = Labels(), defaultdict(float), set()
    for step in range(60):
        now = NOW + 5 * step
        for number in range(0, 20 * step, 1 + step % 7):
            site = record.of(f"https://{number}.example", now)
            site.pages += 1 + (number * step) % 11
            if number % 13 == step % 13:
                site.refusal("503", now, None)
        found = measure(record, NOTHING, labels, now)
        for metric in METRICS:
            for one in found[metric.name]:
                key = metric.name, *sorted(one.labels.items())
                sites.add(one.labels.get("server.address"))
                if (
                    metric.kind == "counter"
                    and one.labels.get("server.address") == OTHERS
                ):
                    assert one.value >= last[key], key
                    last[key] = one.value
        total = record.folded(record, now)
        assert sum(one.value for one in found["mandelbot.pages"]) == total.pages
        assert sum(one.value for one in found["mandelbot.refusals"]) == total.refused
    assert len(sites - {None}) <= MOST_LABELLED + 1
    assert record.rest.sites


def test_counters_never_go_back_while_the_crawl_goes_on(record):
    """Pages, pauses and new sites that come while it is measured, records that are
    folded.
    """
    labels, last, steps = Labels(), defaultdict(float), count()

    def crawl_goes_on():
        step = next(steps)
        site = record.of(f"https://{step % 397}.example", NOW + step)
        site.pages += 1
        if step % 50 == 0:
            site.pause(
                PauseRecord(site.site, "refused", NOW + step, NOW + step + 1_000, "503")
            )
        elif step % 50 == 25:
            site.resume(site.site, NOW + step, 25.0)

    for _ in range(12):
        now = NOW + next(steps)
        found = measure(record, NOTHING, labels, now, crawl_goes_on)
        for metric in METRICS:
            for one in found[metric.name]:
                key = metric.name, *sorted(one.labels.items())
                if (
                    metric.kind == "counter"
                    and one.labels.get("server.address") == OTHERS
                ):
                    assert one.value >= last[key], key
                    last[key] = one.value
        crawl_goes_on()
    assert record.rest.sites, "some were folded"
    found = measure(record, NOTHING, labels, NOW + next(steps))
    assert (
        sum(one.value for one in found["mandelbot.pages"])
        == record.folded(record, NOW).pages
    )
    assert len(labels.before) == MOST_LABELLED


def test_a_record_is_looked_at_twice_at_most(record):
    """Once for a label while any is free, once for its counts."""
    for number in range(150):
        record.of(f"https://{number}.example", NOW).pages = number
    for looks, labels in ((2, Labels()), (1, Labels(most=0))):
        steps = count()
        measure(record, NOTHING, labels, NOW, lambda: next(steps))  # noqa: B023 -- called at once
        assert next(steps) == looks * 150


def test_the_largest_get_the_labels(record):
    """Of those that are in no trouble; half the labels wait for trouble."""
    for number in range(150):
        record.of(f"https://{number}.example", NOW).pages = number
    labels = Labels()
    measure(record, NOTHING, labels, NOW)
    assert set(labels.before) == {
        f"https://{number}.example" for number in range(125, 150)
    }


def test_labels_are_kept_free_for_trouble(record):
    """A site that refuses late gets its own labels, despite many large ones."""
    labels = Labels()
    for number in range(100):
        record.of(f"https://{number}.example", NOW).pages = 100
    measure(record, NOTHING, labels, NOW)
    late = record.of("https://late.example", NOW + 9)
    late.refusal("503", NOW + 9, None)
    found = measure(record, NOTHING, labels, NOW + 10)
    assert "late.example" in values(found, "mandelbot.refusals")


def test_what_waits_is_measured_by_state_and_site(record):
    """Sites without a label are one together."""
    record.of("https://large.example", NOW).pages = 5
    status = CrawlStatus(
        moment(NOW),
        (
            SiteStatus("https://large.example", Reason.PACE, None, "", 40, 1),
            SiteStatus("https://new.example", Reason.PAUSED, None, "", 2, 0),
        ),
        elsewhere=3,
    )
    found = measure(record, status, Labels(), NOW)
    assert values(found, "mandelbot.sites", "state") == {"paused": 1, "pace": 1}
    waiting = values(found, "mandelbot.requests.waiting")
    assert waiting == {"large.example": 40, OTHERS: 5}
    assert found["mandelbot.requests.under_way"][0].value == 1
