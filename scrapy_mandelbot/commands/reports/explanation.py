"""``explain``: the verdict on a URL, the line that decided, and what would change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.changes import changes
from scrapy_mandelbot.commands.reports.layout import PLAIN, WIDTH, cut, joined, wrapped
from scrapy_mandelbot.commands.reports.of_use import of_use, purpose_lines, refuses
from scrapy_mandelbot.commands.reports.rules_in_force import VERDICT_COLOURS, verdict_words
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_mandelbot.commands.reports.layout import Paint
    from scrapy_mandelbot.commands.reports.rules_in_force import Rules
    from scrapy_mandelbot.robotstxt import Dialect

    Agent = str | Sequence[str]

_AROUND = 2  # lines before and after the one that decided


def explain(
    url: str, agent: Agent, rules: Rules, dialect: Dialect, max_bytes: int
) -> dict[str, Any]:
    """Return whether the robot may fetch the URL, and why."""
    robots, _ = rules.read(dialect, max_bytes)
    decided = rules.decide(url, agent, dialect, max_bytes)
    report: dict[str, Any] = {
        "url": url,
        "agent": agent if isinstance(agent, str) else list(agent),
        "robots": rules.source,
        "dialect": dialect.name,
        **decided,
        "lines": [],
        "changes": [],
        "comments": [],
        "usage": of_use(url, agent, rules, dialect, max_bytes),
    }
    if robots is None:
        return report
    if decided["rule"] is not None:
        line = decided["rule"]["line"]
        report["lines"] = [
            {"number": record.number, "text": record.raw}
            for record in robots.records[max(0, line - 1 - _AROUND) : line + _AROUND]
        ]
    report["changes"] = changes(robots, url, agent)
    report["comments"] = list(robots.comments(agent))
    return report


def exit_code(reports: list[dict[str, Any]], purposes: Sequence[str] = ()) -> int:
    """Return 0 where all URLs are allowed, and none of the uses is refused, else 1."""
    is_good = (report["allowed"] and not refuses(report, purposes) for report in reports)
    return 0 if all(is_good) else 1


def text(report: dict[str, Any], paint: Paint = PLAIN, purposes: Sequence[str] = ()) -> str:
    """Return the report for a terminal, with what is said of some uses."""
    agent = report["agent"] if isinstance(report["agent"], str) else ", ".join(report["agent"])
    answer = verdict_words(report)
    lines = [
        paint("strong", printable(report["url"])),
        wrapped(_why(report), 4, "  ").replace(answer, paint(VERDICT_COLOURS[answer], answer), 1),
        wrapped(f"agent: {agent}", 4, "  "),
        wrapped(f"robots.txt: {report['robots']}, read as {report['dialect']}", 4, "  "),
    ]
    if report["lines"]:
        lines += ["", *_excerpt(report, paint)]
    if report["changes"]:
        lines += ["", *_changes(report, paint)]
    if report["comments"]:
        lines += ["", "  The owner's comments for this robot:"]
        lines += [wrapped(comment, 6, "    ") for comment in report["comments"]]
    lines += purpose_lines(report, purposes, paint)
    return joined(lines)


def _why(report: dict[str, Any]) -> str:
    rule, group = report["rule"], report["group"]
    why = report["reason"] if rule is None else f"by line {rule['line']}, {rule['text']}"
    of_group = "" if group is None else f" (the group for {group})"
    return f"{verdict_words(report)}{':' if rule is None else ''} {why}{of_group}"


def _excerpt(report: dict[str, Any], paint: Paint) -> list[str]:
    deciding = report["rule"]["line"]
    lines = []
    for line in report["lines"]:
        is_it = line["number"] == deciding
        shown_line = cut(f"{'>' if is_it else ' '} {line['number']:>5}  {line['text']}", WIDTH - 2)
        lines.append(f"  {paint('strong', shown_line) if is_it else shown_line}")
    return lines


def _changes(report: dict[str, Any], paint: Paint) -> list[str]:
    lines = []
    for change in report["changes"]:
        lines.append(wrapped(_sentence(change, report), 4, "  "))
        if change["change"] == "add":
            lines += [f"    {paint('good', printable(line))}" for line in change["lines"]]
    return lines


def changes_told(report: dict[str, Any]) -> list[str]:
    """Return what would change the verdict, in sentences."""
    return [
        " ".join(
            [_sentence(change, report), *(change["lines"] if change["change"] == "add" else ())]
        )
        for change in report["changes"]
    ]


def _sentence(change: dict[str, Any], report: dict[str, Any]) -> str:
    answer, line = verdict_words(change), change["line"]
    if change["change"] == "add":
        return f"It is {answer} with this before line {line}:"
    still = "still " if change["allowed"] == report["allowed"] else ""
    rule = change["rule"]
    by = f" by line {rule['line']}, {rule['text']}" if rule else ""
    return f"Without line {line} it is {still}{answer}{by}."
