"""How durations, rates and times are written."""

import pytest

from scrapy_mandelbot.time_text import (
    clock_time,
    duration,
    iso_time,
    rate_text,
    without_zone,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "0.25 s"),
        (3.4, "3.4 s"),
        (119.9, "120 s"),
        (150, "2 min 30 s"),
        (3_599.9, "59 min 59 s"),
        (3_725, "1 h 2 min"),
        (120, "2 min"),
        (90_000_000, "25,000 h"),
        (float("inf"), "an unknown time"),
        (None, "an unknown time"),
    ],
)
def test_a_duration_has_one_form(seconds, text):
    """In two units at most, whoever prints it."""
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (30.0, "30 requests a second"),
        (2.0, "2 requests a second"),
        (0.5, "30 requests a minute"),
        (1 / 6, "10 requests a minute"),
        (1 / 60, "60 requests an hour"),
        (0.005, "18 requests an hour"),
    ],
)
def test_a_rate_has_a_unit_of_which_there_are_several(rate, words):
    """A second, a minute or an hour."""
    assert rate_text(rate) == words


def test_a_moment_is_written_for_people_and_for_programs():
    """Both in UTC; what is unknown or never is no moment for a program."""
    assert clock_time(1_795_508_100.5) == "2026-11-24 08:15:00 UTC"
    assert iso_time(1_795_508_100.5) == "2026-11-24T08:15:00.500+00:00"
    assert without_zone(iso_time(1_795_508_100.5)) == "2026-11-24 08:15:00"
    assert without_zone(iso_time(1_795_508_100.5), "minutes") == "2026-11-24 08:15"
    assert iso_time(None) is iso_time(float("inf")) is None
