"""How fast a site is asked after a pause, and what it takes refusals for.

`tests/politeness/test_policies.py` crawls simulated servers by it.
"""

from __future__ import annotations

import random

import pytest

from scrapy_mandelbot.politeness.limit_estimator import Reading
from scrapy_mandelbot.politeness.pause_policy import Mode
from scrapy_mandelbot.politeness.rate_control import RateControl
from scrapy_mandelbot.politeness.slow_limit_estimator import BELOW


def go(rate_control: RateControl, now: float, count: int) -> float:
    """Send so many requests, each when it may be, that are answered well at once."""
    for _ in range(count):
        now = max(now, rate_control.next_at)
        rate_control.sent(now)
        rate_control.good(now, now)
        rate_control.answered(now)
    return now


def pause(
    rate_control: RateControl,
    now: float,
    *,
    seconds: float = 1.0,
    is_conclusive: bool = True,
) -> float:
    """Refuse a request that is sent now, and answer the probe well later."""
    rate_control.refused(now, now)
    rate_control.resume(now + seconds, is_conclusive=is_conclusive)
    return now + seconds


def in_limit(rate: float = 20.0, burst: int = 5) -> tuple[RateControl, float]:
    """Crawl a bucket until its limit was met again. Returns recovery and time."""
    rate_control, level, now, last, met = RateControl(), 0.0, 0.0, 0.0, 0
    rate_control.resume(now, is_conclusive=True)
    for _ in range(5_000):
        now = max(now, rate_control.next_at)
        level, last = max(0.0, level - (now - last) * rate), now
        rate_control.sent(now)
        if level > burst:
            now = pause(rate_control, now)
            met += rate_control.mode is Mode.LIMIT
            if met == 4:
                return rate_control, now
        else:
            level += 1
            rate_control.good(now, now)
            rate_control.answered(now)
    raise AssertionError("no limit was found")


def test_at_a_slow_limit_nothing_is_caught_up():
    """Without a burst, two at once are one too many, also after a silence."""
    rate_control, now = RateControl(), 0.0
    for _ in range(6):
        now = pause(rate_control, go(rate_control, now, 1), seconds=10.0)
    assert rate_control.mode is Mode.SLOW
    late = rate_control.next_at + 100.0
    rate_control.sent(late)
    rate_control.left(late + 0.25)
    assert rate_control.next_at == pytest.approx(late + 0.25 + 1 / rate_control.rate)


def test_at_first_it_is_a_ramp():
    """From four a second, or from what was answered lately, growing with each good
    answer.
    """
    rate_control = RateControl()
    assert repr(rate_control) == "<Recovery ramp at 4.0/s>"
    now = pause(rate_control, 100.0)
    assert rate_control.next_at == pytest.approx(now + 0.25)
    before = rate_control.rate
    go(rate_control, now, 10)
    assert rate_control.rate > before


def test_a_ramp_runs_no_further_ahead_than_some_times_what_came():
    """A crawl that has little to ask for earns no burst."""
    rate_control = RateControl()
    now = pause(rate_control, 100.0)
    for _ in range(100):
        now += 1.0
        rate_control.sent(now)
        rate_control.good(now, now)
        rate_control.answered(now)
    assert rate_control.rate <= 10


def test_a_ramp_that_grows_no_more_holds_nothing_back():
    """The site is as open as before: that is told within seconds."""
    rate_control = RateControl()
    now = begin = pause(rate_control, 100.0)
    is_over = False
    while not is_over:
        now += 0.01
        rate_control.sent(now)
        rate_control.good(now, now)
        is_over = rate_control.answered(now)
        assert now < begin + 3
    assert rate_control.rate > 100


def test_a_limit_is_told_by_the_runs_between_refusals():
    """The rate stays a little below it, and creeps up only as the time of trust is
    over.
    """
    rate_control, now = in_limit(20.0)
    assert 10 < rate_control.rate < 21
    before = rate_control.rate
    now = go(rate_control, now, 60)
    assert rate_control.mode is Mode.LIMIT
    assert before <= rate_control.rate < 1.1 * before


def seconds_to_double(*, is_in_doubt):
    """Return how long it takes until twice the limit is sent, with no refusal."""
    rate_control, now = in_limit()
    rate_control.refused(now, now)
    if is_in_doubt:
        rate_control.doubt_limit()
    now += 1.0
    rate_control.resume(now, is_conclusive=True)
    assert rate_control.mode is Mode.LIMIT
    began = now
    limit = rate_control.rate
    while rate_control.rate < 2 * limit:
        now = go(rate_control, now, 1)
    return now - began


def test_a_limit_in_doubt_is_tried_soon():
    assert seconds_to_double(is_in_doubt=True) < 8
    assert seconds_to_double(is_in_doubt=False) > 30


def test_the_next_refusal_ends_the_doubt():
    rate_control, now = in_limit()
    rate_control.doubt_limit()
    now = pause(rate_control, now)
    limit = rate_control.rate
    began = now
    while rate_control.rate < 2 * limit:
        now = go(rate_control, now, 1)
    assert now - began > 30


def test_a_limit_is_refuted_by_more_answers_than_it_lets_through():
    rate_control, now = in_limit()
    limit = rate_control.rate
    while rate_control.rate < 1.05 * limit:
        now = go(rate_control, now, 1)
        assert not rate_control.is_limit_refuted(now)
    while rate_control.rate < 4 * limit:
        now = go(rate_control, now, 1)
    assert rate_control.is_limit_refuted(now)


def test_what_is_no_limit_cannot_be_refuted():
    rate_control = RateControl()
    rate_control.resume(0.0, is_conclusive=True)
    now = go(rate_control, 0.0, 500)
    assert rate_control.mode is Mode.RAMP
    assert not rate_control.is_limit_refuted(now)


def test_in_a_limit_an_idle_crawl_learns_nothing():
    """After a minute without work the rate is what it was."""
    rate_control, now = in_limit()
    before = rate_control.rate
    rate_control.sent(now + 60)
    rate_control.answered(now + 60)
    assert rate_control.rate == pytest.approx(before, rel=0.02)


def test_unused_sending_times_are_not_made_up_for():
    """But for a part of the burst of a limit, and few requests of that."""
    ramp = RateControl()
    pause(ramp, 100.0)
    ramp.sent(200.0)
    assert ramp.next_at > 200.0 - 1 / ramp.rate
    limit, now = in_limit(burst=500)
    limit.sent(now + 60)
    assert limit.next_at > now + 60 - 10 / limit.rate


def test_refusals_by_chance_slow_nothing():
    """One in twenty, whatever the rate: it goes by no limit that is near what was
    borne.
    """
    chance = random.Random(3)
    rate_control = RateControl(number / 160 for number in range(64))
    now = 1.0
    for _ in range(25):
        now = pause(rate_control, now)
        now = go(rate_control, now, chance.randint(5, 60))
    assert rate_control.rate > 20
    assert rate_control.share < 0.2


def test_chance_explains_few_failed_probes():
    """Three in a row at most, and none of a site that refuses one in a hundred."""
    rate_control = RateControl()
    assert not rate_control.explains(2)
    rate_control._pauses, rate_control._all_good = 50.0, 30.0
    assert [rate_control.explains(failed) for failed in (1, 2, 3, 4)] == [
        True,
        True,
        True,
        False,
    ]


def test_refusals_of_an_outage_say_nothing_of_the_rate():
    """However many: the way back is a ramp from what the site answered lately."""
    rate_control = RateControl(number / 100 for number in range(64))
    now = 1.0
    for _ in range(20):
        now = pause(
            rate_control, go(rate_control, now, 30), seconds=30, is_conclusive=False
        )
    assert rate_control.mode is Mode.RAMP
    assert rate_control.share < 0.02


def test_an_outage_in_a_limit_holds_up_what_is_learnt_by_as_long_as_it_takes():
    """Nothing is learnt of the limit while nothing is sent; after it the rate goes on
    to grow.
    """
    (without, now), (other, later) = in_limit(), in_limit()
    first = other.rate
    later = pause(other, later, seconds=600.0, is_conclusive=False)
    assert other.mode is Mode.LIMIT
    go(without, now, 2_000)
    go(other, later, 2_000)
    assert first < other.rate == pytest.approx(without.rate, rel=0.02)


def test_refusals_that_are_a_sections_say_nothing_of_the_rate():
    """They are taken back by the time at which they were sent, whether they were noted
    or not.
    """
    rate_control = RateControl(number / 100 for number in range(64))
    now = 1.0
    for _ in range(20):
        rate_control.refused(now, now)
        rate_control.disregard([now, now + 7.0])
        rate_control.resume(now + 1, is_conclusive=True)
        now = go(rate_control, now + 1, 30)
    assert rate_control.mode is Mode.RAMP
    assert rate_control.share < 0.02


@pytest.mark.parametrize(
    ("is_of_rate", "mode"), [(True, Mode.LIMIT), (False, Mode.RAMP)]
)
def test_a_run_that_ends_by_no_rate_says_nothing_of_one(is_of_rate, mode):
    """Be it that pauses come as regularly as with a limit."""
    rate_control = RateControl()
    now = 0.0
    for _ in range(8):
        now = go(rate_control, now, 3)
        if is_of_rate:
            rate_control.refused(now, now)
        else:
            rate_control.interrupted(now)
        now += 10
        rate_control.resume(now, is_conclusive=True)
    assert rate_control.mode is mode


def test_a_limit_far_below_what_was_borne_is_known():
    """So that it can be told once."""
    rate_control, _ = in_limit(20.0)
    assert not rate_control.is_far_below
    rate_control._best = 160.0
    assert rate_control._best == 160
    assert rate_control.is_far_below


def test_a_refusal_at_the_very_moment_of_the_probe():
    """No time has passed, and nothing was answered: nothing fails."""
    rate_control = RateControl()
    for _ in range(50):
        rate_control.refused(5.0, 5.0)
        rate_control.resume(5.0, is_conclusive=True)
        assert 0 < rate_control.rate < 1e6
        assert rate_control.next_at > 5.0


def test_what_is_written_down_of_a_run_is_bounded():
    """However long it is, and however many refusals come late."""
    rate_control = RateControl(map(float, range(10_000)))
    for number in range(10_000):
        rate_control.good(float(number), float(number))
        rate_control.refused(float(number), float(number))
    run = rate_control._run
    assert len(run.good) == len(run.came) == 2_000
    assert len(run.refused) == 100


def test_a_limit_is_forgotten_when_only_dead_pages_were_refused():
    """The rate goes on from what was borne; new runs find a limit, if there is one."""
    rate_control, _ = in_limit(20.0)
    assert rate_control.mode is Mode.LIMIT
    rate_control.forget_limit()
    assert rate_control.mode is Mode.CHANCE
    assert rate_control._told == 0


def test_without_a_limit_there_is_none_to_forget():
    """A ramp goes on as a ramp."""
    rate_control = RateControl()
    rate_control.forget_limit()
    assert rate_control.mode is Mode.RAMP


class SaysSo:
    """An estimator with one reading."""

    def __init__(self, reading, *, explains=False):
        self._reading = reading
        self._explains = explains

    def copy(self):
        return self

    def read(self, *arguments):
        """Read nothing."""

    def reading(self):
        return self._reading

    def explains_last(self, _rate):
        return self._explains


def at_limit(burst: float) -> tuple[RateControl, float, float]:
    """Crawl until a limit of such a burst is met. Returns recovery, time and limit."""
    rate_control, now = in_limit()
    limit = rate_control.rate / BELOW
    reading = Reading(20.0, limit, burst, limit)
    rate_control.__dict__["_estimator"] = SaysSo(reading, explains=True)
    now = pause(rate_control, now + 0.5)
    return rate_control, now, rate_control.rate / BELOW


@pytest.mark.parametrize(
    ("share", "evidence", "is_believed"),
    [(0.25, 10.0, True), (0.25, 4.0, False), (0.8, 10.0, False)],
)
def test_a_limit_that_is_clearly_slower_than_it_was_taken_for_is_no_chance(
    share, evidence, is_believed
):
    """The buckets do not say yet how much: it is between."""
    rate_control, now = in_limit()
    before = rate_control.rate
    limit = before / BELOW
    reading = Reading(evidence, share * limit, 5.0, limit)
    rate_control.__dict__["_estimator"] = SaysSo(reading)
    pause(rate_control, now + 0.5)
    if is_believed:
        assert rate_control.rate == pytest.approx(before / 2)
    else:
        assert rate_control.rate == before


def found(*, fastest: float, **more: bool) -> tuple[RateControl, float]:
    """Find a limit of 20 a second, which may be faster. Returns recovery and time."""
    rate_control = RateControl()
    now = pause(rate_control, go(rate_control, 0.0, 5))
    reading = Reading(4.0, 20.0, 5.0, fastest)
    rate_control.__dict__["_estimator"] = SaysSo(reading)
    now = go(rate_control, now, 5)
    rate_control.refused(now, now)
    rate_control.resume(now + 1.0, is_conclusive=True, **more)
    assert rate_control.mode is Mode.LIMIT
    return rate_control, now + 1.0


def test_a_limit_that_may_be_faster_is_tried_with_each_answer():
    """Up to the fastest rate that explains what was refused; sooner than by time."""
    rate_control, now = found(fastest=24.0)
    assert rate_control.rate == pytest.approx(BELOW * 20.0)
    now = go(rate_control, now, 30)
    assert BELOW * 23.0 < rate_control.rate < BELOW * 24.0
    go(rate_control, now, 30)
    assert rate_control.rate == pytest.approx(BELOW * 24.0, rel=0.01)


def test_it_is_not_tried_where_pauses_are_long():
    """Each costs more than is gained: the site may ban who comes too fast."""
    rate_control, now = found(fastest=24.0, is_first=False)
    go(rate_control, now, 60)
    assert rate_control.rate == pytest.approx(BELOW * 20.0, rel=0.01)


@pytest.mark.parametrize("is_conclusive", [True, False])
def test_the_next_refusal_ends_the_trial(is_conclusive):
    rate_control, now = found(fastest=24.0)
    now = go(rate_control, now, 10)
    now = pause(rate_control, now, is_conclusive=is_conclusive)
    before = rate_control.rate
    go(rate_control, now, 30)
    assert rate_control.rate == pytest.approx(before, rel=0.01)


def test_a_limit_is_no_faster_than_what_it_let_through_before_a_refusal():
    """The rates of the ladder are a tenth apart: none may explain all refusals."""
    rate_control, now = found(fastest=20.0)
    now = pause(rate_control, go(rate_control, now, 60))
    assert rate_control.rate < 0.95 * BELOW * 20.0


@pytest.mark.parametrize(("evidence", "seconds"), [(4.0, 0.25), (2.0, None)])
def test_the_second_run_may_tell_of_a_limit_before_its_pause_begins(evidence, seconds):
    """Then it is known how long its bucket takes to be empty again."""
    rate_control = RateControl()
    now = go(rate_control, 0.0, 5)
    for told in range(2):
        reading = Reading(evidence, 20.0, 5.0, 20.0)
        rate_control.__dict__["_estimator"] = SaysSo(reading)
        rate_control.refused(now, now)
        assert rate_control.drained_in() == (seconds if told else None)
        rate_control.resume(now + 1.0, is_conclusive=True)
        now = go(rate_control, now + 1.0, 5)
    assert (rate_control.mode is Mode.LIMIT) is (seconds is not None)


@pytest.mark.parametrize(
    ("burst", "share", "factor"), [(5.0, 1.0, 1.0), (1.0, 1.0, 0.97), (1.0, 0.64, 0.8)]
)
def test_at_a_limit_without_a_burst_an_unexplained_refusal_slows_the_crawl(
    burst, share, factor
):
    """What comes a little early is refused there. Of other limits it is chance."""
    rate_control, now, limit = at_limit(burst)
    before = rate_control.rate
    reading = Reading(4.0, share * limit, burst, limit)
    rate_control.__dict__["_estimator"] = SaysSo(reading)
    pause(rate_control, now + 0.5)
    assert rate_control.mode is Mode.LIMIT
    assert rate_control.rate == pytest.approx(factor * before)


def test_a_limit_without_a_burst_is_not_slowed_for_ever():
    """Refusals may come by chance all the same."""
    rate_control, now, limit = at_limit(1.0)
    rate_control.__dict__["_estimator"] = SaysSo(Reading(4.0, limit, 1.0, limit))
    for _ in range(20):
        now = pause(rate_control, go(rate_control, now, 20))
    assert rate_control.rate == pytest.approx(0.85 * BELOW * limit)


def test_at_a_limit_without_a_burst_each_good_answer_brings_the_rate_back():
    """A jitter may have been the reason, not the limit; by half as much each time."""
    rate_control, now, limit = at_limit(1.0)
    rate_control.__dict__["_estimator"] = SaysSo(Reading(4.0, limit, 1.0, limit))
    gains = []
    for _ in range(3):
        now = pause(rate_control, go(rate_control, now, 1))
        before = rate_control.rate
        now = go(rate_control, now, 100)
        gains.append(rate_control.rate / before - 1.0)
    assert gains[0] == pytest.approx(0.015, rel=0.2)
    assert gains[1:] == pytest.approx([0.01, 0.01], rel=0.2)


def test_a_refusal_never_makes_a_limit_faster():
    """Be it that only much faster rates explain it: many requests came at once then."""
    rate_control, now, limit = at_limit(1.0)
    reading = Reading(4.0, 5.0 * limit, 1.0, 20.0 * limit)
    rate_control.__dict__["_estimator"] = SaysSo(reading)
    before = rate_control.rate
    pause(rate_control, now + 0.5)
    assert rate_control.rate == pytest.approx(0.97 * before)


def test_a_limit_is_no_faster_than_the_rate_that_was_refused():
    rate_control = RateControl()
    now = pause(rate_control, go(rate_control, 0.0, 5))
    now = go(rate_control, now, 5)
    refused_at = rate_control.rate
    reading = Reading(4.0, 10.0 * refused_at, 1.0, 100.0 * refused_at)
    rate_control.__dict__["_estimator"] = SaysSo(reading)
    pause(rate_control, now)
    assert rate_control.mode is Mode.LIMIT
    assert rate_control.rate == pytest.approx(BELOW * refused_at)


@pytest.mark.parametrize(("is_first", "reached"), [(True, 0.97), (False, 0.8)])
def test_a_limit_that_is_taken_for_slower_may_be_as_fast_as_before(is_first, reached):
    """As far as the runs explain it, up to a little below what was refused."""
    rate_control, now = found(fastest=20.0)
    reading = Reading(20.0, 16.0, 5.0, 24.0)
    rate_control.__dict__["_estimator"] = SaysSo(reading, explains=True)
    rate_control.refused(now + 0.5, now + 0.5)
    rate_control.resume(now + 1.0, is_conclusive=True, is_first=is_first)
    assert rate_control.rate == pytest.approx(BELOW * 16.0)
    go(rate_control, now + 1.0, 100)
    assert rate_control.rate == pytest.approx(reached * BELOW * 20.0, rel=0.01)


@pytest.mark.parametrize(("good", "mode"), [((0.99,), Mode.LIMIT), ((), Mode.RAMP)])
def test_what_a_limit_counted_before_the_first_page_tells_of_it(good, mode):
    """The robots.txt: pages that are sent at once after it are all refused."""
    rate_control = RateControl(good)
    for _ in range(4):
        rate_control.refused(1.0, 1.001)
    rate_control.resume(2.001, is_conclusive=True)
    now = go(rate_control, 2.001, 8)
    now += 0.02
    pause(rate_control, now)
    assert rate_control.mode is mode


def test_a_run_that_began_slowly_says_by_its_end_what_a_site_lets_through():
    rate_control, _ = in_limit(20.0)
    # below the limit for long, then at it until the bucket is full
    now = 1_000.0
    rate_control.resume(now, is_conclusive=True)
    for number in range(400):
        now += 0.1 if number < 200 else 0.045
        rate_control.good(now, now)
    reading = Reading(20.0, 21.0, 5.0, 21.0)
    rate_control.__dict__["_estimator"] = SaysSo(reading, explains=True)
    pause(rate_control, now)
    assert rate_control.rate > 0.95 * BELOW * 20.0
