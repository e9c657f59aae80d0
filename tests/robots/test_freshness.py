"""For how long a copy serves. (Mandelbot, "Changing robots.txt"; RFC 9110, 13.1)"""

from __future__ import annotations

import pytest

from scrapy_mandelbot.politeness.outcome import conditions, is_fresh

HOUR = 3600.0


@pytest.mark.parametrize(
    ("age", "fresh"),
    [
        (0.0, True),
        (48 * HOUR - 1, True),
        (48 * HOUR, False),
        (-30.0, True),  # another machine's clock is a little ahead
        (-HOUR, False),  # a clock was wrong by an hour: nobody knows how old the copy is
    ],
)
def test_mandelbot_a_copy_serves_for_48_hours(age, fresh):
    """To the second, and no copy from the future."""
    assert is_fresh(1_000_000.0, 1_000_000.0 - age, 48 * HOUR) is fresh


def test_rfc9110_conditions():
    """Each validator that the site gave, as it gave it; none, no condition."""
    assert conditions(None, None) == {}
    assert conditions('W/"x"', None) == {"If-None-Match": 'W/"x"'}
    assert conditions('"x"', "Fri, 20 Nov 2026 08:00:00 GMT") == {
        "If-None-Match": '"x"',
        "If-Modified-Since": "Fri, 20 Nov 2026 08:00:00 GMT",
    }
