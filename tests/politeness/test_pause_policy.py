"""How a site is paused.

(politeness/pause.py; Mandelbot, "Temporarily Stop Crawling")
"""

from __future__ import annotations

import json
from math import inf

import pytest
from pause_facts import Fact

from scrapy_mandelbot.politeness.pause import Pause, PauseEffect, PauseState
from scrapy_mandelbot.politeness.pause_policy import (
    JITTER,
    LeftPause,
    PausePolicy,
    Refusal,
)
from scrapy_mandelbot.politeness.rate_control import RateControl

LAW = PausePolicy(
    first=1, longest=600, retry_after_longest=86_400, tries=4, recovers=False
)


@pytest.fixture
def pause() -> Pause:
    return Pause(LAW)


def refuse(
    pause: Pause,
    now: float,
    retry_after: float | None = None,
    fact: Fact = Fact.REFUSED,
) -> PauseEffect | None:
    return pause.take(fact, now, Refusal(now, "503", retry_after))


def paused(pause: Pause, now: float = 100.0, retry_after: float | None = None) -> Pause:
    refuse(pause, now, retry_after)
    return pause


def probing(pause: Pause, now: float = 101.0) -> Pause:
    paused(pause, now - 1).take(Fact.SENT, now)
    assert pause.state is PauseState.PROBING
    return pause


def fail_probe(pause: Pause, now: float = 200.0) -> PauseEffect | None:
    pause.take(Fact.SENT, 10**6)
    return refuse(pause, now, fact=Fact.PROBE_REFUSED)


def test_an_open_site_has_no_limit(pause):
    """A site that is well may be sent as much as the crawl sends."""
    assert pause.due(5) == 5
    assert pause.take(Fact.SENT, 5) is None
    assert pause.is_open
    assert pause.is_passable
    assert pause.since == inf
    assert repr(pause) == "<Pause: open>"


def test_mandelbot_a_refusal_pauses(pause):
    """A 503 to any request stops the crawl of the site."""
    assert (
        pause.take(Fact.REFUSED, 100, Refusal(100, "503 for /")) is PauseEffect.PAUSED
    )
    assert pause.state is PauseState.PAUSED
    assert not pause.is_passable
    assert pause.due(100.9) == 101
    assert pause.reason == "503 for /"
    shown = "<Pause: paused until 1970-01-01 00:01:41 UTC, 0 failed probes: 503 for />"
    assert repr(pause) == shown


def test_mandelbot_one_request_goes_when_the_time_has_come(pause):
    """The crawl resumes at some later time, with a single request."""
    paused(pause)
    assert pause.due(101) == 101
    assert pause.due(105) == 105
    pause.take(Fact.SENT, 105)
    assert pause.state is PauseState.PROBING


def test_while_a_probe_is_out_no_other_request_goes(pause):
    """There is one probe, not two."""
    probing(pause)
    assert pause.due(10_000) == inf
    assert repr(pause) == "<Pause: probing, 0 failed probes: 503>"


def test_a_probe_that_is_answered_opens(pause):
    """A good answer to the probe ends the pause, and it is told how long it was."""
    assert probing(pause).take(Fact.PROBE_ANSWERED, 101.5) is PauseEffect.RESUMED
    assert pause.is_open
    assert 130.0 - pause.since == 30.0


@pytest.mark.parametrize(
    ("failed", "seconds"), [(1, 3), (2, 9), (3, 27)], ids=["first", "second", "third"]
)
def test_failed_probes_triple_the_pause(pause, failed, seconds):
    """Only failed probes lengthen the pause: 1, 3, 9, 27 s."""
    probing(pause)
    for _ in range(failed):
        assert fail_probe(pause) is PauseEffect.PROLONGED
    assert pause.until == 200 + seconds
    assert pause.failed_probes == failed


def test_the_pause_grows_no_longer_than_the_longest():
    """However many probes failed, no pause of our own choice is longer than the law's
    longest.
    """
    policy = PausePolicy(longest=600, tries=10**6)
    assert policy.until(Refusal(0, ""), 100_000) == 600


def test_jitter_spreads_pauses_of_our_own_choice_only():
    """What a server asks for is kept to the second; the rest is spread by up to a
    tenth.
    """
    assert LAW.until(Refusal(0, "", None, 1.0), 2) == pytest.approx(9.9)
    assert LAW.until(Refusal(0, "", None, -1.0), 2) == pytest.approx(8.1)
    assert LAW.until(Refusal(0, "", 30.0, 1.0), 1) == 30


def test_the_site_is_given_up_after_so_many_failed_probes(pause):
    """The last failed probe gives the site up: it is sent nothing any more."""
    probing(pause)
    effect = [fail_probe(pause) for _ in range(LAW.tries)]
    assert effect == [PauseEffect.PROLONGED] * 3 + [PauseEffect.GAVE_UP]
    assert pause.due(10**9) == inf
    assert repr(pause) == "<Pause: given up after 4 failed probes: 503>"


@pytest.mark.parametrize("fact", Fact)
def test_given_up_is_for_good(pause, fact):
    """No late answer opens a site that was given up."""
    probing(pause)
    for _ in range(LAW.tries):
        fail_probe(pause)
    assert pause.take(fact, 300, Refusal(300, "late")) is None
    assert pause.state is PauseState.GIVEN_UP
    assert pause.reason == "503"


def test_late_refusals_of_the_burst_change_nothing(pause):
    """Sixteen 503s to sixteen requests under way are one pause, not sixteen."""
    paused(pause)
    assert refuse(pause, 100.2) is None
    assert (pause.until, pause.failed_probes) == (101, 0)


def test_a_late_refusal_with_a_longer_retry_after_extends_the_pause(pause):
    """The burst is one pause, and the longest time that the server named holds."""
    paused(pause)
    assert refuse(pause, 100.2, 30.0) is PauseEffect.PROLONGED
    assert pause.until == pytest.approx(130.2)
    assert refuse(pause, 100.3, 5.0) is None
    assert pause.until == pytest.approx(130.2)


def test_a_pause_that_grows_by_less_than_a_second_is_no_news(pause):
    """The answers of a burst are some milliseconds apart, and each names its
    Retry-After.
    """
    paused(pause, retry_after=30.0)
    assert refuse(pause, 100.9, 30.0) is None
    assert pause.until == pytest.approx(130.9)


def test_a_refusal_while_probing_is_late(pause):
    """The probe decides; who was sent before it has no say."""
    assert refuse(probing(pause), 102, 500.0) is None
    assert pause.state is PauseState.PROBING


def test_a_lost_probe_makes_room_for_another_at_once(pause):
    """A probe that ends without a word of the site, dropped or forbidden, proves
    nothing.
    """
    probing(pause).take(Fact.PROBE_LOST, 105)
    assert pause.due(105) == 105
    assert pause.failed_probes == 0


def test_the_operator_may_end_a_pause(pause):
    """Then the probe goes at once; an open site stays as it is."""
    pause.take(Fact.ENDED_MANUALLY, 50)
    assert pause.is_open
    paused(pause, 100, retry_after=1000.0).take(Fact.ENDED_MANUALLY, 200)
    assert pause.due(200) == 200
    pause.take(Fact.SENT, 200)
    assert pause.state is PauseState.PROBING


def test_retry_after_is_kept_and_capped(pause):
    """The server says when, up to a day."""
    paused(pause, 100, retry_after=90.0)
    assert pause.until == 190
    assert LAW.until(Refusal(0, "", 10.0**9), 0) == 86_400


def test_the_next_pause_begins_where_the_last_one_ended(pause):
    """A site that was down is likely to be down as long again, but its failed probes
    are past.
    """
    probing(pause)
    fail_probe(pause, 102)
    pause.take(Fact.SENT, 105)
    assert pause.take(Fact.PROBE_ANSWERED, 105) is PauseEffect.RESUMED
    paused(pause, 105.5)
    assert pause.until == pytest.approx(108.5, abs=0.4)
    assert pause.failed_probes == 0


def test_after_long_service_the_next_pause_is_a_first_one_again(pause):
    """An hour later nothing is left of the outage."""
    probing(pause)
    fail_probe(pause, 102)
    pause.take(Fact.SENT, 105)
    pause.take(Fact.PROBE_ANSWERED, 105)
    paused(pause, 3705)
    assert pause.until == 3706


@pytest.mark.parametrize("state", ["open", "paused"])
def test_news_of_a_probe_that_is_none_changes_nothing(pause, state):
    """Answers are only a probe's while the site is probed."""
    if state == "paused":
        paused(pause)
    for fact in (Fact.PROBE_ANSWERED, Fact.PROBE_REFUSED, Fact.PROBE_LOST):
        assert pause.take(fact, 200, Refusal(200, "503")) is None
    assert pause.state is PauseState(state)


def test_a_site_recovers_and_opens():
    """After a pause the pace lets one go at a time, until it holds nothing back."""
    pause = Pause(PausePolicy(first=1))
    pause.take(Fact.REFUSED, 0.0, Refusal(0.0, "503"))
    pause.take(Fact.SENT, 1.0)
    assert pause.take(Fact.PROBE_ANSWERED, 1.0) is PauseEffect.RESUMED
    assert pause.state is PauseState.RECOVERING
    assert pause.is_passable
    assert not pause.is_open
    assert repr(pause) == "<Pause: recovering, <Recovery ramp at 4.0/s>>"
    assert pause.due(1.0) == pytest.approx(1.25)
    pause.take(Fact.SENT, 1.25)
    assert pause.take(Fact.ANSWERED, 1.3) is None
    assert pause.take(Fact.ANSWERED, 4.0) is PauseEffect.RECOVERED
    assert pause.is_open


def test_a_pause_in_a_recovery_goes_on_with_what_was_learnt():
    """What its refusals say is gathered over all pauses of the site."""
    pause = Pause(PausePolicy(first=1))
    pause.take(Fact.REFUSED, 0.0, Refusal(0.0, "503"))
    pause.take(Fact.SENT, 1.0)
    pause.take(Fact.PROBE_ANSWERED, 1.0)
    learnt = pause.rate_control
    assert refuse(pause, 1.5) is PauseEffect.PAUSED
    assert pause.rate_control is learnt
    pause.take(Fact.SENT, 2.5)
    assert pause.take(Fact.PROBE_ANSWERED, 2.5) is PauseEffect.RESUMED
    assert pause.rate_control is learnt


def test_a_pause_of_a_former_run_goes_on(pause):
    """With its reason and its failed probes; it ends with a probe, as any."""
    pause.restore(50.0, LeftPause(120.0, "503 in the last run", 2))
    assert (pause.state, pause.until) == (PauseState.PAUSED, 120)
    assert (pause.reason, pause.failed_probes) == ("503 in the last run", 2)
    assert 60 - pause.since == 10
    pause.take(Fact.SENT, 120)
    assert fail_probe(pause) is PauseEffect.PROLONGED
    assert pause.until == 200 + 27


def test_a_pause_of_a_former_run_takes_the_place_of_none_that_there_is_now(pause):
    """However long it is."""
    paused(pause)
    pause.restore(100.5, LeftPause(500.0, "old", 2))
    assert (pause.until, pause.reason) == (101, "503")


def test_a_pause_of_a_former_run_is_no_longer_than_any(pause):
    """The clock may have been set since."""
    pause.restore(50.0, LeftPause(10.0**12, "old", 0))
    assert pause.until == 50 + 86_400


@pytest.mark.parametrize("recovers", [True, False])
def test_a_site_paused_in_a_former_run_recovers_as_the_project_says(recovers):
    """What is known of its rate by now stays."""
    pause = Pause(LAW._replace(recovers=recovers))
    pause.restore(50.0, LeftPause(120.0, "503", 2))
    assert (pause.rate_control is not None) is recovers
    known = Pause(LAW._replace(recovers=recovers))
    known.rate_control = rate_control = RateControl()
    known.restore(50.0, LeftPause(120.0, "503", 2))
    assert known.rate_control is rate_control


def test_what_is_written_down_is_what_can_be_restored(pause):
    """As plain data; given up, it begins anew."""
    refuse(probing(pause), 102, fact=Fact.PROBE_REFUSED)
    left = LeftPause(*json.loads(json.dumps(pause.left())))
    assert left == LeftPause(105, "503", 1)
    again = Pause(LAW)
    again.restore(103, left)
    assert again.left() == left
    again.take(Fact.GIVE_UP, 104)
    assert again.left().failed_probes == 0


def test_an_endless_pause_can_be_printed(pause):
    """A time further away than there are dates."""
    paused(pause).until = 1e300
    assert "until 9999-12-31 23:59:59 UTC" in repr(pause)


# Final attempts: what was never sent is sent once each.


def given_up_with_attempts(pause: Pause, now: float = 200.0) -> Pause:
    """Fail all probes of a site that has answered well in this run."""
    probing(pause)
    for _ in range(LAW.tries):
        pause.take(Fact.SENT, now)
        effect = pause.take(
            Fact.PROBE_REFUSED, now, Refusal(now, "503"), has_served=True
        )
    assert effect is PauseEffect.LAST_ATTEMPTS
    assert pause.final_attempts == 50
    return pause


def send_and_fail(
    pause: Pause, now: float, retry_after: float | None = None
) -> PauseEffect | None:
    pause.take(Fact.SENT, now)
    refusal = Refusal(now, "503", retry_after)
    return pause.take(Fact.PROBE_REFUSED, now, refusal, has_served=True)


def test_a_site_that_has_served_gets_final_attempts(pause):
    """One request at a time, a second apart; nothing else passes."""
    given_up_with_attempts(pause)
    assert pause.state is PauseState.LAST_ATTEMPTS
    assert not pause.is_given_up
    assert not pause.is_passable
    for number in range(1, 4):
        due = pause.due(200)
        assert due == 200 + number
        pause.take(Fact.SENT, due)
        assert not pause.awaits_probe
        assert pause.due(10**9) == inf
        assert refuse(pause, due, fact=Fact.PROBE_REFUSED) is None
    assert "making final attempts after 7 failed probes, 47 left" in repr(pause)


def test_a_time_that_the_refusal_of_a_final_attempt_names_is_kept(pause):
    """No sooner than the server says, up to a day."""
    given_up_with_attempts(pause)
    send_and_fail(pause, 200, 30.0)
    assert pause.due(200) == 230
    send_and_fail(pause, 230, 10.0**9)
    assert pause.due(230) == 230 + 86_400


@pytest.mark.parametrize("is_under_way", [False, True])
def test_final_attempts_wait_for_the_time_that_a_late_refusal_names(
    pause, is_under_way
):
    """The refusal of a request that was sent before the site was given up."""
    given_up_with_attempts(pause)
    if is_under_way:
        pause.take(Fact.SENT, 201)
    assert refuse(pause, 201.5, retry_after=40.0) is PauseEffect.PROLONGED
    assert refuse(pause, 201.5) is None, "one that names none says nothing"
    if is_under_way:
        refuse(pause, 202, fact=Fact.PROBE_REFUSED)
    assert pause.due(202) == 241.5


def test_one_good_answer_to_a_final_attempt_resumes_the_site(pause):
    """The site is well after all: all others go on."""
    given_up_with_attempts(pause)
    pause.take(Fact.SENT, 201)
    assert pause.take(Fact.PROBE_ANSWERED, 201) is PauseEffect.RESUMED
    assert pause.is_open
    assert pause.failed_probes == 0


def test_a_final_attempt_without_an_answer_is_not_counted(pause):
    """The next one goes at once."""
    given_up_with_attempts(pause)
    pause.take(Fact.SENT, 201)
    pause.take(Fact.PROBE_LOST, 202)
    assert pause.due(202) == 202
    assert pause.failed_probes == LAW.tries


def test_no_final_attempts_are_left_after_fifty_refusals(pause):
    """A queue of ten thousand is not ten thousand knocks."""
    given_up_with_attempts(pause)
    effect = [send_and_fail(pause, 200 + number) for number in range(50)]
    assert effect == [None] * 49 + [PauseEffect.GAVE_UP]
    assert pause.is_given_up


def test_a_site_that_never_served_gets_no_final_attempts(pause):
    """Nor does a site whose requests stay in the queue for the next run."""
    probing(pause)
    for _ in range(LAW.tries):
        effect = fail_probe(pause)
    assert effect is PauseEffect.GAVE_UP
    kept = Pause(PausePolicy(tries=1, asks_once=False))
    kept.take(Fact.REFUSED, 0, Refusal(0, "503"))
    kept.take(Fact.SENT, 1)
    assert (
        kept.take(Fact.PROBE_REFUSED, 1, Refusal(1, "503"), has_served=True)
        is PauseEffect.GAVE_UP
    )


def test_it_is_told_when_a_site_is_given_up(pause):
    """The pauses that are left: two hours in all, by the default policy."""
    policy = PausePolicy()
    assert policy.in_all() == 6880
    assert policy.of_a_part.in_all() == 364
    slow = Pause(policy)
    slow.take(Fact.REFUSED, 0.0, Refusal(0.0, "503"))
    told = [slow.gives_up_at]
    for _ in range(policy.tries - 1):
        slow.take(Fact.SENT, slow.until)
        slow.take(Fact.PROBE_REFUSED, slow.until, Refusal(slow.until, "503"))
        told.append(slow.gives_up_at)
    assert told[0] == pytest.approx(1 + 6879 * (1 + JITTER)), (
        "each may be that much longer"
    )
    assert told == sorted(told, reverse=True), "it may be sooner, and never later"
    assert told[-1] == 6880
    slow.take(Fact.SENT, 6880)
    effect = slow.take(Fact.PROBE_REFUSED, 6880, Refusal(6880, "503"), has_served=True)
    assert effect is PauseEffect.LAST_ATTEMPTS
