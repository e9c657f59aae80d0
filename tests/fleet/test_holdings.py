"""What a worker holds, what it has said, and how that is written; without a server."""

from __future__ import annotations

from math import inf

import pytest

from scrapy_mandelbot.fleet import holdings
from scrapy_mandelbot.fleet.changes import (
    UNKNOWN,
    Claimed,
    key,
    name,
    push,
    read_answer,
    read_request,
)
from scrapy_mandelbot.fleet.held_site import FIRST, MOST_HELD, HeldSite
from scrapy_mandelbot.fleet.holdings import (
    KEPT_FOR,
    Exchange,
    UnackedEntry,
    UnackedExchanges,
)
from scrapy_mandelbot.job.job_store import START, Place

SITE = "https://example.com"


# What is said and answered.


def test_an_exchange_has_the_arguments_of_the_script():
    """Who says it, how it stands, and what it says."""
    exchange = Exchange(7, "token", 3, 2, 1, 16, 4, "wait", (("see", 5), ("forget", 0)))
    assert exchange.arguments(30_000, ("v1", 3)) == [
        *(7, "token", 3, 2),
        *(30_000, 1, 16, 4, "wait", "v1", 3),
        *("see", 5, "forget", 0),
    ]


@pytest.mark.parametrize("is_again", [False, True])
def test_a_reply_is_read_as_the_script_returns_it(is_again):
    """Times come in milliseconds, names in bytes, lists flat."""
    member = b"0" + b"0000000000000005" + b"77 3:/abody"
    said = [
        *(b"again" if is_again else b"well", 1_500, [SITE.encode(), b"state"]),
        [SITE.encode(), b"-2", member, SITE.encode(), b"inf", member],
        *(2, 3, [b"http://back"], 4, b"9", b"finished", 250, 6),
        [SITE.encode(), b"deaths", member],
        5,
    ]
    answer = read_answer(said)
    assert (answer.is_lost, answer.is_again, answer.now) == (False, is_again, 1.5)
    assert answer.sites == {SITE: b"state"}
    line = SITE + "/ab"
    first, last = answer.claimed
    assert first == Claimed(SITE, line, 77, (-2, 0, 5), b"ody")
    assert last.place == (1 << 53, 0, 5)
    assert (answer.dropped, answer.passed_over, answer.give_back) == (
        2,
        3,
        ["http://back"],
    )
    assert (answer.surplus, answer.run, answer.outcome) == (4, 9, "finished")
    assert (answer.next_due, answer.waiting, answer.last) == (0.25, 6, 0)
    assert answer.aside == ((line, "deaths", b"ody"),)
    assert answer.workers == 5


@pytest.mark.parametrize(
    ("milliseconds", "seconds"), [(-1, None), (0, 0.0), (1_250, 1.25)]
)
def test_a_reply_without_waiting_sites_has_no_due_time(milliseconds, seconds):
    """A site that is due now is in no seconds."""
    said = [b"well", 0, [], [], 0, 0, [], 0, b"0", b"", milliseconds, 0, [], 1]
    assert read_answer(said).next_due == seconds


def test_a_reply_of_a_lost_lease_names_the_last_exchange_and_the_job():
    """The number of the last exchange, and when the job began that is there now."""
    answer = read_answer([b"lost", b"12", b"1795951573582"])
    assert answer.is_lost
    assert (answer.last, answer.born) == (12, 1795951573582)
    assert (answer.sites, answer.claimed, answer.give_back, answer.surplus) == (
        {},
        [],
        [],
        0,
    )
    assert (answer.run, answer.waiting, answer.dropped, answer.passed_over) == (
        0,
        0,
        0,
        0,
    )


@pytest.mark.parametrize("band", [0, 1])
@pytest.mark.parametrize("is_last_first", [True, False])
@pytest.mark.parametrize("line", [SITE, f"{SITE} slot", f"{SITE} \ud800é"])
def test_a_request_is_pushed_as_it_is_read(band, is_last_first, line):
    """What the server adds, its order, stands in between."""
    site, priority, kind, number, form = push(
        SITE, line, Place(-5, band, is_last_first), 42, b"1:body"
    )
    assert (kind[0], kind[1]) == (str(band), "L" if is_last_first else "F")
    member = kind[0].encode() + b"%016d" % 9 + b"%d %b" % (number, form)
    assert read_request(site, b"%d" % priority, member) == Claimed(
        SITE, line, 42, (-5, band, 9), b"1:body"
    )


@pytest.mark.parametrize(
    ("given", "kept"), [(10**30, 1 << 53), (-(10**30), -(1 << 53)), (7, 7)]
)
def test_a_priority_is_no_more_than_redis_has(given, kept):
    """A project's may be any number."""
    assert push(SITE, SITE, Place(given, 0, is_last_first=False), 1, b"")[1] == kept


def test_a_name_is_any_text():
    """Whatever a URL held."""
    assert name(key("http://\ud800.é")) == "http://\ud800.é"


# What is held.


@pytest.mark.parametrize(
    ("has_more", "passed", "batch"),
    [
        (True, 0.5, 2 * FIRST),  # they go fast
        (True, 1.0, FIRST),
        (False, 0.5, FIRST),  # no more were there
        (True, 10.0, FIRST),
        (True, 10.5, FIRST // 2),  # they go slowly
        (False, 10.5, FIRST // 2),
    ],
)
def test_a_claim_is_as_large_as_some_seconds_use(has_more, passed, batch):
    """And those that wait are counted in."""
    site = HeldSite(SITE, 100.0)
    site.has_more = has_more
    site.waiting = 1
    assert site.begin_claim(100.0 + passed) == batch - 1
    assert (site.batch, site.when, site.asked) == (batch, 100.0 + passed, batch - 1)


def test_a_batch_has_its_bounds():
    """Two at least, and 32 at most; one at least is asked for."""
    site = HeldSite(SITE, 0.0)
    for _ in range(9):
        site.begin_claim(site.when)
    assert site.batch == MOST_HELD == 32
    for _ in range(9):
        site.begin_claim(site.when + 100)
    assert site.batch == 2
    site.waiting = 50
    assert site.begin_claim(site.when + 5) == 1


@pytest.mark.parametrize(
    ("waiting", "has_more", "asked", "is_low", "is_exhausted"),
    [
        (0, True, 0, True, False),
        (0, False, 0, True, True),
        (0, False, 2, True, False),
        (1, True, 0, True, False),  # a quarter of a batch
        (1, False, 0, False, False),
        (2, True, 0, False, False),
    ],
)
def test_the_next_claim_comes_before_the_last_requests_are_used(
    waiting, has_more, asked, is_low, is_exhausted
):
    """As long as there may be more; it is dry where nothing waits, and nothing is on
    its way.
    """
    site = HeldSite(SITE, 0.0)
    site.waiting, site.has_more, site.asked = waiting, has_more, asked
    assert (site.is_low, site.is_exhausted) == (is_low, is_exhausted)


@pytest.mark.parametrize(
    ("count", "has_more"), [(0, False), (3, False), (4, True), (5, True)]
)
def test_a_short_claim_means_that_nothing_else_waits(count, has_more):
    """As far as is known then."""
    site = HeldSite(SITE, 0.0)
    assert site.has_more
    site.begin_claim(50.0)
    site.asked = 4
    site.arrived(count)
    assert (site.has_more, site.asked) == (has_more, 0)


# What was said.


def pushed(number: int = 1, parent: int | None = None, size: int = 0) -> UnackedEntry:
    entry = (
        "push",
        *push(SITE, SITE, Place(0, 0, is_last_first=True), number, b""),
        "",
        "",
        0,
    )
    return UnackedEntry(entry, size, parent)


@pytest.mark.parametrize(
    ("entry", "is_alone", "is_push"),
    [
        (pushed(parent=None), True, True),
        (pushed(parent=START), True, True),
        (pushed(parent=5), False, True),
        (UnackedEntry(("see", 1), 0, None), True, False),
        (UnackedEntry(("done", b"", 1), 0, None), False, False),
    ],
)
def test_entries_that_no_request_can_repeat_are_marked(entry, is_alone, is_push):
    """What ``start()`` gave, and fingerprints."""
    assert (entry.is_alone, entry.is_push) == (is_alone, is_push)
    said = UnackedExchanges(forgotten=UNKNOWN)
    said.add(1, 0.0, [entry])
    assert said.after(0) == (True, [entry] if is_alone else [])


def test_a_request_has_another_number_under_another_lease():
    """Others may have the old one; no other word has any."""
    assert pushed(5).moved(100).entry[4] == 105
    assert pushed(5).moved(100).entry[:4] == pushed(5).entry[:4]
    assert pushed(5).moved(100).entry[5:] == pushed(5).entry[5:]
    seen = UnackedEntry(("see", 1), 0, None)
    assert seen.moved(100) is seen


def test_entries_since_an_exchange_are_kept():
    """In its order."""
    said = UnackedExchanges(forgotten=UNKNOWN)
    entries = [pushed(number) for number in range(4)]
    for number, entry in enumerate(entries):
        said.add(number, 0.0, [entry])
    assert said.after(1) == (True, entries[2:])
    assert said.after(UNKNOWN) == (True, entries)
    assert said.after(3) == (True, [])


@pytest.mark.parametrize("why", ["old", "many", "large"])
@pytest.mark.parametrize("is_push", [True, False])
def test_the_oldest_entries_are_forgotten(monkeypatch, why, is_push):
    """What was said longest ago first; where it was a request, that is known."""
    monkeypatch.setattr(holdings, "MOST_KEPT", 2 if why == "many" else 100)
    monkeypatch.setattr(holdings, "MOST_BYTES", 20 if why == "large" else 10**6)
    first = pushed(size=10) if is_push else UnackedEntry(("see", 1), 10, None)
    said = UnackedExchanges(forgotten=0)
    said.add(1, 0.0, [first])
    said.add(2, 1.0, [pushed(2, size=10)])
    assert said.after(0) == (True, [first, pushed(2, size=10)])
    later = KEPT_FOR + 0.5 if why == "old" else 2.0
    said.add(3, later, [pushed(3, size=10)])
    is_whole, entries = said.after(0)
    assert entries == [pushed(2, size=10), pushed(3, size=10)]
    assert is_whole is not is_push
    assert said.after(1)[0]


def test_reported_sites_are_kept_with_the_time_left():
    """The last of each; what was given up stays so."""
    said = UnackedExchanges(forgotten=0)

    def rest(site: bytes, milliseconds: str) -> UnackedEntry:
        return UnackedEntry(("rest", site, b"state", milliseconds), 0, None)

    said.add(1, 100.0, [rest(b"a", "9000"), rest(b"b", "inf"), pushed()])
    said.add(2, 101.0, [rest(b"c", "1000")])
    assert list(said.rests_after(0, 103.0)) == [
        (b"a", b"state", "6000"),
        (b"b", b"state", "inf"),
        (b"c", b"state", "0"),
    ]
    assert [site for site, *_ in said.rests_after(1, 103.0)] == [b"c"]
    said.add(3, 104.0, [rest(b"a", "50")])
    assert [site for site, *_ in said.rests_after(0, 104.0)] == [b"b", b"c", b"a"]
    said.add(4, 100.0 + KEPT_FOR + 0.5, [])
    assert [site for site, *_ in said.rests_after(0, inf)] == [b"c", b"a"]


def test_the_number_of_reported_sites_is_bounded(monkeypatch):
    """Those of longest ago go."""
    monkeypatch.setattr(holdings, "MOST_KEPT", 3)
    said = UnackedExchanges(forgotten=0)
    for number in range(5):
        entry = UnackedEntry(("rest", b"%d" % number, b"", "inf"), 0, None)
        said.add(number, 0.0, [entry])
    assert [site for site, *_ in said.rests_after(-1, 0.0)] == [b"2", b"3", b"4"]
