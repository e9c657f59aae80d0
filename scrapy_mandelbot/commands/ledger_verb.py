"""The verb ``ledger``: what a crawl has noted of each page, and whether it can be decided again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.call import Result
from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.config import read_setting
from scrapy_mandelbot.purposes.ledger_file import kept_copy, lines_of
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.preferences.ledger import VERSION, Chain, disagreements, read_line
from scrapy_mandelbot.robots.reports import ledger_report as reports
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.commands.call import Invocation

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
    return Result(0, report, reports.why_text(found, job.terminal.paint))


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
    return Result(3 if is_wrong else 0, report, reports.verify_text(report, job.terminal.paint))


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
