"""How a limit is told of. (throttle/pauses.py)"""

from __future__ import annotations

from scrapy_mandelbot.politeness.pause_policy import Mode
from scrapy_mandelbot.politeness.rate_control import RateControl


def test_a_slow_limit_is_told_of_whatever_the_site_bore():
    """It may have borne nothing worth the name before its first refusal."""
    rate_control = RateControl()
    assert not rate_control.is_far_below
    rate_control.mode = Mode.SLOW
    assert rate_control.is_far_below
