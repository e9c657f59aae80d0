"""The verb ``ledger``: what a crawl has noted of each page, and whether it can be decided again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.call import Result
from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.config import read_setting
from scrapy_mandelbot.purposes.ledger_file import kept_copy, lines_of
from scrapy_mandelbot.robots.formatting import counted, printable
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.preferences import Statement, Terms
from scrapy_mandelbot.robots.preferences.ledger import (
    MALFORMED,
    VERSION,
    Chain,
    disagreements,
    read_line,
)
from scrapy_mandelbot.robots.reports.rules_in_force import ANSWER_COLOURS
from scrapy_mandelbot.robots.reports.terminal_text import PLAIN, joined, wrapped
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.commands.call import Invocation
    from scrapy_mandelbot.robots.reports.terminal_text import Paint

_COPIES_LIMIT = 32 * 1024 * 1024  # bytes of copies that are held while lines are decided again
_MOST_TOLD = 50  # lines that do not agree, told one by one


def look_at_ledger(job: Invocation) -> Result:
    """Tell why a page was fetched, or decide every line again."""
    named = job.opts.file or read_setting(job.settings, "ledger")
    if not named:
        raise CannotBeHadError("there is no ledger here: say MANDELBOT_LEDGER, or --file")
    ledger = Path(named)
    try:
        return _why(job, ledger) if job.args[0] == "why" else _verify(job, ledger)
    except OSError as error:
        raise CannotBeHadError(f"{ledger}: {(error.strerror or str(error)).lower()}") from None


def _why(job: Invocation, ledger: Path) -> Result:
    wanted = without_user(job.args[1])
    found = [
        entry
        for *_, entry in _entries(job, ledger)
        if entry and entry.get("url") == wanted and entry.get("version") in (1, VERSION)
    ]
    report = {"ledger": str(ledger), "pages": found}
    if not found:
        return Result(1, report, "", [f"{ledger} has no line of {wanted}"])
    return Result(0, report, why_text(found, job.terminal.paint))


def _verify(job: Invocation, ledger: Path) -> Result:
    copies = _Copies(ledger)
    chain, known_head = Chain(), "".join(job.args[1:2]).lower()
    lines = written_after = 0
    has_head = False
    wrong: list[dict[str, Any]] = []
    different = 0
    for number, line, entry in _entries(job, ledger):
        lines += 1
        problems = chain.problems(line, entry)
        problems += (
            ["it is no line of a ledger"] if entry is None else disagreements(entry, copies.get)
        )
        written_after += has_head
        has_head = has_head or chain.head == known_head
        different += bool(problems)
        if problems and len(wrong) < _MOST_TOLD:
            url = None if entry is None else entry.get("url")
            wrong.append({"line": number, "url": url, "problems": problems})
    report = {
        "ledger": str(ledger),
        "lines": lines,
        "agree": lines - different,
        "disagree": different,
        "disagreements": wrong,
        "head": chain.head,
        "known_head": known_head or None,
        "has_known_head": has_head if known_head else None,
        "written_after": written_after,
        "open_runs": chain.open_runs,
    }
    is_wrong = different or (known_head and not has_head)
    return Result(3 if is_wrong else 0, report, verify_text(report, job.terminal.paint))


def _entries(job: Invocation, ledger: Path) -> Iterator[tuple[int, bytes, dict[str, Any] | None]]:
    """Yield the lines with their numbers, as they stand and read; None: one cannot be."""
    for number, line in enumerate(lines_of(ledger), start=1):
        if number % 1_000 == 0:
            job.terminal.progress(f"{number:,} lines")
        yield number, line, read_line(line)


class _Copies:
    """The copies beside a ledger, those used last in memory."""

    def __init__(self, ledger: Path) -> None:
        self._ledger = ledger
        self._recent: Recent[bytes] = Recent(_COPIES_LIMIT)

    def get(self, digest: str) -> bytes | None:
        """Return a copy by its SHA-256; None: it is not there."""
        copy = self._recent.get(digest)
        if copy is None:
            copy = kept_copy(self._ledger, digest)
            if copy is not None:
                self._recent.put(digest, copy, len(copy) + 200)
        return copy


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
