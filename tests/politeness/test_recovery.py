"""How fast a site is asked after a pause, and what it takes refusals for. (politeness/recovery.py)

`tests/politeness/test_laws.py` crawls simulated servers by it.
"""

from __future__ import annotations

import random

import pytest

from scrapy_mandelbot.politeness.recovery import Mode, Recovery


def go(recovery: Recovery, now: float, count: int) -> float:
    """Send so many requests, each when it may be, that are answered well at once."""
    for _ in range(count):
        now = max(now, recovery.next_at)
        recovery.sent(now)
        recovery.good(now, now)
        recovery.answered(now)
    return now


def pause(
    recovery: Recovery, now: float, *, seconds: float = 1.0, is_telling: bool = True
) -> float:
    """Have a request refused that is sent now, and the probe answered well later."""
    recovery.refused(now, now)
    recovery.resume(now + seconds, is_telling=is_telling)
    return now + seconds


def in_limit(rate: float = 20.0, burst: int = 5) -> tuple[Recovery, float]:
    """Crawl a bucket until its limit was met again; return the recovery, and the time."""
    recovery, level, now, last, met = Recovery(), 0.0, 0.0, 0.0, 0
    recovery.resume(now, is_telling=True)
    for _ in range(5_000):
        now = max(now, recovery.next_at)
        level, last = max(0.0, level - (now - last) * rate), now
        recovery.sent(now)
        if level > burst:
            now = pause(recovery, now)
            met += recovery.mode is Mode.LIMIT
            if met == 4:
                return recovery, now
        else:
            level += 1
            recovery.good(now, now)
            recovery.answered(now)
    raise AssertionError("no limit was found")


def test_at_a_slow_limit_nothing_is_caught_up():
    """Two at once, after a time without any, are one too many where there is no burst."""
    recovery, now = Recovery(), 0.0
    for _ in range(6):
        now = pause(recovery, go(recovery, now, 1), seconds=10.0)
    assert recovery.mode is Mode.SLOW
    late = recovery.next_at + 100.0
    recovery.sent(late)
    recovery.left(late + 0.25)
    assert recovery.next_at == pytest.approx(late + 0.25 + 1 / recovery.rate)


def test_at_first_it_is_a_ramp():
    """From four a second, or from what was answered lately, growing with each good answer."""
    recovery = Recovery()
    assert repr(recovery) == "<Recovery ramp at 4.0/s>"
    now = pause(recovery, 100.0)
    assert recovery.next_at == pytest.approx(now + 0.25)
    before = recovery.rate
    go(recovery, now, 10)
    assert recovery.rate > before


def test_a_ramp_runs_no_further_ahead_than_some_times_what_came():
    """A crawl that has little to ask for earns no burst."""
    recovery = Recovery()
    now = pause(recovery, 100.0)
    for _ in range(100):
        now += 1.0
        recovery.sent(now)
        recovery.good(now, now)
        recovery.answered(now)
    assert recovery.rate <= 10


def test_a_ramp_that_grows_no_more_holds_nothing_back():
    """The site is as open as before: that is told within seconds."""
    recovery = Recovery()
    now = begin = pause(recovery, 100.0)
    is_over = False
    while not is_over:
        now += 0.01
        recovery.sent(now)
        recovery.good(now, now)
        is_over = recovery.answered(now)
        assert now < begin + 3
    assert recovery.rate > 100


def test_a_limit_is_told_by_the_runs_between_refusals():
    """The rate stays a little below it, and creeps up only as the time of trust is over."""
    recovery, now = in_limit(20.0)
    assert 10 < recovery.rate < 21
    before = recovery.rate
    now = go(recovery, now, 60)
    assert recovery.mode is Mode.LIMIT
    assert before <= recovery.rate < 1.1 * before


def test_in_a_limit_an_idle_crawl_learns_nothing():
    """After a minute without work the rate is what it was."""
    recovery, now = in_limit()
    before = recovery.rate
    recovery.sent(now + 60)
    recovery.answered(now + 60)
    assert recovery.rate == pytest.approx(before, rel=0.02)


def test_what_was_not_sent_in_time_is_not_caught_up():
    """But for a part of the burst of a limit, and few requests of that."""
    ramp = Recovery()
    pause(ramp, 100.0)
    ramp.sent(200.0)
    assert ramp.next_at > 200.0 - 1 / ramp.rate
    limit, now = in_limit(burst=500)
    limit.sent(now + 60)
    assert limit.next_at > now + 60 - 10 / limit.rate


def test_refusals_by_chance_slow_nothing():
    """One in twenty, whatever the rate: it goes by no limit that is near what was borne."""
    chance = random.Random(3)
    recovery = Recovery(number / 160 for number in range(64))
    now = 1.0
    for _ in range(25):
        now = pause(recovery, now)
        now = go(recovery, now, chance.randint(5, 60))
    assert recovery.rate > 20
    assert recovery.share < 0.2


def test_chance_explains_few_failed_probes():
    """Three in a row at most, and none of a site that refuses one in a hundred."""
    recovery = Recovery()
    assert not recovery.explains(2)
    recovery._pauses, recovery._all_good = 50.0, 30.0
    assert [recovery.explains(failed) for failed in (1, 2, 3, 4)] == [True, True, True, False]


def test_refusals_of_an_outage_say_nothing_of_the_rate():
    """However many: the way back is a ramp from what the site answered lately."""
    recovery = Recovery(number / 100 for number in range(64))
    now = 1.0
    for _ in range(20):
        now = pause(recovery, go(recovery, now, 30), seconds=30, is_telling=False)
    assert recovery.mode is Mode.RAMP
    assert recovery.share < 0.02


def test_an_outage_in_a_limit_holds_up_what_is_learnt_by_as_long_as_it_takes():
    """Nothing is learnt of the limit while nothing is sent; after it the rate goes on to grow."""
    (without, now), (other, later) = in_limit(), in_limit()
    first = other.rate
    later = pause(other, later, seconds=600.0, is_telling=False)
    assert other.mode is Mode.LIMIT
    go(without, now, 2_000)
    go(other, later, 2_000)
    assert first < other.rate == pytest.approx(without.rate, rel=0.02)


def test_refusals_that_are_a_sections_say_nothing_of_the_rate():
    """They are taken back by the time at which they were sent, whether they were noted or not."""
    recovery = Recovery(number / 100 for number in range(64))
    now = 1.0
    for _ in range(20):
        recovery.refused(now, now)
        recovery.disregard([now, now + 7.0])
        recovery.resume(now + 1, is_telling=True)
        now = go(recovery, now + 1, 30)
    assert recovery.mode is Mode.RAMP
    assert recovery.share < 0.02


def test_a_limit_far_below_what_was_borne_is_known():
    """So that it can be told once."""
    recovery, _ = in_limit(20.0)
    assert not recovery.is_far_below
    recovery._best = 160.0
    assert recovery._best == 160
    assert recovery.is_far_below


def test_a_refusal_at_the_very_moment_of_the_probe():
    """No time has passed, and nothing was answered: nothing fails."""
    recovery = Recovery()
    for _ in range(50):
        recovery.refused(5.0, 5.0)
        recovery.resume(5.0, is_telling=True)
        assert 0 < recovery.rate < 1e6
        assert recovery.next_at > 5.0


def test_what_is_written_down_of_a_run_is_bounded():
    """However long it is, and however many refusals come late."""
    recovery = Recovery(map(float, range(10_000)))
    for number in range(10_000):
        recovery.good(float(number), float(number))
        recovery.refused(float(number), float(number))
    assert len(recovery._good) == len(recovery._came) == 2_000
    assert len(recovery._refused) == 100
