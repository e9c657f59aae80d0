"""From unpacked bytes to text, whatever the file says of its encoding.

Sitemaps have to be UTF-8 (sitemaps.org, "XML Sitemap format"). Those that are not tell by a
byte-order mark, by their zeros, or by their declaration (XML 1.0, appendix F), and many a
declaration is wrong. Nearly all say UTF-8 or Latin-1, and are one of the two: both are read as
UTF-8, and what cannot be that as Windows-1252.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_mandelbot.sitemaps.problems import Problems

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})""")
_HEAD = 1024  # bytes in which a declaration is looked for
_UTF8_LIKE = re.compile(r"utf-8|utf-8-sig|ascii|iso8859-1|cp1252")
# Codecs that extend ASCII, never raise when they replace, and are text: no punycode, no escapes.
_TRUSTED = re.compile(
    r"iso8859-\d+|cp125\d|cp437|cp8\d\d|cp932|cp949|cp950|koi8-[ru]|mac-\w+|tis-620|"
    r"gb2312|gbk|gb18030|big5|big5hkscs|shift_jis\w*|euc_\w+|johab|iso2022_\w+"
)


class Decoder:
    """Decodes one file, block by block."""

    __slots__ = ("_decode", "_problems", "_rest")

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._decode: codecs.IncrementalDecoder | None = None  # None: UTF-8
        self._rest: bytes | None = None  # octets of a character that goes on; None: nothing read

    def decode(self, block: bytes, *, final: bool) -> str:
        """Return the text of the next block, without byte-order mark and NULs."""
        if self._rest is None:
            self._rest = b""
            mark, name = _encoding(block, self._problems)
            block = block[len(mark) :]
            if name != "utf-8":
                self._decode = codecs.getincrementaldecoder(name)("replace")
        text = (
            self._utf8(block, final=final)
            if self._decode is None
            else self._decode.decode(block, final)
        )
        return text.replace("\0", "") if "\0" in text else text

    def _utf8(self, block: bytes, *, final: bool) -> str:
        data = (self._rest or b"") + block
        try:
            text, used = codecs.utf_8_decode(data, "strict", final)
        except UnicodeDecodeError:
            self._problems.note("not-utf8")
            text, used = codecs.utf_8_decode(data, "surrogateescape", final)
            text = text.translate(_AS_WINDOWS)
        self._rest = data[used:]
        return text


def _encoding(block: bytes, problems: Problems) -> tuple[bytes, str]:
    """Return the byte-order mark that a file begins with, and the name of its codec."""
    for mark, name in _MARKS:
        if block.startswith(mark):
            return mark, name
    head = block[:_HEAD]
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if (
            len(head) > 1
            and not head[first:64:2].strip(b"\0")
            and head[1 - first : 64 : 2].strip(b"\0")
        ):
            return b"", name
    declared = _DECLARED.search(head)
    if declared is None:
        return b"", "utf-8"
    said = declared[1].decode()
    try:
        name = codecs.lookup(said).name
    except LookupError:
        name = ""
    if not _UTF8_LIKE.fullmatch(name):
        if _TRUSTED.fullmatch(name):
            return b"", name
        problems.note("encoding", "", said)
    return b"", "utf-8"


_AS_WINDOWS = {
    0xDC00 + octet: bytes([octet]).decode("cp1252", "replace") for octet in range(0x80, 0x100)
}
"""What the octets that are not UTF-8 are in Windows-1252, by their escapes; five mean nothing."""
