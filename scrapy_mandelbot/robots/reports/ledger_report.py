"""``ledger``: why a page was fetched and what was said of it, and which lines do not agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.preferences import Statement, Terms
from scrapy_mandelbot.robots.preferences.ledger import MALFORMED
from scrapy_mandelbot.robots.reports.of_use import ANSWER_COLOURS
from scrapy_mandelbot.robots.reports.terminal_text import PLAIN, joined, wrapped
from scrapy_mandelbot.robots.shown import counted, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.robots.reports.terminal_text import Paint


def why_text(entries: list[dict[str, Any]], paint: Paint = PLAIN) -> str:
    """Return what a ledger has of a page, fetch by fetch, for a terminal."""
    lines = [paint("strong", printable(entries[0]["url"]))]
    for entry in entries:
        lines += ["", *_told(entry, paint)]
    return joined(lines)


def _told(entry: dict[str, Any], paint: Paint) -> list[str]:
    try:
        return [*_fetch(entry, paint)]
    except MALFORMED as error:
        told = f"the line cannot be read: {type(error).__name__}: {error}"
        return [wrapped(told, 4, "  ", width=paint.width)]


def _fetch(entry: dict[str, Any], paint: Paint) -> Iterator[str]:
    if entry.get("event") == "items":
        kept = (
            f"{entry['time']}: {counted(entry['kept'], 'item')} kept, {entry['dropped']:,} dropped"
        )
        yield wrapped(
            f"{kept}: {entry['why']}" if entry["why"] else kept, 4, "  ", width=paint.width
        )
        return
    agent = entry["agent"] if isinstance(entry["agent"], str) else ", ".join(entry["agent"])
    fetched = f"fetched {entry['time']}, status {entry['status']}"
    if entry.get("event") == "not_fetched":
        fetched = f"not fetched {entry['time']}, as its use is refused"
    yield wrapped(fetched, 4, "  ", width=paint.width)
    if entry.get("body"):
        yield f"  body: sha256 {printable(str(entry['body']))}"
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
    said = (
        *(Statement(**statement) for statement in entry["statements"]),
        *(Terms(**terms) for terms in entry["terms"]),
    )
    for one in said:
        yield wrapped(str(one), 6, "    ", width=paint.width)


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
        told = f"line {wrong['line']}: {wrong['url'] or ''}".rstrip(" :")
        lines.append(wrapped(told, width=paint.width))
        lines += [wrapped(problem, 6, "    ", width=paint.width) for problem in wrong["problems"]]
    left = report["disagree"] - len(report["disagreements"])
    if left:
        lines.append(f"and {left:,} more")
    told = (
        f"{report['ledger']}: {counted(report['lines'], 'line')}, {report['agree']:,} verified,"
        f" {report['disagree']:,} not"
    )
    lines.append(paint("good", printable(told)) if not report["disagree"] else printable(told))
    lines.append(f"hash of the last line: {report['head']}")
    if report["has_known_head"]:
        lines.append(f"{counted(report['written_after'], 'line')} written after the known one")
    elif report["known_head"]:
        lines.append("no line has the known hash: the last lines are missing or changed")
    else:
        lines.append("compare it with the report's: a cut end is not to be seen otherwise")
    if report["open_runs"]:
        lines.append(f"{counted(report['open_runs'], 'run')} without a last line: killed, or cut")
    return joined(lines)
