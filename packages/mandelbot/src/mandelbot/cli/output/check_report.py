"""``check``: what is wrong with a robots.txt and its delivery."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from mandelbot import findings
from mandelbot._version import __version__
from mandelbot.cli.output import cut, is_url, joined
from mandelbot.findings import FINDINGS, Severity, lint, lint_delivery
from mandelbot.formatting import counted, printable
from mandelbot.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from argparse import Namespace

    from mandelbot.cli.output import TerminalStyle
    from mandelbot.cli.output.rules_in_force import Rules
    from mandelbot.findings import Delivery, Finding
    from mandelbot.robotstxt.records import Record

STANDARD_INPUT = "standard input"
"""How it is named as a source."""
_INDENT = 17


class Choices(NamedTuple):
    """Which findings are reported, and which fail the check."""

    select: frozenset[str] | None = None
    """Codes; None: all of them."""
    ignore: frozenset[str] = frozenset()
    fail_on: Severity = Severity.WARNING
    """The least severity that is no success."""

    def takes(self, code: str) -> bool:
        """Whether findings with this code count."""
        return (self.select is None or code in self.select) and code not in self.ignore


ALL = Choices()


def check(
    rules: Rules, wanted: Choices = ALL, failure: str | None = None
) -> dict[str, Any]:
    """Return the selected findings about a file and its delivery.

    `failure` is why it is not available.
    """
    every: list[Finding] = []
    records: Sequence[Record] = ()
    if rules.delivery is not None:
        every += lint_delivery(rules.delivery)
    if rules.is_there and failure is None:
        robots = RobotsTxt.parse(rules.body, max_bytes=rules.max_bytes)
        every += lint(robots, site=rules.site)
        records = robots.records
    every.sort(key=lambda one: (FINDINGS[one.code].rank, one.line or 0, one.code))
    excused = _excused(records)
    found = []
    for one in every:
        excuses = excused.get(one.code, set())
        if wanted.takes(one.code) and not excuses & {None, one.line}:
            found.append(one)
    lines = {one.line for one in found}
    texts = {line.number: line.raw for line in records if line.number in lines}
    counts = dict.fromkeys(map(str, reversed(Severity)), 0)
    for one in found:
        counts[str(one.severity)] += 1 + one.more
    return {
        "source": rules.source,
        "failure": failure,
        "delivery": _delivery(rules.delivery),
        "findings": [_finding(one, texts) for one in found],
        "ignored": sum(1 + one.more for one in every) - sum(counts.values()),
        "counts": counts,
    }


_EXCUSE = re.compile(r"\s*mandelbot:\s*ignore\s+([a-z0-9\s,-]+)")


def _excused(records: Iterable[Record]) -> dict[str, set[int | None]]:
    """Return the lines in which a finding is not wanted, by its code; None: anywhere.

    ``# mandelbot: ignore CODE`` at the end of a line is about that line, in a line by
    itself about the file.
    """
    found: defaultdict[str, set[int | None]] = defaultdict(set)
    for record in records:
        excuse = _EXCUSE.match(record.comment or "")
        if excuse is None:
            continue
        codes = excuse[1].replace(",", " ").split()
        line = None
        if record.name:
            line = record.number
            codes.append("comment-after-directive")  # nor is the comment itself one
        for code in codes:
            found[code].add(line)
    return found


def together(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the reports on several files as one, with the sums of their counts."""
    counts: Counter[str] = Counter()
    for one in reports:
        counts.update(one["counts"])
    return {"files": reports, "counts": dict(counts)}


def _finding(finding: Finding, texts: dict[int, str]) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": str(finding.severity),
        "consequence": str(FINDINGS[finding.code].consequence),
        "line": finding.line,
        "text": texts.get(finding.line) if finding.line else None,
        "message": finding.message,
        "why": finding.why,
        "more": finding.more,
    }


_DELIVERED = (
    "url",
    "final_url",
    "redirects",
    "status",
    "seconds",
    "content_type",
    "content_encoding",
)


def _delivery(delivery: Delivery | None) -> dict[str, Any] | None:
    if delivery is None:
        return None
    data = {name: getattr(delivery, name) for name in _DELIVERED}
    if delivery.seconds is not None:
        data["seconds"] = round(delivery.seconds, 3)
    return data


def exit_code(report: dict[str, Any], wanted: Choices = ALL) -> int:
    """Return 3 for errors, 1 for warnings if they fail, else 0."""
    counts = report["counts"]
    fails = wanted.fail_on <= Severity.WARNING and counts["warning"]
    if counts["error"]:
        return 3
    if fails:
        return 1
    return 0


def message_of(finding: dict[str, Any]) -> str:
    """Return what is wrong, and how many more there are."""
    more = ""
    if finding["more"]:
        more = f" And {finding['more']:,} more like this."
    return f"{finding['message']}{more}"


_LINES_LISTED = 5  # of findings of one kind, besides the first


def text(report: dict[str, Any], paint: TerminalStyle, *, in_full: bool = False) -> str:
    """Return the report for a terminal, each kind of finding once.

    Errors are printed with the line and an explanation, warnings in one line; notes are
    counted. With `in_full`, all findings are explained.
    """
    if report["failure"]:
        return joined(
            [f"{printable(report['source'])}: {paint('error', 'not available')}"]
        )
    lines: list[str] = []
    for _, these in groupby(report["findings"], itemgetter("code")):
        kind = list(these)
        if in_full or kind[0]["severity"] != str(Severity.NOTE):
            lines += _kind_text(kind, paint, in_full=in_full)
    if len(lines) > 1:
        lines.append("")
    hint = ""
    if report["counts"]["note"] and not in_full:
        hint = " (--full lists them)"
    lines.append(f"{printable(report['source'])}: {_summary(report, paint)}{hint}")
    return joined(lines)


def _kind_text(
    found: list[dict[str, Any]], paint: TerminalStyle, *, in_full: bool
) -> Iterator[str]:
    one = found[0]
    severity = found[0]["severity"]
    head = f"{one['line'] or '':>5}  {severity:<8}  "
    message = f"{one['message']}{_more_like_it(found)} [{one['code']}]"
    is_whole = in_full or severity == str(Severity.ERROR)
    first = paint.wrapped(message, _INDENT, head) if is_whole else head + message
    yield first.replace(severity, paint(severity, severity), 1)
    if is_whole:
        if one["text"]:
            yield " " * _INDENT + paint("dim", cut(one["text"], paint.width - _INDENT))
        yield paint.wrapped(one["why"], _INDENT)


def _more_like_it(found: list[dict[str, Any]]) -> str:
    count = len(found) - 1 + sum(one["more"] for one in found)
    if not count:
        return ""
    lines = [one["line"] for one in found[1:] if one["line"]]
    if not lines:
        return f" And {count:,} more."
    listed = [*map(str, lines[:_LINES_LISTED])]
    if count > _LINES_LISTED:
        listed.append("…")
    plural = "s" if len(lines) > 1 else ""
    return f" And {count:,} more, line{plural} {', '.join(listed)}."


def rule_data(code: str) -> dict[str, Any]:
    """Return what a finding is about, for a program."""
    kind = FINDINGS[code]
    return {
        "code": code,
        "severity": str(kind.severity),
        "consequence": str(kind.consequence),
        "text": kind.text,
        "why": kind.why,
        "example": _examples()[code],
    }


def _examples() -> dict[str, dict[str, Any]]:
    """Return the examples of docs/findings.rst, which a test compares with them."""
    file = resources.files(findings).joinpath("examples.json")
    examples: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return examples


def rule_text(
    codes: Iterable[str], paint: TerminalStyle, *, with_examples: bool
) -> str:
    """Return what findings are about, to whom they matter, and what has them."""
    examples = _examples() if with_examples else {}
    parts = []
    for code in codes:
        kind = FINDINGS[code]
        head = f"{paint('strong', kind.code)} ({kind.severity}, {kind.consequence})"
        text = paint.wrapped(kind.text, 2, "  ")
        why = paint.wrapped(kind.why, 2, "  ")
        parts.append(joined([head, text, why, *_example_text(examples.get(code))]))
    return "\n".join(parts)


def _example_text(example: dict[str, Any] | None) -> list[str]:
    if example is None:
        return []
    if "line" not in example:
        return [
            f"  found: {example['found']}",
            f"  clean: {example['clean']}",
        ]
    where = f"in line {example['line']}" if example["line"] else "in the whole file"
    return [
        f"  found {where}:",
        indent(example["found"].rstrip("\n"), "    "),
        "  clean:",
        indent(example["clean"].rstrip("\n"), "    "),
    ]


def _summary(report: dict[str, Any], paint: TerminalStyle) -> str:
    counts = ", ".join(paint(kind, words) for kind, words in counts_of(report))
    if report["ignored"]:
        return f"{counts} ({report['ignored']:,} ignored)"
    return counts


def counts_of(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return each severity that there is with its count, or that nothing is wrong."""
    found = []
    for name, count in report["counts"].items():
        if count:
            found.append((name, counted(count, name)))
    return found or [("good", "nothing is wrong")]


def text_of(
    report: dict[str, Any], wanted: Choices, opts: Namespace, paint: TerminalStyle
) -> str:
    """Return the report on a file, or on several, in the format of the options."""
    reports = report.get("files", [report])
    if opts.format == "github":
        return github_text(reports, in_full=opts.full)
    if opts.format == "sarif":
        return sarif_text(reports, wanted.takes)
    texts = [text(one, paint, in_full=opts.full) for one in reports]
    if "files" not in report:
        return texts[0]
    total = _summary({**report, "ignored": 0}, paint)
    failed = sum(1 for one in reports if one["failure"])
    if failed:
        total += f", {paint('error', f'{failed:,} not available')}"
    texts.append(f"{counted(len(reports), 'file')}: {total}\n")
    return "".join(map(_apart, texts[:-1])) + texts[-1]


def _apart(text: str) -> str:
    """Return a report with an empty line after it, if it has several lines."""
    if text.count("\n") > 1:
        return f"{text}\n"
    return text


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_text(reports: Iterable[dict[str, Any]], takes: Callable[[str], bool]) -> str:
    """Return one log of one run. Its rules are all findings that are looked for."""
    codes = [code for code in FINDINGS if takes(code)]
    index = {code: place for place, code in enumerate(codes)}
    failures = []
    results: list[dict[str, Any]] = []
    for report in reports:
        if report["failure"]:
            message = {"text": report["failure"]}
            failures.append({"level": "error", "message": message})
        source = report["source"]
        results += [_result(source, one, index) for one in report["findings"]]
    run = {
        "tool": {
            "driver": {
                "name": "mandelbot",
                "version": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not failures,
                "toolExecutionNotifications": failures,
            }
        ],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    kind = FINDINGS[code]
    return {
        "id": code,
        "shortDescription": {"text": kind.text},
        "fullDescription": {"text": kind.why},
        "help": {"text": kind.why},
        "defaultConfiguration": {"level": str(kind.severity)},
    }


def _result(
    source: str, finding: dict[str, Any], index: dict[str, int]
) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(source)}}
    if finding["line"]:
        place["region"] = {"startLine": finding["line"]}
        if finding["text"]:
            place["region"]["snippet"] = {"text": finding["text"]}
    return {
        "ruleId": finding["code"],
        "ruleIndex": index[finding["code"]],
        "level": finding["severity"],
        "message": {"text": message_of(finding)},
        "locations": [{"physicalLocation": place}],
    }


def _uri(source: str) -> str:
    """Return a file's place: relative to the working directory, if it was given so."""
    if is_url(source):
        return source
    if source == STANDARD_INPUT:
        return "robots.txt"
    path = Path(source)
    if path.is_absolute():
        return path.as_uri()
    return quote(path.as_posix())


_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def github_text(reports: Iterable[dict[str, Any]], *, in_full: bool = False) -> str:
    """Return one workflow command per finding, and per file that is not available.

    GitHub shows ten of a kind: notes stand there only if all is wanted, and come last.
    """
    shown: list[str] = []
    notes: list[str] = []
    for report in reports:
        for line in _commands(report):
            of_kind = notes if line.startswith("::notice ") else shown
            of_kind.append(f"{line}\n")
    if in_full:
        shown += notes
    return "".join(shown)


def _commands(report: dict[str, Any]) -> Iterator[str]:
    source = report["source"]
    if report["failure"]:
        yield f"::error title=robots.txt::{_data(report['failure'])}"
        return
    for one in report["findings"]:
        properties = [] if is_url(source) else [f"file={_property(source)}"]
        if one["line"] and properties:
            properties.append(f"line={one['line']}")
        properties.append(f"title={_property(one['code'])}")
        said = f"{message_of(one)} {one['why']}"
        if is_url(source):
            place = f", line {one['line']}" if one["line"] else ""
            said = f"{source}{place}: {said}"
        yield f"::{_LEVELS[one['severity']]} {','.join(properties)}::{_data(said)}"


def _data(value: str) -> str:
    """Escape what ends a command; a robots.txt must not begin another one."""
    return printable(value).replace("%", "%25")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
