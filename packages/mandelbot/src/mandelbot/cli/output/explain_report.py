"""``explain``: the verdict on a URL, the line that decided, what would change it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mandelbot.cli.output import cut, joined
from mandelbot.cli.output.rules_in_force import (
    EVERYBODY,
    Question,
    Rules,
    verdict_words,
)
from mandelbot.formatting import counted, printable
from mandelbot.preferences.statements import CATEGORY_TEXTS
from mandelbot.robotstxt import paths
from mandelbot.robotstxt.agents import names_in_order
from mandelbot.robotstxt.known_robots import dialect_of
from mandelbot.robotstxt.records import read_outline

if TYPE_CHECKING:
    from mandelbot.cli.output import TerminalStyle
    from mandelbot.robotstxt.dialects import Dialect
    from mandelbot.robotstxt.records import Record

_SPECIAL = str.maketrans({"*": "%2A", "$": "%24", "#": "%23", " ": "%20"})
_GLOB = str.maketrans({sign: f"\\{sign}" for sign in "*?[\\"})
_LONGEST = 2000  # characters of a URL for which a line is looked for


def changes_to(question: Question, dialect: Dialect) -> Iterator[dict[str, Any]]:
    """Yield changes of the file, with the verdict on the URL after each.

    First what becomes of it without the line that decided, whether it turns or not;
    then the shortest line that turns it, among those that are about this URL and what
    begins with it.
    """
    url, agent, rules, _ = question
    robots, _ = rules.read(dialect)
    if robots is None:
        return
    lines = [record.raw for record in robots.records]
    decided = rules.decide(url, agent, dialect)

    def tried(
        change: str, line: int, its_lines: list[str], file: list[str]
    ) -> dict[str, Any]:
        body = "\n".join(file).encode()
        changed = Rules("", body, max_bytes=len(body)).decide(url, agent, dialect)
        found = {"change": change, "line": line, "lines": its_lines}
        return {**found, "allowed": changed["allowed"], "rule": changed["rule"]}

    rule = decided["rule"]
    if rule is not None:
        at = rule["line"]
        # In place of the line comes a comment, as a blank line may end a group.
        yield tried("remove", at, [lines[at - 1]], [*lines[: at - 1], "#", *lines[at:]])
    parts = paths.split_url(url)
    if parts is None or not parts[1] or len(parts[1]) > _LONGEST:
        return
    before, group = _place(question, dialect, decided)
    for path in _paths(parts[1], rule):
        added = [*group, f"{'Disallow' if decided['allowed'] else 'Allow'}: {path}"]
        change = tried(
            "add", before, added, [*lines[: before - 1], *added, *lines[before - 1 :]]
        )
        if change["allowed"] is not decided["allowed"] and change["rule"] is not None:
            yield change
            return


def _place(
    question: Question, dialect: Dialect, decided: dict[str, Any]
) -> tuple[int, list[str]]:
    """Return the line to insert a rule before, and the lines of its group."""
    if decided["rule"] is not None:
        return decided["rule"]["line"], []
    robots, _ = question.rules.read(dialect)
    agent = question.agent
    records = robots.records if robots else ()
    for group in read_outline(records, dialect).groups:
        if decided["group"] in {record.value for record in group.agents}:
            rules = group.rules()
            return (rules[0].number if rules else group.agents[-1].number + 1), []
    name = next(
        iter(names_in_order(agent if isinstance(agent, str) else tuple(agent))), "*"
    )
    blank = [""] if records and records[-1].raw else []
    return len(records) + 1, [*blank, f"User-agent: {name}"]


def _paths(target: str, rule: dict[str, Any] | None) -> Iterator[str]:
    plain = target.translate(_SPECIAL)
    yield plain
    if rule is not None:  # where the longest wins, Allow wins ties
        length = len(paths.escape_non_ascii(rule["path"]))
        missing = length - len(paths.escape_non_ascii(plain)) + rule["allow"]
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
    *,
    with_changes: bool = True,
    purposes: Sequence[str] = (),
) -> dict[str, Any]:
    """Return whether the robot may fetch the URL and use the page, and why.

    As in a crawl, the URL is forbidden if either it or the URL that servers resolve it
    to is. `with_changes` parses the file again for each change: a hundred times the
    cost of the rest.
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
    asked = question._replace(url=resolved or url)
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
        "changes": list(changes_to(asked, dialect)) if with_changes else None,
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
    answers = {answer for report in reports for answer in _use_cells(report)}
    if all(report["allowed"] for report in reports) and "disallowed" not in answers:
        return 0
    return 1


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
    lines = [
        paint("strong", printable(report["url"])),
        paint.wrapped(_why(report), 4, "  ").replace(answer, paint(answer, answer), 1),
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
            lines += [
                f"    {paint('good', printable(line))}" for line in change["lines"]
            ]
    return lines


def change_sentences(report: dict[str, Any]) -> list[str]:
    """Return what would change the verdict, in sentences."""
    return [
        " ".join(
            [
                _sentence(change, report),
                *(change["lines"] if change["change"] == "add" else ()),
            ]
        )
        for change in report.get("changes") or ()
    ]


def _sentence(change: dict[str, Any], report: dict[str, Any]) -> str:
    answer = verdict_words(change)
    line = change["line"]
    if change["change"] == "add":
        return f"It is {answer} with this before line {line}:"
    still = "still " if change["allowed"] == report["allowed"] else ""
    rule = change["rule"]
    by = f" by line {rule['line']}, {rule['text']}" if rule else ""
    return f"Without line {line} it is {still}{answer}{by}."


def table(reports: list[dict[str, Any]], paint: TerminalStyle) -> str:
    """Return the verdicts for a terminal, and how many there are of each.

    URLs are not cut.
    """
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
            *(cut(cell, _RULE_SHOWN) for cell in _row_cells(report)),
            *_use_cells(report),
            printable(report["url"]),
        )
        for report in reports
    ]
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
    line, by = (
        ("", decided["reason"]) if rule is None else (str(rule["line"]), rule["text"])
    )
    return verdict_words(decided), line, by
