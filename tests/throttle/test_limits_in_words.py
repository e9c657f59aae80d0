"""How a limit is told of. (throttle/told_pauses.py)"""

from __future__ import annotations

import pytest

from scrapy_mandelbot.sites.recovery import Mode, Recovery
from scrapy_mandelbot.throttle.told_pauses import rate_in_words


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
def test_a_rate_is_told_in_a_unit_of_which_there_are_several(rate, words):
    """A second, a minute or an hour."""
    assert rate_in_words(rate) == words


def test_a_slow_limit_is_told_of_whatever_the_site_bore():
    """It may have borne nothing worth the name before its first refusal."""
    recovery = Recovery()
    assert not recovery.is_far_below
    recovery.mode = Mode.SLOW
    assert recovery.is_far_below
