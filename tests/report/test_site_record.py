"""What is kept of a site: sums that are exact, samples that are bounded."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from clocks import MIDNIGHT as NOW

from scrapy_mandelbot.politeness.tally import End, Tally
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.samples import (
    FIRST_WIDTH,
    MOST_BUCKETS,
    Bucket,
    LoadRecord,
    PauseRecord,
    QuantileSketch,
    RobotsRecord,
    SitemapsRecord,
    TagsRecord,
    Timeline,
    UsageRecord,
)
from scrapy_mandelbot.report.site_record import (
    MOST_EXAMPLES,
    MOST_PAUSES,
    MOST_ROBOTS,
    MOST_RULES,
    SiteRecord,
)

SITE = "https://example.com"


@pytest.fixture
def record() -> SiteRecord:
    return SiteRecord(SITE, NOW)


def paused(
    since: float = NOW, until: float = NOW + 60, kind: str = "refused"
) -> PauseRecord:
    return PauseRecord(SITE, kind, since, until, "503 for <GET https://example.com/>")


# Spreads.


@pytest.mark.parametrize(
    "values", [[1.0], [0.0, 5.0], [0.001 * n for n in range(1, 2_000)]]
)
def test_a_sketch_knows_its_quantiles_within_five_percent(values):
    """Least, most and count are exact; quantiles are near."""
    spread = QuantileSketch()
    for value in values:
        spread.add(value)
    assert (spread.count, spread.least, spread.most) == (
        len(values),
        min(values),
        max(values),
    )
    ranked = sorted(values)
    assert spread.median == pytest.approx(
        ranked[(len(values) - 1) // 2], rel=0.05, abs=1e-4
    )
    assert spread.quantile(1.0) == pytest.approx(max(values), rel=0.05)


def test_an_empty_sketch_has_no_median():
    """It says so, and invents no number."""
    assert QuantileSketch().median is None


def test_merged_sketches_are_as_one():
    """What is folded has the values of both."""
    one, other, both = QuantileSketch(), QuantileSketch(), QuantileSketch()
    for number in range(100):
        (one if number % 3 else other).add(number)
        both.add(number)
    one.merge(other)
    assert (one.count, one.least, one.most, one.median) == (100, 0, 99, both.median)


def test_a_sketch_stays_small():
    """A million different values take as much room as some hundred."""
    spread = QuantileSketch()
    for number in range(100_000):
        spread.add(number * 1.7e-3)
    assert len(spread.counts) < 310


def test_a_sketch_of_few_values_takes_little_room():
    """Most sites of a crawl have some pages, and three sketches."""
    sketch = QuantileSketch()
    for seconds in (0.2, 0.15, 0.4):
        sketch.add(seconds)
    assert sketch.least < sketch.median < sketch.most
    assert sys.getsizeof(sketch.counts) < 200


# Timelines.


def test_a_timeline_counts_all_in_few_buckets():
    """However long the crawl takes: buckets become wider, and nothing is lost."""
    timeline = Timeline(NOW)
    for second in range(0, 100_000, 7):
        timeline.numbers[timeline.at(NOW + second) + Timeline.SENT] += 1
    assert len(list(timeline)) <= MOST_BUCKETS
    assert sum(bucket.sent for _, bucket in timeline) == len(range(0, 100_000, 7))
    starts = [start for start, _ in timeline]
    assert starts[0] == NOW
    assert all(later - start == timeline.width for start, later in pairwise(starts))


def test_a_wider_bucket_has_the_rate_of_its_last_part():
    """A bucket without a rate takes that of the one before."""
    timeline = Timeline(NOW)
    timeline.numbers[timeline.at(NOW) + Timeline.RATE] = 2.5
    for number in range(1, MOST_BUCKETS + 2):
        place = timeline.at(NOW + number * FIRST_WIDTH)
        timeline.numbers[place + Timeline.SENT] += 1
        timeline.numbers[place + Timeline.RATE] = 4.0 if number == 3 else 0.0
    rates = [bucket.rate for _, bucket in timeline]
    assert rates[:3] == [2.5, 4.0, 0.0]


def test_a_timeline_of_a_quiet_site_is_short():
    """There is a bucket only where something happened."""
    timeline = Timeline(NOW)
    timeline.numbers[timeline.at(NOW) + Timeline.SENT] += 1
    timeline.numbers[timeline.at(NOW + 3 * FIRST_WIDTH) + Timeline.ERRORS] += 1
    assert [start - NOW for start, _ in timeline] == [0, 3 * FIRST_WIDTH]


def test_a_timeline_has_no_room_for_what_did_not_happen():
    """A site of a large crawl is asked in few of its intervals, in any order."""
    timeline = Timeline(NOW)
    seconds = [MOST_BUCKETS - 1, 3, 3, 0, 4]
    for second in seconds:
        timeline.numbers[timeline.at(NOW + second) + Timeline.SENT] += 1
    assert len(timeline.numbers) == 4 * len(Bucket._fields)
    sent = [(start - NOW, bucket.sent) for start, bucket in timeline]
    assert sent == [(0, 1), (3, 2), (4, 1), (MOST_BUCKETS - 1, 1)]
    timeline.at(NOW + MOST_BUCKETS)
    sent = [(start - NOW, bucket.sent) for start, bucket in timeline]
    assert sent == [(0, 1), (2, 2), (4, 1), (MOST_BUCKETS - 2, 1)]


def test_a_timeline_takes_the_same_room_however_much_happens(record):
    """A site that is asked every second takes no more than one that is asked now and
    then.
    """
    timelines = Timeline(NOW), Timeline(NOW)
    for second in range(10_000):
        for timeline in timelines[: 1 + (second % 60 == 59)]:
            place = timeline.at(NOW + second)
            timeline.numbers[place + Timeline.SENT] += 1
            timeline.numbers[place + Timeline.FIRST_BYTE] += 0.7
    assert max(sys.getsizeof(one.numbers) for one in timelines) < 5_000


# Pauses.


def test_a_thinned_record_keeps_its_sums_and_open_pauses(record):
    """An ended pause is in the sum; an open one is not yet."""
    record.pause(paused())
    record.resume(SITE, NOW + 60, 60.0)
    record.pause(paused(NOW + 100, NOW + 200))
    record.thin()
    assert [one.since for one in record.pauses] == [NOW + 100]
    assert record.paused_for(NOW + 110) == 70
    record.resume(SITE, NOW + 200, 100.0)
    assert record.paused_for(NOW + 300) == 160


def test_a_pause_has_its_beginning_and_its_end(record):
    """It is counted once, with its seconds."""
    record.pause(paused())
    record.prolong(SITE, NOW + 90, "503 again", 1)
    assert record.paused_for(NOW + 10) == 10
    record.resume(SITE, NOW + 91, 91.0)
    (pause,) = record.pauses
    assert (pause.until, pause.ended, pause.failed_probes) == (NOW + 90, NOW + 91, 1)
    assert (record.pauses_seen, record.pauses_ended, record.paused_for(NOW + 200)) == (
        1,
        1,
        91,
    )


@pytest.mark.parametrize("kind", ["visit time", "section"])
def test_closing_time_is_no_pause(record, kind):
    """It is listed, and not among the pauses of a site that is in trouble."""
    record.pause(paused(kind=kind))
    assert record.paused_for(NOW + 10) == 0
    record.resume(SITE, NOW + 5, 5.0)
    assert (len(record.pauses), record.pauses_seen, record.in_pauses) == (1, 0, 0)
    assert not record.is_troubled


def test_a_section_is_set_aside_until_it_ends(record):
    """The site is as it was before; an end without a start changes nothing."""
    record.resume(SITE, NOW)
    record.pause(paused(kind="section"))
    assert record.state() == "section set aside"
    record.resume(SITE, NOW + 7)
    assert record.pauses[0].ended == NOW + 7
    assert record.state() == "well"


def test_a_section_that_is_given_up_is_not_the_site(record):
    """Its pause says so; no site counts as given up."""
    record.pause(paused(kind="section"))
    record.give_up(SITE, "503", 9, is_section=True)
    assert (record.state(), record.given_up) == ("section given up", 0)
    assert (record.pauses[0].is_given_up, record.pauses[0].failed_probes) == (True, 9)


def test_the_first_and_the_last_pauses_are_kept(record):
    """All are counted."""
    for number in range(500):
        record.pause(paused(NOW + number))
        record.resume(SITE, NOW + number + 0.5, 0.5)
    assert len(record.pauses) == MOST_PAUSES
    assert (record.pauses[0].since, record.pauses[-1].since) == (NOW, NOW + 499)
    assert (record.pauses_seen, record.in_pauses) == (500, 250)


def test_given_up_sites_come_first():
    """Then who refused, then who is large."""
    crawl = CrawlRecord(NOW, lambda _: True)
    crawl.of("https://large", NOW).pages = 1_000
    crawl.of("https://small", NOW).pages = 1
    crawl.of("https://refuses", NOW).refusal("503", NOW, None)
    gone = crawl.of("https://gone", NOW)
    gone.pause(paused())
    gone.give_up(SITE, "503", 9)
    order = [one.site for one in crawl.in_order()]
    assert order == [
        "https://gone",
        "https://refuses",
        "https://large",
        "https://small",
    ]
    assert gone.pauses[0].is_given_up


# Rules, robots.txt.


def test_rules_that_forbade_most_are_kept(record):
    """With examples; the number of all is exact."""
    for number in range(200):
        record.forbid(f"{SITE}/private/{number}", 2, "Disallow: /private", "*")
        record.forbid(f"{SITE}/{number}", 100 + number, f"Disallow: /{number}", "*")
    assert record.forbidden == 400
    assert len(record.rules) == MOST_RULES
    most = max(record.rules, key=lambda one: one.count)
    assert (most.line, most.count, len(most.examples)) == (2, 200, MOST_EXAMPLES)


def test_answers_to_robots_txt_are_counted_by_case(record):
    """The first and the last are kept."""
    for number in range(100):
        record.answered_robots(RobotsRecord(NOW + number, "unavailable", "503", 0.1))
    record.answered_robots(RobotsRecord(NOW + 100, "rules", "200", 0.1))
    assert record.robots_seen == {"unavailable": 100, "rules": 1}
    assert len(record.robots) == MOST_ROBOTS
    assert (record.robots[0].at, record.robots[-1].case) == (NOW, "rules")


def test_a_quiet_site_takes_little_memory_and_has_nothing_of_another(record):
    """A crawl has a record of each site that waits; what did not happen is in the
    class.
    """
    quiet, folded = SiteRecord(SITE, NOW), SiteRecord("", NOW)
    record.refusal("503", NOW, None)
    record.pause(paused())
    record.answered_robots(RobotsRecord(NOW, "rules", "200", 0.1))
    record.forbid(f"{SITE}/a", 2, "Disallow: /a", "*")
    folded.fold(record, NOW)
    folded.fold(record, NOW)
    assert (record.refusals, folded.refusals) == ({"503": 1}, {"503": 2})
    assert (record.robots_seen, folded.robots_seen) == ({"rules": 1}, {"rules": 2})
    assert vars(quiet) == {"site": SITE, "since": NOW}
    assert not any(
        [quiet.refusals, quiet.robots_seen, quiet.pauses, quiet.robots, quiet.rules]
    )


# Requests.


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python stores other names")
def test_sites_that_are_met_at_once_share_the_names_of_their_fields():
    """Each is made before the first of them has what happens later."""
    crawl = CrawlRecord(NOW, lambda _: True)
    records = [crawl.of(f"https://{number}.example", NOW) for number in range(40)]
    for one in records:
        one.sent(NOW)
        one.answered(200, 0.1, NOW, 0.0, 1)
        one.count_answer(200, is_cached=False)
        one.count_robots("rules")
        one.read_sitemap(4)
        one.count(End.PAGE)
    assert max(sys.getsizeof(vars(one)) for one in records) < 400


def test_gaps_are_noted_once(record):
    """Of a site with a pace by who lets its requests go; else by who watches them."""
    record.left(NOW)
    record.left(NOW + 5)
    assert (record.gaps.count, record.gaps.least) == (1, 5)
    watched = SiteRecord(SITE, NOW)
    watched.is_watched = True
    for moment in (NOW, NOW + 5):
        watched.left(moment)
        watched.sent(moment + 1)
    assert (watched.gaps.count, watched.gaps.least) == (1, 5)


def test_a_robots_txt_makes_no_gap(record):
    """Before it no pace is known."""
    record.sent(NOW, is_robots_txt=True)
    record.sent(NOW + 0.1)
    record.sent(NOW + 5.1)
    assert (record.gaps.count, record.gaps.least) == (1, 5)


@pytest.mark.parametrize(
    ("later", "kept", "broken"), [(30.0, 1, 0), (29.0, 0, 1), (31.0, 1, 0)]
)
def test_retry_after_is_kept_or_broken(record, later, kept, broken):
    """By the time of the next request, whichever it is."""
    record.refusal("503", NOW, 30.0)
    record.sent(NOW + later)
    record.sent(NOW + later + 1)
    asked = record.retry_after
    assert (asked.asked, asked.kept, asked.broken) == (1, kept, broken)
    assert asked.soonest == pytest.approx(later - 30)


def test_a_request_already_on_its_way_does_not_break_a_retry_after(record):
    """It is counted apart, and the next request shows whether the time was observed."""
    record.refusal("503", NOW, 30.0)
    record.sent(NOW + 0.2)
    record.sent(NOW + 31)
    asked = record.retry_after
    assert (asked.under_way, asked.kept, asked.broken) == (1, 1, 0)


def test_the_first_answers_show_the_site_before_the_crawl(record):
    """The first answers are compared with later ones, so that harm shows."""
    for number in range(100):
        record.answered(
            500 if number > 50 else 200, 0.1 if number < 20 else 2.0, NOW, 0.0
        )
    assert (record.first_seen, record.first_errors, record.first_timed.most) == (
        20,
        0,
        0.1,
    )
    assert record.timed.count == 51, "a 5xx says nothing of how fast the site is"


# Many sites.


def test_a_million_sites_take_bounded_memory():
    """Those that the crawl has forgotten are folded into one; no page is lost from the
    sums.
    """
    crawl = CrawlRecord(NOW, lambda _: False, most_sites=100)
    crawl.watch()
    for number in range(5_000):
        record = crawl.of(f"https://{number}.example", NOW)
        record.pages = 1 + (number % 1_000 == 0)
        record.sitemaps = SitemapsRecord(cited=2, urls=["x"])
        record.refusal("503", NOW, 1.0) if number == 7 else None
        assert len(crawl) <= 126
    total = crawl.folded(crawl, NOW)
    assert (total.sites, total.pages, total.sitemaps.cited) == (5_000, 5_005, 10_000)
    first = [one.site for one in crawl.in_order()][:6]
    assert first[0] == "https://7.example"
    assert first[1:] == [
        f"https://{n}.example" for n in ("0", "1000", "2000", "3000", "4000")
    ]


def test_a_site_that_is_still_crawled_keeps_its_record():
    """Its counts still grow; what takes room is dropped of those beyond the number."""
    crawl = CrawlRecord(NOW, lambda _: True, most_sites=10)
    crawl.watch()
    sites = [crawl.of(f"https://{number}.example", NOW) for number in range(100)]
    for number, record in enumerate(sites):
        record.pages = number
    crawl.sweep(NOW)
    assert len(crawl) == 100
    assert [one.timeline is not None for one in crawl.in_order()] == [True] * 10 + [
        False
    ] * 90


def heard_of(crawl: CrawlRecord, site: str) -> SiteRecord:
    record = crawl.of(site, NOW)
    record.pause(PauseRecord(site, "overheard", NOW, NOW + 60, "503"))
    return record


@pytest.mark.parametrize(
    "happens",
    [
        lambda one: setattr(one, "taken", 1),
        lambda one: setattr(one, "pages", 1),
        lambda one: one.count(End.NETWORK),
        lambda one: one.refusal("503", NOW, None),
        lambda one: one.answered_robots(RobotsRecord(NOW, "rules", "200")),
        lambda one: one.pause(
            PauseRecord(f"{one.site}/shop", "section", NOW, NOW + 1, "503")
        ),
    ],
)
def test_a_site_that_only_another_crawl_paused_is_not_listed(happens):
    """With a shared store a worker hears of the sites of all others; what it crawls
    counts.
    """
    crawl = CrawlRecord(NOW, lambda _: False, most_sites=10)
    heard_of(crawl, "https://elsewhere.example")
    crawled = heard_of(crawl, "https://here.example")
    happens(crawled)
    assert crawl.in_order() == [crawled]
    assert crawl.folded(crawl.in_order(), NOW).sites == 1


def test_sites_that_other_crawls_pause_take_no_memory():
    """Hearing of a million adds no site, and pushes out none that is crawled."""
    crawl = CrawlRecord(NOW, lambda _: False, most_sites=10)
    for number in range(10):
        crawl.of(f"https://{number}.example", NOW).pages = 1
    for number in range(1_000):
        heard_of(crawl, f"https://elsewhere-{number}.example")
        assert len(crawl) <= 13
    assert (len(crawl.in_order()), crawl.rest.sites, crawl.rest.pauses_seen) == (
        10,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("record", "but"),
    [
        (
            SiteRecord("https://example.com", NOW),
            {"since": NOW, "sites": 1, "number": -1},
        ),
        (SitemapsRecord(), {}),
        (TagsRecord(), {}),
        (UsageRecord(), {}),
        (Tally(), {}),
    ],
)
def test_at_first_nothing_is_counted(record, but):
    """Every sum includes the initial count."""
    names = {name for one in type(record).__mro__ for name in vars(one)} | {"since"}
    values = {
        name: getattr(record, name, None) for name in names if not name.startswith("_")
    }
    numbers = {
        name: value for name, value in values.items() if isinstance(value, (int, float))
    }
    assert {name: value for name, value in numbers.items() if value} == but
    assert len(numbers) > len(but)


# Times by the requests in flight.


@pytest.mark.parametrize(
    ("at_once", "group"), [(1, (1, 1)), (2, (2, 2)), (3, (3, 3)), (4, (3, 4))]
)
def test_an_answer_is_counted_by_the_requests_in_flight(at_once, group):
    """Groups are 1, 2, 3 to 4, and so on; the last ends at the most that there were."""
    times = LoadRecord()
    times.add(at_once, 0.5)
    assert [(one.least, one.most) for one in times] == [group]


def test_the_times_of_a_group_are_averaged():
    """A mean, as requests in flight are pages a second times it."""
    times = LoadRecord()
    times.add(1, 0.1)
    for number in range(9, 17):
        times.add(number, number / 10)
    assert [tuple(one) for one in times] == [
        (1, 1, 1, 0.1, 0),
        (9, 16, 8, pytest.approx(1.25), 0),
    ]


def test_refusals_are_counted_apart_from_the_answers_of_their_load(record):
    """They are fast, and show what a site refuses."""
    for at_once in range(1, 7):
        record.answered(200, 0.1, NOW, 0.0, at_once)
    for at_once in range(7, 17):
        record.answered(503, 0.001, NOW, 0.0, at_once)
    record.answered(429, 0.001, NOW, 0.0, 8)
    record.answered(500, 0.001, NOW, 0.0, 6)
    assert [(one.most, one.answers, one.refused) for one in record.by_load] == [
        *((1, 1, 0), (2, 1, 0), (4, 2, 0)),
        *((8, 2, 3), (16, 0, 8)),
    ]


def test_a_site_of_three_pages_takes_no_group_more():
    """Three numbers of eight bytes: crawls have many of them."""
    times = LoadRecord()
    for _ in range(3):
        times.add(1, 0.1)
    assert len(times.numbers) == 3
