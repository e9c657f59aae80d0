"""What is polite and what is not, by an access log: one table of crawls, and what is found."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_mandelbot import RobotsTxt
from scrapy_mandelbot.robots.audit import CopiesInForce, CopyInForce, Law, Visits, judge
from scrapy_mandelbot.robots.audit.visits import UNKNOWN

DAY = 86_400.0
RULES = b"User-agent: *\nDisallow: /private\n"
SLOW = b"User-agent: *\nCrawl-delay: 5\n"
AT_NIGHT = b"User-agent: *\nVisit-time: 0000-0100\n"


def visits(*asked, copies=(), delay=None) -> Visits:
    """Return what was asked: each a time and a path, and where it matters a status and a wait."""
    kept = [
        CopyInForce(since, f"{since:g}.txt", RobotsTxt.parse(body) if body is not None else None)
        for since, body in copies
    ]
    made = Visits(CopiesInForce(kept, "Examplebot", delay))
    for line, (moment, target, *rest) in enumerate(asked, start=1):
        status, wait = (*rest, *(200, UNKNOWN)[len(rest) :])
        made.add(moment, status, target, line, wait)
    return made


def found(asked, *, law=None, **known) -> dict[str, int]:
    judged = judge(visits(*asked, **known), law or Law(1e-3))
    return {one.code: one.count for one in judged.findings}


READ = (0, "/robots.txt")
ONE = {"copies": [(-inf, RULES)]}
PACED = {"copies": [(-inf, SLOW)]}

CASES = {
    # What robots.txt forbids.
    "all is allowed": ([READ, (1, "/a")], ONE, {}),
    "a rule is broken": ([READ, (1, "/private/a"), (2, "/private")], ONE, {"forbidden": 2}),
    "robots.txt itself is allowed": ([READ, (1, "/robots.txt?x")], ONE, {}),
    "it was allowed by the copy that was read": (
        [READ, (DAY, "/private")],
        {"copies": [(-inf, b""), (DAY / 2, RULES)]},
        {},
    ),
    "it was forbidden by the copy that was read": (
        [READ, (1.5 * DAY, "/private")],
        {"copies": [(-inf, RULES), (DAY, b"")]},
        {"forbidden": 1},
    ),
    "which copy it has is not known, and one allows it": (
        [(DAY, "/private"), (DAY + 1, "/robots.txt"), (DAY + 2, "/private")],
        {"copies": [(-inf, b""), (DAY / 2, RULES)]},
        {"forbidden": 1},
    ),
    "there was no robots.txt before the first one": (
        [READ, (1, "/private")],
        {"copies": [(DAY, RULES)]},
        {},
    ),
    "there is none": ([READ, (1, "/private")], {"copies": [(-inf, None)]}, {}),
    # Whether robots.txt was read.
    "it was never read": ([(0, "/a"), (3 * DAY, "/b")], {}, {"robots-not-read": 1}),
    "it was read in time": ([READ, (2 * DAY, "/a")], {}, {}),
    "it was not read again": (
        [READ, (2 * DAY + 9, "/a"), (3 * DAY, "/b"), (3 * DAY, "/robots.txt"), (3 * DAY, "/c")],
        {},
        {"robots-not-read-again": 2},
    ),
    "it cannot be read, and no copy is known": (
        [(0, "/robots.txt", 500), (1, "/a"), (2, "/robots.txt"), (3, "/b")],
        {},
        {"robots-unavailable": 1},
    ),
    "it cannot be read, and the copy goes on serving": (
        [READ, (1, "/robots.txt", 500), (2, "/a")],
        {},
        {},
    ),
    "that it is not there is an answer": ([(0, "/robots.txt", 404), (1, "/a")], {}, {}),
    # The delay.
    "the delay is kept": ([READ, (5, "/a"), (10, "/b")], PACED, {}),
    "the way took a little of it": ([READ, (4.95, "/a")], PACED, {}),
    "it came too soon": ([READ, (4.8, "/a"), (5, "/b")], PACED, {"too-soon": 2}),
    "a delay that is told goes before": ([READ, (2, "/a")], PACED | {"delay": 2}, {}),
    "a delay is asked for by whoever looks": ([READ, (1, "/a")], {"delay": 2}, {"too-soon": 1}),
    "it came at night": ([READ, (3_000, "/a")], {"copies": [(-inf, AT_NIGHT)]}, {}),
    "it came by day": (
        [READ, (4_000, "/a")],
        {"copies": [(-inf, AT_NIGHT)]},
        {"outside-visit-time": 1},
    ),
    # Refusals.
    "it waited as asked": ([READ, (1, "/a", 503, 10), (11, "/a")], {}, {}),
    "it came before": ([READ, (1, "/a", 429, 10), (4, "/a"), (5, "/b")], {}, {"during-pause": 2}),
    "it asked another page": ([READ, (1, "/a", 503, 10), (4, "/b")], {}, {"during-pause": 1}),
    "it was on its way": ([READ, (1, "/a", 503, 10), (1.2, "/b"), (2, "/c")], {}, {}),
    "what was on its way is refused too": (
        [READ, (1, "/a", 503, 10), (1.5, "/b", 503, 10), (11.2, "/a")],
        {},
        {"during-pause": 1},
    ),
    "each refusal that follows makes it longer": (
        [READ, (1, "/a", 503, 5), (4, "/b", 503, 5), (8, "/c", 503, 5), (13, "/d")],
        {},
        {"during-pause": 2},
    ),
    "for how long is not known": ([READ, (1, "/a", 503), (3, "/b")], {}, {}),
    "another status asks for nothing": ([READ, (1, "/a", 500, 10), (3, "/b")], {}, {}),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_judged(case):
    """What the case's name says."""
    asked, known, expected = CASES[case]
    assert found(asked, **known) == expected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_order_of_the_lines_means_nothing(case):
    """A log from its end is judged as from its beginning, but for what has one time."""
    asked, known, expected = CASES[case]
    if len({moment for moment, *_ in asked}) == len(asked):
        assert found(asked[::-1], **known) == expected


SECONDS = {
    "what was cut from the times may be what is missing": (
        [READ, (5, "/a"), (9.0, "/b")],
        PACED,
        {"too-soon": 1},
    ),
    "less than it can tell is no gap": ([READ, (0, "/a")], {"delay": 0.5}, {}),
    "a delay of a second is not kept within one": (
        [READ, (0, "/a")],
        {"delay": 1},
        {"too-soon": 1},
    ),
    "a pause may have been over": ([READ, (1, "/a", 503, 3), (4, "/a")], {}, {}),
    "a pause was not over": ([READ, (1, "/a", 503, 4), (4, "/a")], {}, {"during-pause": 1}),
}


@pytest.mark.parametrize("case", SECONDS, ids=str)
def test_whole_seconds_are_judged_by_what_they_can_tell(case):
    """Only what was too soon however the times were cut counts."""
    asked, known, expected = SECONDS[case]
    assert found(asked, law=Law(1.0), **known) == expected


def test_a_refusal_asks_for_what_the_caller_says():
    """Where the log does not tell; what the log tells goes before."""
    law = Law(1e-3, retry_after=10)
    asked = [READ, (1, "/a", 503), (5, "/b"), (20, "/c", 503, 2), (23, "/d")]
    assert found(asked, law=law) == {"during-pause": 1}


def test_the_rules_that_were_broken_are_named():
    """With file, line and text, how often, and some of the URLs."""
    asked = [READ, *((1 + n, f"/private/{n}") for n in range(20))]
    (rule,) = judge(visits(*asked, **ONE), Law(1.0)).broken
    assert (rule.source, rule.line, rule.text) == ("-inf.txt", 2, "Disallow: /private")
    assert rule.requests == 20
    assert rule.targets == [f"/private/{n}" for n in range(5)]


def test_gaps_and_returns_are_measured():
    """Least and median; after a refusal what was on its way is no return."""
    asked = [(0, "/a"), (2, "/b"), (3, "/c", 503), (3.5, "/d", 503), (9, "/c"), (9.5, "/e")]
    judged = judge(visits(*asked), Law(1e-3))
    assert (judged.least_gap, judged.median_gap) == (0.5, 1)
    assert (judged.refusals, judged.pauses, judged.in_flight) == (2, 1, 1)
    assert (judged.least_return, judged.median_return) == (6, 6)
    assert judged.most_in_a_second == 2
    assert judged.statuses == {200: 4, 503: 2}


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1e6),
            st.sampled_from(["/robots.txt", "/a", "/private", ""]),
            st.sampled_from([200, 404, 429, 500, 503]),
            st.one_of(st.just(UNKNOWN), st.floats(0, 1e5)),
        ),
        max_size=30,
    )
)
def test_nothing_is_found_twice(asked):
    """No finding has more requests than there were, whatever was asked; examples are of them."""
    judged = judge(visits(*asked, copies=[(-inf, RULES + SLOW), (5e5, b"")]), Law(1e-3, ttl=3600))
    assert judged.requests == len(asked) == sum(judged.statuses.values())
    for one in judged.findings:
        assert 0 < one.count <= max(1, len(asked))
        assert len(one.instances) == min(one.count, 5)
    assert sum(one.requests for one in judged.broken) == sum(
        one.count for one in judged.findings if one.code == "forbidden"
    )
