"""From the bytes as they come to blocks of unpacked bytes, in bounded steps.

Whether something is packed is seen from its first two bytes (RFC 1952, section 2.3.1), not from a
name or a header: `sitemap.xml.gz` is often sent unpacked, and packed once more by the server.

Every step hands on blocks of one size, whatever the size of the pieces that were fed. So all that
comes after sees the same blocks of the same file, and no chunking gives other entries than another.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.sitemaps.problems import Problems

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


BLOCK = 16_384  # bytes

_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
MOST_LAYERS = 3
_MOST_MEMBERS = 1_000
"""Of gzip data; those of bgzip have 64 KiB each, and so 50 MiB 800 of them."""


class ByteSource(Protocol):
    """Where bytes come from."""

    @property
    def ended(self) -> bool:
        """Whether nothing will come any more."""

    def read(self) -> bytes:
        """Return some bytes, at most a block; none: more has to be fed first."""


class Inbox:
    """What was fed and not yet read; it is handed on in blocks and a shorter last one."""

    __slots__ = ("_at", "_closed", "_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._at = 0  # what of the first piece was read
        self._size = 0
        self._closed = False

    @property
    def ended(self) -> bool:
        """Whether all was read and nothing more will be fed."""
        return self._closed and not self._size

    def put(self, data: bytes) -> None:
        """Add bytes; they are not copied."""
        if data:
            self._pieces.append(bytes(data))
            self._size += len(data)

    def close(self) -> None:
        """Say that this was all."""
        self._closed = True

    def clear(self) -> None:
        """Forget what was not read."""
        self._pieces.clear()
        self._at = self._size = 0

    def read(self) -> bytes:
        """Return the next block."""
        if self._size < BLOCK and not self._closed:
            return b""
        block = bytearray()
        wanted = min(BLOCK, self._size)
        self._size -= wanted
        while wanted:
            part = self._pieces[0][self._at : self._at + wanted]
            block += part
            wanted -= len(part)
            self._at += len(part)
            if self._at == len(self._pieces[0]):
                self._pieces.popleft()
                self._at = 0
        return bytes(block)


@dataclass(slots=True)
class Gunzip:
    """Unpacks gzip data: one member after the other, as far as they are sound."""

    _source: ByteSource
    _input: bytes
    _wanted: int
    _problems: Problems
    _inflate: zlib._Decompress = field(default_factory=lambda: zlib.decompressobj(_GZIP))
    _full: bool = False
    """Whether the last step gave a whole block: more may be ready."""
    _members: int = 1
    _between: bool = False
    """Whether a member has ended and no other begun."""
    ended: bool = False

    def read(self) -> bytes:
        """Return at most a block."""
        while not self.ended:
            if self._between:
                self._input = self._input.lstrip(b"\0")
            short = len(self._input) < (len(_MAGIC) if self._between else 1)
            if short and not self._full and not self._source.ended:
                if not self._has_more():
                    return b""
            elif self._between:
                self._next_member()
            elif short and not self._full:
                self._end("gzip-cut")
            elif block := self._step():
                self._wanted -= len(block)
                self.ended = self.ended or self._wanted <= 0
                return block
        return b""

    def _has_more(self) -> bool:
        """Read on. False: more has to be fed first."""
        more = self._source.read()
        self._input += more
        return bool(more) or self._source.ended

    def _step(self) -> bytes:
        before = self._inflate.copy()
        try:
            block = self._inflate.decompress(self._input, BLOCK)
        except zlib.error:
            self._end("gzip-damaged")
            return _sound_part(before, self._input)
        self._full = len(block) == BLOCK
        self._input = self._inflate.unconsumed_tail
        if self._inflate.eof:
            self._input, self._between, self._full = self._inflate.unused_data, True, False
        return block

    def _next_member(self) -> None:
        """Begin the next member, or end where none follows. Zeros may pad the last one."""
        if self._input.startswith(_MAGIC) and self._members == _MOST_MEMBERS:
            self._problems.note("gzip-members", "", _MOST_MEMBERS)
            self._end(None)
        elif self._input.startswith(_MAGIC):
            self._inflate, self._between = zlib.decompressobj(_GZIP), False
            self._members += 1
        else:
            self._end("gzip-followed" if self._input else None)

    def _end(self, problem: str | None) -> None:
        self.ended = True
        if problem:
            self._problems.note(problem)


def _sound_part(inflate: zlib._Decompress, data: bytes) -> bytes:
    """Return what `data` gives before the damage: a step that fails keeps all it had to itself."""
    sound, good, bad = b"", 0, len(data)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            sound, good = inflate.copy().decompress(data[:middle]), middle
        except zlib.error:
            bad = middle
    return sound


@dataclass(slots=True)
class Unpacker:
    """What was fed, unpacked where it is packed, in blocks of one size and a shorter last one."""

    _source: ByteSource
    _max_bytes: int
    _problems: Problems
    _read: int = 0
    _held: bytearray = field(default_factory=bytearray)
    _layers: int | None = 0
    """None: the innermost is reached."""
    ended: bool = False
    is_full: bool = False
    """Whether there was more than so many bytes."""

    def read(self) -> bytes:
        """Return a block; nothing: more has to be fed first, or the end is reached."""
        while self._layers is not None and not self.ended:
            if not self._fill(len(_MAGIC)):
                return b""
            if not self._held.startswith(_MAGIC):
                self._layers = None
            elif self._layers == MOST_LAYERS:
                self._problems.note("gzip-nested", "", MOST_LAYERS)
                self.ended = True
            else:
                self._layers += 1
                more = self._max_bytes + 1  # so that who reads sees that there is more
                self._source = Gunzip(self._source, bytes(self._held), more, self._problems)
                self._held.clear()
        if self.ended or not self._fill(BLOCK):
            return b""
        block = bytes(self._held[:BLOCK])
        del self._held[:BLOCK]
        left = self._max_bytes - self._read
        if len(block) > left:
            self._problems.note("too-many-bytes", f"byte {self._max_bytes}", self._max_bytes)
            self.is_full = True
        self._read += len(block)
        self.ended = self.is_full or (self._source.ended and not self._held)
        return block[:left] if self.is_full else block

    def _fill(self, size: int) -> bool:
        """Hold `size` bytes, or all there are. False: more has to be fed first."""
        while len(self._held) < size and not self._source.ended:
            more = self._source.read()
            if not more and not self._source.ended:
                return False
            self._held += more
        return True
