"""``compare``: how the robots of all dialects decide on a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.layout import PLAIN, WIDTH, columns, cut, joined
from scrapy_mandelbot.commands.reports.of_use import of_use, usage_row
from scrapy_mandelbot.commands.reports.rules_in_force import VERDICT_COLOURS, verdict_words
from scrapy_mandelbot.robotstxt import DIALECTS
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_mandelbot.commands.reports.layout import Paint
    from scrapy_mandelbot.commands.reports.rules_in_force import Rules

    Agent = str | Sequence[str]

_STANDARD = "mandelbot"
_HEAD = ("", "dialect", "verdict", "line", "by")


def compare(url: str, agent: Agent, rules: Rules, max_bytes: int) -> dict[str, Any]:
    """Return the verdict of each dialect; ``differs`` marks those that differ from Mandelbot's."""
    verdicts = [{"dialect": name, **rules.decide(url, agent, name, max_bytes)} for name in DIALECTS]
    answer = next(one["allowed"] for one in verdicts if one["dialect"] == _STANDARD)
    return {
        "url": url,
        "agent": agent if isinstance(agent, str) else list(agent),
        "robots": rules.source,
        "alike": all(one["allowed"] == answer for one in verdicts),
        "verdicts": [{**one, "differs": one["allowed"] != answer} for one in verdicts],
        "usage": of_use(url, agent, rules, _STANDARD, max_bytes),
    }


def exit_code(reports: list[dict[str, Any]]) -> int:
    """Return 0 where all dialects agree on all URLs, else 1."""
    return 0 if all(report["alike"] for report in reports) else 1


def text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return the report for a terminal: a table, what differs marked with an asterisk."""
    rows = [_row(verdict) for verdict in report["verdicts"]]
    aligned = columns([_HEAD, *rows], right=frozenset({3}))
    lines = [paint("strong", printable(report["url"])), f"  {'  '.join(aligned[0])}"]
    for row, cells in zip(rows, aligned[1:], strict=True):
        cells[2] = paint(VERDICT_COLOURS[row[2]], row[2]) + " " * (len(cells[2]) - len(row[2]))
        lines.append(f"  {'  '.join(cells)}")
    return joined([*lines, *usage_row(report)])


def _row(verdict: dict[str, Any]) -> tuple[str, ...]:
    rule = verdict["rule"]
    by = verdict["reason"] if rule is None else rule["text"]
    if verdict["group"] is not None:
        by = f"{by} (agent {verdict['group']})"
    return (
        "*" if verdict["differs"] else "",
        verdict["dialect"],
        verdict_words(verdict),
        "" if rule is None else str(rule["line"]),
        cut(by, WIDTH - 34),
    )
