"""What may cause the refusals of a site, and how much chance explains."""

from __future__ import annotations

from enum import Enum

BY_CHANCE = 0.05
"""What is less likely is no chance: that so many probes failed, that a section is
refused.
"""
MOST_BY_CHANCE = 3
"""Failed probes that chance explains, at most: then the site is down, or they were dead
pages.
"""


class Mode(Enum):
    """What is known of a site's refusals."""

    RAMP = "ramp"
    CHANCE = "chance"
    LIMIT = "limit"
    SLOW = "slow limit"
