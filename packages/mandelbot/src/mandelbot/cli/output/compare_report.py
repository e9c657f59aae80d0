"""``compare``: how the robots of all dialects decide on a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mandelbot.cli.output import cut, joined
from mandelbot.cli.output.explain_report import (
    beyond_sentence,
    robot_name,
    verdict_cells,
)
from mandelbot.formatting import counted, printable
from mandelbot.robotstxt.dialects import DIALECTS

if TYPE_CHECKING:
    from mandelbot.cli.output import TerminalStyle
    from mandelbot.cli.output.rules_in_force import Question

_STANDARD = "mandelbot"
_HEAD = ("", "dialect", "verdict", "line", "by")
_BEFORE_BY = 34  # columns


def compare(question: Question) -> dict[str, Any]:
    """Return the verdict of each dialect.

    ``differs`` marks those that differ from Mandelbot's.
    """
    url, agent, rules, _ = question
    verdicts = [
        {"dialect": name, **rules.decide(url, agent, dialect)}
        for name, dialect in DIALECTS.items()
    ]
    answer = next(one["allowed"] for one in verdicts if one["dialect"] == _STANDARD)
    return {
        **question.data(),
        "agree": all(one["allowed"] == answer for one in verdicts),
        "verdicts": [{**one, "differs": one["allowed"] != answer} for one in verdicts],
        "usage": question.usage(DIALECTS[_STANDARD]),
    }


def exit_code(reports: list[dict[str, Any]]) -> int:
    """Return 0 where all dialects agree on all URLs, else 1."""
    if all(report["agree"] for report in reports):
        return 0
    return 1


def text(report: dict[str, Any], paint: TerminalStyle) -> str:
    """Return a table for a terminal; an asterisk marks what differs."""
    rows = [_row(verdict, paint.width) for verdict in report["verdicts"]]
    shown = paint.table([_HEAD, *rows], frozenset({3}), {2: ""})
    lines = [
        paint("strong", printable(report["url"])),
        *(f"  {line}" for line in shown),
    ]
    notes = dict.fromkeys(
        beyond_sentence(one) for one in report["verdicts"] if one["beyond"]
    )
    lines += [paint.wrapped(sentence, 4, "  ") for sentence in notes]
    answers = [f"{one['category']} {one['answer']}" for one in report["usage"]]
    if any(one["answer"] != "unknown" for one in report["usage"]):
        lines.append(f"    {cut('of use: ' + ', '.join(answers), paint.width - 4)}")
    return joined(lines)


def _row(verdict: dict[str, Any], width: int) -> tuple[str, ...]:
    words, line, by = verdict_cells(verdict)
    group = "" if verdict["group"] is None else f" (agent {verdict['group']})"
    differs = "*" if verdict["differs"] else ""
    return (
        differs,
        verdict["dialect"],
        words,
        line,
        cut(f"{by}{group}", width - _BEFORE_BY),
    )


def table(reports: list[dict[str, Any]], paint: TerminalStyle) -> str:
    """Return a line for each URL: Mandelbot's verdict, and who decides otherwise."""
    if not reports:
        return "There are no URLs.\n"
    of_robots = any(report["robot"] for report in reports)
    head = (*(("robot",) if of_robots else ()), "verdict", "line", "otherwise", "URL")
    rows = []
    for report in reports:
        standard = next(
            one for one in report["verdicts"] if one["dialect"] == _STANDARD
        )
        others = " ".join(
            one["dialect"] for one in report["verdicts"] if one["differs"]
        )
        words, line, _ = verdict_cells(standard)
        name = (robot_name(report),) if of_robots else ()
        rows.append((*name, words, line, others, printable(report["url"])))
    at = len(head) - 4
    lines = paint.table([head, *rows], frozenset({at + 1}), {at: "", at + 2: "warning"})
    different = sum(not report["agree"] for report in reports)
    lines += ["", f"{counted(len(rows), 'line')}: dialects differ in {different:,}"]
    return joined(lines)
