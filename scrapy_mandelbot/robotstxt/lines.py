"""From the bytes of a robots.txt to a text that can be searched, and back to what it says.

The text is Latin-1: one character an octet, so that any bytes have one and offsets are octets. It
begins with a line end that is not in the file, so that every line has one before it. `decode` turns
what is taken out of the text into what the file says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.dialects import Dialect

WHITE_SPACE = " \t\v\f"

_UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_NOT_UTF8 = {0xDC00 + octet: f"%{octet:02X}" for octet in range(0x80, 0x100)}
_LINE_END = re.compile(r"\r\n?|\n")
_FROM_NUL = re.compile(rb"(?<=\r)(\0)[^\r\n]*(?=\n)|\0[^\r\n]*")


def clean_bytes(body: bytes, dialect: Dialect, max_bytes: int | None) -> bytes:
    """Return what of `body` is read: UTF-8, or whatever it is, without a byte-order mark.

    What is longer than `max_bytes` ends with the last line that fits whole: half a rule is another
    rule. `body` itself is returned where nothing has to change, so that it is not held twice.
    """
    too_long = max_bytes is not None and len(body) > max_bytes
    if max_bytes is not None and too_long:
        body = body[: max_bytes + 1]  # one more, to see whether a line ends here
    if dialect.utf16 and body[:2] in UTF16_MARKS:
        body = body[2:].decode(UTF16_MARKS[body[:2]], "replace").encode()
    elif body[:1] == _UTF8_MARK[:1]:  # a mark that was cut short is skipped as well, as Google does
        body = body[next(size for size in (3, 2, 1) if body.startswith(_UTF8_MARK[:size])) :]
    if too_long:
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if dialect.nul_ends_line and b"\0" in body:
        # A line between CR and LF that is empty then must not make one line end of them.
        body = _FROM_NUL.sub(lambda cut: b" " if cut[1] else b"", body)
    if dialect.line_limit is not None and len(body) > dialect.line_limit:
        body = b"".join(_cut(line, dialect.line_limit) for line in body.splitlines(keepends=True))
    return body


def _cut(line: bytes, limit: int) -> bytes:
    text = line.rstrip(b"\r\n")
    return line if len(text) <= limit else text[:limit] + line[len(text) :]


def searchable(body: bytes) -> str:
    """Return the text that the patterns below search: Latin-1, with a line end in front."""
    return "\n" + body.decode("latin-1")


def decode(text: str) -> str:
    """Return what a piece of searchable text says. Octets that are not UTF-8 become escapes."""
    if text.isascii():
        return text
    return text.encode("latin-1").decode("utf-8", "surrogateescape").translate(_NOT_UTF8)


def line_number(text: str, offset: int) -> int:
    """Return the number, from 1, of the line whose preceding line end is at `offset`."""
    if "\r" not in text:
        return text.count("\n", 0, offset + 1)
    return sum(1 for _ in _LINE_END.finditer(text, 0, offset + 1))


def line_ends(text: str) -> list[int]:
    """Return where each line's preceding line end is, for who wants the numbers of many lines."""
    return [end.start() for end in _LINE_END.finditer(text)]
