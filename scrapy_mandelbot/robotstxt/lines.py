"""The lines of a robots.txt: from bytes to text, and the grammar of a line.

The grammar, after Mandelbot's page, section "Format of robots.txt", and RFC 9309,
section 2.2, with what a `Dialect` changes in it::

    line  = *WS [ field *WS ":" *WS value *WS ] [ "#" comment ]  line-end
    WS    = space / tab / VT / FF      ; never a line end, never NBSP
    line-end = CR LF / CR / LF         ; and nothing else: not NEL, not U+2028

Lines of one field are found in a whole text by one regular expression, without reading the lines
between. Each begins with the line end before it, so a text is searched with a line end put in
front; none backtracks further than one line.

The text is Latin-1: one character an octet, so that any bytes have one and offsets are octets.
`decode` turns what is taken out of it into what the file says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_mandelbot.robotstxt.dialects import Dialect

WHITE_SPACE = " \t\v\f"
_WS = r"[ \t\v\f]*"
_END = r"(?=[\r\n]|\Z)"

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_LINE_END = re.compile(r"\r\n?|\n")

#: A line with nothing in it, from the line end before it.
BLANK_LINE = re.compile(rf"(?:\r\n|\r(?!\n)|\n){_WS}(?=[\r\n])")


def clean_bytes(body: bytes, dialect: Dialect, max_bytes: int | None) -> bytes:
    """Return what of `body` is read: UTF-8, or whatever it is, without a byte-order mark.

    What is longer than `max_bytes` ends with the last line that fits whole: half a rule is another
    rule. `body` itself is returned where nothing has to change, so that it is not held twice.
    """
    too_long = max_bytes is not None and len(body) > max_bytes
    if max_bytes is not None and too_long:
        body = body[: max_bytes + 1]  # one more, to see whether a line ends here
    if body[:2] in _UTF16_MARKS:
        body = body[2:].decode(_UTF16_MARKS[body[:2]], "replace").encode()
    elif body[:1] == _UTF8_MARK[:1]:  # a mark that was cut short is skipped as well, as Google does
        body = body[next(size for size in (3, 2, 1) if body.startswith(_UTF8_MARK[:size])) :]
    if too_long:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if dialect.nul_ends_line and b"\0" in body:
        body = re.sub(rb"\0[^\r\n]*", b"", body)
    if dialect.line_limit is not None and len(body) > dialect.line_limit:
        body = b"".join(_cut(line, dialect.line_limit) for line in body.splitlines(keepends=True))
    return body


def _cut(line: bytes, limit: int) -> bytes:
    return line if len(line) <= limit else line[:limit] + line[len(line.rstrip(b"\r\n")) :]


def searchable(body: bytes) -> str:
    """Return the text that the patterns below search: Latin-1, with a line end in front."""
    return "\n" + body.decode("latin-1")


def decode(text: str) -> str:
    """Return what a piece of searchable text says. Octets that are not UTF-8 become escapes."""
    if text.isascii():
        return text
    said = text.encode("latin-1").decode("utf-8", "surrogateescape")
    return _NOT_UTF8.sub(lambda octet: f"%{ord(octet[0]) - 0xDC00:02X}", said)


def line_number(text: str, offset: int) -> int:
    """Return the number, from 1, of the line whose preceding line end is at `offset`."""
    if "\r" not in text:
        return text.count("\n", 0, offset + 1)
    return sum(1 for _ in _LINE_END.finditer(text, 0, offset + 1))


@dataclass(frozen=True, slots=True)
class Grammar:
    """The patterns of lines in one dialect."""

    agent_line: re.Pattern[str]
    """Groups: a letter, the value."""
    rule_line: re.Pattern[str]
    """Groups: the first letter of Allow or Disallow; then its value, in the one group where it is
    a plain path, ASCII and nothing in it that has a meaning, in the other where it is not: told
    apart here, in C, it is what makes a first decision cheap."""
    directive_line: re.Pattern[str]
    """Any line with a field; no groups."""
    run_end: re.Pattern[str]
    """What ends a run of User-agent lines."""


@lru_cache(maxsize=64)
def grammar_of(dialect: Dialect) -> Grammar:
    """Return the grammar of `dialect`."""
    plain = r"/[!\"&-)+-~]*" if _has_plain_values(dialect) else r"\Z."
    rules = ("disallow", "allow") if dialect.honours_allow else ("disallow",)
    value = rf"(?:({plain}){_WS}(?=[#\r\n]|\Z)|({_value(dialect)}))"
    rule_line = _compiled(_beginning(dialect, *rules) + value)
    directive_line = _compiled(rf"[\r\n]{_WS}[^:#\s][^:#\r\n]*:")
    run_end = rule_line if dialect.run_ends_at == "rule" else directive_line
    return Grammar(field_line(dialect, "user-agent"), rule_line, directive_line, run_end)


@lru_cache(maxsize=512)
def field_line(dialect: Dialect, field: str) -> re.Pattern[str]:
    """Return the pattern of lines of a field. Groups: a letter, the value."""
    return _compiled(f"{_beginning(dialect, field)}({_value(dialect)})")


def _beginning(dialect: Dialect, *fields: str) -> str:
    """Return a pattern from the line end before to the value; its group is the first letter."""
    more = dict(dialect.spellings)
    names = [name for field in fields for name in (field, *more.get(field, ()))]
    rest = r"[^:#\r\n]*" if dialect.field_by_prefix else _WS
    colon = rf"(?:{_any_of(names)}){rest}:{_WS}"
    if dialect.colon_optional:
        rest = r"[^ \t:#\r\n]*" if dialect.field_by_prefix else ""
        single = _any_of(name for name in names if " " not in name)
        two_words = rf"(?:{single}){rest}[ \t]+(?=[^ \t:#\r\n]+{_WS}(?:[#\r\n]|\Z))"
        colon = f"(?:{colon}|{two_words})"
    return rf"[\r\n]{_WS}(?=(\S)){colon}"


def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII | re.IGNORECASE)


def _any_of(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names))


def _value(dialect: Dialect) -> str:
    if dialect.comment_needs_space:
        return rf"[^#\r\n]*(?:(?<![{WHITE_SPACE}])#[^#\r\n]*)*"
    return r"[^#\r\n]*"


def _has_plain_values(dialect: Dialect) -> bool:
    return dialect.patterns != "globs" and not dialect.comment_needs_space
