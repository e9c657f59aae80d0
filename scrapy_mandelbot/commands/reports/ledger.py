"""``ledger``: why a page was fetched and what was said of it, and which lines do not agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.layout import PLAIN, counted, joined, wrapped
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.commands.reports.layout import Paint

ANSWER_COLOURS = {"allowed": "good", "disallowed": "error", "unknown": "warning"}


def why_text(entries: list[dict[str, Any]], paint: Paint = PLAIN) -> str:
    """Return what a ledger has of a page, fetch by fetch, for a terminal."""
    lines = [paint("strong", printable(entries[0]["url"]))]
    for entry in entries:
        lines += ["", *_fetch(entry, paint)]
    return joined(lines)


def _fetch(entry: dict[str, Any], paint: Paint) -> Iterator[str]:
    agent = entry["agent"] if isinstance(entry["agent"], str) else ", ".join(entry["agent"])
    yield wrapped(f"fetched {entry['time']}, status {entry['status']}", 4, "  ", width=paint.width)
    yield wrapped(f"agent: {agent}", 4, "  ", width=paint.width)
    yield wrapped(f"robots.txt: {_rules(entry['robots'])}", 4, "  ", width=paint.width)
    if entry["robots"] is not None:
        yield f"    sha256 {printable(str(entry['robots']['sha256']))}"
    if entry["tdmrep"] is not None:
        yield f"  tdmrep.json: sha256 {printable(str(entry['tdmrep']))}"
    if entry["purposes"]:
        yield wrapped(f"wanted for: {', '.join(entry['purposes'])}", 4, "  ", width=paint.width)
    for category, answer in entry["answers"].items():
        yield f"  {category:<9} {paint(ANSWER_COLOURS.get(answer, 'dim'), printable(answer))}"
    for statement in entry["statements"]:
        at = statement["where"]
        at += "" if statement["line"] is None else f" line {statement['line']}"
        answer = "allowed" if statement["allowed"] else "disallowed"
        yield wrapped(
            f"{statement['category']} {answer} by {statement['text']} ({at})",
            6,
            "    ",
            width=paint.width,
        )
    for terms in entry["terms"]:
        yield wrapped(
            f"{terms['kind']}: {terms['url']} ({terms['where']})", 6, "    ", width=paint.width
        )


def _rules(rules: dict[str, Any] | None) -> str:
    if rules is None:
        return "it was not asked"
    verdict = rules["verdict"]
    if verdict is None:
        return "another parser decided"
    answer = "allowed" if verdict["allowed"] else "forbidden"
    if verdict["line"] is None:
        return f"{answer}: {verdict['reason']}"
    return f"{answer} by line {verdict['line']}, {verdict['rule']}"


def verify_text(report: dict[str, Any], paint: Paint = PLAIN) -> str:
    """Return which lines do not agree, and how many do."""
    lines = []
    for wrong in report["disagreements"]:
        lines.append(wrapped(f"line {wrong['line']}: {wrong['url'] or ''}".rstrip(" :")))
        lines += [wrapped(problem, 6, "    ", width=paint.width) for problem in wrong["problems"]]
    left = report["disagree"] - len(report["disagreements"])
    if left:
        lines.append(f"and {left:,} more")
    told = (
        f"{report['ledger']}: {counted(report['lines'], 'line')}, {report['agree']:,} decided again"
        " alike"
    )
    lines.append(paint("good", printable(told)) if not report["disagree"] else printable(told))
    return joined(lines)
