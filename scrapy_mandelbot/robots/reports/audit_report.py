"""``audit``: whether a robot was polite, site by site; as data, as text, and as a page."""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime, timezone
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot._version import __version__
from scrapy_mandelbot.robots import html as pages
from scrapy_mandelbot.robots.audit.judging import ERROR, SEVERITIES
from scrapy_mandelbot.robots.formatting import counted
from scrapy_mandelbot.robots.reports.terminal_text import PLAIN, cut, joined, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy_mandelbot.robots.audit import Law, LogReading
    from scrapy_mandelbot.robots.audit.judging import Instance, Judged, Offence
    from scrapy_mandelbot.robots.reports.terminal_text import Paint

_SITES_TOLD = 20  # for a terminal
_RULES_TOLD = 5
_FEW = 3  # examples for a terminal
_BACK_TOLD = 2.0  # seconds; less is the order in which requests end
_INDENT = 4

_MEANINGS = {
    "forbidden": ("asked for what robots.txt forbids", "request"),
    "during-pause": ("came before the time was over that a refusal asked for", "request"),
    "too-soon": ("came sooner than the delay asked for", "request"),
    "outside-visit-time": ("came outside the times of day that are asked for", "request"),
    "robots-not-read": ("robots.txt was never asked for", ""),
    "robots-not-read-again": ("went by a robots.txt that was read too long ago", "request"),
    "robots-unavailable": (
        "asked for a page while robots.txt answered with an error, and no copy had been read",
        "request",
    ),
}


class LogSource(NamedTuple):
    """A log, and which of all lines are its own."""

    name: str
    before: int
    """Lines of the logs before it."""
    last_line: int


class AuditPageData(NamedTuple):
    """What an audit is of."""

    agent: str
    sources: Sequence[LogSource]
    reading: LogReading
    law: Law
    robots: Sequence[tuple[str, str | None, float]]
    """Each robots.txt: its source, its host, and since when it holds."""


def audit(subject: AuditPageData, judged: Mapping[str, Judged]) -> dict[str, Any]:
    """Return what was found, the site with most requests first."""
    reading = subject.reading
    by_size = sorted(judged.items(), key=lambda item: (-item[1].requests, item[0]))
    sites = [_site(host, one, subject.sources) for host, one in by_size]
    counts = {
        kind: sum(f["count"] for one in sites for f in one["findings"] if f["severity"] == kind)
        for kind in ("error", "warning")
    }
    return {
        "agent": subject.agent,
        "logs": [one.name for one in subject.sources],
        "format": reading.how.name,
        "resolution": reading.how.clock.resolution,
        "robots": [
            {"source": source, "host": host, "since": _moment(since)}
            for source, host, since in subject.robots
        ],
        "retry_after": subject.law.retry_after,
        "names_retry_after": "retry_after" in reading.how.fields,
        "ttl": subject.law.ttl,
        "lines": reading.lines,
        "unreadable": reading.unreadable,
        "requests": sum(one.requests for one in judged.values()) + reading.not_told_apart,
        "not_told_apart": reading.not_told_apart,
        "addresses": len(reading.addresses),
        "went_back": {"count": reading.went_back, "furthest": round(reading.furthest_back, 3)},
        "counts": counts,
        "sites": sites,
    }


def _site(host: str, judged: Judged, sources: Sequence[LogSource]) -> dict[str, Any]:
    return {
        "host": host or None,
        "requests": judged.requests,
        "first": _moment(judged.first),
        "last": _moment(judged.last),
        "statuses": _counts(judged.statuses),
        "robots_reads": _counts(judged.reads),
        "longest_without_read": _rounded(judged.longest_without_read),
        "delay": _rounded(judged.delay),
        "paces": judged.paces,
        "least_gap": _rounded(judged.least_gap),
        "median_gap": _rounded(judged.median_gap),
        "most_in_a_second": judged.most_in_a_second,
        "refusals": judged.refusals,
        "waits_asked_for": judged.waits,
        "longest_wait": _rounded(judged.longest_wait),
        "pauses": judged.pauses,
        "in_flight": judged.in_flight,
        "least_return": _rounded(judged.least_return),
        "median_return": _rounded(judged.median_return),
        "rules_broken": [{**one._asdict(), "line": one.line or None} for one in judged.broken],
        "findings": [_finding(one, sources) for one in judged.findings],
    }


def _counts(by_status: dict[int, int]) -> list[dict[str, int]]:
    return [{"status": status, "count": count} for status, count in sorted(by_status.items())]


def _finding(found: Offence, sources: Sequence[LogSource]) -> dict[str, Any]:
    return {
        "code": found.code,
        "severity": SEVERITIES[found.code],
        "count": found.count,
        "message": _message(found),
        "examples": [_example(one, sources) for one in found.instances],
    }


def _message(found: Offence) -> str:
    meaning, noun = _MEANINGS[found.code]
    return f"{counted(found.count, noun)} {meaning}." if noun else f"{meaning.capitalize()}."


def _example(instance: Instance, sources: Sequence[LogSource]) -> dict[str, Any]:
    place = bisect_left(sources, instance.line, key=lambda source: source.last_line)
    source = sources[place]
    return {
        "log": source.name,
        "line": instance.line - source.before,
        "time": _moment(instance.moment),
        "target": instance.target or None,
        "seconds": _rounded(instance.seconds),
    }


def exit_code(report: dict[str, Any], *, only_errors: bool) -> int:
    """Return 3 for errors, 1 for warnings if they fail or where there is no request, else 0."""
    if report["counts"][ERROR]:
        return 3
    return int(not report["requests"] or (bool(report["counts"]["warning"]) and not only_errors))


def remarks(report: dict[str, Any]) -> Iterator[str]:
    """Yield what there is to say of the log itself."""
    if not report["requests"]:
        yield f"there is no request of {report['agent']} in {counted(report['lines'], 'line')}"
    if report["unreadable"]:
        yield f"{counted(report['unreadable'], 'line')} could not be read"
    back = report["went_back"]
    if back["furthest"] > _BACK_TOLD:
        times = counted(back["count"], "time")
        yield (
            f"the log goes back in time {times}, by up to {back['furthest']:,.0f} s: it was put in"
            " order; if a clock was set, gaps around that moment mean nothing"
        )
    if report["not_told_apart"]:
        yield f"{counted(report['not_told_apart'], 'request')} to more sites are not judged"


def text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return the report for a terminal."""
    if not report["sites"]:
        return ""
    first = min(one["first"] for one in report["sites"])
    last = max(one["last"] for one in report["sites"])
    sites = counted(len(report["sites"]), "site")
    lines = [
        paint("strong", cut(f"{report['agent']}: {counted(report['requests'], 'request')}", 100)),
        wrapped(
            f"to {sites}, {in_short(first)} to {in_short(last)} UTC, of"
            f" {counted(report['lines'], 'line')} ({report['format']})",
            2,
            width=paint.width,
        ),
    ]
    for site in report["sites"][:_SITES_TOLD]:
        lines += ["", *_site_lines(site, report, paint)]
    left = len(report["sites"]) - _SITES_TOLD
    if left > 0:
        troubled = sum(1 for one in report["sites"][_SITES_TOLD:] if one["findings"])
        lines += ["", f"And {counted(left, 'site')} more, {troubled:,} of them with findings."]
    counts = [
        paint(kind, counted(count, kind)) for kind, count in report["counts"].items() if count
    ]
    return joined([*lines, "", ", ".join(counts) or paint("good", "nothing is wrong")])


def _site_lines(site: dict[str, Any], report: dict[str, Any], paint: Paint) -> Iterator[str]:
    yield paint("strong", cut(site["host"] or "the site", paint.width))
    for name, told in rows_of(site, report):
        yield wrapped(told, 14, f"  {name:<12}", width=paint.width)
    for rule in site["rules_broken"][:_RULES_TOLD]:
        where = (
            f"{rule['source']}, line {rule['line']}: " if rule["line"] else f"{rule['source']}: "
        )
        yield cut(
            f"  {counted(rule['requests'], 'request')} against {where}{rule['text']}", paint.width
        )
    for one in site["findings"]:
        severity = one["severity"]
        line = wrapped(one["message"], 11, f"  {severity:<9}", width=paint.width)
        yield line.replace(severity, paint(severity, severity), 1)
        for example in one["examples"][:_FEW]:
            yield paint("dim", cut(f"{' ' * 11}{told_example(example)}", paint.width))


def rows_of(site: dict[str, Any], report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what there is to tell of a site, each with its name."""
    yield "requests", f"{site['requests']:,} ({_by_status(site['statuses'])})"
    reads = _by_status(site["robots_reads"])
    longest = _seconds(site["longest_without_read"])
    yield (
        "robots.txt",
        f"answered {reads}; a copy was at most {longest} old" if reads else "never asked for",
    )
    if report["robots"]:
        broken = sum(one["requests"] for one in site["rules_broken"])
        yield "forbidden", f"{broken:,} of {site['requests']:,}" if broken else "nothing"
    yield "asked for", "; ".join(site["paces"]) or "no delay"
    if site["least_gap"] is not None:
        gaps = f"least {_seconds(site['least_gap'])}, median {_seconds(site['median_gap'])}"
        unit = " (times are in whole seconds)" if report["resolution"] >= 1 else ""
        yield "gaps", f"{gaps}{unit}; {site['most_in_a_second']:,} in the busiest second"
    if site["refusals"]:
        asked = f"{site['waits_asked_for']:,} of them for up to {_seconds(site['longest_wait'])}"
        known = asked if site["waits_asked_for"] else "for how long is not known"
        yield "refused", f"{counted(site['refusals'], 'time')}, {known}"
    if site["least_return"] is not None:
        least, median = _seconds(site["least_return"]), _seconds(site["median_return"])
        on_the_way = f"{site['in_flight']:,} were on their way"
        yield "came back", f"after {least} at the soonest, median {median}; {on_the_way}"


def told_example(example: dict[str, Any]) -> str:
    """Return an example in a line."""
    what = f" {example['target']}" if example["target"] else ""
    seconds = "" if example["seconds"] is None else f" ({_seconds(example['seconds'])})"
    return f"{example['log']}:{example['line']} {in_short(example['time'])}{what}{seconds}"


def _by_status(counts: list[dict[str, int]]) -> str:
    return ", ".join(f"{one['count']:,} with {one['status']}" for one in counts)


def in_short(moment: str) -> str:
    """Return a time for people, to the second."""
    return moment[:19].replace("T", " ")


def _seconds(number: float | None) -> str:
    if number is None:
        return "none"
    if number >= 7200:  # noqa: PLR2004 - two hours; below that seconds are read well
        return f"{number / 3600:,.1f} h"
    return f"{number:,.3f}".rstrip("0").rstrip(".") + " s"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _moment(seconds: float) -> str | None:
    if not isfinite(seconds):
        return None
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc).isoformat()
    except (OverflowError, OSError, ValueError):
        return datetime.max.replace(tzinfo=timezone.utc).isoformat()


_SITES = 500  # with all that is known of them; JSON has the others


def page(report: dict[str, Any], made: datetime) -> str:
    """Return the page on an audit's report, made at a time (UTC).

    Raises:
        ImportError: Jinja2 is not installed.
    """
    sites = report["sites"]
    first = min((one["first"] for one in sites), default="")
    last = max((one["last"] for one in sites), default="")
    return pages.render(
        __package__,
        "audit.html.jinja",
        {
            "report": report,
            "period": f"{in_short(first)} to {in_short(last)} UTC" if sites else "",
            "remarks": list(remarks(report)),
            "sites": [
                {**one, "rows": list(rows_of(one, report)), "told": _told(one)}
                for one in sites[:_SITES]
            ],
            "more": max(0, len(sites) - _SITES),
            "made": f"scrapy-mandelbot {__version__}, {made:%Y-%m-%d %H:%M} UTC",
        },
        style=pages.file_of(pages.__name__, "report.css"),
    )


def _told(site: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**one, "examples": [told_example(example) for example in one["examples"]]}
        for one in site["findings"]
    ]
