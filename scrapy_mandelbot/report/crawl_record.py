"""The record of a crawl: what happened at each of its sites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter

from scrapy_mandelbot.report.samples import Timeline
from scrapy_mandelbot.report.site_record import SiteRecord

MOST_SITES = 5_000
"""Sites with their own record after the crawl has dropped all other state of them."""
_SLACK = 1.25  # times that number trigger a sweep


class CrawlRecord:
    """Records of sites, by name.

    A site that the crawl still knows (`is_alive`) has its own record, because its
    counts may grow. Of the others, the `most_sites` most troubled and largest have one;
    the rest share one. Only the first `most_sites` have more than sums.
    """

    def __init__(
        self,
        began: float,
        is_alive: Callable[[str], bool],
        most_sites: int = MOST_SITES,
    ) -> None:
        self.began = began
        self.is_watched = False
        """Whether each request is recorded, and sites have timelines."""
        self.rest = SiteRecord("", began)
        """The shared record of all other sites."""
        self.rest.sites = 0
        self.rest.share_names()
        self.made = 0
        """Records created so far; a site that returns counts again."""
        self._is_alive = is_alive
        self._most_sites = most_sites
        self._sites: dict[str, SiteRecord] = {}
        self._sweep_at = most_sites * _SLACK
        self.get = self._sites.get
        """Returns the record of a site; None: it has none."""

    def __len__(self) -> int:
        return len(self._sites)

    def __iter__(self) -> Iterator[SiteRecord]:
        """Yield the records of single sites, in any order."""
        return iter(self._sites.values())

    def __repr__(self) -> str:
        return (
            f"<CrawlRecord: {len(self)} sites, {self.rest.sites} more folded into one>"
        )

    def watch(self, *, is_watched: bool = True) -> None:
        """Start or stop recording each request, with timelines."""
        self.is_watched = is_watched
        for record in self._sites.values():
            record.is_watched = is_watched
            record.timeline = Timeline(self.began) if is_watched else None

    def of(self, site: str, now: float) -> SiteRecord:
        """Return the record of a site; a new one is empty."""
        record = self._sites.get(site)
        if record is None:
            if len(self._sites) >= self._sweep_at:
                self.sweep(now)
            record = SiteRecord(site, now)
            self._sites[site] = record
            record.number = self.made
            self.made += 1
            if self.is_watched:
                record.is_watched = True
                record.timeline = Timeline(self.began)
        return record

    def in_order(self) -> list[SiteRecord]:
        """Return the records of crawled sites: given up, troubled, largest first."""
        crawled = filter(_is_crawled, self._sites.values())
        by_name = sorted(crawled, key=attrgetter("site"))
        return sorted(by_name, key=attrgetter("rank"), reverse=True)

    def folded(self, sites: Iterable[SiteRecord], now: float) -> SiteRecord:
        """Return the sums of some records and of the shared one."""
        total = SiteRecord("", self.began)
        total.sites = 0
        for record in (*sites, self.rest):
            total.fold(record, now)
        return total

    def sweep(self, now: float) -> None:
        """Fold surplus records of dropped sites into the shared one.

        Those of other surplus sites lose their samples.
        """
        whole = set(self.in_order()[: self._most_sites])
        for record in list(self._sites.values()):
            if record in whole:
                if self.is_watched and record.timeline is None:
                    record.timeline = Timeline(self.began)
            elif self._is_alive(record.site):
                record.thin()
            else:
                del self._sites[record.site]
                if _is_crawled(record):
                    self.rest.fold(record, now)
        self._sweep_at = max(self._most_sites, len(self._sites)) * _SLACK


def _is_crawled(one: SiteRecord) -> bool:
    # More is known of the site than that another crawl has paused it.
    is_known = one.taken or one.robots_seen or one.refusals or one.by_end()
    return bool(is_known) or {of.kind for of in one.pauses} != {"overheard"}
