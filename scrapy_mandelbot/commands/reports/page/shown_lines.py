"""The lines of a file as the page shows them, each with its findings, and with what was changed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.diff import same_lines
from scrapy_mandelbot.robotstxt import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_mandelbot.robotstxt import Record


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One line. Its parts together are the whole of it."""

    number: int
    field: str
    """The field with its colon, and what stands before; empty where there is none."""
    rest: str
    comment: str
    """With its ``#``; empty where there is none."""
    is_changed: bool
    """Whether it is not in the other file, at its place."""
    findings: Sequence[dict[str, Any]] = ()


def page_lines(
    robots: RobotsTxt | None, corrected: dict[str, Any] | None, findings: Iterable[dict[str, Any]]
) -> tuple[list[ShownLine], list[ShownLine]]:
    """Return the lines of a file and those of its corrected version.

    Args:
        robots: the file; None: there is none.
        corrected: the report of ``fix``.
        findings: those of ``check``.
    """
    if robots is None or corrected is None:
        return [], []
    before = robots.records
    text = corrected["text"].encode()  # shown whole, as it is saved
    after = RobotsTxt.parse(text, dialect=robots.dialect, max_bytes=None).records
    same = same_lines([one.raw for one in before], [one.raw for one in after])
    kept, old = {place for place, _ in same}, {place for _, place in same}
    found = defaultdict(list)
    for one in findings:
        found[one["line"]].append(one)
    return (
        [
            _line(record, found[record.number], is_changed=place not in kept)
            for place, record in enumerate(before)
        ],
        [_line(record, (), is_changed=place not in old) for place, record in enumerate(after)],
    )


def _line(record: Record, findings: Sequence[dict[str, Any]], *, is_changed: bool) -> ShownLine:
    comment = "" if record.comment is None else f"#{record.comment}"
    text = record.raw[: len(record.raw) - len(comment)]
    field, colon, rest = text.partition(":") if record.name else ("", "", text)
    if not colon:  # some robots do without
        field, rest = "", text
    return ShownLine(record.number, field + colon, rest, comment, is_changed, findings)
