"""Decompresses received bytes into blocks, in bounded steps.

The first two bytes show whether data is gzipped (RFC 1952, section 2.3.1), not a name
or a header: servers often send `sitemap.xml.gz` uncompressed, or compress it once more.

Every step returns blocks of one size, whatever the size of the chunks that were fed.
The same file therefore always gives the same entries, however it is chunked.
"""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mandelbot.sitemaps.problems import Problems

BLOCK = 16_384  # bytes

_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
MOST_LAYERS = 3
_MOST_MEMBERS = 1_000
"""Members of gzip data; bgzip writes 64 KiB each: 800 members in 50 MiB."""


class Inbox:
    """The bytes fed and not read yet, returned in blocks and a shorter last one."""

    __slots__ = ("_at", "_closed", "_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._at = 0  # the bytes of the first piece that were read
        self._size = 0
        self._closed = False

    @property
    def ended(self) -> bool:
        """Whether everything was read and no more will be fed."""
        return self._closed and not self._size

    def put(self, data: bytes) -> None:
        """Add bytes; they are not copied."""
        if data:
            self._pieces.append(bytes(data))
            self._size += len(data)

    def close(self) -> None:
        """End the input."""
        self._closed = True

    def clear(self) -> None:
        """Discard the bytes not read yet."""
        self._pieces.clear()
        self._at = 0
        self._size = 0

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
    """Decompresses gzip data, member by member, up to the first defect."""

    _source: Inbox | Gunzip
    _input: bytes
    _wanted: int
    _problems: Problems
    _inflate: zlib._Decompress = field(
        default_factory=lambda: zlib.decompressobj(_GZIP)
    )
    _full: bool = False
    """Whether the last step returned a whole block: more may be ready."""
    _members: int = 1
    _between: bool = False
    """Whether a member has ended and no other has begun."""
    ended: bool = False

    def read(self) -> bytes:
        """Return at most a block."""
        while not self.ended:
            if self._between:
                self._input = self._input.lstrip(b"\0")
            short = len(self._input) < (len(_MAGIC) if self._between else 1)
            if short and not self._full and not self._source.ended:
                if not self._read_more():
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

    def _read_more(self) -> bool:
        """Read more input. False: more must be fed first."""
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
            self._input = self._inflate.unused_data
            self._between = True
            self._full = False
        return block

    def _next_member(self) -> None:
        """Begin the next member, or end if none follows. Zeros may pad the last one."""
        if self._input.startswith(_MAGIC) and self._members == _MOST_MEMBERS:
            self._problems.note("gzip-members", "", _MOST_MEMBERS)
            self._end(None)
        elif self._input.startswith(_MAGIC):
            self._inflate = zlib.decompressobj(_GZIP)
            self._between = False
            self._members += 1
        else:
            self._end("gzip-followed" if self._input else None)

    def _end(self, problem: str | None) -> None:
        self.ended = True
        if problem:
            self._problems.note(problem)


def _sound_part(inflate: zlib._Decompress, data: bytes) -> bytes:
    """Unpack `data` up to its defect: a step that fails returns nothing."""
    sound = b""
    good = 0
    bad = len(data)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            sound = inflate.copy().decompress(data[:middle])
            good = middle
        except zlib.error:
            bad = middle
    return sound


@dataclass(slots=True)
class Unpacker:
    """The bytes fed, decompressed if gzipped, in blocks; the last is shorter."""

    _source: Inbox | Gunzip
    _max_bytes: int
    _problems: Problems
    _read: int = 0
    _held: bytearray = field(default_factory=bytearray)
    _layers: int | None = 0
    """None: the innermost layer is reached."""
    ended: bool = False
    is_full: bool = False
    """Whether the data exceeds the limit."""

    def read(self) -> bytes:
        """Return a block; nothing if more must be fed first, or at the end."""
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
                more = self._max_bytes + 1  # one more shows that the limit is exceeded
                self._source = Gunzip(
                    self._source, bytes(self._held), more, self._problems
                )
                self._held.clear()
        if self.ended or not self._fill(BLOCK):
            return b""
        block = bytes(self._held[:BLOCK])
        del self._held[:BLOCK]
        left = self._max_bytes - self._read
        if len(block) > left:
            self._problems.note(
                "too-many-bytes", f"byte {self._max_bytes}", self._max_bytes
            )
            self.is_full = True
        self._read += len(block)
        self.ended = self.is_full or (self._source.ended and not self._held)
        return block[:left] if self.is_full else block

    def _fill(self, size: int) -> bool:
        """Hold `size` bytes, or all that are left. False: more must be fed first."""
        while len(self._held) < size and not self._source.ended:
            more = self._source.read()
            if not more and not self._source.ended:
                return False
            self._held += more
        return True
