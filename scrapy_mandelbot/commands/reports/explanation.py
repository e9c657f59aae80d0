"""``explain``: the verdict on a URL, the line that decided, and what would change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.changes import changes
from scrapy_mandelbot.commands.reports.layout import PLAIN, columns, counted, cut, joined, wrapped
from scrapy_mandelbot.commands.reports.of_use import (
    ANSWER_COLOURS,
    USE_HEAD,
    asked_cells,
    asked_totals,
    of_use,
    purpose_lines,
    refuses,
    use_cells,
)
from scrapy_mandelbot.commands.reports.questions import EVERYBODY, Question
from scrapy_mandelbot.commands.reports.rules_in_force import VERDICT_COLOURS, verdict_words
from scrapy_mandelbot.commands.reports.tabular import csv_text
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_mandelbot.commands.reports.layout import Paint
    from scrapy_mandelbot.robotstxt import Dialect

_AROUND = 2  # lines before and after the one that decided
_RULE_SHOWN = 40  # characters of a rule in the table


def explain(
    question: Question,
    dialect: Dialect,
    max_bytes: int,
    *,
    with_changes: bool = True,
    purposes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return whether the robot may fetch the URL, and why; and of the uses asked about the same.

    What would change it is tried by reading the file anew for each line: it costs a hundred times
    as much as all else.
    """
    url, agent, rules, _ = question
    robots, _ = rules.read(dialect, max_bytes)
    decided = rules.decide(url, agent, dialect, max_bytes)
    report: dict[str, Any] = {
        **question.data(),
        "dialect": dialect.name,
        **decided,
        "lines": [],
        "changes": [] if with_changes else None,
        "comments": list(rules.comments(agent, dialect, max_bytes)),
        "usage": of_use(question, dialect, max_bytes),
        "purposes": list(dict.fromkeys(purposes)),
    }
    if robots is None:
        return report
    if decided["rule"] is not None:
        line = decided["rule"]["line"]
        report["lines"] = [
            {"number": record.number, "text": record.raw}
            for record in rules.records[max(0, line - 1 - _AROUND) : line + _AROUND]
        ]
    if with_changes:
        report["changes"] = changes(robots, url, agent)
    return report


def exit_code(reports: list[dict[str, Any]]) -> int:
    """Return 0 where all URLs are allowed, and none of the uses asked about is refused, else 1."""
    return 0 if all(report["allowed"] and not refuses(report) for report in reports) else 1


# One after the other, each whole.


def text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return the report for a terminal."""
    agent = report["agent"] if isinstance(report["agent"], str) else ", ".join(report["agent"])
    answer, width = verdict_words(report), paint.width
    source = f"robots.txt: {report['robots']}, read as {report['dialect']}"
    lines = [
        paint("strong", printable(report["url"])),
        wrapped(_why(report), 4, "  ", width=width).replace(
            answer, paint(VERDICT_COLOURS[answer], answer), 1
        ),
        wrapped(f"agent: {agent}", 4, "  ", width=width),
        wrapped(source, 4, "  ", width=width),
    ]
    if report["beyond"]:
        lines += ["", wrapped(beyond_told(report), 4, "  ", width=width)]
    if report["lines"]:
        lines += ["", *_excerpt(report, paint)]
    if report["changes"]:
        lines += ["", *_changes(report, paint)]
    if report["comments"]:
        lines += ["", "  The owner's comments for this robot:"]
        lines += [wrapped(comment, 6, "    ", width=width) for comment in report["comments"]]
    lines += purpose_lines(report, paint)
    return joined(lines)


def _why(report: dict[str, Any]) -> str:
    rule, group = report["rule"], report["group"]
    why = report["reason"] if rule is None else f"by line {rule['line']}, {rule['text']}"
    of_group = "" if group is None else f" (the group for {group})"
    return f"{verdict_words(report)}{':' if rule is None else ''} {why}{of_group}"


def beyond_told(decided: dict[str, Any]) -> str:
    """Return in a sentence what a line would decide that robots do not read."""
    beyond = decided["beyond"]
    return (
        f"It would be {_why(beyond)}; but what decides that lies past the part of the file that "
        "robots read."
    )


def _excerpt(report: dict[str, Any], paint: Paint) -> list[str]:
    deciding = report["rule"]["line"]
    lines = []
    for line in report["lines"]:
        is_it = line["number"] == deciding
        shown_line = f"{'>' if is_it else ' '} {line['number']:>5}  {line['text']}"
        shown_line = cut(shown_line, paint.width - 2)
        lines.append(f"  {paint('strong', shown_line) if is_it else shown_line}")
    return lines


def _changes(report: dict[str, Any], paint: Paint) -> list[str]:
    lines = []
    for change in report["changes"]:
        lines.append(wrapped(_sentence(change, report), 4, "  ", width=paint.width))
        if change["change"] == "add":
            lines += [f"    {paint('good', printable(line))}" for line in change["lines"]]
    return lines


def changes_told(report: dict[str, Any]) -> list[str]:
    """Return what would change the verdict, in sentences."""
    return [
        " ".join(
            [_sentence(change, report), *(change["lines"] if change["change"] == "add" else ())]
        )
        for change in report.get("changes") or ()
    ]


def _sentence(change: dict[str, Any], report: dict[str, Any]) -> str:
    answer, line = verdict_words(change), change["line"]
    if change["change"] == "add":
        return f"It is {answer} with this before line {line}:"
    still = "still " if change["allowed"] == report["allowed"] else ""
    rule = change["rule"]
    by = f" by line {rule['line']}, {rule['text']}" if rule else ""
    return f"Without line {line} it is {still}{answer}{by}."


# One a line.


def table(reports: list[dict[str, Any]], paint: Paint = PLAIN) -> str:
    """Return the verdicts for a terminal, and how many there are of each. URLs are not cut."""
    if not reports:
        return "There are no URLs.\n"
    of_robots = any(report["robot"] for report in reports)
    head = ("robot", "kind", "operator") if of_robots else ()
    at = len(head)
    purposes = reports[0]["purposes"]  # the same of all
    head = (*head, "verdict", "line", "by", *purposes, "URL")
    rows = [
        (
            *(_robot_cells(report) if of_robots else ()),
            *_verdict_cells(report),
            *asked_cells(report),
            printable(report["url"]),
        )
        for report in reports
    ]
    lines, (top, *aligned) = [], columns([head, *rows], right=frozenset({at + 1}))
    lines.append(paint("dim", "  ".join(top)))
    for row, cells in zip(rows, aligned, strict=True):
        word = row[at]
        cells[at] = cells[at].replace(word, paint(VERDICT_COLOURS[word], word))
        for place in range(len(head) - 1 - len(purposes), len(head) - 1):
            word = row[place]
            cells[place] = cells[place].replace(word, paint(ANSWER_COLOURS[word], word))
        lines.append("  ".join(cells))
    counts = {word: sum(row[at] == word for row in rows) for word in VERDICT_COLOURS}
    told = (f"{count:,} {word}" for word, count in counts.items() if count)
    lines += ["", f"{counted(len(rows), 'verdict')}: {', '.join(told)}"]
    beyond = sum(1 for report in reports if report["beyond"])
    if beyond:
        lines.append(f"{beyond:,} would be otherwise by lines past what robots read.")
    return joined([*lines, *asked_totals(reports)])


def _robot_cells(report: dict[str, Any]) -> tuple[str, str, str]:
    robot = report["robot"]
    return robot_name(report), robot["kind"] or "", robot["operator"] or ""


def robot_name(report: dict[str, Any]) -> str:
    """Return the name of the robot of a row."""
    return "any other" if report["agent"] == EVERYBODY else printable(report["agent"])


def _verdict_cells(report: dict[str, Any]) -> tuple[str, str, str]:
    rule = report["rule"]
    return (
        verdict_words(report),
        "" if rule is None else str(rule["line"]),
        cut(report["reason"] if rule is None else rule["text"], _RULE_SHOWN),
    )


_HEAD = (
    *("url", "agent", "verdict", "reason", "group", "line", "rule", "beyond"),
    *("robots", "dialect", "kind", "operator"),
    *USE_HEAD,
)


def as_csv(reports: list[dict[str, Any]]) -> str:
    """Return the verdicts as CSV."""
    return csv_text(_HEAD, map(_csv_row, reports))


def _csv_row(report: dict[str, Any]) -> list[object]:
    rule, robot = report["rule"] or {}, report["robot"] or {}
    agent = report["agent"]
    return [
        report["url"],
        agent if isinstance(agent, str) else " ".join(agent),
        verdict_words(report),
        *(report["reason"], report["group"], rule.get("line"), rule.get("text")),
        report["beyond"] and verdict_words(report["beyond"]),
        *(report["robots"], report["dialect"], robot.get("kind"), robot.get("operator")),
        *use_cells(report),
    ]
