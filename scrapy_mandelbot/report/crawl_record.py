"""What happened at the sites of a crawl: the troubled and the largest, the rest folded into one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.report.site_record import SiteRecord
from scrapy_mandelbot.report.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOST_SITES = 5_000
"""Sites that are told apart when nothing is known of them any more but what was counted."""
_SLACK = 1.25  # times as many, before it is looked which ones stay


class CrawlRecord:
    """Records of sites, by name.

    A site that the crawl still knows is always told apart, as its counts still grow. Of the others
    so many are that were most troubled, and largest. All that is more than sums is kept of so many.

    Args:
        began: when the crawl did, in seconds since the epoch.
        is_alive: returns whether the crawl still knows a site.
        most_sites: that are told apart.
    """

    def __init__(
        self, began: float, is_alive: Callable[[str], bool], most_sites: int = MOST_SITES
    ) -> None:
        self.began = began
        self.is_watched = False
        """Whether each request is told of, and there are timelines."""
        self.rest = SiteRecord("", began)
        """Those that are told apart no longer."""
        self.rest.sites = 0
        self.made = 0
        """How many sites were told apart so far; who came again is counted again."""
        self._is_alive = is_alive
        self._most_sites = most_sites
        self._sites: dict[str, SiteRecord] = {}
        self._sweep_at = most_sites * _SLACK

    def __len__(self) -> int:
        return len(self._sites)

    def __iter__(self) -> Iterator[SiteRecord]:
        """Yield those that are told apart, in any order."""
        return iter(self._sites.values())

    def __repr__(self) -> str:
        return f"<CrawlRecord: {len(self)} sites, {self.rest.sites} more folded into one>"

    def watch(self, *, is_watched: bool = True) -> None:
        """Note that each request is told of from now on; or that none can be."""
        self.is_watched = is_watched
        for record in self._sites.values():
            record.is_watched = is_watched
            record.timeline = Timeline(self.began) if is_watched else None

    def get(self, site: str) -> SiteRecord | None:
        """Return the record of a site; None: it is not told apart, or was not heard of."""
        return self._sites.get(site)

    def of(self, site: str, now: float) -> SiteRecord:
        """Return the record of a site, which is empty at first."""
        record = self._sites.get(site)
        if record is None:
            if len(self._sites) >= self._sweep_at:
                self._sweep(now)
            record = self._sites[site] = SiteRecord(site, now)
            record.number = self.made
            self.made += 1
            if self.is_watched:
                record.is_watched = True
                record.timeline = Timeline(self.began)
        return record

    def in_order(self) -> list[SiteRecord]:
        """Return those that are told apart: given up, most troubled, largest, by name."""
        by_name = sorted(self._sites.values(), key=lambda one: one.site)
        return sorted(by_name, key=lambda one: one.rank, reverse=True)

    def folded(self, sites: Iterable[SiteRecord], now: float) -> SiteRecord:
        """Return the sums of some sites, and of those that are told apart no longer."""
        total = SiteRecord("", self.began)
        total.sites = 0
        for record in (*sites, self.rest):
            total.fold(record, now)
        return total

    def total(self, now: float) -> SiteRecord:
        """Return the sums of all sites."""
        return self.folded(self._sites.values(), now)

    def _sweep(self, now: float) -> None:
        """Fold those that nothing more is heard of, beyond the number; thin out the others."""
        ranked = self.in_order()
        for record in ranked[: self._most_sites]:
            if self.is_watched and record.timeline is None:
                record.timeline = Timeline(self.began)
        for record in ranked[self._most_sites :]:
            if self._is_alive(record.site):
                record.thin()
            else:
                self.rest.fold(record, now)
                del self._sites[record.site]
        self._sweep_at = max(self._most_sites, len(self._sites)) * _SLACK
