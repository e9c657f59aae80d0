"""Dates in every form that sitemaps and feeds write them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mandelbot.dates import read_date

UTC = timezone.utc


def at(*parts: int, hours: float = 0) -> datetime:
    return datetime(*parts, tzinfo=timezone(timedelta(hours=hours)))


W3C_NOTE = {
    "1997": at(1997, 1, 1),
    "1997-07": at(1997, 7, 1),
    "1997-07-16": at(1997, 7, 16),
    "1997-07-16T19:20+01:00": at(1997, 7, 16, 19, 20, hours=1),
    "1997-07-16T19:20:30+01:00": at(1997, 7, 16, 19, 20, 30, hours=1),
    "1997-07-16T19:20:30.45+01:00": at(1997, 7, 16, 19, 20, 30, 450_000, hours=1),
    "1994-11-05T08:15:30-05:00": at(1994, 11, 5, 8, 15, 30, hours=-5),
    "1994-11-05T13:15:30Z": at(1994, 11, 5, 13, 15, 30),
}
RFC_3339 = {
    "1985-04-12T23:20:50.52Z": at(1985, 4, 12, 23, 20, 50, 520_000),
    "1990-12-31T23:59:60Z": at(1990, 12, 31, 23, 59, 59),
    "1937-01-01T12:00:27.87+00:20": at(1937, 1, 1, 12, 0, 27, 870_000, hours=1 / 3),
    "1985-04-12t23:20:50z": at(1985, 4, 12, 23, 20, 50),
    "1985-04-12 23:20:50Z": at(1985, 4, 12, 23, 20, 50),
    "2020-01-01T00:00:00.123456789Z": at(2020, 1, 1, 0, 0, 0, 123_456),
}
RFC_822 = {
    "Sat, 07 Sep 2002 00:00:01 GMT": at(2002, 9, 7, 0, 0, 1),
    "Sat, 07 Sep 2002 9:42:31 GMT": at(2002, 9, 7, 9, 42, 31),
    "07 Sep 02 00:00 EST": at(2002, 9, 7, hours=-5),
    "Sat, 07 Sep 2002 00:00:01 +0530": at(2002, 9, 7, 0, 0, 1, hours=5.5),
    "Sat, 07 Sep 2002": at(2002, 9, 7),
    "Sat, 07 Sep 2002 00:00:01 +0000 (UTC)": at(2002, 9, 7, 0, 0, 1),
    "Sat, 07 Sep 50 00:00:01 GMT": at(1950, 9, 7, 0, 0, 1),
    "Sat, 07 Sep 2002 23:59:60 GMT": at(2002, 9, 7, 23, 59, 59),
    "Sat, 07 Sep 2002 00:00:01 -0000": at(2002, 9, 7, 0, 0, 1),
}
IN_THE_WILD = {
    " 2020-01-02\n": at(2020, 1, 2),
    "2020-1-2": at(2020, 1, 2),
    "2020-01-02T03:04:05": at(2020, 1, 2, 3, 4, 5),
    "2020-01-02T03:04:05+0200": at(2020, 1, 2, 3, 4, 5, hours=2),
    "2020-01-02T03:04:05-02": at(2020, 1, 2, 3, 4, 5, hours=-2),
    "2020-01-02 03:04:05 +0200": at(2020, 1, 2, 3, 4, 5, hours=2),
    "2020-01-02T03+0200": at(2020, 1, 2, 3, hours=2),
    "2020-01-02Z": at(2020, 1, 2),
    "2020-01-02 03:04 EST": at(2020, 1, 2, 3, 4, hours=-5),
    "2020-01-02T03:04:05,678Z": at(2020, 1, 2, 3, 4, 5, 678_000),
}
NONE = (
    *(
        "",
        "yesterday",
        "0000-00-00",
        "0000-00-00T00:00:00+00:00",
        "2020-13-01",
        "2020-02-30",
    ),
    *(
        "2020-01-01T25:00:00Z",
        "2020-01-01T00:00:00+99:99",
        "20200101",
        "01/02/2020",
        "2020/01/02",
    ),
    *(
        "-0001-11-30T00:00:00+00:00",
        "99999-01-01",
        "1577836800",
        "{{ date }}",
        "\0",
        "\ud800",
    ),
    *(
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
        "Sat, 99 Foo 2002 00:00:01 GMT",
    ),
    *("2" * 10**6, "2020-01-01" + " " * 10**6, "2020-01-01T00:00:00." + "1" * 10**6),
)


@pytest.mark.parametrize(
    ("text", "date"),
    [*W3C_NOTE.items(), *RFC_3339.items(), *RFC_822.items(), *IN_THE_WILD.items()],
)
def test_every_form_is_read(text, date):
    """The documents' examples, and what is often written instead, are the time they
    name.
    """
    found = read_date(text)
    assert found == date
    assert found.utcoffset() == date.utcoffset()


@pytest.mark.parametrize("text", NONE, ids=lambda text: repr(text[:30]))
def test_what_names_no_time_is_none(text):
    """Garbage, and what lies beyond the calendar, is None."""
    assert read_date(text) is None


@given(
    st.one_of(
        st.text(max_size=70),
        st.from_regex(r"[0-9]{4}[-T:+.Z0-9 ]{0,40}", fullmatch=True),
    )
)
def test_no_text_raises(text):
    """Whatever stands there, the answer is None or a time with a zone that can be
    compared.
    """
    date = read_date(text)
    assert date is None or date.astimezone(UTC) == date


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1000, 1, 1)))  # noqa: DTZ001 - as asked
def test_what_python_writes_is_read(date):
    """ISO 8601 as `datetime.isoformat` writes it comes back as the same time."""
    assert read_date(date.isoformat()) == date
