"""The careful correction: every line stays where it is, and only how it is written gets better.

For files that would open to some robot if their groups were put in order. Whatever a robot makes of
the order, of blank lines and of lines that others do not read, stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.dialects import FIELDS
from scrapy_mandelbot.robotstxt.lines import WHITE_SPACE
from scrapy_mandelbot.robotstxt.rewriting.rewritten_lines import RewrittenLine, spelt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_mandelbot.robotstxt.outline import Outline
    from scrapy_mandelbot.robotstxt.records import Record


def rewrite_in_place(outline: Outline) -> str:
    """Return the file with each line as documents write it, its comment above it."""
    opening = {group.agents[0].number for group in outline.groups}
    return "".join(f"{line}\n" for line in _lines(outline.records, opening))


def _lines(records: Iterable[Record], opening: set[int]) -> Iterator[str]:
    comments: list[str] = []
    within = False  # a group that has no blank line after it yet
    for record in records:
        if not record.field and record.comment is not None and not record.value:
            comments.append(record.raw.strip(WHITE_SPACE))
            continue
        if record.number in opening and within:
            yield ""  # Moderatobot, "Groups": they must be separated by blank lines
        yield from comments
        comments = []
        within = bool(record.field) and (within or record.field == "user-agent")
        yield from _line(record)
    yield from comments


def _line(record: Record) -> Iterator[str]:
    is_read = record.field in FIELDS and (record.value or record.field == "disallow")
    before = record.raw[: -len(record.comment or "") - 1] if record.comment is not None else ""
    if not is_read or (record.comment is not None and before[-1:] not in WHITE_SPACE):
        yield record.raw  # some robots take it for something: then for what it is
        return
    comment = (record.comment or "").rstrip(WHITE_SPACE)
    yield from RewrittenLine(
        spelt(record), record.value, [f"#{comment}"] if comment else []
    ).write()
