"""Retry-After as servers write it. (RFC 9110, sections 10.2.3 and 5.6.7)"""

from __future__ import annotations

import pytest

from mandelbot.answers.retry_after import (
    AskedFor,
    quota_of,
    wait_asked_for,
)

NOW = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT

CASES = [
    pytest.param("120", 120.0, id="rfc9110 10.2.3: delay-seconds"),
    pytest.param(b" 7 ", 7.0, id="white space around, and bytes"),
    pytest.param(
        "Sun, 06 Nov 1994 08:50:37 GMT", 60.0, id="rfc9110 5.6.7: IMF-fixdate"
    ),
    pytest.param(
        "Sunday, 06-Nov-94 08:50:37 GMT", 60.0, id="rfc9110 5.6.7: rfc850-date"
    ),
    pytest.param("Sun Nov  6 08:50:37 1994", 60.0, id="rfc9110 5.6.7: asctime-date"),
    pytest.param("Sun, 06 Nov 1994 09:50:37 +0100", 60.0, id="another zone"),
    pytest.param("Sun, 06 Nov 1994 08:50:37 -0000", 60.0, id="UTC of no known place"),
    pytest.param("Sun, 06 Nov 1994 08:49:37 GMT", None, id="now is past"),
    pytest.param("Sat, 05 Nov 1994 08:49:37 GMT", None, id="past"),
    pytest.param("0", None, id="zero"),
    pytest.param("-5", None, id="negative"),
    pytest.param("3.7", 4.0, id="no whole number: rounded up"),
    pytest.param("3.0", 3.0, id="a whole number with a fraction"),
    pytest.param("3.", 3.0, id="a dot and no fraction"),
    pytest.param("0.05", 1.0, id="less than a second"),
    pytest.param("0.0", None, id="zero with a fraction"),
    pytest.param("-0.5", None, id="negative with a fraction"),
    pytest.param(".5", None, id="no digit before the dot"),
    pytest.param("1e3", None, id="an exponent"),
    pytest.param("3." + "0" * 9000 + "1", 4.0, id="a long fraction"),
    pytest.param(b" " * 200 + b"5", 5.0, id="much white space"),
    pytest.param("0" * 100 + "5", None, id="a number of many digits"),
    pytest.param("soon", None, id="a word"),
    pytest.param('"60"', 60.0, id="in quotes"),
    pytest.param("120, 60", 120.0, id="two headers joined by a proxy: the longest"),
    pytest.param("60, 120", 120.0, id="in the other order"),
    pytest.param("60, soon", 60.0, id="one of the two is readable"),
    pytest.param("30, Sun, 06 Nov 1994 08:50:37 GMT", 60.0, id="seconds and a date"),
    pytest.param("Sun, 06 Nov 1994 08:50:37 GMT, 90", 90.0, id="a date and seconds"),
    pytest.param("soon, later", None, id="two words"),
    pytest.param("8 seconds", 8.0, id="seconds, in words"),
    pytest.param("2 Minutes", 120.0, id="minutes"),
    pytest.param("1h", 3600.0, id="an hour"),
    pytest.param("2 days", 172_800.0, id="days"),
    pytest.param("8 months", None, id="a unit that is none"),
    pytest.param("PT5M", 300.0, id="ISO 8601: a duration"),
    pytest.param("P1DT2H3M4.5S", 93_784.0, id="a long one"),
    pytest.param("P", None, id="a duration of nothing"),
    pytest.param("PT", None, id="another"),
    pytest.param("1994-11-06T08:50:37Z", 60.0, id="ISO 8601: a date"),
    pytest.param("1994-11-06 09:50:37+01:00", 60.0, id="with a space, and a zone"),
    pytest.param("1795363345", 1_795_363_345 - NOW, id="seconds since 1970"),
    pytest.param("1795363345000", 1_795_363_345 - NOW, id="milliseconds since 1970"),
    pytest.param("", None, id="empty"),
    pytest.param(None, None, id="absent"),
    pytest.param("9" * 18, float("9" * 18), id="absurd, capped by the law"),
    pytest.param("9" * 400, None, id="longer than any number"),
    pytest.param("٣", None, id="digits that are not ASCII"),
    pytest.param("Fri, 32 Foo 99999 99:99:99 GMT", None, id="a date that is none"),
    pytest.param(b"\xff\xfe", None, id="bytes that are no text"),
]


@pytest.mark.parametrize(("value", "seconds"), CASES)
def test_rfc9110_retry_after(value, seconds):
    """Seconds from now, or None where nothing sensible is asked for."""
    text = value.encode("latin-1", "replace") if isinstance(value, str) else value
    assert wait_asked_for({"Retry-After": text}.get, NOW).seconds == seconds


RATE_LIMITS = [
    pytest.param({"RateLimit-Reset": "30"}, 30.0, id="draft 6: seconds from now"),
    pytest.param({"RateLimit-Reset": " 7 "}, 7.0, id="white space around"),
    pytest.param(
        {"RateLimit-Reset": "30", "RateLimit-Remaining": "0"},
        30.0,
        id="nothing is left",
    ),
    pytest.param(
        {"RateLimit-Reset": "30", "RateLimit-Remaining": "9"}, None, id="it is no quota"
    ),
    pytest.param(
        {"RateLimit-Reset": "30", "RateLimit-Remaining": "x"}, 30.0, id="nobody knows"
    ),
    pytest.param(
        {"RateLimit-Reset": "30", "Retry-After": "9"}, 9.0, id="Retry-After is first"
    ),
    pytest.param(
        {"RateLimit-Reset": "30", "Retry-After": "0"},
        None,
        id="also as it asks nothing",
    ),
    pytest.param(
        {"RateLimit-Reset": "1000000042"}, 2.0, id="a date, against the draft"
    ),
    pytest.param({"RateLimit-Reset": "1000000001"}, None, id="a date that is past"),
    pytest.param({"RateLimit-Reset": "0"}, None, id="zero"),
    pytest.param({"RateLimit-Reset": "-1"}, None, id="negative"),
    pytest.param({"RateLimit-Reset": "soon"}, None, id="a word"),
    pytest.param(
        {"RateLimit-Reset": "Sun, 06 Nov 1994 08:50:37 GMT"}, None, id="no number"
    ),
    pytest.param({"RateLimit-Reset": "\xb2"}, None, id="digits that are not ASCII"),
    pytest.param({"RateLimit": '"default";r=0;t=30'}, 30.0, id="draft 10: t"),
    pytest.param(
        {"RateLimit": '"day";r=5;t=900, "hour";r=0;t=30'}, 30.0, id="what is used up"
    ),
    pytest.param(
        {"RateLimit": '"a";r=0;t=9, "b";r=0;t=30'}, 30.0, id="the longest of those"
    ),
    pytest.param(
        {"RateLimit": '"a;r=0;t=900,";r=0;t=30'}, 30.0, id="a name is a string"
    ),
    pytest.param({"RateLimit": '"default";r=50;t=30'}, None, id="some is left"),
    pytest.param({"RateLimit": '"default";t=30'}, 30.0, id="no r"),
    pytest.param({"RateLimit": "limit=100, remaining=0, reset=30"}, 30.0, id="draft 7"),
    pytest.param(
        {"RateLimit": "limit=100, remaining=5, reset=30"}, None, id="draft 7, some left"
    ),
    pytest.param({"RateLimit": "x" * 9_000 + ";t=30"}, None, id="longer than any"),
    pytest.param({"RateLimit": ""}, None, id="empty"),
    pytest.param(
        {"X-RateLimit-Reset": "30"}, None, id="each server means another thing by it"
    ),
    pytest.param({}, None, id="absent"),
]


@pytest.mark.parametrize(("headers", "seconds"), RATE_LIMITS)
def test_ratelimit_headers_say_how_long_where_retry_after_does_not(headers, seconds):
    """Seconds from now until the quota is there again that is used up."""

    def header(name):
        value = headers.get(name)
        return None if value is None else value.encode("latin-1")

    asked = wait_asked_for(header, 1_000_000_040.0)
    assert asked.seconds == seconds
    known = {"Retry-After", "RateLimit", "RateLimit-Reset"} & headers.keys()
    assert bool(asked.said) == bool(known)


def headers_of(**headers):
    named = {name.replace("_", "-"): value.encode() for name, value in headers.items()}
    return named.get


AT = "Sun, 06 Nov 1994 08:50:37 GMT"  # by the server's clock, which is 2 minutes fast
CLOCKS = [
    pytest.param(
        {"Retry_After": "Sun, 06 Nov 1994 08:50:45 GMT", "Date": AT},
        9.0,
        id="HTTP date",
    ),
    pytest.param(
        {"Retry_After": "1994-11-06T08:50:45Z", "Date": AT}, 9.0, id="ISO date"
    ),
    pytest.param({"Retry_After": "8", "Date": AT}, 8.0, id="seconds need no clock"),
    pytest.param(
        {"Retry_After": "Sun, 06 Nov 1994 08:51:45 GMT", "Date": AT, "Age": "60"},
        9.0,
        id="it lay in a cache",
    ),
    pytest.param(
        {"Retry_After": "Sun, 06 Nov 1994 08:49:45 GMT", "Date": "noon"},
        8.0,
        id="no such date",
    ),
    pytest.param(
        {"Retry_After": "soon", "RateLimit": '"a";r=0;t=4'}, 4.0, id="it can be read"
    ),
    pytest.param(
        {"Retry_After": "soon", "RateLimit_Reset": "4"}, 4.0, id="the older form"
    ),
]


@pytest.mark.parametrize(("headers", "seconds"), CLOCKS)
def test_a_date_is_measured_by_the_clock_of_who_names_it(headers, seconds):
    """By the answer's own ``Date``: both are cut to the second, so one more is never
    early.
    """
    asked = wait_asked_for(headers_of(**headers), NOW)
    assert asked.seconds == seconds
    assert asked.unreadable == ("soon" if headers["Retry_After"] == "soon" else "")


QUOTAS = [
    pytest.param({"RateLimit": '"a";r=12;t=4'}, (12, 4.0), id="draft 10"),
    pytest.param({"RateLimit": '"a";r=12;t=4, "b";r=2;t=9'}, (2, 9.0), id="the least"),
    pytest.param(
        {"RateLimit": '"a";r=0;t=4, "b";r=0;t=9'}, (0, 9.0), id="the longest of those"
    ),
    pytest.param(
        {"RateLimit": "limit=20, remaining=5, reset=3"}, (5, 3.0), id="draft 7"
    ),
    pytest.param(
        {"RateLimit_Remaining": "3", "RateLimit_Reset": "7"}, (3, 7.0), id="draft 6"
    ),
    pytest.param({"RateLimit": '"a";t=4'}, None, id="no r"),
    pytest.param({"RateLimit": '"a";r=4'}, None, id="no t"),
    pytest.param({"RateLimit_Remaining": "3"}, None, id="no reset"),
    pytest.param(
        {"RateLimit_Remaining": "x", "RateLimit_Reset": "7"}, None, id="no number"
    ),
    pytest.param({}, None, id="absent"),
]


@pytest.mark.parametrize(("headers", "quota"), QUOTAS)
def test_what_is_left_of_a_quota_is_read_from_good_answers(headers, quota):
    """How many requests, and the seconds until there are more."""
    assert quota_of(headers_of(**headers), NOW) == quota


LEFT = "X_RateLimit_Remaining"
RESET = "X_RateLimit_Reset"
EPOCH = 1_700_000_000
X_RATE_LIMITS = [
    pytest.param({LEFT: "0", RESET: "30"}, 30.0, id="seconds"),
    pytest.param({LEFT: "0", RESET: "29.2"}, 30.0, id="a fraction, rounded up"),
    pytest.param({LEFT: "0", RESET: "86400"}, 86_400.0, id="a day"),
    pytest.param({LEFT: "0", RESET: "86401"}, None, id="more than a day"),
    pytest.param({LEFT: "0", RESET: f"{EPOCH + 30}"}, 30.0, id="GitHub: since 1970"),
    pytest.param({LEFT: "0", RESET: f"{EPOCH + 30}.5"}, 31.0, id="slowapi"),
    pytest.param({LEFT: "0", RESET: f"{EPOCH + 90_000}"}, None, id="in two days"),
    pytest.param({LEFT: "0", RESET: f"{EPOCH - 5}"}, None, id="in the past"),
    pytest.param({LEFT: "0", RESET: f"{EPOCH + 30}000"}, None, id="milliseconds"),
    pytest.param({LEFT: "0", RESET: "0"}, None, id="zero"),
    pytest.param({LEFT: "0", RESET: "-3"}, None, id="negative"),
    pytest.param({LEFT: "0", RESET: "soon"}, None, id="a word"),
    pytest.param({LEFT: "0", RESET: "2001-09-09T01:47:20Z"}, None, id="a date"),
    pytest.param({LEFT: "1", RESET: "30"}, None, id="some is left"),
    pytest.param({LEFT: "00", RESET: "30"}, None, id="not exactly zero"),
    pytest.param({LEFT: "", RESET: "30"}, None, id="no number is left"),
    pytest.param({RESET: "30"}, None, id="it is not said what is left"),
    pytest.param({LEFT: "0"}, None, id="no reset"),
    pytest.param(
        {LEFT: "0", RESET: "30", "Retry_After": "7"}, 7.0, id="Retry-After wins"
    ),
    pytest.param(
        {LEFT: "0", RESET: "30", "Retry_After": "0"}, None, id="also with no wait"
    ),
    pytest.param(
        {LEFT: "0", RESET: "30", "RateLimit": '"a";r=0;t=8'}, 8.0, id="RateLimit wins"
    ),
    pytest.param(
        {LEFT: "0", RESET: "30", "RateLimit": '"a";r=5;t=8'}, None, id="some left wins"
    ),
    pytest.param(
        {LEFT: "0", RESET: "30", "Retry_After": "soon"},
        30.0,
        id="not an unreadable one",
    ),
]


@pytest.mark.parametrize(("headers", "seconds"), X_RATE_LIMITS)
@pytest.mark.parametrize("status", [403, 429, 503])
def test_x_ratelimit_counts_on_a_refusal_that_says_nothing_is_left(
    status, headers, seconds
):
    """And only where no header of a standard or a draft names a time."""
    asked = wait_asked_for(headers_of(**headers), float(EPOCH), status)
    assert asked.seconds == seconds
    if seconds:
        assert asked.names_a_time
    if asked.said.startswith("X-"):
        assert asked.said == f"X-RateLimit-Reset: {headers[RESET]}"


@pytest.mark.parametrize("status", [200, 400, 401, 404, 500, 502])
def test_x_ratelimit_is_not_read_of_another_answer(status):
    """A page that is well would slow down a healthy site: servers differ in it."""
    headers = {LEFT: "0", RESET: "30"}
    assert wait_asked_for(headers_of(**headers), float(EPOCH), status) == AskedFor(
        None, ""
    )


def test_x_ratelimit_is_measured_by_the_clock_of_who_names_it():
    """By the answer's own ``Date``, as any date is."""
    at = "Tue, 14 Nov 2023 22:15:20 GMT"  # two minutes fast
    headers = {LEFT: "0", RESET: f"{EPOCH + 128}", "Date": at}
    asked = wait_asked_for(headers_of(**headers), float(EPOCH), 403)
    assert asked.seconds == 9.0
