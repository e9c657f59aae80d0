"""Lines to be written, and the comments above them.

Moderatobot, "File structure": a comment that follows a directive moves to the line before it. What
no robot reads becomes a comment too, so that nothing an owner has written is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.dialects import FIELDS, documented
from scrapy_mandelbot.robotstxt.lines import WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from scrapy_mandelbot.robotstxt.records import Record


@dataclass(slots=True)
class RewrittenLine:
    """A directive of the new file."""

    name: str
    value: str
    comments: list[str] = field(default_factory=list)
    """Whole lines above it."""

    def write(self) -> Iterator[str]:
        """Yield its lines."""
        yield from self.comments
        if not self.value:
            yield f"{self.name}:"
        elif self.value.startswith("#"):  # of the extended standard: after a space it is a comment
            yield f"{self.name}:{self.value}"
        else:
            yield f"{self.name}: {self.value}"


def spelt(record: Record) -> str:
    """Return the field as documents write it; one that no document knows, as the file does."""
    return documented(record.field) if record.field in FIELDS else record.name


@dataclass(slots=True)
class Comments:
    """Where the comments of a file go."""

    header: list[str] = field(default_factory=list)
    """At the top, by themselves."""
    above: dict[int, list[str]] = field(default_factory=dict)
    """Above the line that has this number."""
    end: list[str] = field(default_factory=list)
    """After everything else."""


def read_comments(
    records: Iterable[Record], unread: Container[int], merged: Container[int]
) -> Comments:
    """Find the comments of a file.

    Args:
        records: All lines.
        unread: Numbers of lines with a field that become comments.
        merged: Numbers of lines that are not written again; their comments go to the next line.
    """
    comments = Comments()
    waiting: list[str] = []
    is_top = True
    for record in records:
        text = record.raw.strip(WHITE_SPACE)
        if record.is_blank:
            if is_top and waiting:
                comments.header, waiting, is_top = waiting, [], False
        elif not record.field or record.number in unread:
            waiting.append(text if text.startswith("#") else f"# {text}")
        else:
            is_top = False
            comment = (record.comment or "").rstrip(WHITE_SPACE)
            if comment:
                waiting.append(f"#{comment}")
            if record.number not in merged:
                comments.above[record.number], waiting = waiting, []
    comments.end = waiting
    return comments
