"""The report on a crawl as plain data: what ``report.json`` holds, and what the page is made from.

``docs/report.rst`` describes it. Times are ISO 8601 and UTC; durations are seconds.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot._version import __version__
from scrapy_mandelbot.report.samples import Timeline
from scrapy_mandelbot.robots.formatting import (
    counted,
    duration,
    iso_time,
    rate_in_words,
    shown,
    without_zone,
)
from scrapy_mandelbot.sites.flight import End

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from scrapy_mandelbot.report.recorder import CrawlRecord
    from scrapy_mandelbot.report.samples import Bucket, Spread, UsageRecord
    from scrapy_mandelbot.report.site_record import PauseRecord, SiteRecord

_MOST_RULES_OWNER = 3


def letter(site: dict[str, Any], agent: str, began: str | None, ended: str | None) -> str:
    """Return what happened at a site, in plain sentences.

    Args:
        site: as the report has it.
        agent: the crawl's User-Agent.
        began: when the site was first asked for, ISO 8601.
        ended: when the crawl ended.
    """
    head = (
        f"Requests of our crawler ({agent}) to {site['site']}, from {_time(began)} to"
        f" {_time(ended)} UTC:"
    )
    return "\n".join([head, "", *(f"- {line}" for line in _lines(site))])


def _lines(site: dict[str, Any]) -> Iterator[str]:
    others = f", and {counted(site['others'], 'other answer')}" if site["others"] else ""
    yield f"We fetched {counted(site['pages'], 'page')}{others}."
    robots = (f"{one['name']} ({counted(one['count'], 'time')})" for one in site["robots"])
    if site["robots"]:
        yield f"Your robots.txt, as we had it: {', '.join(robots).replace('_', ' ')}."
    if site["forbidden"]:
        rules = "; ".join(
            f"line {rule['line']}, {rule['text']}"
            for rule in site["rules"][:_MOST_RULES_OWNER]
            if rule["line"]
        )
        named = f" ({rules})" if rules else ""
        yield f"Your rules forbade {counted(site['forbidden'], 'URL')}{named}: we requested none."
    yield from _rhythm(site)
    yield from _refusals(site)
    answers = site["answers"]
    if answers["all"]:
        all_answers = counted(answers["all"], "answer")
        first = f"{answers['first_errors']:,} of the first {answers['first']:,}"
        yield f"{answers['errors']:,} of {all_answers} had a status of 5xx; {first}."
    if answers["time"] is not None and answers["first_time"] is not None:
        yield (
            f"The first byte came after a median of {duration(answers['time'])}; at first, of"
            f" {duration(answers['first_time'])}."
        )
    if site["usage"] is not None:
        answers = counted(site["usage"]["pages"], "answer")
        yield f"We read what you say about the use of your pages in {answers}."


def _rhythm(site: dict[str, Any]) -> Iterator[str]:
    pace, gaps = site["pace"], site["gaps"]
    if pace is not None:
        kept = "" if pace["is_obeyed"] else " This crawl did not obey that."
        yield f"You ask for {pace['words']} ({pace['source']}).{kept}"
    if site["limit"]:
        yield f"We found a limit of about {rate_in_words(site['limit'])}, and stayed below it."
    if gaps is not None:
        yield (
            f"Our requests were at least {duration(gaps['least'])} apart, with a median of"
            f" {duration(gaps['median'])}."
        )


def _refusals(site: dict[str, Any]) -> Iterator[str]:
    if not site["refused"]:
        return
    kinds = ", ".join(f"{one['name']}: {one['count']:,}" for one in site["refusals"])
    given_up = ". Then we gave up, and sent no more" if site["state"] == "given up" else ""
    yield (
        f"You refused {counted(site['refused'], 'time')} ({kinds}). We left you alone"
        f" {counted(site['pauses'], 'time')}, for {duration(site['paused_for'])} in all, and came"
        f" back {counted(site['resumed'], 'time')}{given_up}."
    )
    asked = site["retry_after"]
    if asked is not None:
        times = f"{counted(asked['asked'], 'refusal')} asked us to wait"
        after, before = counted(asked["kept"], "time"), counted(asked["broken"], "time")
        yield (
            f"{times}, for up to {duration(asked['longest'])}: our next request came after that"
            f" {after}, and too early {before}."
        )


def _time(moment: str | None) -> str:
    return "an unknown time" if moment is None else without_zone(moment, "minutes")


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
        "began": iso_time(record.began),
        "ended": iso_time(now),
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
    data: dict[str, Any] = {
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
        "robots_answers": [{**_fields(answer), "at": iso_time(answer.at)} for answer in one.robots],
        "pause_list": [_pause(pause, now) for pause in one.pauses],
        "rules": list(map(_fields, sorted(one.rules, key=lambda rule: -rule.count))),
        "sitemaps": _plain(one.sitemaps),
        "tags": _plain(one.tags),
        "usage": _usage(one.usage),
        "timeline": None if one.timeline is None else _times(one.timeline),
    }
    data["letter"] = (
        letter(data, about.agent, iso_time(one.since), iso_time(now)) if one.site else None
    )
    return data


def _pause(pause: PauseRecord, now: float) -> dict[str, Any]:
    times = {name: iso_time(getattr(pause, name)) for name in ("since", "until", "ended")}
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


def _rounded(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else round(value, 3)
