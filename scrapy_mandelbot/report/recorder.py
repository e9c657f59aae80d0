"""Fills the record of a crawl from its events.

For a report or metrics, it also records each request. The middleware counts pages
directly, in the tally of their site.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from sys import intern
from typing import TYPE_CHECKING, Any

import scrapy.signals
from mandelbot.formatting import shown
from mandelbot.origins import site_of, without_user
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.crawl_record import CrawlRecord
from scrapy_mandelbot.report.samples import (
    ConcurrencyRecord,
    PaceRecord,
    PauseRecord,
    RobotsRecord,
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
        self._crawl.events.subscribe(self._received_robots, events.ROBOTS_FETCHED)
        self._crawl.events.subscribe(self._tagged, events.TAGGED)
        self._crawl.events.subscribe(self._used, events.USAGE_READ)

    @classmethod
    def of(cls, crawler: Crawler, *, watches: bool = False) -> Recorder:
        """Return the crawler's recorder, created by the first call, before the crawl.

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

    @classmethod
    def found_in(cls, crawler: Crawler) -> Recorder | None:
        """Return the crawler's recorder; None: nothing has asked for one."""
        recorder = vars(crawler).get(_ATTRIBUTE)
        return recorder if isinstance(recorder, cls) else None

    def _subscribe(self, written: Mapping[Event, Write]) -> None:
        for event, write in written.items():
            self._crawl.events.subscribe(partial(self._write, write), event)

    def _of(self, site: str) -> SiteRecord:
        return self.record.get(site) or self.record.of(site, self._now())

    def _write(self, write: Write, values: Values) -> None:
        site = values.get("site") or values["where"]
        write(self.record.get(site) or self._of(site), values, self._now)

    # Called for each site or page, so without the table.

    def _received_robots(self, values: Values) -> None:
        record = self.record.get(values["site"])
        if record is not None:  # a page of it is wanted, not its robots.txt alone
            record.received_robots(values["case"])

    def _tagged(self, values: Values) -> None:
        self._of(site_of(urlparse_cached(values["response"]))).tagged(values)

    def _used(self, values: Values) -> None:
        record = self.record.get(values["site"]) or self._of(values["site"])
        if record.usage is None:
            record.usage = UsageRecord()
        usage = record.usage
        usage.pages += 1
        usage.allowed += values["allowed"]
        usage.disallowed += values["disallowed"]
        usage.unknown += values["unknown"]
        usage.terms += values["terms"]
        for statement in values["usage"].statements[:MOST_STATEMENTS]:
            said = intern(str(statement))  # most sites say what others do
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
        if flight is None:
            site = self._crawl.throttle.sites.of_request(request)
        else:
            site = flight.site
        now = self._now()
        record = self.record.get(site.name) or self.record.of(site.name, now)
        is_robots_txt = urlparse_cached(request).path == "/robots.txt"
        gap = record.sent(now, is_robots_txt=is_robots_txt)
        at_once = 0 if is_robots_txt else record.in_flight
        if gap is not None and self.on_gap is not None:
            self.on_gap(site.name, gap)
        response: Response | None = None
        try:
            response = await download(request)
        finally:
            now = self._now()
            record.in_flight -= 1
            record = self.record.get(site.name) or self.record.of(site.name, now)
            if response is None:
                record.failed(now)
            else:
                rate = 0.0 if site.is_plain else _rate(site)
                timed = request.meta.get("download_latency")
                first_byte = timed if isinstance(timed, (int, float)) else None
                record.answered(response.status, first_byte, now, rate, at_once)
        return response


def _where(its: Values) -> str:
    """Name the site or section of a pause."""
    where: str = its.get("where") or its["site"]
    if "path" in its:
        where += shown(its["path"])
    return where


def _paused(kind: str) -> Write:
    def write(one: SiteRecord, its: Values, now: Now) -> None:
        reason = shown(its["reason"])
        one.pause(PauseRecord(_where(its), kind, now(), its["until"], reason))

    return write


def _refuses(one: SiteRecord, its: Values, _now: Now) -> None:
    where = _where(its)
    reason = shown(its["reason"])
    one.pause(PauseRecord(where, "refused", its["since"], its["until"], reason))


def _both(first: Write, then: Write) -> Write:
    def write(one: SiteRecord, its: Values, now: Now) -> None:
        first(one, its, now)
        then(one, its, now)

    return write


def _refused(one: SiteRecord, its: Values, _now: Now) -> None:
    one.refusal(its["kind"], its["at"], its["retry_after"])


def _waited(one: SiteRecord, its: Values, _now: Now) -> None:
    one.waited(its["seconds"])


def _slower(one: SiteRecord, its: Values, _now: Now) -> None:
    one.limit = its["rate"]


def _at_once(one: SiteRecord, its: Values, _now: Now) -> None:
    times = float(its["times"]) if "times" in its else None
    one.concurrency = ConcurrencyRecord(its["bound"], its["most"], times)


def _all_at_once(one: SiteRecord, _its: Values, _now: Now) -> None:
    one.concurrency = None


def _sitemap_read(one: SiteRecord, its: Values, _now: Now) -> None:
    one.read_sitemap(its["entries"])


def _sitemap_failed(one: SiteRecord, _its: Values, _now: Now) -> None:
    one.read_sitemap(None)


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
    url = shown(without_user(its["request"].url))
    verdict = its.get("verdict")
    if verdict is None:
        one.forbid(url, None, "ROBOTSTXT_PARSER cannot say", "")
        return
    agent = shown(verdict.agent or "")
    if verdict.rule is None:
        one.forbid(url, None, verdict.reason, agent)
    else:
        one.forbid(url, verdict.rule.line, str(verdict.rule), agent)


def _cited(one: SiteRecord, its: Values, _now: Now) -> None:
    urls = its["urls"]
    one.cited_sitemaps(len(urls), (shown(without_user(url)) for url in urls))


def _given_up(one: SiteRecord, its: Values, _now: Now) -> None:
    one.give_up(
        _where(its), shown(its["reason"]), its["tries"], is_section="path" in its
    )


def _page_given_up(one: SiteRecord, _its: Values, _now: Now) -> None:
    one.pages_kept += 1


def _budget_reached(one: SiteRecord, _its: Values, _now: Now) -> None:
    one.has_reached_budget = True


def _resumed(one: SiteRecord, its: Values, now: Now) -> None:
    one.resume(_where(its), now(), its.get("paused_for"))


def _robots(one: SiteRecord, its: Values, now: Now) -> None:
    one.answered_robots(
        RobotsRecord(now(), its["case"], shown(its["reason"]), its["seconds"])
    )


def _no_robots(one: SiteRecord, its: Values, _now: Now) -> None:
    one.count_robots(its["case"])  # nothing answered


def _robots_from_cache(one: SiteRecord, _its: Values, now: Now) -> None:
    reason = "the cached robots.txt is fresh"
    one.answered_robots(RobotsRecord(now(), "from_cache", reason))


_WRITTEN: dict[Event, Write] = {
    events.PAUSED: _refuses,
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
    events.PAGE_GIVEN_UP: _page_given_up,
    events.BUDGET_REACHED: _budget_reached,
    events.BUDGET_STILL_REACHED: _budget_reached,
    events.REFUSED: _refused,
    events.TURN_WAITED: _waited,
    events.PACE: _paced,
    events.PACE_NOT_OBEYED: partial(_paced, is_obeyed=False),
    events.SLOWER: _slower,
    events.CONCURRENCY_LOWERED: _at_once,
    events.CONNECTIONS_LIMITED: _at_once,
    events.CONCURRENCY_RAISED: _all_at_once,
    events.FORBIDDEN: _forbidden,
    events.FORBIDDEN_UNEXPLAINED: _forbidden,
    events.SITEMAPS_DISCOVERED: _cited,
    events.SITEMAP_READ: _sitemap_read,
    events.SITEMAP_FAILED: _sitemap_failed,
}
"""How each event changes the record of its site."""
# Likewise, for the report and the metrics: all that the table at the end needs of these
# answers is whether one came.
_OF_ROBOTS: dict[Event, Write] = {
    events.ROBOTS_FETCHED: _robots,
    events.ROBOTS_NOT_FETCHED: _no_robots,
    events.ROBOTS_FROM_CACHE: _robots_from_cache,
}


def _rate(site: Site) -> float:
    pause = site.pause
    if pause.rate_control is None or pause.is_open or not pause.is_passable:
        return 0.0
    return pause.rate_control.rate
