"""How long the pauses of a site are that names no time. (politeness/pause.py)"""

from __future__ import annotations

from itertools import pairwise

import pytest
from pause_facts import Fact, Sent

from scrapy_mandelbot.politeness.pause import Pause, PauseEffect, PauseState
from scrapy_mandelbot.politeness.pause_policy import Backoff, Mode, PausePolicy, Refusal
from scrapy_mandelbot.politeness.rate_control import RateControl


def outage(pause: Pause, begin: float, seconds: float) -> list[float]:
    """Keep a site down for some seconds; return the pauses, and the end is a good
    probe.
    """
    pause.take(Fact.REFUSED, begin, Refusal(begin, "503"))
    lengths = [pause.until - begin]
    while pause.until < begin + seconds:
        now = pause.until
        pause.take(Fact.SENT, now)
        assert (
            pause.take(Fact.PROBE_REFUSED, now, Refusal(now, "503"))
            is PauseEffect.PROLONGED
        )
        lengths.append(pause.until - now)
    pause.take(Fact.SENT, pause.until)
    assert pause.take(Fact.PROBE_ANSWERED, pause.until) is PauseEffect.RESUMED
    return lengths


@pytest.fixture
def pause() -> Pause:
    return Pause(PausePolicy(tries=1000))


def test_a_pause_triples_with_each_failed_probe(pause):
    """The pause grows to an hour: it outruns a server that doubles its ban."""
    assert outage(pause, 1000, 20_000) == [
        1,
        3,
        9,
        27,
        81,
        243,
        729,
        2187,
        3600,
        3600,
        3600,
        3600,
        3600,
    ]


@pytest.mark.parametrize(("seconds", "most"), [(2, 4), (3, 5), (30, 45), (600, 1200)])
def test_an_outage_is_not_outlasted_by_much(pause, seconds, most):
    """Two or three seconds are over within five; half a minute in one and a half times
    as long.
    """
    lengths = outage(pause, 1000, seconds)
    assert seconds <= sum(lengths) <= most


def test_the_next_pause_begins_with_the_last_one(pause):
    """As long again is likely; if not, the law goes on from the step below, and
    triples.
    """
    outage(pause, 1000, 10)
    first, second, *others = outage(pause, 1013.5, 200)
    assert first == pytest.approx(9, rel=0.1)
    assert second == pytest.approx(3, rel=0.1)
    assert others[0] == pytest.approx(3 * second)
    assert all(b == pytest.approx(3 * a) for a, b in pairwise(others))


def test_what_is_remembered_fades_with_service(pause):
    """By half in as many seconds, and by half with each pause whose first probe is
    good.
    """
    outage(pause, 1000, 10)
    first = outage(pause, 1013 + 9, 1)
    assert first == [pytest.approx(4.5, rel=0.1)]
    second = outage(pause, 1013 + 9 + 4.5, 1)
    assert second[0] < first[0] / 1.5
    assert outage(pause, 2000, 1) == [1]


def test_no_pause_begins_with_more_than_a_minute(pause):
    """However long the last one was."""
    outage(pause, 1000, 10_000)
    begin = pause.backoff.resumed_at
    assert outage(pause, begin, 1)[0] == 60


def test_a_pause_of_a_site_that_refuses_by_chance_is_a_first_one(pause):
    """Nor of one that has a limit: what was remembered is not of them."""
    for mode in (Mode.CHANCE, Mode.LIMIT):
        outage(pause, 1000, 10)
        pause.rate_control.mode = mode
        lengths = Backoff(pause.policy)
        lengths.end(1000, None)
        assert lengths.begin(1001, pause.rate_control) is None
        begin = pause.backoff.resumed_at
        pause.take(Fact.REFUSED, begin, Refusal(begin, "503"))
        assert pause.until - begin == 1
        pause = Pause(pause.policy)


@pytest.fixture
def at_limit(pause, monkeypatch) -> Pause:
    """A site with a limit, whose bucket is empty again in half a second."""
    monkeypatch.setattr(RateControl, "drained_in", lambda _: 0.5)
    outage(pause, 1000, 0.5)
    return pause


@pytest.mark.parametrize(
    ("drained_in", "seconds"), [(0.5, 0.5), (0.1, 0.1), (0.01, 0.05), (3, 1)]
)
def test_a_pause_of_a_known_limit_is_over_as_its_bucket_is_empty(
    at_limit, monkeypatch, drained_in, seconds
):
    """A twentieth of a first pause at least, and a first pause at most."""
    monkeypatch.setattr(RateControl, "drained_in", lambda _: drained_in)
    lengths = outage(at_limit, 1100, 0.01)
    assert lengths == [pytest.approx(seconds)]


@pytest.mark.parametrize("is_outage", [True, False], ids=["503", "429"])
def test_a_brief_pause_that_does_not_suffice_becomes_a_first_one(at_limit, is_outage):
    """A ban may begin at the limit: the next pause is none that may be brief."""
    at_limit.take(Fact.REFUSED, 2000, Refusal(2000, "refused", is_outage=is_outage))
    at_limit.take(Fact.SENT, 2000.5)
    refusal = Refusal(2000.5, "refused", is_outage=is_outage)
    at_limit.take(Fact.PROBE_REFUSED, 2000.5, refusal)
    assert (at_limit.until, at_limit.failed_probes) == (2001, 0)
    at_limit.take(Fact.SENT, 2001)
    at_limit.take(Fact.PROBE_ANSWERED, 2001)
    assert outage(at_limit, 2100, 0.1) == [1]
    assert outage(at_limit, 2200, 0.1) == [0.5]


def test_a_time_that_is_named_counts_at_a_known_limit(at_limit):
    """Also in an answer that comes later, or to the probe of a brief pause."""
    at_limit.take(Fact.REFUSED, 2000, Refusal(2000, "503", 9.0))
    assert at_limit.until == 2009
    at_limit.take(Fact.SENT, 2009)
    at_limit.take(Fact.PROBE_ANSWERED, 2009)
    assert outage(at_limit, 2100, 0.1) == [1]
    at_limit.take(Fact.REFUSED, 2200, Refusal(2200, "503"))
    assert at_limit.until == 2200.5
    at_limit.take(Fact.REFUSED, 2200.1, Refusal(2200.1, "503", 9.0))
    assert at_limit.until == pytest.approx(2209.1)


def test_a_probe_that_failed_by_chance_makes_the_pause_no_longer():
    """Three times at most, and where as many are refused."""
    rate_control = RateControl()
    rate_control.mode = Mode.CHANCE
    rate_control._pauses, rate_control._all_good = 50.0, 30.0
    lengths = Backoff(PausePolicy())
    steps = []
    lengths.begin(1000, rate_control)
    for _ in range(6):
        lengths.lengthen(rate_control)
        steps.append(lengths.step)
    assert steps == [0, 0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    "policy",
    [
        PausePolicy(tries=10**6),
        PausePolicy(first=0, tries=10**6),
        PausePolicy(first=10, longest=3, tries=10**6),
        PausePolicy(first=1e-300, tries=10**6),
    ],
    ids=["many tries", "none first", "longest before first", "tiny"],
)
def test_whatever_is_set_it_takes_no_time_to_know(policy):
    """A million tries, pauses of none, a longest one that is shorter than the first."""
    pause = Pause(policy)
    now = 1000.0
    for _ in range(3):
        pause.take(Fact.REFUSED, now, Refusal(now, "503"))
        for _ in range(200):
            now = max(now, pause.until)
            assert pause.due(now) == now
            assert pause.until <= pause.gives_up_at < 10**11
            pause.take(Fact.SENT, now)
            pause.take(Fact.PROBE_REFUSED, now, Refusal(now, "503"))
            assert pause.until - now <= max(policy.first, policy.longest)
        assert pause.state is PauseState.PAUSED
        pause.take(Fact.SENT, now)
        pause.take(Fact.PROBE_ANSWERED, now)


def test_all_pauses_together_are_counted_as_they_are():
    """In closed form, where they grow no more."""
    policy = PausePolicy(tries=40)
    assert policy.in_all() == sum(policy.own_pause(step) for step in range(40))
    assert policy.in_all(3, 5) == sum(policy.own_pause(step) for step in range(3, 8))
    assert policy.in_all(3, 0) == policy.in_all(3, -1) == 0
    assert all(
        a <= b for a, b in pairwise(policy.own_pause(step) for step in range(10**3))
    )


BUSY = tuple(0.1 * number for number in range(50))  # when good answers were sent
OUTAGE = Refusal(0.0, "503", is_outage=True)


def failing(
    recent=BUSY, refusal=OUTAGE, seconds: float = 8000.0
) -> tuple[Pause, list[float]]:
    """Return the pause of a site that fails from then on, and when its probes were
    sent.
    """
    pause, begin, probes = Pause(PausePolicy()), 10.0, []
    pause.refused(Sent(begin), refusal._replace(now=begin), recent)
    while not pause.is_given_up and pause.until < begin + seconds:
        now = pause.until
        probes.append(now - begin)
        probe = Sent(now)
        pause.let_pass(probe, now)
        pause.refused(probe, refusal._replace(now=now))
    return pause, probes


BY_BACKOFF = [1, 4, 13, 40, 121, 364, 1093, 3280, 6880]


def test_an_outage_is_probed_every_15_seconds_for_five_minutes():
    """Beside the probes of the backoff, which come no later, and end it as soon as
    before.
    """
    pause, probes = failing()
    assert pause.is_given_up
    assert set(BY_BACKOFF) <= set(probes)
    assert probes[-1] == 6880
    first = [one for one in probes if one < 316]
    assert first[-1] >= 300
    assert max(later - one for one, later in pairwise([0, *first])) == 15
    assert probes[len(first) :] == BY_BACKOFF[5:]


NO_OUTAGES = {
    "a site that has served less": (BUSY[1:], OUTAGE),
    "a status that speaks of a limit": (BUSY, Refusal(0.0, "429")),
}


@pytest.mark.parametrize("case", NO_OUTAGES)
def test_other_pauses_have_the_probes_of_the_backoff_alone(case):
    assert failing(*NO_OUTAGES[case])[1] == BY_BACKOFF


def test_the_second_pause_of_a_site_is_no_outage():
    """As of a ban, which the next requests bring back."""
    pause, _ = failing(seconds=50)
    probe = Sent(pause.until)
    pause.let_pass(probe, pause.until)
    assert pause.answered(probe, pause.until) is PauseEffect.RESUMED
    now = pause.until + 1
    pause.refused(Sent(now), OUTAGE._replace(now=now))
    assert pause.until > now + 15


def test_a_time_that_is_named_in_an_outage_is_kept():
    pause, _ = failing(seconds=50)
    pause.refused(Sent(60.0), Refusal(60.0, "503", 600.0))
    assert pause.until == 660
    probe = Sent(660.0)
    pause.let_pass(probe, 660)
    pause.refused(probe, OUTAGE._replace(now=660.0))
    assert pause.until > 660 + 15


def test_a_probe_at_once_counts_as_one_of_the_backoff():
    pause, probes = failing(seconds=50)
    now, failed = 10 + probes[-1] + 1, pause.failed_probes
    pause.be_due(now)
    probe = Sent(now)
    pause.let_pass(probe, now)
    pause.refused(probe, OUTAGE._replace(now=now))
    assert pause.failed_probes == failed + 1
