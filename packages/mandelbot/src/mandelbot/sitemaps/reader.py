"""The incremental sitemap reader."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from mandelbot.arguments import octets_of
from mandelbot.sitemaps.entries import EntryMaker, SitemapEntry
from mandelbot.sitemaps.formats import sniff_format
from mandelbot.sitemaps.markup import Simplifier
from mandelbot.sitemaps.problems import Problems
from mandelbot.sitemaps.splitting import EntrySplitter
from mandelbot.sitemaps.unpacking import Inbox, Unpacker
from mandelbot.sitemaps.urls import LONGEST_URL, absolute_url, is_relative

if TYPE_CHECKING:
    from mandelbot.sitemaps.problems import SitemapProblem


@dataclass(slots=True)
class XmlBody:
    """The entries of a sitemap, an index or a feed."""

    kind: str
    _splitter: EntrySplitter
    _maker: EntryMaker
    _problems: Problems

    def entries(self, text: str, *, final: bool) -> Iterator[SitemapEntry | None]:
        """Yield the entries that the next simplified text completes.

        None for each one left out.
        """
        is_cut = False
        for piece in self._splitter.feed(text, final=final):
            is_cut = piece.is_cut
            yield self._maker.entry_of(piece)
            if self._maker.others:
                yield from self._maker.others
                self._maker.others.clear()
        if final and not self._splitter.root_is_closed and not is_cut:
            self._problems.note("cut-off")


@dataclass(slots=True)
class ListOfUrls:
    """A text file with one URL per line.

    Source: sitemaps.org, "Other Sitemap formats", "Text file". Lines that begin with
    ``#`` are not in that format, but common: they are skipped like blank lines.
    """

    _base: str
    _problems: Problems
    _max_length: int
    kind: str = "text"
    _held: str = ""
    """The beginning of an incomplete line."""
    _number: int = 0

    def entries(self, text: str, *, final: bool) -> Iterator[SitemapEntry | None]:
        """Yield the URLs of the lines that the next text completes.

        None for a bad line.
        """
        *lines, self._held = _LINE_END.split(self._held + text)
        if final:
            lines.append(self._held)
        elif len(self._held) > self._max_length:
            # enough to detect that it is too long
            self._held = self._held[: self._max_length + 1]
        for line in lines:
            self._number += 1
            written = line.strip("\ufeff \t\v\f\r")
            if written and not written.startswith("#"):
                yield self._entry_of(written)

    def _entry_of(self, line: str) -> SitemapEntry | None:
        where = f"line {self._number}"
        loc = None
        if len(line) > self._max_length:
            self._problems.note("entry-too-long", where, self._max_length)
        elif is_relative(line) or (loc := absolute_url(self._base, line)) is None:
            self._problems.note("not-a-url", where, line)
        elif len(loc) >= LONGEST_URL:
            self._problems.note("long-loc", where)
        return None if loc is None else SitemapEntry(loc)


_LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")


_STEP = 50  # entries
SNIFFED = 32_768  # characters within which the format must show
_LATE_DECLARATION = re.compile(r"\s+<\?xml")


class SitemapReader:
    """Reads one sitemap in chunks of any size.

    It accepts an XML sitemap or index, a list of URLs, RSS or Atom, gzipped or not, in
    any encoding, valid or not. Defects become problems, never exceptions. Memory does
    not grow with the file: it takes a few blocks of 16 KiB and one entry.

    Entries are parsed lazily. If you stop iterating, nothing is lost: the next iterator
    continues there, and ``feed(b"")`` returns one without adding data. A single entry
    may take long to come, for example in 50 MiB that are no sitemap: in an event loop,
    call ``step()`` repeatedly.

    >>> from mandelbot import SitemapReader
    >>> reader = SitemapReader("https://example.com/sitemap.xml")
    >>> body = b"<urlset><url><loc>https://example.com/a</loc></url></urlset>"
    >>> [entry.loc for entry in (*reader.feed(body), *reader.close())]
    ['https://example.com/a']
    """

    __slots__ = (
        *(
            "_body",
            "_decoder",
            "_ending",
            "_entries",
            "_inbox",
            "_is_closed",
            "_is_done",
        ),
        *(
            "_max_entries",
            "_max_entry_length",
            "_pending",
            "_problems",
            "_seen",
            "_simplifier",
        ),
        *("_start", "_unpacker"),
        *("entries_read", "kind", "stopped", "url"),
    )

    def __init__(
        self,
        url: str,
        *,
        max_bytes: int = 52_428_800,
        max_entries: int | None = 50_000,
        max_entry_length: int = 65_536,
    ) -> None:
        """Create a reader for the sitemap at `url`.

        Args:
            url: the sitemap's URL, against which its URLs are resolved.
            max_bytes: the bytes to read, uncompressed; sitemaps.org allows 50 MiB.
            max_entries: the entries to read, including invalid ones that are left out;
                sitemaps.org allows 50,000. None: no limit.
            max_entry_length: longer entries, in characters, are left out.
        """
        self.url = url
        self.kind = "unknown"
        """``urlset``, ``index``, ``text``, ``rss`` or ``atom``; at first ``unknown``.
        """
        self.stopped = False
        """Whether the rest of the file is ignored: it hit a limit, or is no sitemap."""
        self.entries_read = 0
        """How many entries were returned."""
        self._max_entries = max_entries
        self._max_entry_length = max_entry_length
        self._problems = Problems()
        self._inbox = Inbox()
        self._unpacker = Unpacker(self._inbox, max_bytes, self._problems)
        self._decoder = _Decoder(self._problems)
        self._simplifier = Simplifier(self._problems)
        # the text before the format was detected; None: none
        self._start: str | None = None
        self._body: XmlBody | ListOfUrls | None = None
        self._pending: Iterator[SitemapEntry | None] | None = None  # of the last block
        # `stopped` after the last block; None: not read yet
        self._ending: bool | None = None
        self._entries: deque[SitemapEntry] = deque()  # of the last step
        self._seen = 0  # including those left out
        self._is_closed = False
        self._is_done = False  # whether nothing more is read

    def __repr__(self) -> str:
        if self.stopped:
            state = "stopped"
        elif self._is_done:
            state = "done"
        else:
            state = "reading"
        return (
            f"<SitemapReader {self.kind}, {state}, {self.entries_read} entries,"
            f" {self.url}>"
        )

    @property
    def problems(self) -> tuple[SitemapProblem, ...]:
        """The problems found so far, one for each kind."""
        return self._problems.found()

    def feed(self, data: bytes) -> Iterator[SitemapEntry]:
        """Add the next bytes; return a lazy iterator over the entries they complete.

        Raises:
            TypeError: `data` is neither bytes nor a bytearray nor a memoryview.
            ValueError: the reader was closed.
        """
        if type(data) is not bytes:
            data = octets_of(data, "data", "response.body")
        if self._is_closed:
            raise ValueError("the reader is closed: it takes no more data")
        if not self._is_done:
            self._inbox.put(data)
        return self._read()

    def close(self) -> Iterator[SitemapEntry]:
        """End the file; return a lazy iterator over the entries that are left."""
        self._is_closed = True
        self._inbox.close()
        return self._read()

    def step(self) -> list[SitemapEntry] | None:
        """Parse for some milliseconds; return the entries found, possibly none.

        Use it instead of the iterators that ``feed`` and ``close`` return.

        Returns:
            None if no data is left: feed more, or everything was read.
        """
        if not self._entries and not self._read_on():
            return None
        found = list(self._entries)
        self._entries.clear()
        self.entries_read += len(found)
        return found

    def _read(self) -> Iterator[SitemapEntry]:
        while True:
            while self._entries:
                self.entries_read += 1
                yield self._entries.popleft()
            if not self._read_on():
                return

    def _read_on(self) -> bool:
        """Parse the next entries of the block, or the next block.

        False: no data is left.
        """
        if self._is_done or not (self._pending or self._read_block()):
            return False
        if self._pending is not None:
            self._take(self._pending)
        if self._pending is None and self._ending is not None and not self._is_done:
            self._finish(stopped=self._ending)
        return True

    def _read_block(self) -> bool:
        """Begin to parse the next block. False: it needs more data."""
        block = self._unpacker.read()
        final = self._unpacker.ended
        if not block and not final:
            return False
        text = self._decoder.decode(block, final=final)
        if self._start is None:
            self._start = ""
            if _LATE_DECLARATION.match(text):
                self._problems.note("late-start")
        text = self._simplifier.feed(text, final=final)
        if self._body is None:
            text = self._begin(text, final=final)
        if self._body is not None:
            is_cut = self._unpacker.is_full
            self._pending = self._body.entries(text, final=final and not is_cut)
        if final:
            self._ending = self._unpacker.is_full or not self._is_closed
        return True

    def _begin(self, text: str, *, final: bool) -> str:
        """Detect the format; return the text from the start once it is known."""
        text = ((self._start or "") + text).lstrip()
        self._start = text
        sniffed = sniff_format(text, self._simplifier.document_type)
        if sniffed is None:
            if final or len(text) > SNIFFED:
                self._problems.note("not-a-sitemap" if text else "empty")
                self._finish(stopped=True)
            return ""
        self._start = ""
        if sniffed.problem:
            self._problems.note(sniffed.problem, "", sniffed.detail)
        limit = self._max_entry_length
        if sniffed.form is not None:
            entities = self._simplifier.declares_entities
            maker = EntryMaker(self.url, sniffed.form, self._problems, limit, entities)
            splitter = EntrySplitter(sniffed.form, limit)
            self._body = XmlBody(sniffed.form.kind, splitter, maker, self._problems)
        elif sniffed.is_text:
            self._body = ListOfUrls(self.url, self._problems, limit)
        else:
            self._finish(stopped=True)
            return ""
        self.kind = self._body.kind
        return text

    def _take(self, pending: Iterator[SitemapEntry | None]) -> None:
        some = list(islice(pending, _STEP))
        if len(some) < _STEP:
            self._pending = None
        for entry in some:
            if self._seen == self._max_entries:
                self._problems.note("too-many-entries", "", self._max_entries)
                self._finish(stopped=True)
                return
            self._seen += 1
            if entry is not None:
                self._entries.append(entry)

    def _finish(self, *, stopped: bool) -> None:
        self._is_done = True
        self._pending = None
        self.stopped = stopped
        self._inbox.clear()


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})"""
)
_HEAD = 1024  # bytes searched for a declaration
_UTF8_LIKE = re.compile(r"utf-8|utf-8-sig|ascii|iso8859-1|cp1252")
# Codecs that extend ASCII, never raise when they replace, and are text: no punycode, no
# escapes.
_TRUSTED = re.compile(
    r"iso8859-\d+|cp125\d|cp437|cp8\d\d|cp932|cp949|cp950|koi8-[ru]|mac-\w+|tis-620|"
    r"gb2312|gbk|gb18030|big5|big5hkscs|shift_jis\w*|euc_\w+|johab|iso2022_\w+"
)


class _Decoder:
    __slots__ = ("_decode", "_problems", "_rest")

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._decode: codecs.IncrementalDecoder | None = None  # None: UTF-8
        self._rest: bytes | None = None  # an incomplete character; None: nothing read

    def decode(self, block: bytes, *, final: bool) -> str:
        """Decode the next block, without byte-order mark and NULs."""
        if self._rest is None:
            self._rest = b""
            mark, name = _encoding(block, self._problems)
            block = block[len(mark) :]
            if name != "utf-8":
                self._decode = codecs.getincrementaldecoder(name)("replace")
        if self._decode is None:
            text = self._utf8(block, final=final)
        else:
            text = self._decode.decode(block, final)
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
    for mark, name in _MARKS:
        if block.startswith(mark):
            return mark, name
    head = block[:_HEAD]
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = head[first:64:2]
        letters = head[1 - first : 64 : 2]
        if zeros and not zeros.strip(b"\0") and letters.strip(b"\0"):
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
    0xDC00 + octet: bytes([octet]).decode("cp1252", "replace")
    for octet in range(0x80, 0x100)
}
"""The Windows-1252 characters of bytes that are not UTF-8, by their escapes; five are
undefined.
"""
