"""The report on a crawl as plain data: what ``report.json`` holds, and what the page is made from.

``docs/report.rst`` describes it. Times are ISO 8601 and UTC; durations are seconds.
"""

from __future__ import annotations

from datetime import datetime, timezone
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot._version import __version__
from scrapy_mandelbot.report.samples import Timeline
from scrapy_mandelbot.robots.shown import shown
from scrapy_mandelbot.sites.flight import End

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from scrapy_mandelbot.report.recorder import CrawlRecord
    from scrapy_mandelbot.report.samples import Bucket, Spread, UsageRecord
    from scrapy_mandelbot.report.site_record import PauseRecord, SiteRecord

VERSION = 1
"""Of the data: it grows when a field changes its meaning or goes."""
_MOST_RULES = 50  # of all sites, those that forbade most
_MOST_WAITING = 200  # sites


class About(NamedTuple):
    """What a report is about, beside its sites."""

    spider: str
    agent: str
    """The User-Agent of the crawl."""
    ended: float
    """Seconds since the epoch; of a crawl that goes on: when the report was made."""
    reason: str
    """Why the crawl ended."""
    waiting: Sequence[Mapping[str, Any]] = ()
    """Sites with requests that were left, as `SiteStatus.as_data` has them."""
    from_former_run: int = 0
    """Requests that a former run has left, and that were taken in with those of this one."""
    left: int = 0
    """Requests in the queue; of a crawl that goes on: in flight, too."""
    is_finished: bool = True
    """Whether the crawl has ended, by itself or because it was told to."""
    ledger: Mapping[str, Any] | None = None
    """The path of the ledger, how many lines it has, and the hash of the last one."""


def report_of(record: CrawlRecord, about: About) -> dict[str, Any]:
    """Return the report on a crawl, made in one go."""
    report: dict[str, Any] = {}
    for _ in making(report, record, about):
        pass
    return report


def making(report: dict[str, Any], record: CrawlRecord, about: About) -> Iterator[None]:
    """Fill in the report on a crawl; yield beside each site, so that the crawl may go on.

    A site is told of as it stood when it was looked at.
    """
    now = about.ended
    records = record.in_order()
    in_all = record.folded((), now)
    sites = []
    for one in records:
        sites.append(_site(one, about))
        in_all.fold(one, now)
        yield
    timeline = yield from _all_times(records)
    in_all.count(End.LEFT, about.left)
    total = _site(in_all, about)
    buckets = timeline["buckets"] if timeline else []
    for name, of_buckets in (("all", "answers"), ("errors", "errors")):
        total["answers"][name] = sum(one[of_buckets] for one in buckets)
    report |= {
        "version": VERSION,
        "made_by": f"scrapy-mandelbot {__version__}",
        "spider": shown(about.spider),
        "agent": shown(about.agent),
        "began": moment(record.began),
        "ended": moment(now),
        "seconds": _rounded(now - record.began),
        "is_finished": about.is_finished,
        "reason": shown(about.reason),
        "is_watched": record.is_watched,
        "from_former_run": about.from_former_run,
        "ledger": about.ledger and {**about.ledger, "path": shown(about.ledger["path"])},
        "total": {**total, "timeline": timeline},
        "sites": sites,
        "rest": _site(record.rest, about) if record.rest.sites else None,
        "rules": _rules_of_all(sites),
        "waiting": [dict(one) for one in about.waiting[:_MOST_WAITING]],
        "sites_waiting": len(about.waiting),
    }


def _site(one: SiteRecord, about: About) -> dict[str, Any]:
    now = about.ended
    return {
        "site": shown(one.site),
        "sites": one.sites,
        "state": one.state(),
        "taken_in": one.taken,
        "lost": one.lost,
        "ends": [{"name": str(end), "count": count} for end, count in one.by_end().items()],
        "pages": one.pages,
        "others": one.others,
        "forbidden": one.forbidden,
        "failures": one.failures,
        "refused": one.refused,
        "refusals": _counts(one.refusals),
        "pauses": one.pauses_seen,
        "resumed": one.pauses_ended,
        "paused_for": _rounded(one.paused_for(now)),
        "turns": one.turns,
        "turn_waits": _rounded(one.turn_waits),
        "pace": _plain(one.pace),
        "limit": _rounded(one.limit),
        "gaps": _spread(one.gaps),
        "retry_after": _plain(one.retry_after, ("asked", "longest", "kept", "broken", "soonest")),
        "answers": _answers(one),
        "robots": _counts(one.robots_seen),
        "robots_answers": [{**_fields(answer), "at": moment(answer.at)} for answer in one.robots],
        "pause_list": [_pause(pause, now) for pause in one.pauses],
        "rules": list(map(_fields, sorted(one.rules, key=lambda rule: -rule.count))),
        "sitemaps": _plain(one.sitemaps),
        "tags": _plain(one.tags),
        "usage": _usage(one.usage),
        "timeline": None if one.timeline is None else _times(one.timeline),
    }


def _pause(pause: PauseRecord, now: float) -> dict[str, Any]:
    times = {name: moment(getattr(pause, name)) for name in ("since", "until", "ended")}
    seconds = _rounded(pause.seconds(now))
    return {**_fields(pause), "where": shown(pause.where), **times, "seconds": seconds}


def _answers(one: SiteRecord) -> dict[str, Any]:
    """Return how the first answers were, and how all of them: whether the site bore the crawl."""
    buckets = [bucket for _, bucket in one.timeline] if one.timeline is not None else []
    return {
        "first": one.first_seen,
        "first_errors": one.first_errors,
        "first_time": None if one.first_timed is None else _rounded(one.first_timed.median),
        "all": sum(bucket.answers for bucket in buckets),
        "errors": sum(bucket.errors for bucket in buckets),
        "time": None if one.timed is None else _rounded(one.timed.median),
        "slow_time": None if one.timed is None else _rounded(one.timed.quantile(0.95)),
    }


def _spread(values: Spread | None) -> dict[str, Any] | None:
    if values is None or not values.count:
        return None
    return {
        "count": values.count,
        "least": _rounded(values.least),
        "median": _rounded(values.median),
    }


def _times(timeline: Timeline) -> dict[str, Any]:
    return {
        "width": timeline.width,
        "buckets": [_bucket(at - timeline.began, bucket) for at, bucket in timeline],
    }


def _bucket(at: float, bucket: Bucket) -> dict[str, Any]:
    data = {"at": _rounded(at), **_fields(bucket, bucket._fields)}
    timed = data.pop("timed")
    data["first_byte"] = _rounded(bucket.first_byte / timed) if timed else None
    return {**data, "rate": data["rate"] or None}


def _all_times(records: Iterable[SiteRecord]) -> Generator[None, None, dict[str, Any] | None]:
    """Return what happened when at all sites that have timelines; they began together."""
    timelines = [one.timeline for one in records if one.timeline is not None]
    if not timelines:
        return None
    total = Timeline(timelines[0].began)
    for timeline in sorted(timelines, key=lambda one: -one.width):  # so that all are as wide
        for at, bucket in timeline:
            total.add(at + timeline.width / 2, bucket)
        yield
    return _times(total)


def _rules_of_all(sites: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules that forbade most, of all sites."""
    rules = [{"site": one["site"], **rule} for one in sites for rule in one["rules"]]
    return sorted(rules, key=lambda rule: (-rule["count"], rule["site"]))[:_MOST_RULES]


def _counts(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [{"name": shown(name), "count": count} for name, count in ordered]


def _usage(usage: UsageRecord | None) -> dict[str, Any] | None:
    plain = _plain(usage)
    return plain and {**plain, "statements": _counts(plain["statements"])}


def _plain(record: Any, names: Sequence[str] = ()) -> dict[str, Any] | None:
    return None if record is None else _fields(record, names)


def _fields(record: Any, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a record holds, or of that what has these names; seconds are rounded."""
    values = ((name, getattr(record, name)) for name in names or type(record).__slots__)
    return {name: _rounded(value) if isinstance(value, float) else value for name, value in values}


def moment(seconds: float | None) -> str | None:
    """Return a time as ISO 8601; None: there is none, or it is never."""
    if seconds is None or not isfinite(seconds):
        return None
    try:
        time = datetime.fromtimestamp(seconds, tz=timezone.utc)
    except (OverflowError, OSError, ValueError):
        return None
    return time.isoformat(timespec="milliseconds")


def _rounded(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else round(value, 3)
