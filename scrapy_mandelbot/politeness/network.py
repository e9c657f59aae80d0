"""Whether the crawler itself is cut off, so that no site is to blame. No I/O, no clock.

A machine that loses its network, or its name server, sees all sites fail at once: names
do not resolve, connections fail or time out. If three hosts or more fail and none
answers for a second, one of them a site that has answered in this run, the crawl is
*cut off*. Without such a site the crawl may simply have dead hosts left: at the end of
each broad crawl they are all that is asked. What fails meanwhile is counted against no
site: no probe, no try of a host that never answered.

Any response ends that. It also ends after a while: three hosts may be down for good.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.site_state import Site

ENOUGH_SILENT = 3
"""So many hosts that fail, and none that answers, are a failure of the network."""
SILENCE = 1.0
"""Seconds without an answer: some of many sites may fail between two answers of others.
"""
MOST_SILENT = 10_000
"""Hosts that are remembered to be asked at once when the network is back."""


class Network:
    """Recognises that no site answers. ``now`` is in seconds since the epoch."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        """Seconds for which nothing is counted against sites."""
        self.silent: dict[Site, None] = {}
        """Sites that failed to answer since any site answered, the first first."""
        self.failed_since = inf
        """When the first of them failed."""
        self.down_since = inf
        """The same, once it is known that the crawl is cut off."""
        self._has_known = False  # one of them had answered in this run

    def is_down(self, now: float) -> bool:
        """Return whether the crawl is cut off, and nothing is counted against sites."""
        return self.down_since <= now < self.counts_at

    @property
    def counts_at(self) -> float:
        """When failures are counted against sites again, though none answers."""
        return self.down_since + self._patience

    def failed(self, site: Site, now: float) -> bool:
        """Note that a site did not answer; return whether it is news that none does."""
        if not self.silent:
            self.failed_since = now
        if len(self.silent) < MOST_SILENT:
            self.silent[site] = None
        self._has_known = self._has_known or site.has_answered
        if self.down_since < inf or not self._has_known:
            return False
        if len(self.silent) < ENOUGH_SILENT or now < self.failed_since + SILENCE:
            return False
        self.down_since = self.failed_since
        return True

    def answered(self) -> tuple[Site, ...]:
        """Note that a site answered.

        Returns:
            The sites that failed while the crawl was cut off.
        """
        silent = () if self.down_since == inf else tuple(self.silent)
        self.silent.clear()
        self.failed_since = inf
        self.down_since = inf
        self._has_known = False
        return silent
