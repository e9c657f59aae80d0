"""``check``: what is wrong with a robots.txt and its delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from scrapy_mandelbot.commands.reports.layout import PLAIN, counted, cut, joined, wrapped
from scrapy_mandelbot.commands.reports.tabular import csv_text
from scrapy_mandelbot.robotstxt import RobotsTxt
from scrapy_mandelbot.robotstxt.lint import Severity, lint_delivery
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.reports.layout import Paint
    from scrapy_mandelbot.commands.reports.rules_in_force import Rules
    from scrapy_mandelbot.robotstxt.lint import Delivery, Finding

STANDARD_INPUT = "standard input"
"""How it is named as a source."""
_INDENT = 17


class Wanted(Protocol):
    """Which findings count, and which fail."""

    @property
    def fail_on(self) -> Severity:
        """The least severity that is no success."""

    def takes(self, code: str) -> bool:
        """Whether findings with this code count."""


class Everything:
    """All findings count; warnings and errors fail."""

    fail_on = Severity.WARNING

    def takes(self, _: str) -> bool:
        """Whether findings with this code count: all do."""
        return True


EVERYTHING = Everything()


def check(
    source: str,
    robots: RobotsTxt | None,
    delivery: Delivery | None,
    wanted: Wanted = EVERYTHING,
) -> dict[str, Any]:
    """Return what is wrong.

    Args:
        source: what was checked, as a person would name it.
        robots: the file; None: there is none to be read.
        delivery: how it came, as far as that is known.
        wanted: what counts.
    """
    every = [*(lint_delivery(delivery) if delivery else ()), *(robots.findings() if robots else ())]
    found = [one for one in every if wanted.takes(one.code)]
    texts = {}
    if robots is not None:
        lines = {one.line for one in found}
        texts = {line.number: line.raw for line in robots.records if line.number in lines}
    return {
        "source": source,
        "failure": None,
        "delivery": None if delivery is None else _delivery(delivery),
        "findings": [_finding(one, texts) for one in found],
        "ignored": sum(1 + one.more for one in every) - sum(1 + one.more for one in found),
        "counts": {
            str(severity): sum(1 + one.more for one in found if one.severity is severity)
            for severity in reversed(Severity)
        },
    }


def check_rules(rules: Rules, max_bytes: int, wanted: Wanted = EVERYTHING) -> dict[str, Any]:
    """Return what is wrong with a file as it came, and with how it came."""
    robots = RobotsTxt.parse(rules.body, max_bytes=max_bytes) if rules.is_there else None
    return check(rules.source, robots, rules.delivery, wanted)


def not_had(source: str, failure: str) -> dict[str, Any]:
    """Return the report on a file that cannot be had."""
    return {**check(source, None, None), "failure": failure}


def together(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the reports on several files as one, with the sums of their counts."""
    return {"files": reports, "counts": _sums(reports)}


def _sums(reports: list[dict[str, Any]]) -> dict[str, int]:
    return {
        str(severity): sum(one["counts"][str(severity)] for one in reports)
        for severity in reversed(Severity)
    }


def _finding(finding: Finding, texts: dict[int, str]) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": str(finding.severity),
        "line": finding.line,
        "text": texts.get(finding.line) if finding.line else None,
        "message": finding.message,
        "why": finding.why,
        "more": finding.more,
    }


def _delivery(delivery: Delivery) -> dict[str, Any]:
    return {
        "url": delivery.url,
        "final_url": delivery.final_url,
        "redirects": delivery.redirects,
        "status": delivery.status,
        "seconds": None if delivery.seconds is None else round(delivery.seconds, 3),
        "content_type": delivery.content_type,
        "content_encoding": delivery.content_encoding,
    }


def exit_code(reports: list[dict[str, Any]], wanted: Wanted = EVERYTHING) -> int:
    """Return 3 for errors, 1 for warnings if they fail, else 0."""
    counts = _sums(reports)
    fails = wanted.fail_on <= Severity.WARNING and counts["warning"]
    return 3 if counts["error"] else 1 if fails else 0


def message_told(finding: dict[str, Any]) -> str:
    """Return what is wrong, and how many more there are."""
    more = f" And {finding['more']:,} more like this." if finding["more"] else ""
    return f"{finding['message']}{more}"


def as_csv(reports: list[dict[str, Any]]) -> str:
    """Return the findings as CSV."""
    head = ("source", "line", "severity", "code", "message", "text", "why", "more")
    return csv_text(
        head,
        (
            [report["source"], *(one[name] for name in head[1:])]
            for report in reports
            for one in report["findings"]
        ),
    )


def text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return the report for a terminal. Why a finding matters is said once for each kind."""
    if report["failure"]:
        return joined([f"{printable(report['source'])}: {paint('error', 'cannot be had')}"])
    lines: list[str] = []
    told: set[str] = set()
    for one in report["findings"]:
        line, severity = one["line"], one["severity"]
        head = f"{'' if line is None else line:>5}  {severity:<8}  "
        message = wrapped(f"{one['message']} [{one['code']}]", _INDENT, head, width=paint.width)
        lines.append(message.replace(severity, paint(severity, severity), 1))
        if one["text"]:
            lines.append(" " * _INDENT + paint("dim", cut(one["text"], paint.width - _INDENT)))
        if one["code"] not in told:
            lines.append(wrapped(one["why"], _INDENT, width=paint.width))
        if one["more"]:
            lines.append(
                wrapped(f"And {one['more']:,} more like this.", _INDENT, width=paint.width)
            )
        told.add(one["code"])
    if lines:
        lines.append("")
    lines.append(f"{printable(report['source'])}: {_summary(report, paint)}")
    return joined(lines)


def total_text(reports: list[dict[str, Any]], paint: Paint = PLAIN) -> str:
    """Return the line under the reports on several files."""
    total = _summary({**together(reports), "ignored": 0}, paint)
    failed = sum(1 for one in reports if one["failure"])
    not_there = f", {paint('error', f'{failed:,} cannot be had')}" if failed else ""
    return f"{counted(len(reports), 'file')}: {total}{not_there}\n"


def _summary(report: dict[str, Any], paint: Paint) -> str:
    told = ", ".join(paint(kind, words) for kind, words in counts_told(report))
    return f"{told} ({report['ignored']:,} not wanted)" if report["ignored"] else told


def counts_told(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return each severity that there is with its count in words, or that nothing is wrong."""
    counts = [(name, count) for name, count in report["counts"].items() if count]
    return [(name, counted(count, name)) for name, count in counts] or [
        ("good", "nothing is wrong")
    ]
