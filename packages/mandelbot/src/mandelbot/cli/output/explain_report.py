"""``explain``: the verdict on a URL, and the line that decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mandelbot.cli.output import cut, joined
from mandelbot.cli.output.rules_in_force import (
    EVERYBODY,
    Question,
    verdict_words,
)
from mandelbot.formatting import counted, printable
from mandelbot.preferences.statements import CATEGORY_TEXTS
from mandelbot.robotstxt import paths
from mandelbot.robotstxt.known_robots import dialect_of

if TYPE_CHECKING:
    from mandelbot.cli.output import TerminalStyle
    from mandelbot.robotstxt.dialects import Dialect
    from mandelbot.robotstxt.records import Record

_AROUND = 2  # lines before and after the one that decided
_RULE_SHOWN = 40  # characters of a rule in the table


def explain(
    question: Question,
    dialect: Dialect,
    *,
    purposes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return whether the robot may fetch the URL and use the page, and why.

    As in a crawl, the URL is forbidden if either it or the URL that servers resolve it
    to is.
    """
    url, agent, rules, _ = question
    robots, _ = rules.read(dialect)
    decided = rules.decide(url, agent, dialect)
    resolved = None
    if decided["allowed"]:
        resolved = paths.as_servers_read_it(url)
    if resolved:
        of_resolved = rules.decide(resolved, agent, dialect)
        if of_resolved["allowed"]:
            resolved = None
        else:
            decided = of_resolved
    line = decided["rule"]["line"] if decided["rule"] else 0
    around: tuple[Record, ...] = ()
    if line:
        around = rules.records[max(0, line - 1 - _AROUND) : line + _AROUND]
    return {
        **question.data(),
        "resolved_url": resolved,
        "dialect": dialect.name,
        **decided,
        "lines": [{"number": record.number, "text": record.raw} for record in around],
        "comments": list(robots.comments(agent)) if robots else [],
        "usage": question.usage(dialect),
        "purposes": list(dict.fromkeys(purposes)),
    }


# about pages and their use
_ANSWERS = ("allowed", "forbidden", "disallowed", "unknown")


def exit_code(reports: list[dict[str, Any]]) -> int:
    """Return 0 if all URLs are allowed and no use asked about is refused, else 1.

    2 if the rules of a URL are unknown: nobody has forbidden it.
    """
    if any(report["allowed"] is None for report in reports):
        return 2
    is_refused = any("disallowed" in _use_cells(report) for report in reports)
    if is_refused or not all(report["allowed"] for report in reports):
        return 1
    return 0


def _use_cells(report: dict[str, Any]) -> list[str]:
    """The answers for the uses asked about, in their order."""
    answers = {one["category"]: one["answer"] for one in report["usage"]}
    return [answers.get(purpose, "unknown") for purpose in report["purposes"]]


def _totals(answers: Sequence[str]) -> str:
    counts = Counter(answers)
    return ", ".join(f"{counts[one]:,} {one}" for one in _ANSWERS if counts[one])


def text(report: dict[str, Any], paint: TerminalStyle) -> str:
    """Return the report for a terminal."""
    if isinstance(report["agent"], str):
        agent = report["agent"]
    else:
        agent = ", ".join(report["agent"])
    answer = verdict_words(report)
    resolved = report["resolved_url"]
    is_own = dialect_of(report["agent"]) == report["dialect"]
    own = ", as this robot reads it" if is_own else ""
    source = f"robots.txt: {report['robots']}, read as {report['dialect']}{own}"
    why = paint.wrapped(_why(report), 4, "  ")
    lines = [
        paint("strong", printable(report["url"])),
        why.replace(answer, paint(answer, answer), 1),
    ]
    if resolved:
        lines.append(f"  servers resolve it to {printable(resolved)}")
    lines.append(paint.wrapped(f"agent: {agent}", 4, "  "))
    lines.append(paint.wrapped(source, 4, "  "))
    if report["beyond"]:
        lines += ["", paint.wrapped(beyond_sentence(report), 4, "  ")]
    if report["lines"]:
        lines += ["", *_excerpt(report, paint)]
    if report["comments"]:
        lines += ["", "  The owner's comments for this robot:"]
        lines += [paint.wrapped(comment, 6, "    ") for comment in report["comments"]]
    return joined([*lines, *_purpose_lines(report, paint)])


def _purpose_lines(report: dict[str, Any], paint: TerminalStyle) -> list[str]:
    lines = []
    for one in report["usage"]:
        if one["category"] in report["purposes"]:
            answer = one["answer"]
            text = CATEGORY_TEXTS[one["category"]]
            verdict = paint.wrapped(f"{one['category']}: {answer} ({text})", 4, "  ")
            lines += ["", verdict.replace(answer, paint(answer, answer), 1)]
            lines += [paint.wrapped(said, 6, "    ") for said in one["statements"]]
    if lines:
        hint = "The page itself and tdmrep.json may say more: see MANDELBOT_PURPOSE."
        lines += ["", paint.wrapped(hint, 2, "  ")]
    return lines


def _why(report: dict[str, Any]) -> str:
    verdict, line, by = verdict_cells(report)
    group = report["group"]
    of_group = "" if group is None else f" (the group for {group})"
    if line:
        return f"{verdict} by line {line}, {by}{of_group}"
    return f"{verdict}: {by}{of_group}"


def beyond_sentence(decided: dict[str, Any]) -> str:
    """Return in a sentence what a line would decide that robots do not read."""
    beyond = decided["beyond"]
    return (
        f"It would be {_why(beyond)}; but what decides that lies past the part of the"
        " file that robots read."
    )


def _excerpt(report: dict[str, Any], paint: TerminalStyle) -> list[str]:
    deciding = report["rule"]["line"]
    lines = []
    for line in report["lines"]:
        number = line["number"]
        sign = ">" if number == deciding else " "
        shown_line = cut(f"{sign} {number:>5}  {line['text']}", paint.width - 2)
        if number == deciding:
            shown_line = paint("strong", shown_line)
        lines.append(f"  {shown_line}")
    return lines


def table(reports: list[dict[str, Any]], paint: TerminalStyle) -> str:
    """Return the verdicts for a terminal, and how many there are of each.

    URLs are not cut.
    """
    if not reports:
        return "There are no URLs.\n"
    of_robots = any(report["robot"] for report in reports)
    head: tuple[str, ...] = ()
    if of_robots:
        head = ("robot", "kind", "operator")
    at = len(head)
    purposes = reports[0]["purposes"]  # the same of all
    head = (*head, "verdict", "line", "by", *purposes, "URL")
    rows = [_row(report, of_robots=of_robots) for report in reports]
    answers = dict.fromkeys((at, *range(at + 3, len(head) - 1)), "")
    lines = paint.table([head, *rows], frozenset({at + 1}), answers)
    lines += [
        "",
        f"{counted(len(rows), 'verdict')}: {_totals([row[at] for row in rows])}",
    ]
    beyond = sum(1 for report in reports if report["beyond"])
    if beyond:
        lines.append(f"{beyond:,} would be otherwise by lines past what robots read.")
    for place, purpose in enumerate(purposes, at + 3):
        lines.append(f"{purpose}: {_totals([row[place] for row in rows])}")
    return joined(lines)


def _row(report: dict[str, Any], *, of_robots: bool) -> tuple[str, ...]:
    robot: tuple[str, ...] = ()
    if of_robots:
        robot = _robot_cells(report)
    verdict = (cut(cell, _RULE_SHOWN) for cell in _row_cells(report))
    return (*robot, *verdict, *_use_cells(report), printable(report["url"]))


def _robot_cells(report: dict[str, Any]) -> tuple[str, str, str]:
    robot = report["robot"]
    return robot_name(report), robot["kind"] or "", robot["operator"] or ""


def _row_cells(report: dict[str, Any]) -> tuple[str, str, str]:
    """Return the cells of a verdict; of a name that fetches nothing, about its use."""
    verdict, line, by = verdict_cells(report)
    robot = report["robot"]
    if robot and robot["is_token"] and report["allowed"] is not None:
        verdict = "unknown" if report["allowed"] else "disallowed"
    return verdict, line, by


def robot_name(report: dict[str, Any]) -> str:
    """Return the name of the robot of a row."""
    if report["agent"] == EVERYBODY:
        return "any other"
    return printable(report["agent"])


def verdict_cells(decided: dict[str, Any]) -> tuple[str, str, str]:
    """Return the verdict, the line that decided, if any, and its rule or the reason."""
    rule = decided["rule"]
    if rule is None:
        return verdict_words(decided), "", decided["reason"]
    return verdict_words(decided), str(rule["line"]), rule["text"]
