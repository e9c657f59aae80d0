"""``check``: what is wrong with a robots.txt and its delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.layout import PLAIN, counted, cut, joined, wrapped
from scrapy_mandelbot.robotstxt import RobotsTxt
from scrapy_mandelbot.robotstxt.lint import Severity, lint_delivery
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.reports.layout import Paint
    from scrapy_mandelbot.commands.reports.rules_in_force import Rules
    from scrapy_mandelbot.robotstxt.lint import Delivery, Finding

_INDENT = 17


def check(source: str, robots: RobotsTxt | None, delivery: Delivery | None) -> dict[str, Any]:
    """Return what is wrong.

    Args:
        source: what was checked, as a person would name it.
        robots: the file; None: there is none to be read.
        delivery: how it came, as far as that is known.
    """
    found = [*(lint_delivery(delivery) if delivery else ()), *(robots.findings() if robots else ())]
    texts = {}
    if robots is not None:
        wanted = {one.line for one in found}
        texts = {line.number: line.raw for line in robots.records if line.number in wanted}
    return {
        "source": source,
        "delivery": None if delivery is None else _delivery(delivery),
        "findings": [_finding(one, texts) for one in found],
        "counts": {
            str(severity): sum(1 + one.more for one in found if one.severity is severity)
            for severity in reversed(Severity)
        },
    }


def check_rules(rules: Rules, max_bytes: int) -> dict[str, Any]:
    """Return what is wrong with a file as it came, and with how it came."""
    robots = RobotsTxt.parse(rules.body, max_bytes=max_bytes) if rules.is_there else None
    return check(rules.source, robots, rules.delivery)


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


def exit_code(report: dict[str, Any]) -> int:
    """Return 3 for errors, 1 for warnings, else 0."""
    counts = report["counts"]
    return 3 if counts["error"] else 1 if counts["warning"] else 0


def text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return the report for a terminal. Why a finding matters is said once for each kind."""
    lines: list[str] = []
    told: set[str] = set()
    for one in report["findings"]:
        line, severity = one["line"], one["severity"]
        head = f"{'' if line is None else line:>5}  {severity:<8}  "
        message = wrapped(f"{one['message']} [{one['code']}]", _INDENT, head)
        lines.append(message.replace(severity, paint(severity, severity), 1))
        if one["text"]:
            lines.append(" " * _INDENT + paint("dim", cut(one["text"], 80 - _INDENT)))
        if one["code"] not in told:
            lines.append(wrapped(one["why"], _INDENT))
        if one["more"]:
            lines.append(wrapped(f"And {one['more']:,} more like this.", _INDENT))
        told.add(one["code"])
    if lines:
        lines.append("")
    lines.append(f"{printable(report['source'])}: {_summary(report, paint)}")
    return joined(lines)


def _summary(report: dict[str, Any], paint: Paint) -> str:
    return ", ".join(paint(kind, words) for kind, words in counts_told(report))


def counts_told(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return each severity that there is with its count in words, or that nothing is wrong."""
    counts = [(name, count) for name, count in report["counts"].items() if count]
    return [(name, counted(count, name)) for name, count in counts] or [
        ("good", "nothing is wrong")
    ]
