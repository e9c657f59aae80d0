"""What every check reads: the bytes, the numbered records, the managed block."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mandelbot.formatting import shown
from mandelbot.robotstxt.dialects import DIALECTS, documented
from mandelbot.robotstxt.full_urls import host_of
from mandelbot.robotstxt.grammar import grammar_of
from mandelbot.robotstxt.records import (
    Group,
    Outline,
    Record,
    name_of,
    read_outline,
)

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
    hosts: frozenset[str]
    """The site's host, or those that the file cites; empty: not known."""

    @classmethod
    def read(cls, octets: bytes, max_bytes: int | None, site: str = "") -> LintInput:
        """Read a file for the checks."""
        body = grammar_of(STANDARD).clean(octets, max_bytes)
        outline = read_outline(Record.read(body, STANDARD), STANDARD)
        hosts = _hosts_cited(outline.records)
        if site:
            hosts = frozenset({host_of(site) or ""})
        return cls(octets, body, outline, max_bytes, _is_html(body), hosts)


def _hosts_cited(records: Iterable[Record]) -> frozenset[str]:
    """Return the hosts in Sitemap and Host lines, as `host_of` has them."""
    found = set()
    for record in records:
        url = record.value
        if record.field == "host" and "://" not in url:
            url = f"http://{url}"
        if record.field in {"sitemap", "host"}:
            found.add(host_of(url) or "")
    return frozenset(found - {""})


_HTML_SEEN = 2048  # bytes at the beginning that are searched for tags


def _is_html(body: bytes) -> bool:
    start = body[:_HTML_SEEN].lstrip().lower()
    return start.startswith(
        (b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml")
    ) or (b"<html" in start)


_SHOWN = 60  # characters of a value in a message


def readable(text: str) -> str:
    """Return a text for a message: not too long, nothing unprintable."""
    return shown(text, _SHOWN)


def quoted(text: str) -> str:
    """Return a value for a message: in quotes, not too long, nothing unprintable."""
    return f'"{readable(text)}"'


def has_star(group: Group) -> bool:
    """Return whether a group is for all robots."""
    return any(name_of(agent) == "*" for agent in group.agents)


def named_robots(names: list[str]) -> str:
    """Return one or two names, or the first and how many more there are."""
    first, *others = names
    more = ""
    if len(others) == 1:
        more = f" and {readable(others[0])}"
    elif others:
        more = f" and {len(others)} more robots"
    return f"{readable(first)}{more}"


def field_of(record: Record) -> str:
    """Return a line's field for a message, as documents write it."""
    return documented(readable(record.name).lower())


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
_REPEATED = frozenset({"repeated-agent", "repeated-star"})


def marked_blocks(records: Iterable[Record]) -> Iterator[tuple[str, int, int]]:
    """Yield the name, first and last line of each block that a service manages.

    Its marks are comments, in capitals as programs write them: ``BEGIN NAME`` or
    ``START NAME``, and ``END NAME``. One within another belongs to that.
    """
    opened: tuple[str, int] | None = None
    for record in records:
        mark = None
        if record.comment and not record.field:
            mark = _MARK.fullmatch(record.comment)
        if mark is None:
            continue
        if opened is None and mark[1] != "END":
            opened = mark[2], record.number
        elif opened and mark[1] == "END" and mark[2].lower() == opened[0].lower():
            yield (*opened, record.number)
            opened = None


def with_managed_block(found: Iterable[LintHit], source: LintInput) -> Check:
    """Yield the findings, and that there is a managed block.

    Findings that are only about how the block is written, or about robots that it names
    first, are left out.
    """
    marked = marked_blocks(source.outline.records)
    block = next((one for one in marked if one[0].lower() == _CLOUDFLARE), None)
    if block is None:
        yield from found
        return
    _, first, last = block
    agents = [agent for group in source.outline.groups for agent in group.agents]
    named = {
        name_of(agent).lower() for agent in agents if first <= agent.number <= last
    }
    again = [agent.number for agent in agents if name_of(agent).lower() in named]
    for one in found:
        line = one.line or 0
        is_excused = one.code in _EXCUSED and first <= line <= last
        if not is_excused and not (one.code in _REPEATED and line in again):
            yield one
    message = f"Cloudflare's managed block ends in line {last}"
    owners = [line for line in again if line > last]
    if owners:
        message += f"; the owner's group in line {owners[0]} repeats one of it"
    yield LintHit("managed-block", first, f"{message}.")
