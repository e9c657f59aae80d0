"""The pace of a site, by a clock that the tests turn. (politeness/pace.py)

"An Extended Standard for Robot Exclusion", Request-rate and Visit-time; Moderatobot,
"Crawl-delay directive"; Mandelbot, "Crawl Delay".
"""

from __future__ import annotations

import pytest
from crawl_delays import CrawlDelayTimer
from hypothesis import given
from hypothesis import strategies as st
from mandelbot import RobotsTxt
from mandelbot.robotstxt.times import RequestRate, TimeWindow, rate_at

from scrapy_mandelbot.politeness.pace import (
    Pace,
    PacePolicy,
    pace_by_hand,
    pace_of_file,
    unreadable_lines,
)

MIDNIGHT = 20_000 * 86_400.0  # some day in 2024, UTC
HAIR = 1e-6  # seconds; floats of this size are a quarter of that apart


def at(clock: str, day: int = 0) -> float:
    hours, minutes, *seconds = map(int, clock.split(":"))
    return MIDNIGHT + day * 86_400 + hours * 3600 + minutes * 60 + sum(seconds)


def of_file(body: str, **policy: object) -> Pace:
    robots = RobotsTxt.parse(f"User-agent: *\n{body}".encode())
    return pace_of_file(robots, "Mandelbot", PacePolicy(**policy))


def sent(pace: Pace, when: float, took: float = 0.0) -> CrawlDelayTimer:
    timer = CrawlDelayTimer(pace)
    timer.sent(when)
    timer.answered(when + took)
    return timer


# Delays.


def test_who_asks_for_nothing_is_not_held():
    """Every time is as good as another."""
    pace = of_file("Disallow:\n")
    assert pace.is_free
    assert sent(pace, 100).due(100) == 100
    assert str(pace) == "no pace"


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("Disallow:\n", 0.0),
        ("Crawl-delay: 0.5\n", 0.5),
        ("Crawl-delay: 200\n", 200.0),  # more than is waited
        ("Robot-version: 2.0\nRequest-rate: 1/30\nCrawl-delay: 5\n", 30.0),
    ],
)
def test_what_a_file_asks_for_is_known_whatever_is_obeyed(body, asked):
    """The report compares it with the time between requests."""
    robots = RobotsTxt.parse(f"User-agent: *\n{body}".encode(), dialect="extended2")
    assert pace_of_file(robots, "Mandelbot", PacePolicy()).asked == asked


def test_the_first_request_is_due_at_once():
    """A delay is between two requests."""
    assert CrawlDelayTimer(of_file("Crawl-delay: 5\n")).due(MIDNIGHT) == MIDNIGHT


def test_moderatobot_a_delay_is_a_pause_between_two_accesses():
    """It runs from the end of one answer to the next request, as Yandex defines it."""
    timer = sent(of_file("Crawl-delay: 5\n"), MIDNIGHT, took=2)
    assert timer.due(MIDNIGHT + 2) == MIDNIGHT + 7
    assert timer.due(MIDNIGHT + 60) == MIDNIGHT + 60


def test_unused_sending_times_are_not_made_up_for():
    """After an idle hour one request goes, and the next has its delay again."""
    timer = sent(of_file("Crawl-delay: 5\n"), MIDNIGHT)
    timer.sent(MIDNIGHT + 3600)
    timer.answered(MIDNIGHT + 3601)
    assert timer.due(MIDNIGHT + 3601) == MIDNIGHT + 3606


def test_a_request_without_an_answer_is_on_its_way_for_ten_seconds_at_most():
    """It may reach the server late; a page that hangs holds its site briefly."""
    timer = CrawlDelayTimer(of_file("Crawl-delay: 5\n"))
    timer.sent(MIDNIGHT)
    assert timer.due(MIDNIGHT + 1) == MIDNIGHT + 15
    timer.sent(MIDNIGHT + 15)
    timer.answered(MIDNIGHT + 16)
    assert timer.due(MIDNIGHT + 16) == MIDNIGHT + 21


def test_an_answer_that_nobody_waits_for_changes_nothing():
    """Told twice of the same answer, the delay runs from the first."""
    timer = sent(of_file("Crawl-delay: 5\n"), MIDNIGHT, took=1)
    timer.answered(MIDNIGHT + 3)
    assert timer.due(MIDNIGHT + 3) == MIDNIGHT + 6


def test_requests_sent_before_the_pace_was_known_count():
    """The robots.txt itself was fetched; the first page comes a delay later."""
    timer = CrawlDelayTimer(of_file("Crawl-delay: 5\n"), since=MIDNIGHT)
    assert timer.due(MIDNIGHT + 1) == MIDNIGHT + 5


def test_moderatobot_a_delay_may_be_a_window_of_so_many_seconds():
    """One request within each, wherever in it: the reading of Bing."""
    pace = of_file("Crawl-delay: 10\n", delay_is_window=True)
    assert sent(pace, MIDNIGHT + 19).due(MIDNIGHT + 19) == MIDNIGHT + 20
    assert sent(pace, MIDNIGHT + 20).due(MIDNIGHT + 20) == MIDNIGHT + 30
    assert sent(pace, MIDNIGHT + 20).due(MIDNIGHT + 31) == MIDNIGHT + 31
    assert str(pace) == "one request in each 10 s"


def test_nobody_waits_longer_than_the_law_has_it():
    """A delay of a day is cut, and what was asked is known; a delay by hand is not."""
    for body in (
        "Crawl-delay: 86400\n",
        "Request-rate: 1/1d\n",
        "Request-rate: 1/1d 0000-2359\n",
    ):
        pace = of_file(body, longest=60)
        assert pace.asked == 86_400
        assert sent(pace, MIDNIGHT).due(MIDNIGHT) == MIDNIGHT + 60
    assert sent(pace_by_hand(600), MIDNIGHT).due(MIDNIGHT) == MIDNIGHT + 600


def test_a_delay_by_hand_beats_the_file_but_not_its_visit_times():
    """It says how often; nobody said that the site may be asked by day."""
    robots = RobotsTxt.parse(b"User-agent: *\nCrawl-delay: 50\nVisit-time: 0100-0459\n")
    pace = pace_by_hand(2, robots, "Mandelbot")
    assert sent(pace, at("02:00")).due(at("02:00")) == at("02:00") + 2
    assert pace.due(at("12:00")) == at("01:00", day=1)
    assert pace_by_hand(0).is_free


# The rule of thumb.


@pytest.mark.parametrize(("took", "delay"), [(0.1, 10), (5, 10), (8, 16), (300, 60)])
def test_extended2_rule_of_thumb(took, delay):
    """Without a rate: the longer of 10 s and twice the document's time, if wanted."""
    pace = of_file("Disallow: /x\n", by_fetch_time=True, longest=60)
    assert not pace.is_free
    end = MIDNIGHT + took
    assert sent(pace, MIDNIGHT, took).due(end) == pytest.approx(end + delay)


@pytest.mark.parametrize("line", ["Crawl-delay: 1", "Request-rate: 1/1"])
def test_extended2_the_rule_of_thumb_is_for_files_without_a_rate(line):
    """Who names a rate means it."""
    pace = of_file(line, by_fetch_time=True)
    assert sent(pace, MIDNIGHT, 30).due(MIDNIGHT + 30) == MIDNIGHT + 31


# Rates.


@pytest.mark.parametrize(
    ("rate", "delay"),
    [
        ("10/60", 6),
        ("10/10m", 60),
        ("20/1h", 180),
        ("100/24h", 864),
        ("1/30m", 1800),
        ("2/1s", 0.5),
    ],
)
def test_extended2_rates_are_normalised(rate, delay):
    """One document every so many seconds: 100/24h is one every 864 seconds."""
    pace = of_file(f"Request-rate: {rate}\n", longest=10_000)
    assert sent(pace, MIDNIGHT).due(MIDNIGHT) == MIDNIGHT + delay


def test_extended2_of_several_rates_for_all_times_the_slowest():
    """ "Use the one that requests the fewest documents per normalized unit of time"."""
    pace = of_file("Request-rate: 10/60\nRequest-rate: 1/10\nRequest-rate: 5/1\n")
    assert sent(pace, MIDNIGHT).due(MIDNIGHT) == MIDNIGHT + 10


def test_a_delay_and_a_rate_hold_both():
    """The slower one decides, at each time of the day."""
    pace = of_file("Crawl-delay: 5\nRequest-rate: 1/2\nRequest-rate: 1/9 0100-0159\n")
    assert sent(pace, at("00:30")).due(0) == at("00:30") + 5
    assert sent(pace, at("01:30")).due(0) == at("01:30") + 9


# vacuumweb and spiderbot, "An Extended Standard for Robot Exclusion"
SPIDERBOT = """\
Request-rate: 1/10m 1300-1659
Request-rate: 1/20m 1700-0459
Request-rate: 5/1m 0500-1259
"""


@pytest.mark.parametrize(
    ("last", "due"),
    [
        ("05:00", "05:00:12"),
        ("12:59:47", "12:59:59"),
        ("12:59:50", "13:09:50"),  # in its twelve seconds the rate has changed
        ("13:00", "13:10"),
        ("16:49", "16:59"),
        ("16:55", "17:15"),
        ("04:30", "04:50"),
        ("04:45", "05:00"),  # by day twelve seconds would do
    ],
)
def test_extended2_rates_by_the_time_of_the_day(last, due):
    """The rate at the next request's time says how long ago the last one must be."""
    pace = of_file(SPIDERBOT, longest=3600)
    assert sent(pace, at(last)).due(at(last)) == at(due)


def test_extended2_a_window_may_pass_midnight():
    """From 23:50 twenty minutes are until 00:10 of the next day."""
    pace = of_file(SPIDERBOT, longest=3600)
    assert sent(pace, at("23:50")).due(at("23:50")) == at("00:10", day=1)


# Visit times.


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("05:59:59", at("06:00")),
        ("06:00", at("06:00")),
        ("08:45:59", at("08:45:59")),
        ("08:46", at("06:00", day=1)),
        ("23:59:59", at("06:00", day=1)),
    ],
)
def test_extended2_visit_time(now, due):
    """Visit-time: 0600-0845, both ends included: at other times nothing is sent."""
    pace = of_file("Visit-time: 0600-0845\n")
    assert CrawlDelayTimer(pace).due(at(now)) == due
    assert pace.opens(at(now)) == due
    assert pace.visits_text == "Visit-time 0600-0845"


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("23:30", at("23:30")),
        ("00:10", at("00:10")),
        ("01:00", at("01:00")),
        ("01:01", at("12:00")),
        ("13:01", at("22:00")),
    ],
)
def test_extended2_several_visit_times(now, due):
    """Each is a window of access, one of them past midnight."""
    pace = of_file("Visit-time: 22:00-01:00\nVisit-time: 1200-1300\n")
    assert CrawlDelayTimer(pace).due(at(now)) == due


def test_a_delay_that_ends_after_closing_time_ends_when_the_site_opens():
    """Both are kept."""
    pace = of_file("Visit-time: 0600-0845\nCrawl-delay: 60\n")
    assert sent(pace, at("08:45:30")).due(at("08:45:30")) == at("06:00", day=1)


def test_a_whole_day_is_always_open():
    """0000-2359 shuts nobody out, not even in its last second."""
    pace = of_file("Visit-time: 0000-2359\n")
    assert pace.due(at("23:59:59") + 0.9) == at("23:59:59") + 0.9


# Files.


def test_it_says_what_it_is_and_where_it_is_from():
    """With the lines of the file, as the log has it."""
    pace = of_file(
        "Crawl-delay: 0.5\nAllow: /\nRequest-rate: 2/1s\nVisit-time: 0100-0500\n"
    )
    assert str(pace) == "0.5 s between requests, Request-rate 2/1, Visit-time 0100-0500"
    assert pace.source == "robots.txt lines 2, 4, 5"
    assert of_file("Crawl-delay: 1\n").source == "robots.txt line 2"
    assert pace_by_hand(3).source == "set manually"
    assert (
        repr(CrawlDelayTimer(pace_by_hand(3)).pacer) == "<Pacer 3 s between requests>"
    )
    many = of_file("".join(f"Request-rate: 1/{n}\n" for n in range(1, 9)))
    assert str(many) == "Request-rate 1/1, 1/2, 1/3, 1/4, …"


@pytest.mark.parametrize(
    "line",
    [
        "Crawl-delay: -1",
        "Crawl-delay: soon",
        "Crawl-delay: 1e9",
        "Request-rate: 0/5",
        "Request-rate: fast 0600-0700",
        "Visit-time: 9-17",
        "Visit-time: 0600",
    ],
)
def test_nonsense_asks_for_nothing_and_is_known_by_its_line(line):
    """A value that cannot be read is ignored; others of the file hold."""
    robots = RobotsTxt.parse(
        f"User-agent: *\nDisallow: /x\n{line}\nCrawl-delay: 2\n".encode()
    )
    pace = pace_of_file(robots, "Mandelbot", PacePolicy())
    assert str(pace) == "2 s between requests"
    assert unreadable_lines(robots, "Mandelbot") == (3,)


def test_only_the_lines_for_the_agent_count():
    """Another robot's pace is its own."""
    robots = RobotsTxt.parse(
        b"User-agent: other\r\nCrawl-delay: 9\r\nAllow: /\r\n\r\n"
        b"User-agent: mandelbot\r\nCrawl-delay: 1\r\n"
    )
    assert robots.decider("Mandelbot").values("crawl-delay") == [(6, "1")]
    assert robots.decider("other").values("crawl-delay") == [(2, "9")]
    assert robots.decider("third").values("crawl-delay") == []


def test_a_file_of_a_thousand_windows_is_read_in_no_time():
    """A hostile owner's file costs a moment once, and each request next to nothing."""
    windows = [
        f"{n // 60:02}{n % 60:02}-{(n + 1) // 60 % 24:02}{(n + 1) % 60:02}"
        for n in range(1440)
    ]
    lines = [f"Request-rate: 1/{n + 1} {window}\n" for n, window in enumerate(windows)]
    pace = of_file("".join(lines * 10), longest=10_000)
    assert len(pace._day) <= 1440
    assert sent(pace, at("12:00")).due(at("12:00")) == at("12:12:13")


# Properties.

minutes = st.integers(0, 1439)
windows = st.builds(TimeWindow, minutes, minutes)
rates = st.builds(
    RequestRate, st.integers(1, 20), st.integers(0, 3_000), st.none() | windows
)
paces = st.builds(
    Pace,
    delay=st.integers(0, 5_000).map(float),
    rates=st.lists(rates, max_size=4).map(tuple),
    visits=st.lists(windows, max_size=3).map(tuple),
    longest=st.sampled_from([60.0, 1_000.0, 1e9]),
)
moments = st.integers(0, 86_399).map(lambda second: MIDNIGHT + second)


def delay_at(pace: Pace, moment: float) -> float | None:
    """Return the delay at that time, the slow way; None: the site is shut."""
    minute = int(moment % 86_400 // 60)
    if pace.visits and not any(window.covers(minute) for window in pace.visits):
        return None
    rate = rate_at(pace.rates, minute)
    return max(pace.delay, min(rate.delay if rate else 0.0, pace.longest))


@given(paces, moments, st.integers(0, 20_000))
def test_due_is_the_first_time_that_is_good(pace, now, ago):
    """As if every minute of the next days were tried, and the end of every delay."""
    since = now - ago
    delays = {pace.delay, *(min(rate.delay, pace.longest) for rate in pace.rates)}
    tried = {now, *(since + max(pace.delay, delay) for delay in delays)}
    first = MIDNIGHT - MIDNIGHT % 60
    tried |= {first + 60 * minute for minute in range(2 * 1440 + 100)}
    good = [
        moment
        for moment in tried
        if moment >= now
        and (delay := delay_at(pace, moment)) is not None
        and moment - since >= delay - HAIR
    ]
    assert pace.due(now, since) == pytest.approx(min(good), abs=HAIR)


@given(paces, st.data())
def test_no_two_requests_are_closer_than_asked(pace, data):
    """Early questions, late sendings, slow answers and none at all may come between."""
    timer = CrawlDelayTimer(pace)
    now = data.draw(moments)
    reached = None
    for _ in range(6):
        now += data.draw(st.floats(0, 2_000))
        due = timer.due(now)
        assert due >= now
        assert timer.due(now) == due, "asking changes nothing"
        assert timer.due(due) == pytest.approx(due, abs=HAIR), "then it is due"
        now = max(now, due) + data.draw(st.sampled_from([0.0, 0.0, 1.0]))
        if timer.due(now) > now:  # the second of lateness was one too many
            continue
        on_its_way = data.draw(st.floats(0, 10))
        if reached is not None and delay_at(pace, now):
            assert now - reached >= delay_at(pace, now) - HAIR
        reached = now + on_its_way
        timer.sent(now)
        if data.draw(st.booleans()):
            timer.answered(reached + data.draw(st.floats(0, 5)))
            now = max(now, reached)


@given(paces, moments, st.integers(0, 20_000), st.integers(0, 100_000))
def test_due_never_goes_back(pace, now, ago, later):
    """Asked later, it is due no sooner; and opening times are those of the visits."""
    since = now - ago
    assert pace.due(now + later, since) >= pace.due(now, since)
    assert pace.opens(now) <= pace.due(now, since)
    assert delay_at(pace, pace.opens(now)) is not None
