"""How a limit is told of. (throttle/told_pauses.py)"""

from __future__ import annotations

from scrapy_mandelbot.politeness.recovery import Mode, Recovery


def test_a_slow_limit_is_told_of_whatever_the_site_bore():
    """It may have borne nothing worth the name before its first refusal."""
    recovery = Recovery()
    assert not recovery.is_far_below
    recovery.mode = Mode.SLOW
    assert recovery.is_far_below
