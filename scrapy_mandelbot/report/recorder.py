"""Fills the record of a crawl from its events; where all of it is wanted, from each request too.

It is there only where something is made of it. Pages are counted on the way, by a number of the
site that the middleware has at hand; all else comes from events, which are seldom.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.samples import (
    PaceRecord,
    RobotsRecord,
    SitemapsRecord,
    TagsRecord,
    Timeline,
    UsageRecord,
)
from scrapy_mandelbot.report.site_record import (
    MOST_SITEMAPS,
    MOST_STATEMENTS,
    PauseRecord,
    SiteRecord,
)
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.origins import site_of, without_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.robots.robotstxt import Verdict
    from scrapy_mandelbot.sites.site import Site
    from scrapy_mandelbot.telling import Event

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
        self.get = self._sites.get
        """Returns the record of a site; None: it is not told apart, or was not heard of."""

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

    def of(self, site: str, now: float) -> SiteRecord:
        """Return the record of a site, which is empty at first."""
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

    def sweep(self, now: float) -> None:
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


if TYPE_CHECKING:
    Values = Mapping[str, Any]

_ATTRIBUTE = "_scrapy_mandelbot_recorder"


class Recorder:
    """Keeps the record of a crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._now = self._crawl.now
        self._flight = self._crawl.throttle.in_flight.get
        self.record = CrawlRecord(self._now(), self._crawl.sites.__contains__)
        """What happened so far."""
        self.gap_heard: Callable[[str, float], None] | None = None
        """Is called with the seconds between two requests to a site, where they are watched."""
        notes: dict[Event, Callable[[Values], None]] = {
            events.PAUSED: partial(self._paused, "refused"),
            events.HELD: partial(self._paused, "by hand"),
            events.SHUT: partial(self._paused, "visit time"),
            events.OVERHEARD: partial(self._paused, "overheard"),
            events.RESTORED: self._restored,
            events.PROLONGED: self._prolonged,
            events.RESUMED: self._resumed,
            events.OPENED: self._resumed,
            events.GIVEN_UP: self._given_up,
            events.ASKS_ONCE_EACH: self._given_up,
            events.REFUSES_ROBOTS: self._section_paused,
            events.SECTION_PAUSED: self._section_paused,
            events.SECTION_PROLONGED: self._section_prolonged,
            events.SECTION_RESUMED: self._section_resumed,
            events.SECTION_GIVEN_UP: self._section_given_up,
            events.REFUSES_ROBOTS_STILL: self._section_given_up,
            events.REFUSED: self._refused,
            events.TURN_WAITED: self._waited,
            events.PACE: self._paced,
            events.PACE_NOT_OBEYED: partial(self._paced, is_obeyed=False),
            events.SLOWER: self._limited,
            events.ROBOTS_ASKED: self._asked_robots,
            events.ROBOTS_ASKED_IN_VAIN: self._asked_robots,
            events.ROBOTS_FROM_CACHE: self._kept_robots,
            events.ROBOTS_UNANSWERED: self._unanswered,
            events.FORBIDDEN: self._forbidden,
            events.FORBIDDEN_UNEXPLAINED: self._forbidden,
            events.SITEMAPS_DISCOVERED: self._sitemaps_cited,
            events.SITEMAP_READ: self._sitemap_read,
            events.SITEMAP_FAILED: self._sitemap_failed,
            events.TAGGED: self._tagged,
            events.USAGE_READ: self._used,
        }
        self._crawl.sites.count_by(self._of, lambda: (*self.record, self.record.rest))
        for event, note in notes.items():
            self._crawl.events.hear(note, event)

    @classmethod
    def of(cls, crawler: Crawler, *, watches: bool = False) -> Recorder:
        """Return the crawler's one, made when first asked for, before the crawl begins.

        Args:
            crawler: whose crawl it is.
            watches: whether each request is to be watched: for times to the first byte, gaps of
                sites without a pace, and what happened when.
        """
        recorder = vars(crawler).get(_ATTRIBUTE)
        if not isinstance(recorder, cls):
            recorder = cls(crawler)
            setattr(crawler, _ATTRIBUTE, recorder)
        if watches and not recorder.record.is_watched:
            recorder.record.watch()
            crawler.signals.connect(recorder._watch, signal=scrapy.signals.spider_opened)
        return recorder

    def _of(self, site: str) -> SiteRecord:
        return self.record.get(site) or self.record.of(site, self._now())

    # From events.

    def _paused(self, kind: str, values: Values) -> None:
        where, until, reason = values["where"], values["until"], shown(values["reason"])
        pause = PauseRecord(where, kind, self._now(), until, reason)
        self._of(values["site"]).pause(pause)

    def _prolonged(self, values: Values) -> None:
        self._of(values["site"]).prolong(
            values["where"], values["until"], shown(values["reason"]), values["tries"]
        )

    def _restored(self, values: Values) -> None:
        self._paused("former run", values)
        self._prolonged(values)

    def _resumed(self, values: Values) -> None:
        self._of(values["site"]).resume(values["where"], self._now(), values["paused_for"])

    def _given_up(self, values: Values) -> None:
        reason = shown(values["reason"])
        self._of(values["site"]).give_up(values["where"], reason, values["tries"])

    def _section_paused(self, values: Values) -> None:
        where = values["where"] + shown(values["path"])
        self._of(values["where"]).pause(
            PauseRecord(where, "section", self._now(), values["until"], shown(values["reason"]))
        )

    def _section_prolonged(self, values: Values) -> None:
        where = values["where"] + shown(values["path"])
        self._of(values["where"]).prolong(
            where, values["until"], shown(values["reason"]), values["tries"]
        )

    def _section_given_up(self, values: Values) -> None:
        where = values["where"] + shown(values["path"])
        self._of(values["where"]).give_up_section(where, shown(values["reason"]))

    def _section_resumed(self, values: Values) -> None:
        where = values["where"] + shown(values["path"])
        self._of(values["where"]).end_section(where, self._now())

    def _refused(self, values: Values) -> None:
        record = self._of(values["site"])
        record.refusal(values["kind"], self._now(), values["retry_after"])

    def _waited(self, values: Values) -> None:
        record = self._of(values["site"])
        record.turns += 1
        record.turn_waits += values["seconds"]

    def _paced(self, values: Values, *, is_obeyed: bool = True) -> None:
        pace = values["pace"]
        kept_to = min(pace.asked, pace.longest) if is_obeyed else 0.0
        self._of(values["where"]).pace = PaceRecord(
            pace.asked, kept_to, shown(str(pace)), shown(pace.source), is_obeyed
        )

    def _limited(self, values: Values) -> None:
        self._of(values["site"]).limit = values["rate"]

    def _asked_robots(self, values: Values) -> None:
        self._of(values["site"]).answered_robots(
            RobotsRecord(self._now(), values["case"], shown(values["reason"]), values["seconds"])
        )

    def _kept_robots(self, values: Values) -> None:
        record = self._of(values["site"])
        record.answered_robots(RobotsRecord(self._now(), "from_cache", "the kept copy serves"))

    def _unanswered(self, values: Values) -> None:
        self._of(values["site"]).resume(values["site"], self._now())

    def _forbidden(self, values: Values) -> None:
        url = shown(without_user(values["request"].url))
        verdict: Verdict | None = values.get("verdict")
        line, text, agent = None, "ROBOTSTXT_PARSER cannot say", ""
        if verdict is not None:
            rule, agent = verdict.rule, shown(verdict.agent or "")
            line, text = (None, verdict.reason) if rule is None else (rule.line, str(rule))
        self._of(values["site"]).forbid(url, line, text, agent)

    def _sitemaps_cited(self, values: Values) -> None:
        sitemaps = self._sitemaps(values["site"])
        sitemaps.cited += len(values["urls"])
        left = MOST_SITEMAPS - len(sitemaps.urls)
        sitemaps.urls += [shown(without_user(url)) for url in values["urls"][:left]]

    def _sitemap_read(self, values: Values) -> None:
        sitemaps = self._sitemaps(values["site"])
        sitemaps.read += 1
        sitemaps.entries += values["entries"]

    def _sitemap_failed(self, values: Values) -> None:
        self._sitemaps(values["site"]).failed += 1

    def _sitemaps(self, site: str) -> SitemapsRecord:
        record = self._of(site)
        if record.sitemaps is None:
            record.sitemaps = SitemapsRecord()
        return record.sitemaps

    def _tagged(self, values: Values) -> None:
        record = self._of(site_of(urlparse_cached(values["response"])))
        tags = record.tags = record.tags or TagsRecord()
        tags.pages += 1
        tags.noindex += values["noindex"]
        tags.nofollow += values["nofollow"]
        tags.unavailable += values["unavailable"]

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

    # From each request, where they are watched.

    def _watch(self) -> None:
        if not engine.download_by(self._crawler, self._download):
            self.record.watch(is_watched=False)

    async def _download(self, download: engine.Download, request: Request) -> Response:
        if not request.url.startswith(("http://", "https://")):
            return await download(request)
        flight = self._flight(request)
        site = self._crawl.throttle.site_of(request) if flight is None else flight.site
        now = self._now()
        record = self.record.get(site.name) or self.record.of(site.name, now)
        gap = record.sent(now, is_robots_txt=urlparse_cached(request).path == "/robots.txt")
        if gap is not None and self.gap_heard is not None:
            self.gap_heard(site.name, gap)
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
                record.answered(response.status, timed, now, 0.0 if site.is_plain else _rate(site))
        return response


def _rate(site: Site) -> float:
    """Return the requests a second that the recovery of a site allows; 0: there is none."""
    pause = site.routes.pause()
    if pause is None or pause.recovery is None or pause.is_open:
        return 0.0
    return pause.recovery.rate if pause.is_passable else 0.0
