"""What every check reads: the bytes, the numbered records, the part that a service manages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.robotstxt.dialects import DIALECTS, documented
from scrapy_mandelbot.robots.robotstxt.grammar import grammar_of
from scrapy_mandelbot.robots.robotstxt.records import Outline, name_of, read_outline, read_records

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.robotstxt.records import Record

STANDARD = DIALECTS["mandelbot"]
"""Findings are for all robots; lines are read as Mandelbot and RFC 9309 read them."""
ABSOLUTE_URL = re.compile(r"https?://[^/?#\s]+(?:[/?#]\S*)?", re.IGNORECASE)


class LintHit(NamedTuple):
    """What a check yields: a row of the table, where, and the specifics."""

    code: str
    line: int | None
    message: str


Check = Iterator[LintHit]


class LintInput(NamedTuple):
    """A robots.txt to be checked."""

    octets: bytes
    """As fetched."""
    body: bytes
    """What of it is read: UTF-8 without a byte-order mark, up to the limit."""
    outline: Outline
    max_bytes: int | None
    is_html: bool


def read_source(octets: bytes, max_bytes: int | None) -> LintInput:
    """Read a file for the checks."""
    body = grammar_of(STANDARD).clean(octets, max_bytes)
    outline = read_outline(read_records(body, STANDARD), STANDARD)
    return LintInput(octets, body, outline, max_bytes, _is_html(body))


_HTML_SEEN = 2048  # bytes at the beginning that are searched for tags


def _is_html(body: bytes) -> bool:
    start = body[:_HTML_SEEN].lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml")) or (
        b"<html" in start
    )


_SHOWN = 60  # characters of a value in a message


def quoted(text: str) -> str:
    """Return a value for a message: in quotes, not too long, nothing unprintable."""
    return f'"{shown(text, _SHOWN)}"'


def field_of(record: Record) -> str:
    """Return a line's field for a message, as documents write it."""
    return documented(quoted(record.name)[1:-1].lower())


_MARK = re.compile(r"[\s#*=-]*(BEGIN|START|END)[\s:]+(\w.*?)[\s#*=-]*")
_CLOUDFLARE = "cloudflare managed content"
_EXCUSED = frozenset(
    {
        "allow-all",
        "group-without-disallow",
        "own-group-drops-rules",
        "star-before-robots",
        "wide-name-first",
        "wide-name-last",
    }
)
"""Findings that are about how the block is written."""


class ManagedBlock(NamedTuple):
    """Where the block is, and whom it names."""

    first: int
    last: int
    names: frozenset[str]
    """In lower case."""
    robots_by_line: dict[int, str]
    """The names in all User-agent lines of the file."""

    def excuses(self, found: LintHit) -> bool:
        """Return whether a finding is about how the block is written, or is named in it first."""
        if found.line is None:
            return False
        if found.code == "repeated-agent":
            return self.robots_by_line.get(found.line) in self.names
        return found.code in _EXCUSED and self.first <= found.line <= self.last


def marked_blocks(records: Iterable[Record]) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the first and the last line of each part that a service keeps up to date.

    Its marks are comments, in capitals as programs write them: ``BEGIN NAME`` or ``START NAME``,
    and ``END NAME``. One within another belongs to that.
    """
    opened: tuple[str, int] | None = None
    for record in records:
        mark = _MARK.fullmatch(record.comment) if record.comment and not record.field else None
        if mark is None:
            continue
        if opened is None and mark[1] != "END":
            opened = mark[2], record.number
        elif opened and mark[1] == "END" and mark[2].lower() == opened[0].lower():
            yield (*opened, record.number)
            opened = None


def managed_block(source: LintInput) -> ManagedBlock | None:
    """Return the managed block of a file; None: there is none."""
    found = marked_blocks(source.outline.records)
    block = next((one for one in found if one[0].lower() == _CLOUDFLARE), None)
    if block is None:
        return None
    _, first, last = block
    robots = {
        agent.number: name_of(agent).lower()
        for group in source.outline.groups
        for agent in group.agents
    }
    named = frozenset(name for line, name in robots.items() if first <= line <= last)
    return ManagedBlock(first, last, named, robots)


def without_excused(found: Iterable[LintHit], block: ManagedBlock | None) -> Iterator[LintHit]:
    """Yield the findings that are not only about how the block is written."""
    for one in found:
        if block is None or not block.excuses(one):
            yield one


def check_managed(block: ManagedBlock | None) -> Check:
    """That there is a block, and which groups it makes of the owner's."""
    if block is None:
        return
    again = [
        line
        for line, name in sorted(block.robots_by_line.items())
        if line > block.last and name in block.names
    ]
    message = f"Cloudflare's managed block ends in line {block.last}."
    if again:
        message = (
            f"Cloudflare's managed block ends in line {block.last}; the owner's group in line"
            f" {again[0]} repeats one of it."
        )
    yield LintHit("managed-block", block.first, message)
