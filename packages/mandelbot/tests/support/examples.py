"""How many examples property tests try.

``MANDELBOT_EXAMPLES`` names one of the profiles below.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

PROFILES = {
    # name: (share of the examples that a test names, whether they are the same each
    # time)
    "few": (0.2, True),
    "half": (0.5, True),
    "all": (1, True),
    "random": (10, False),
}
PROFILE = os.environ.get("MANDELBOT_EXAMPLES", "few")
SHARE, SAME_EACH_TIME = PROFILES[PROFILE]
DEFAULT = 100  # Hypothesis's own


def examples(number: int) -> int:
    """Return how many of a test's examples this run tries."""
    return max(1, round(number * SHARE))


def load_profile() -> None:
    """Apply the profile to every property test that is imported from now on."""
    settings.register_profile(
        PROFILE,
        max_examples=examples(DEFAULT),
        derandomize=SAME_EACH_TIME,
        print_blob=True,
        # The time an example takes depends on the machine; tests/growth judges
        # slowness.
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile(PROFILE)
