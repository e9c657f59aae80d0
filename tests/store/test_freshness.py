"""For how long a copy serves. (Mandelbot, "Changing robots.txt"; RFC 9110, 13.1)"""

from __future__ import annotations

import pytest

from scrapy_mandelbot.store import CachedRobots

HOUR = 3600.0


@pytest.mark.parametrize(
    ("age", "fresh"),
    [
        (0.0, True),
        (48 * HOUR - 1, True),
        (48 * HOUR, False),
        (-30.0, True),  # another machine's clock is a little ahead
        # a clock was wrong by an hour: nobody knows how old the copy is
        (-HOUR, False),
    ],
)
def test_mandelbot_a_copy_serves_for_48_hours(age, fresh):
    """To the second, and no copy from the future."""
    assert (
        CachedRobots(b"", 200, 1_000_000.0 - age).is_fresh(1_000_000.0, 48 * HOUR)
        is fresh
    )


def test_rfc9110_conditions():
    """Each validator that the site gave, as it gave it; none, no condition."""
    copy = CachedRobots(b"", 200, 0.0)
    assert copy.conditions() == {}
    assert copy._replace(etag='W/"x"').conditions() == {"If-None-Match": 'W/"x"'}
    both = copy._replace(etag='"x"', last_modified="Fri, 20 Nov 2026 08:00:00 GMT")
    assert both.conditions() == {
        "If-None-Match": '"x"',
        "If-Modified-Since": "Fri, 20 Nov 2026 08:00:00 GMT",
    }
