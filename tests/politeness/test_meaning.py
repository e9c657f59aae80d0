"""What a response means for its site: one function, and the table of the docs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from mandelbot.answers.meaning import Kind, meaning_of
from mandelbot.answers.outcome import PAUSE_STATUSES
from scrapy.http import Headers

DOCS = Path(__file__).parents[2] / "docs" / "pauses.rst"
NOW = 1_700_000_000.0
PLAIN: dict[str, str] = {}


def kind_of(
    status: int, headers: dict[str, str], statuses=PAUSE_STATUSES, **more
) -> Kind:
    return meaning_of(status, Headers(headers), statuses, NOW, **more).kind


CLASSES = (200, 202, 204, 301, 304, 400, 401, 402, 403, 404, 405, 410, 418, 429)
CLASSES += (451, 500, 502, 503, 520, 599, 999)
"""A status of each kind that a response can have."""
WITHOUT_MARKS = {
    **dict.fromkeys((200, 202, 204, 301, 304), Kind.PAGE),
    **dict.fromkeys((400, 401, 405, 418, 451, 999), Kind.ERROR),
    **dict.fromkeys((500, 502, 520, 599), Kind.FAILED),
    402: Kind.TERMS,
    403: Kind.FORBIDDEN,
    404: Kind.MISSING,
    410: Kind.MISSING,
    429: Kind.NOT_NOW,
    503: Kind.NOT_NOW,
}
MARKS = {
    ("cf-mitigated", "challenge"): {one for one in CLASSES if 400 <= one < 600},
    ("cf-mitigated", "block"): set(),
    ("crawler-price", "USD 0.01"): {401, 402, 403},
    ("WWW-Authenticate", "License"): {401, 402, 403},
    ("WWW-Authenticate", "Basic"): set(),
    ("x-amzn-waf-action", "challenge"): {202},
    ("x-amzn-waf-action", "captcha"): {405},
}
"""Each mark of a challenge or a price: the statuses with which it is one."""


@pytest.mark.parametrize("status", CLASSES)
@pytest.mark.parametrize("mark", MARKS, ids=": ".join)
def test_each_mark_counts_with_its_own_statuses(mark, status):
    """With any other status the response means what it means without the mark."""
    name, value = mark
    kind = Kind.TERMS if status in MARKS[mark] else WITHOUT_MARKS[status]
    assert kind_of(status, {name: value}) is kind


@pytest.mark.parametrize("status", CLASSES)
@pytest.mark.parametrize("mark", MARKS, ids=": ".join)
def test_a_request_of_the_package_itself_cannot_agree_to_terms(mark, status):
    """A robots.txt with a challenge is an error, or a missing file."""
    name, value = mark
    kind = WITHOUT_MARKS[status]
    if kind in {Kind.TERMS, Kind.FORBIDDEN}:
        kind = Kind.ERROR
    assert kind_of(status, {name: value}, is_own=True) is kind


@pytest.mark.parametrize("status", CLASSES)
def test_a_time_turns_any_error_into_not_now_but_a_missing_page(status):
    """Also a challenge without Cloudflare's mark; a page that names a time is one."""
    meaning = meaning_of(status, Headers({"Retry-After": "7"}), PAUSE_STATUSES, NOW)
    if status < 400:
        assert meaning.kind is Kind.PAGE
    elif status in {404, 410}:
        assert meaning.kind is Kind.MISSING
    else:
        assert (meaning.kind, meaning.wait) == (Kind.NOT_NOW, 7)
        assert meaning.said == "Retry-After: 7"


@pytest.mark.parametrize("status", CLASSES)
def test_nothing_pauses_without_pause_statuses(status):
    """``MANDELBOT_PAUSE_HTTP_CODES = []``: no time that is named counts either."""
    kind = kind_of(status, {"Retry-After": "7"}, ())
    assert kind not in {Kind.NOT_NOW, Kind.FAILED}


@pytest.mark.parametrize("status", [200, 302, 404, 410])
def test_any_status_that_is_listed_pauses(status):
    """The project's list wins over what a status usually means."""
    assert kind_of(status, PLAIN, (status,)) is Kind.NOT_NOW


@pytest.mark.parametrize("status", CLASSES)
def test_a_used_up_x_ratelimit_names_a_time_on_a_refusal_alone(status):
    """403, 429 and 503; with any other status it means nothing, and on a page, too."""
    meaning = meaning_of(status, Headers(X_USED_UP), PAUSE_STATUSES, NOW)
    if status in {403, 429, 503}:
        assert (meaning.kind, meaning.wait) == (Kind.NOT_NOW, 30)
        assert meaning.said == "X-RateLimit-Reset: 30"
    else:
        assert (meaning.kind, meaning.wait) == (WITHOUT_MARKS[status], None)


def test_a_time_that_cannot_be_read_is_returned_as_received():
    """The site pauses by the backoff, and a warning shows the value."""
    headers = Headers({"Retry-After": "soon"})
    meaning = meaning_of(503, headers, PAUSE_STATUSES, NOW)
    assert (meaning.kind, meaning.wait) == (Kind.NOT_NOW, None)
    assert meaning.unreadable == "soon"


# The table of the docs.

WITH_TIME = {"Retry-After": "7"}
USED_UP = {"RateLimit": '"default";r=0;t=4'}
PRICE = {"crawler-price": "USD 1"}
LICENSE = {"WWW-Authenticate": "License"}
X_USED_UP = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"}
X_EPOCH = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 30)}
CHALLENGE = {"cf-mitigated": "challenge"}
PROBLEM = {"Content-Type": "application/problem+json"}
OTHER_ERRORS = (set(range(400, 600)) - {404, 410}) - {*PAUSE_STATUSES}
TOLD: dict[str, tuple[str, Kind, list[tuple[set[int], list[dict[str, str]]]]]] = {
    "503 or 429, with or without a time": (
        "not now",
        Kind.NOT_NOW,
        [({503, 429}, [PLAIN, WITH_TIME])],
    ),
    "any of them with problem details (RFC 9457)": (
        "not now",
        Kind.NOT_NOW,
        [({503, 429}, [PROBLEM])],
    ),
    "430, 509, 529 or 420, with or without a time": (
        "not now, in a status that its sender made up",
        Kind.NOT_NOW,
        [({430, 509, 529, 420}, [PLAIN, WITH_TIME])],
    ),
    "any other 4xx or 5xx but 404 and 410, with a readable ``Retry-After`` or a"
    " ``RateLimit`` that is used up": (
        "not now",
        Kind.NOT_NOW,
        [(OTHER_ERRORS, [WITH_TIME, USED_UP])],
    ),
    "503 or 429, and 403, with ``X-RateLimit-Remaining: 0`` and an"
    " ``X-RateLimit-Reset``: seconds within a day, or a time since 1970 within a day": (
        "not now",
        Kind.NOT_NOW,
        [({403, 429, 503}, [X_USED_UP, X_EPOCH])],
    ),
    "``X-RateLimit-*`` on a good answer": (
        "each server means another thing by it",
        Kind.PAGE,
        [({200, 206, 301}, [X_USED_UP, X_EPOCH])],
    ),
    "502, 504, 520 and other 5xx, without a time": (
        "the page failed, or the server behind it is out",
        Kind.FAILED,
        [(set(range(500, 600)) - {*PAUSE_STATUSES}, [PLAIN])],
    ),
    "an unreadable ``Retry-After``": (
        "not now",
        Kind.NOT_NOW,
        [({*PAUSE_STATUSES}, [{"Retry-After": "soon"}])],
    ),
    '``RateLimit: "default";r=0;t=4`` on a good answer': (
        "the quota is used up",
        Kind.PAGE,
        [({200}, [USED_UP])],
    ),
    "503 and ``Set-Cookie``": (
        "a waiting room",
        Kind.NOT_NOW,
        [({503}, [{"Set-Cookie": "a=1"}])],
    ),
    "302 to a waiting room or a notice of maintenance; a captcha, or another page with"
    " status 200 that is none": (
        "not now",  # which no status says: the project's function does
        Kind.PAGE,
        [({302}, [{"Location": "/queue"}]), ({200}, [PLAIN])],
    ),
    "HEAD or POST refused, GET answered": (
        "not by this method",
        Kind.NOT_NOW,
        [({503}, [PLAIN])],
    ),
    "402; any 4xx or 5xx, including 503 and 429, with ``cf-mitigated: challenge``; 401"
    " or 403 with ``crawler-price``, ``WWW-Authenticate: License``; 202 or 405 with"
    " ``x-amzn-waf-action``": (
        "robots have to prove themselves, pay or agree",
        Kind.TERMS,
        [
            ({402}, [PLAIN]),
            (set(range(400, 600)), [CHALLENGE]),
            ({401, 403}, [PRICE, LICENSE]),
            ({202}, [{"x-amzn-waf-action": "challenge"}]),
            ({405}, [{"x-amzn-waf-action": "captcha"}]),
        ],
    ),
    "403 for ten pages in a row, from three places at least, of a site that was well": (
        "a ban, or private pages",
        Kind.FORBIDDEN,
        [({403}, [PLAIN])],
    ),
    "403 for a page, or for all pages of one place": (
        "forbidden, or a login",
        Kind.FORBIDDEN,
        [({403}, [PLAIN])],
    ),
}
"""Of each answer in the docs: what they say it means, and what its responses mean."""
NO_RESPONSE = {
    "connections refused by a site that has answered before",
    "connections reset or timed out by a site that has answered before",
    "the same from a host that has never answered",
    "a name that no host has, of a host that is not known",
    "503 to several names of one server",
    "robots.txt forbids it",
}
"""Answers in the docs that are no single response."""


def rows() -> list[list[str]]:
    table = DOCS.read_text("utf-8").partition("   :delim: ;\n\n")[2]
    lines = [line.strip() for line in table.partition("\n\n")[0].split("\n")]
    return list(csv.reader(lines, delimiter=";", skipinitialspace=True))


@pytest.mark.parametrize("answer", TOLD, ids=[one[:30] for one in TOLD])
def test_the_docs_say_what_each_response_means(answer):
    """Each row of the table, with each status and header that it names."""
    said, kind, responses = TOLD[answer]
    assert {row[0]: row[1] for row in rows()}[answer] == said
    for statuses, headers in responses:
        for status in statuses:
            assert {kind_of(status, one) for one in headers} == {kind}


def test_each_row_of_the_docs_is_tried():
    """None is left out, and no status that pauses a site."""
    assert {row[0] for row in rows()} == {*TOLD, *NO_RESPONSE}
    named = [
        status
        for _, kind, responses in TOLD.values()
        for statuses, headers in responses
        if kind is Kind.NOT_NOW and PLAIN in headers
        for status in statuses
    ]
    plain = {one for one in range(100, 1000) if kind_of(one, PLAIN) is Kind.NOT_NOW}
    assert set(named) == plain


def test_404_and_410_alone_are_missing_pages():
    """As the docs say: a time that they name is no reason to wait."""
    kinds = {one: kind_of(one, WITH_TIME) for one in range(100, 1000)}
    missing = {one for one, kind in kinds.items() if kind is Kind.MISSING}
    assert missing == {404, 410}
