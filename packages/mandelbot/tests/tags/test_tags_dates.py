"""Dates of unavailable_after.

(RFC 822, 850, 2822; ISO 8601; RFC 6265, section 5.1.1)
"""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from mandelbot.dates import IN_TAGS, read_date

DATES = [
    ("rfc822 5", "25 Jun 27 15:00:00 PST", (2027, 6, 25, 23)),
    ("rfc822 5", "Fri, 25 Jun 27 15:00 EDT", (2027, 6, 25, 19)),
    ("rfc822 5", "25 Jun 27 15:00:00 -0330", (2027, 6, 25, 18, 30)),
    ("rfc822 5", "25 Jun 27 15:00:00 UT", (2027, 6, 25, 15)),
    ("rfc822 5", "25 Jun 27 15:00:00 Z", (2027, 6, 25, 15)),
    ("rfc822 3.4.3", "25 Jun 27 15:00:00 GMT (a comment)", (2027, 6, 25, 15)),
    ("rfc3339 5.7", "2027-06-25T23:59:60Z", (2027, 6, 25, 23, 59, 59)),
    ("xml schema 3.2.9", "2027-06-25+02:00", (2027, 6, 24, 22)),
    ("rfc850 2.1.4", "Friday, 25-Jun-27 15:00:00 GMT", (2027, 6, 25, 15)),
    ("rfc850 2.1.4", "25-Aug-2007 15:00:00 EST", (2007, 8, 25, 20)),
    ("rfc2822 4.3", "25 Jun 49 15:00:00 GMT", (2049, 6, 25, 15)),
    ("rfc2822 4.3", "25 Jun 50 15:00:00 GMT", (1950, 6, 25, 15)),
    (
        "rfc2822 4.3: a zone that is not known is UTC",
        "25 Jun 2027 15:00 XYZ",
        (2027, 6, 25, 15),
    ),
    ("rfc9110 5.6.7: asctime", "Fri Jun 25 15:00:00 2027", (2027, 6, 25, 15)),
    ("iso8601", "2027-06-25", (2027, 6, 25)),
    ("iso8601", "2027-06-25T15:00:07Z", (2027, 6, 25, 15, 0, 7)),
    ("iso8601", "2027-06-25T15:00:07.250+02:00", (2027, 6, 25, 13, 0, 7, 250_000)),
    ("iso8601", "2027-06-25t15:00+0530", (2027, 6, 25, 9, 30)),
    ("iso8601", "2027-06-25T15-08", (2027, 6, 25, 23)),
    ("iso8601 basic", "20270625T150007Z", (2027, 6, 25, 15, 0, 7)),
    ("iso8601 basic", "20270625", (2027, 6, 25)),
    (
        "a space for the T, and a named zone",
        "2027-06-25 15:00:00 PST",
        (2027, 6, 25, 23),
    ),
    ("an American's date", "June 25, 2027 3:00 PM", (2027, 6, 25, 15)),
    ("an American's date", "Friday, June 25th, 2027", (2027, 6, 25)),
    ("midnight by the clock of twelve", "25 Jun 2027 12:30am", (2027, 6, 25, 0, 30)),
    ("noon by the clock of twelve", "25 Jun 2027 12:30pm GMT", (2027, 6, 25, 12, 30)),
    ("no zone is UTC", "25 Jun 2027 15:00:00", (2027, 6, 25, 15)),
    ("a zone and an offset", "25 Jun 2027 15:00 GMT+2", (2027, 6, 25, 13)),
    ("summer in Europe", "25 Jun 2027 15:00 CEST", (2027, 6, 25, 13)),
    ("summer in Germany", "25 Jun 2027 15:00 mesz", (2027, 6, 25, 13)),
    ("half hours", "25 Jun 2027 15:00 IST", (2027, 6, 25, 9, 30)),
    ("any case, and white space", "  25 JUN   2027  15:00:00 pst ", (2027, 6, 25, 23)),
]

NO_DATES = [
    *(
        "",
        "never",
        "soon",
        "0",
        "2027",
        "Jun 2027",
        "25 Jun",
        "15:00:00 PST",
        "25/06/2027",
    ),
    *("2027-06-25 none", "20270625 none", "2027-06-25T23:59:61Z"),
    *(
        "2027-13-01",
        "2027-02-30",
        "31 Jun 2027",
        "2027-06-25T25:00",
        "25 Jun 2027 15:61",
    ),
    *(
        "25 Jun 2027 noindex",
        "25 Jun 2027, none",
        "25 25 Jun 2027 2028",
        "Jun Jun 25 2027",
    ),
    *(
        "2027-06-25T15:00 America/Los_Angeles",
        "25 Jun 2027 15:00 +99:00",
        "25 Jun 202 15:00",
    ),
    *("0001-01-01T00:00+14:00", "9999-12-31T23:59-01:00", "0000-01-01", "٢٥ Jun ٢٠٢٧"),
    *(
        "25 Jun 2027 " + "x" * 100,
        "1" * 100,
        "\x00",
        "25 Jun 2027 15:00 am pm",
        "0 Jun 2027",
    ),
]


@pytest.mark.parametrize(("source", "text", "moment"), DATES)
def test_the_date_is_read(source, text, moment):
    """Every form gives the moment."""
    assert read_date(text, IN_TAGS) == datetime(*moment, tzinfo=timezone.utc), source


@pytest.mark.parametrize("text", NO_DATES)
def test_it_is_no_date(text):
    """What is no date is None, never an error."""
    assert read_date(text, IN_TAGS) is None
