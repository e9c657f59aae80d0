"""``explain``: the verdict on a URL, the line that decided, and what would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.output.rules_in_force import (
    ANSWER_COLOURS,
    EVERYBODY,
    VERDICT_COLOURS,
    Question,
    asked_cells,
    asked_totals,
    of_use,
    purpose_lines,
    refuses,
    rule_data,
    verdict_words,
)
from scrapy_mandelbot.commands.output.terminal_text import (
    cut,
    joined,
)
from scrapy_mandelbot.robots.formatting import counted, printable
from scrapy_mandelbot.robots.robotstxt import RobotsTxt, paths
from scrapy_mandelbot.robots.robotstxt.agents import names_in_order
from scrapy_mandelbot.robots.robotstxt.known_robots import dialect_of
from scrapy_mandelbot.robots.robotstxt.records import read_outline

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.output.terminal_text import TerminalStyle
    from scrapy_mandelbot.robots.robotstxt import Dialect, Verdict
    from scrapy_mandelbot.robots.robotstxt.robots_txt import Agent

_SPECIAL = str.maketrans({"*": "%2A", "$": "%24", "#": "%23", " ": "%20"})
_GLOB = str.maketrans({sign: f"\\{sign}" for sign in "*?[\\"})
_LONGEST = 2000  # characters of a URL for which a line is looked for


def changes_to(robots: RobotsTxt, url: str, agent: Agent) -> Iterator[dict[str, Any]]:
    """Yield changes of the file, with the verdict on the URL after each.

    First what becomes of it without the line that decided, whether it turns or not; then the
    shortest line that turns it, among those that are about this URL and what begins with it.
    """
    lines, verdict = [record.raw for record in robots.records], robots.verdict(url, agent)

    def tried(change: str, line: int, its_lines: list[str], file: list[str]) -> dict[str, Any]:
        body = "\n".join(file).encode()
        changed = RobotsTxt.parse(body, dialect=robots.dialect, max_bytes=None).verdict(url, agent)
        rule = None if changed.rule is None else rule_data(changed.rule)
        found = {"change": change, "line": line, "lines": its_lines}
        return {**found, "allowed": changed.allowed, "rule": rule}

    if verdict.rule is not None:
        at = verdict.rule.line
        # In place of the line comes a comment, as a blank line may end a group.
        yield tried("remove", at, [lines[at - 1]], [*lines[: at - 1], "#", *lines[at:]])
    parts = paths.split_url(url)
    if parts is None or not parts[1] or len(parts[1]) > _LONGEST:
        return
    before, group = _place(robots, verdict, agent)
    for path in _paths(parts[1], verdict):
        added = [*group, f"{'Disallow' if verdict.allowed else 'Allow'}: {path}"]
        change = tried("add", before, added, [*lines[: before - 1], *added, *lines[before - 1 :]])
        if change["allowed"] is not verdict.allowed and change["rule"] is not None:
            yield change
            return


def _place(robots: RobotsTxt, verdict: Verdict, agent: Agent) -> tuple[int, list[str]]:
    """Return the line before which a rule would stand, and the lines that make its group."""
    if verdict.rule is not None:
        return verdict.rule.line, []
    for group in read_outline(robots.records, robots.dialect).groups:
        if verdict.agent in {record.value for record in group.agents}:
            rules = group.rules()
            return (rules[0].number if rules else group.agents[-1].number + 1), []
    name = next(iter(names_in_order(agent if isinstance(agent, str) else tuple(agent))), "*")
    blank = [""] if robots.records and robots.records[-1].raw else []
    return len(robots.records) + 1, [*blank, f"User-agent: {name}"]


def _paths(target: str, verdict: Verdict) -> Iterator[str]:
    plain, rule = target.translate(_SPECIAL), verdict.rule
    yield plain
    if rule is not None:  # where the longest wins, Allow wins ties
        length = len(paths.escape_non_ascii(rule.path))
        missing = length - len(paths.escape_non_ascii(plain)) + rule.allow
        if 0 < missing <= _LONGEST:
            yield plain + "*" * missing
    yield f"{plain}$"
    yield target.translate(_GLOB)
    yield f"{target.translate(_GLOB)}*"


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
    """Return whether the robot may fetch the URL and use the page, and why.

    As in a crawl, the URL is forbidden if either it or the URL that servers resolve it to is.
    `with_changes` parses the file again for each change: a hundred times the cost of the rest.
    """
    url, agent, rules, _ = question
    robots, _ = rules.read(dialect, max_bytes)
    decided = rules.decide(url, agent, dialect, max_bytes)
    resolved = paths.as_servers_read_it(url) if decided["allowed"] else None
    if resolved:
        of_resolved = rules.decide(resolved, agent, dialect, max_bytes)
        if of_resolved["allowed"]:
            resolved = None
        else:
            decided, url = of_resolved, resolved
    report: dict[str, Any] = {
        **question.data(),
        "resolved_url": resolved,
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
        report["changes"] = list(changes_to(robots, url, agent))
    return report


def exit_code(reports: list[dict[str, Any]]) -> int:
    """Return 0 where all URLs are allowed, and none of the uses asked about is refused, else 1."""
    return 0 if all(report["allowed"] and not refuses(report) for report in reports) else 1


def text(report: dict[str, Any], paint: TerminalStyle) -> str:
    """Return the report for a terminal."""
    agent = report["agent"] if isinstance(report["agent"], str) else ", ".join(report["agent"])
    answer, resolved = verdict_words(report), report["resolved_url"]
    is_own = dialect_of(str(report["agent"])) == report["dialect"]
    own = ", as this robot reads it" if is_own else ""
    source = f"robots.txt: {report['robots']}, read as {report['dialect']}{own}"
    lines = [
        paint("strong", printable(report["url"])),
        paint.wrapped(_why(report), 4, "  ").replace(
            answer, paint(VERDICT_COLOURS[answer], answer), 1
        ),
        *([f"  servers resolve it to {printable(resolved)}"] if resolved else []),
        paint.wrapped(f"agent: {agent}", 4, "  "),
        paint.wrapped(source, 4, "  "),
    ]
    if report["beyond"]:
        lines += ["", paint.wrapped(beyond_sentence(report), 4, "  ")]
    if report["lines"]:
        lines += ["", *_excerpt(report, paint)]
    if report["changes"]:
        lines += ["", *_changes(report, paint)]
    if report["comments"]:
        lines += ["", "  The owner's comments for this robot:"]
        lines += [paint.wrapped(comment, 6, "    ") for comment in report["comments"]]
    lines += purpose_lines(report, paint)
    return joined(lines)


def _why(report: dict[str, Any]) -> str:
    rule, group = report["rule"], report["group"]
    why = report["reason"] if rule is None else f"by line {rule['line']}, {rule['text']}"
    of_group = "" if group is None else f" (the group for {group})"
    return f"{verdict_words(report)}{':' if rule is None else ''} {why}{of_group}"


def beyond_sentence(decided: dict[str, Any]) -> str:
    """Return in a sentence what a line would decide that robots do not read."""
    beyond = decided["beyond"]
    return (
        f"It would be {_why(beyond)}; but what decides that lies past the part of the file that "
        "robots read."
    )


def _excerpt(report: dict[str, Any], paint: TerminalStyle) -> list[str]:
    deciding = report["rule"]["line"]
    lines = []
    for line in report["lines"]:
        is_it = line["number"] == deciding
        shown_line = f"{'>' if is_it else ' '} {line['number']:>5}  {line['text']}"
        shown_line = cut(shown_line, paint.width - 2)
        lines.append(f"  {paint('strong', shown_line) if is_it else shown_line}")
    return lines


def _changes(report: dict[str, Any], paint: TerminalStyle) -> list[str]:
    lines = []
    for change in report["changes"]:
        lines.append(paint.wrapped(_sentence(change, report), 4, "  "))
        if change["change"] == "add":
            lines += [f"    {paint('good', printable(line))}" for line in change["lines"]]
    return lines


def change_sentences(report: dict[str, Any]) -> list[str]:
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


def table(reports: list[dict[str, Any]], paint: TerminalStyle) -> str:
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
    answers = range(len(head) - 1 - len(purposes), len(head) - 1)
    colours = {at: VERDICT_COLOURS, **dict.fromkeys(answers, ANSWER_COLOURS)}
    lines = paint.table([head, *rows], frozenset({at + 1}), colours)
    counts = {word: sum(row[at] == word for row in rows) for word in VERDICT_COLOURS}
    totals = (f"{count:,} {word}" for word, count in counts.items() if count)
    lines += ["", f"{counted(len(rows), 'verdict')}: {', '.join(totals)}"]
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
