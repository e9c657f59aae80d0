"""What each answer to /robots.txt means. (Mandelbot, "HTTP Status Codes")"""

from __future__ import annotations

import pytest
from tables import each_row

from mandelbot import DIALECTS
from mandelbot.answers.meaning import meaning_of
from mandelbot.answers.outcome import (
    PAUSE_STATUSES,
    SILENT,
    Answer,
    Failure,
    OutcomeKind,
    OutcomePolicy,
    SiteKnowledge,
)

LAW = OutcomePolicy()
REP1994 = OutcomePolicy(forbidding_statuses=DIALECTS["rep1994"].forbidding_statuses)
ONLY_200 = OutcomePolicy(only_status_200=True)
DAY = 86_400.0
NOW = 1_700_000_000.0
HALF = Answer(200, broken_off=b"what came", has_a_rule=True)
NO_RULE = Answer(200, broken_off=b"what came")
BEHIND_A_PROXY = (502, 504, 520, 521, 522, 523, 524)
NOTHING = SiteKnowledge()
COPY = SiteKnowledge(copy_status=200, copy_age=29 * DAY)
COPY_OF_NONE = SiteKnowledge(copy_status=404, copy_age=3 * DAY)
TOO_OLD = SiteKnowledge(copy_status=200, copy_age=31 * DAY)


def seen(times: int, **more) -> SiteKnowledge:
    return SiteKnowledge(times=times, **more)


def answered(
    status: int, retry_after: float | None = None, pause_statuses=PAUSE_STATUSES
) -> Answer:
    """Return what a response brought, as a fetch reads it."""
    headers = {}
    if retry_after is not None:
        headers["Retry-After"] = f"{retry_after:.0f}".encode()
    meaning = meaning_of(status, headers, pause_statuses, NOW, is_own=True)
    return Answer(status, meaning=meaning)


# Answer, what is known of the site, the policy; the case and the kind. In the order of
# the table.
CASES = [
    (Failure.DROPPED, COPY, LAW, "unasked", OutcomeKind.UNASKED),
    (Failure.NOWHERE, NOTHING, LAW, "allow_all", OutcomeKind.ALLOW_ALL),
    (Failure.LOOP, NOTHING, LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (Failure.BAD_REDIRECT, NOTHING, LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (Failure.BAD_REDIRECT, COPY, LAW, "stale_used", OutcomeKind.RULES),
    (Failure.LOOP, COPY, LAW, "stale_used", OutcomeKind.RULES),
    (304, COPY, LAW, "revalidated", OutcomeKind.RULES),
    (304, TOO_OLD, LAW, "revalidated", OutcomeKind.RULES),
    (304, COPY_OF_NONE, LAW, "revalidated", OutcomeKind.ALLOW_ALL),
    (304, NOTHING, LAW, "allow_all", OutcomeKind.ALLOW_ALL),
    (HALF, NOTHING, LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (HALF, seen(99), LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (HALF, seen(99, times_apart=2), LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (HALF, COPY, LAW, "stale_used", OutcomeKind.RULES),
    (HALF, TOO_OLD, LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (HALF, seen(3, times_apart=3), LAW, "rules", OutcomeKind.RULES),
    (
        HALF,
        seen(3, times_apart=3, copy_status=200),
        LAW,
        "stale_used",
        OutcomeKind.RULES,
    ),
    (HALF, TOO_OLD._replace(times_apart=3), LAW, "rules", OutcomeKind.RULES),
    (NO_RULE, seen(99, times_apart=99), LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (NO_RULE, COPY, LAW, "stale_used", OutcomeKind.RULES),
    (Answer(404, broken_off=b"x"), NOTHING, LAW, "allow_all", OutcomeKind.ALLOW_ALL),
    (
        answered(503)._replace(broken_off=b"x"),
        NOTHING,
        LAW,
        "unavailable",
        OutcomeKind.UNAVAILABLE,
    ),
    (
        Answer(204, broken_off=b"x"),
        NOTHING,
        ONLY_200,
        "allow_all",
        OutcomeKind.ALLOW_ALL,
    ),
    *[
        (status, COPY, LAW, "rules", OutcomeKind.RULES)
        for status in (200, 201, 204, 206, 299)
    ],
    (200, NOTHING, ONLY_200, "rules", OutcomeKind.RULES),
    (204, NOTHING, ONLY_200, "allow_all", OutcomeKind.ALLOW_ALL),
    *[
        (status, NOTHING, LAW, "allow_all", OutcomeKind.ALLOW_ALL)
        for status in (300, 305, 399)
    ],
    (401, NOTHING, REP1994, "forbid_all", OutcomeKind.FORBID_ALL),
    (403, NOTHING, REP1994, "forbid_all", OutcomeKind.FORBID_ALL),
    (404, NOTHING, REP1994, "allow_all", OutcomeKind.ALLOW_ALL),
    (
        503,
        seen(3, misreports=True, copy_status=200),
        LAW,
        "stale_used",
        OutcomeKind.RULES,
    ),
    (500, seen(3, misreports=True), LAW, "misreported_5xx", OutcomeKind.ALLOW_ALL),
    (503, seen(3, misreports=True), LAW, "misreported_5xx", OutcomeKind.ALLOW_ALL),
    (500, seen(2, misreports=True), LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (500, seen(3, misreports=False), LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (503, NOTHING, LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (503, COPY, LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (429, COPY, LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (429, seen(8), LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (429, seen(9), LAW, "allow_all", OutcomeKind.ALLOW_ALL),
    (503, seen(99), LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    *[
        (status, COPY, LAW, "unavailable", OutcomeKind.UNAVAILABLE)
        for status in (430, 509, 529, 420)
    ],
    *[
        (status, seen(9), LAW, "allow_all", OutcomeKind.ALLOW_ALL)
        for status in (430, 420)
    ],
    *[
        (status, seen(99), LAW, "unavailable", OutcomeKind.UNAVAILABLE)
        for status in (509, 529)
    ],
    (answered(429, None, ()), NOTHING, LAW, "allow_all", OutcomeKind.ALLOW_ALL),
    *[
        (answered(status, 5, statuses), known, LAW, case, kind)
        for status in (400, 401, 403, 418, 451)
        for statuses, known, case, kind in (
            (PAUSE_STATUSES, NOTHING, "unavailable", OutcomeKind.UNAVAILABLE),
            (PAUSE_STATUSES, seen(9), "allow_all", OutcomeKind.ALLOW_ALL),
            ((), NOTHING, "allow_all", OutcomeKind.ALLOW_ALL),
        )
    ],
    *[
        (
            answered(status, 5),
            NOTHING,
            LAW,
            "allow_all",
            OutcomeKind.ALLOW_ALL,
        )
        for status in (404, 410)
    ],
    # A time that the site states is kept, whatever the status and whatever was asked.
    (answered(500, 5), COPY, LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (answered(502, 5), COPY, LAW, "unavailable", OutcomeKind.UNAVAILABLE),
    (answered(500, 5, ()), COPY, LAW, "stale_used", OutcomeKind.RULES),
    *[
        (status, COPY, LAW, "allow_all", OutcomeKind.ALLOW_ALL)
        for status in (400, 401, 403, 404, 410, 418, 451, 499)
    ],
    (
        500,
        SiteKnowledge(200, -1e300),
        LAW,
        "unavailable",
        OutcomeKind.UNAVAILABLE,
    ),  # from the future
    *[
        (status, COPY, LAW, "stale_used", OutcomeKind.RULES)
        for status in (500, *BEHIND_A_PROXY)
    ],
    (answered(503, None, ()), COPY, LAW, "stale_used", OutcomeKind.RULES),
    (Failure.TIMED_OUT, COPY_OF_NONE, LAW, "stale_used", OutcomeKind.ALLOW_ALL),
    *[
        (failure, known, LAW, case, kind)
        for failure in (
            Failure.REFUSED,
            Failure.LOST,
            Failure.TIMED_OUT,
            Failure.TLS,
            Failure.UNREACHABLE,
            Failure.NO_SUCH_HOST,
        )
        for known, case, kind in (
            (NOTHING, "unavailable", OutcomeKind.UNAVAILABLE),
            (seen(2), "unavailable", OutcomeKind.UNAVAILABLE),
            (seen(5), "unavailable", OutcomeKind.UNAVAILABLE),
            (seen(6), "unanswered", OutcomeKind.FAILED),
            (seen(7), "unanswered", OutcomeKind.FAILED),
            (seen(9, has_answered=True), "unavailable", OutcomeKind.UNAVAILABLE),
            (COPY, "stale_used", OutcomeKind.RULES),
            (seen(3, copy_status=200), "stale_used", OutcomeKind.RULES),
            (TOO_OLD, "unavailable", OutcomeKind.UNAVAILABLE),
            (SiteKnowledge(200, 31 * DAY, 6), "unanswered", OutcomeKind.FAILED),
        )
    ],
    (
        Failure.REFUSED,
        seen(1),
        OutcomePolicy(tries=1),
        "unavailable",
        OutcomeKind.UNAVAILABLE,
    ),
    (
        Failure.REFUSED,
        seen(2),
        OutcomePolicy(tries=1),
        "unanswered",
        OutcomeKind.FAILED,
    ),
    (Failure.OTHER, NOTHING, LAW, "unasked", OutcomeKind.UNASKED),
    (Failure.OTHER, seen(9, has_answered=True), LAW, "unasked", OutcomeKind.UNASKED),
    (Failure.OTHER, COPY, LAW, "stale_used", OutcomeKind.RULES),
    (Failure.OTHER, TOO_OLD, LAW, "unasked", OutcomeKind.UNASKED),
    *[
        (status, NOTHING, LAW, "unavailable", OutcomeKind.UNAVAILABLE)
        for status in (500, 501, *BEHIND_A_PROXY, 525, 599, 100, 199, 600, 999)
    ],
]


@each_row(("said", "known", "policy", "case", "kind"), CASES)
def test_the_table(said, known, policy, case, kind):
    """Each answer has one meaning, and says why in words."""
    answer = said
    if isinstance(said, int):
        answer = answered(said)
    elif isinstance(said, Failure):
        answer = Answer(failure=said, detail="as the test has it")
    outcome = policy.outcome_of(answer, known)
    assert (outcome.case, outcome.kind) == (case, kind)
    assert (outcome.status, outcome.failure) == (answer.status, answer.failure)
    assert str(answer) in outcome.reason


def test_a_host_that_never_answered_is_asked_six_times_in_two_minutes():
    """Each wait is three times the one before; then its requests fail."""
    refused = Answer(failure=Failure.REFUSED)
    outcomes = [LAW.outcome_of(refused, seen(times)) for times in range(1, 7)]
    assert [one.wait for one in outcomes] == [1.0, 3.0, 9.0, 27.0, 81.0, None]
    assert [one.is_last_wait for one in outcomes].index(True) == 4
    known = seen(1, has_answered=True)
    assert LAW.outcome_of(refused, known).wait is None


@pytest.mark.parametrize("status", BEHIND_A_PROXY)
def test_what_a_proxy_says_of_the_server_behind_it_is_named(status):
    """Whoever reads the log need not know the numbers."""
    reason = LAW.outcome_of(Answer(status), NOTHING).reason
    assert "the server behind it" in reason


def test_timeouts_and_refused_connections_are_counted_together_truncated_bodies_apart():
    """Refused today and too slow tomorrow is silence twice; other bytes are another
    answer.
    """
    silence = {Answer(failure=one, detail=one.value).counted_as for one in SILENT}
    assert len(silence) == 1
    halves = [Answer(200, broken_off=b"1"), Answer(200, broken_off=b"2"), Answer(200)]
    halves += [
        Answer(failure=Failure.TIMED_OUT, broken_off=b"1"),
        Answer(failure=Failure.OTHER),
    ]
    assert len({*silence, *(half.counted_as for half in halves)}) == 1 + len(halves)


def test_half_a_file_serves_for_an_hour():
    """A whole one as long as the project says."""
    half = LAW.outcome_of(HALF, seen(9, times_apart=3))
    assert (half.case, half.serves_for) == ("rules", 3_600.0)
    assert LAW.outcome_of(Answer(200), NOTHING).serves_for is None


def test_mandelbot_a_4xx_is_as_no_file_even_401_and_403():
    """This is true even for 401 Unauthorized and 403 Forbidden responses."""
    for status in (401, 403):
        assert LAW.outcome_of(Answer(status), NOTHING).kind is OutcomeKind.ALLOW_ALL


def test_retry_after_belongs_to_an_unavailable_site_only():
    """A 200 with Retry-After asks for nothing."""
    assert LAW.outcome_of(answered(503, 30), NOTHING).retry_after == 30
    assert LAW.outcome_of(answered(500, 30), COPY).retry_after == 30
    assert LAW.outcome_of(answered(500, 30, ()), COPY).retry_after == 30
    assert LAW.outcome_of(answered(200, 30), NOTHING).retry_after is None


def test_the_reason_names_what_the_site_asked_for():
    """The log and the report say why the site waits."""
    reason = LAW.outcome_of(answered(500, 30), COPY).reason
    assert reason == "robots.txt: 500, Retry-After: 30, asks for a pause"


@pytest.mark.parametrize(
    ("answer", "known", "may"),
    [
        (answered(500), seen(2), False),
        (answered(500), seen(3), True),
        (answered(500), seen(4), True),
        (answered(503), seen(3), True),
        (answered(503, 5), seen(3), False),
        (answered(429), seen(3), False),
        (answered(404), seen(3), False),
        (Answer(failure=Failure.LOST), seen(3), False),
        (answered(500), seen(3, copy_status=200), False),
        (answered(503), seen(3, copy_status=200), True),
    ],
)
def test_mandelbot_5xx_for_404_is_looked_into_where_it_makes_a_difference(
    answer, known, may
):
    """The third 5xx running that names no time, unless a good copy serves and nothing
    pauses.
    """
    assert LAW.may_be_misreported(answer, known) is may


@pytest.mark.parametrize(
    ("answer", "known", "policy", "status", "again"),
    [
        (Answer(200), NOTHING, LAW, 200, OutcomeKind.RULES),
        (Answer(403), NOTHING, LAW, 403, OutcomeKind.ALLOW_ALL),
        (Answer(403), NOTHING, REP1994, 403, OutcomeKind.FORBID_ALL),
        (Answer(204), NOTHING, ONLY_200, 404, OutcomeKind.ALLOW_ALL),
        (answered(429), seen(9), LAW, 429, OutcomeKind.ALLOW_ALL),
        (answered(500), seen(3, misreports=True), LAW, 404, OutcomeKind.ALLOW_ALL),
        (Answer(failure=Failure.NOWHERE), NOTHING, LAW, 404, OutcomeKind.ALLOW_ALL),
    ],
)
def test_a_copy_means_later_what_its_answer_meant(answer, known, policy, status, again):
    """What is kept under a status is read as the same outcome in the next run."""
    outcome = policy.outcome_of(answer, known)
    assert outcome.is_new
    assert outcome.kept_status == status
    assert policy.outcome_of_copy(status).kind is outcome.kind is again


@pytest.mark.parametrize(
    ("body", "has_a_rule"),
    [
        (b"User-agent: *\nDisallow: /a\nDisa", True),
        (b"\xef\xbb\xbfDisallow: /a\n", True),
        (b"User-agent: *\r allow : /a\rAll", True),
        (b"User-agent: *\nDisallow: /a", False),
        (b"User-agent: *\n# Disallow: /a\nx", False),
        (b"User-agent: *\nNoindex: disallow: /a\nx", False),
        (b"", False),
    ],
)
def test_a_truncated_file_has_a_rule_if_a_whole_line_is_one(body, has_a_rule):
    """The bytes are searched once: no record is made of a file that is not used."""
    assert Answer(200).truncated(body).has_a_rule is has_a_rule
