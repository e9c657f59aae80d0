"""The record of a crawl, filled from its events and, for a report or metrics, from each request.

The middleware counts pages directly, in the tally of their site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import scrapy.signals
from mandelbot.formatting import shown
from mandelbot.origins import site_of, without_user
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.samples import (
    PaceRecord,
    PauseRecord,
    RobotsRecord,
    Timeline,
    UsageRecord,
)
from scrapy_mandelbot.report.site_record import MOST_STATEMENTS, SiteRecord

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.events import Event
    from scrapy_mandelbot.politeness.site_state import Site

    Values = Mapping[str, Any]
    Now = Callable[[], float]
    Write = Callable[[SiteRecord, Values, Now], object]

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
            record = self._sites[site] = SiteRecord(site, now)
            record.number = self.made
            self.made += 1
            if self.is_watched:
                record.is_watched = True
                record.timeline = Timeline(self.began)
        return record

    def in_order(self) -> list[SiteRecord]:
        """Return the records of crawled sites: given up, most troubled, largest first."""
        by_name = sorted(
            filter(_is_crawled, self._sites.values()), key=lambda one: one.site
        )
        return sorted(by_name, key=lambda one: one.rank, reverse=True)

    def folded(self, sites: Iterable[SiteRecord], now: float) -> SiteRecord:
        """Return the sums of some records and of the shared one."""
        total = SiteRecord("", self.began)
        total.sites = 0
        for record in (*sites, self.rest):
            total.fold(record, now)
        return total

    def sweep(self, now: float) -> None:
        """Fold surplus records of dropped sites into the shared one; thin out the others."""
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


_ATTRIBUTE = "_scrapy_mandelbot_recorder"


class Recorder:
    """Fills the record of a crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._now = self._crawl.now
        self._flight = self._crawl.throttle.in_flight.get
        self.record = CrawlRecord(self._now(), self._crawl.sites.__contains__)
        self.on_gap: Callable[[str, float], None] | None = None
        """Called with a site and the seconds between two requests to it."""
        self._crawl.sites.count_by(self._of, lambda: (*self.record, self.record.rest))
        self._subscribe(_WRITTEN)
        self._crawl.events.subscribe(self._tagged, events.TAGGED)
        self._crawl.events.subscribe(self._used, events.USAGE_READ)

    @classmethod
    def of(cls, crawler: Crawler, *, watches: bool = False) -> Recorder:
        """Return the crawler's recorder; the first call, before the crawl begins, creates it.

        `watches`: record each request, for times to the first byte, gaps and timelines.
        """
        recorder = vars(crawler).get(_ATTRIBUTE)
        if not isinstance(recorder, cls):
            recorder = cls(crawler)
            setattr(crawler, _ATTRIBUTE, recorder)
        if watches and not recorder.record.is_watched:
            recorder.record.watch()
            recorder._subscribe(_OF_ROBOTS)
            crawler.signals.connect(
                recorder._watch, signal=scrapy.signals.spider_opened
            )
        return recorder

    def _subscribe(self, written: Mapping[Event, Write]) -> None:
        for event, write in written.items():
            self._crawl.events.subscribe(partial(self._write, write), event)

    def _of(self, site: str) -> SiteRecord:
        return self.record.get(site) or self.record.of(site, self._now())

    def _write(self, write: Write, values: Values) -> None:
        site = values.get("site") or values["where"]
        write(self.record.get(site) or self._of(site), values, self._now)

    # Called for each page, so without the table.

    def _tagged(self, values: Values) -> None:
        self._of(site_of(urlparse_cached(values["response"]))).tagged(values)

    def _used(self, values: Values) -> None:
        record = self.record.get(values["site"]) or self._of(values["site"])
        usage = record.usage = record.usage or UsageRecord()
        usage.pages += 1
        usage.allowed += values["allowed"]
        usage.disallowed += values["disallowed"]
        usage.unknown += values["unknown"]
        usage.terms += values["terms"]
        for statement in values["usage"].statements[:MOST_STATEMENTS]:
            said = str(statement)
            if said in usage.statements or len(usage.statements) < MOST_STATEMENTS:
                usage.statements[said] = usage.statements.get(said, 0) + 1

    # Each request, if `watches`.

    def _watch(self) -> None:
        if not engine.download_by(self._crawler, self._download):
            self.record.watch(is_watched=False)

    async def _download(self, download: engine.Download, request: Request) -> Response:
        if not request.url.startswith(("http://", "https://")):
            return await download(request)
        flight = self._flight(request)
        site = (
            self._crawl.throttle.sites.of_request(request)
            if flight is None
            else flight.site
        )
        now = self._now()
        record = self.record.get(site.name) or self.record.of(site.name, now)
        gap = record.sent(
            now, is_robots_txt=urlparse_cached(request).path == "/robots.txt"
        )
        if gap is not None and self.on_gap is not None:
            self.on_gap(site.name, gap)
        response: Response | None = None
        try:
            response = await download(request)
        finally:
            now = self._now()
            record = self.record.get(site.name) or self.record.of(site.name, now)
            if response is None:
                record.failed(now)
            else:
                timed = request.meta.get("download_latency")
                timed = timed if isinstance(timed, (int, float)) else None
                record.answered(
                    response.status, timed, now, 0.0 if site.is_plain else _rate(site)
                )
        return response


def _where(its: Values) -> str:
    """Name the site or section of a pause."""
    where: str = its.get("where") or its["site"]
    return where + shown(its["path"]) if "path" in its else where


def _paused(kind: str) -> Write:
    return lambda one, its, now: one.pause(
        PauseRecord(_where(its), kind, now(), its["until"], shown(its["reason"]))
    )


def _both(first: Write, then: Write) -> Write:
    return lambda *given: (first(*given), then(*given))


_section_paused = _paused("section")


def _prolonged(one: SiteRecord, its: Values, _now: Now) -> None:
    one.prolong(_where(its), its["until"], shown(its["reason"]), its["tries"])


def _paced(one: SiteRecord, its: Values, _now: Now, *, is_obeyed: bool = True) -> None:
    pace = its["pace"]
    kept_to = min(pace.asked, pace.longest) if is_obeyed else 0.0
    one.pace = PaceRecord(
        pace.asked, kept_to, shown(str(pace)), shown(pace.source), is_obeyed
    )


def _forbidden(one: SiteRecord, its: Values, _now: Now) -> None:
    verdict = its.get("verdict")
    line = None
    text = "ROBOTSTXT_PARSER cannot say"
    agent = ""
    if verdict is not None:
        rule = verdict.rule
        agent = shown(verdict.agent or "")
        line, text = (None, verdict.reason) if rule is None else (rule.line, str(rule))
    one.forbid(shown(without_user(its["request"].url)), line, text, agent)


def _cited(one: SiteRecord, its: Values, _now: Now) -> None:
    urls = its["urls"]
    one.cited_sitemaps(len(urls), (shown(without_user(url)) for url in urls))


def _given_up(one: SiteRecord, its: Values, _now: Now) -> None:
    one.give_up(
        _where(its), shown(its["reason"]), its["tries"], is_section="path" in its
    )


def _resumed(one: SiteRecord, its: Values, now: Now) -> None:
    one.resume(_where(its), now(), its.get("paused_for"))


def _robots(one: SiteRecord, its: Values, now: Now) -> None:
    one.answered_robots(
        RobotsRecord(now(), its["case"], shown(its["reason"]), its["seconds"])
    )


_FROM_CACHE = {
    "case": "from_cache",
    "reason": "the cached robots.txt is fresh",
    "seconds": None,
}
_WRITTEN: dict[Event, Write] = {
    events.PAUSED: _paused("refused"),
    events.HELD: _paused("manual"),
    events.SHUT: _paused("visit time"),
    events.PAUSED_BY_PEER: _paused("overheard"),
    events.REFUSES_ROBOTS: _section_paused,
    events.SECTION_PAUSED: _section_paused,
    events.RESTORED: _both(_paused("previous run"), _prolonged),
    events.PROLONGED: _prolonged,
    # The previous run may have paused the section.
    events.SECTION_PROLONGED: _both(_section_paused, _prolonged),
    events.RESUMED: _resumed,
    events.OPENED: _resumed,
    events.SECTION_RESUMED: _resumed,
    events.ROBOTS_UNANSWERED: _resumed,
    events.GIVEN_UP: _given_up,
    events.LAST_ATTEMPTS: _given_up,
    events.SECTION_GIVEN_UP: _both(_section_paused, _given_up),
    events.REFUSES_ROBOTS_STILL: _both(_section_paused, _given_up),
    events.REFUSED: lambda one, its, now: one.refusal(
        its["kind"], now(), its["retry_after"]
    ),
    events.TURN_WAITED: lambda one, its, _: one.waited(its["seconds"]),
    events.PACE: _paced,
    events.PACE_NOT_OBEYED: partial(_paced, is_obeyed=False),
    events.SLOWER: lambda one, its, _: setattr(one, "limit", its["rate"]),
    events.FORBIDDEN: _forbidden,
    events.FORBIDDEN_UNEXPLAINED: _forbidden,
    events.SITEMAPS_DISCOVERED: _cited,
    events.SITEMAP_READ: lambda one, its, _: one.read_sitemap(its["entries"]),
    events.SITEMAP_FAILED: lambda one, *_: one.read_sitemap(None),
}
"""How each event changes the record of its site."""
# Likewise, for the report and the metrics: the table at the end does not show these
# answers.
_OF_ROBOTS: dict[Event, Write] = {
    events.ROBOTS_FETCHED: _robots,
    events.ROBOTS_NOT_FETCHED: _robots,
    events.ROBOTS_FROM_CACHE: lambda one, _, now: _robots(one, _FROM_CACHE, now),
}


def _rate(site: Site) -> float:
    pause = site.pause
    if pause.rate_control is None or pause.is_open:
        return 0.0
    return pause.rate_control.rate if pause.is_passable else 0.0
