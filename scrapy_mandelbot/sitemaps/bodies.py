"""What a sitemap is, unpacked and decoded: entries in XML, or one URL a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_mandelbot.sitemaps.entry import SitemapEntry
from scrapy_mandelbot.sitemaps.markup import Cutter
from scrapy_mandelbot.sitemaps.urls import LONGEST_URL, absolute_url, is_relative

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_mandelbot.sitemaps.entries import EntryMaker
    from scrapy_mandelbot.sitemaps.formats import Format
    from scrapy_mandelbot.sitemaps.problems import Problems


class XmlBody:
    """The entries of a sitemap, an index or a feed."""

    __slots__ = ("_cutter", "_maker", "_problems", "kind")

    def __init__(
        self, form: Format, maker: EntryMaker, problems: Problems, max_length: int
    ) -> None:
        self.kind = form.kind
        self._cutter = Cutter(form, max_length)
        self._maker = maker
        self._problems = problems

    def entries(self, text: str, *, final: bool) -> Iterator[SitemapEntry | None]:
        """Yield the entries that the next piece of simplified text completes; None: left out."""
        is_cut = False
        for piece in self._cutter.feed(text, final=final):
            is_cut = piece.is_cut
            yield self._maker.entry_of(piece)
        if final and not self._cutter.root_is_closed and not is_cut:
            self._problems.note("cut-off")


class ListOfUrls:
    """A list of URLs, one a line, and nothing else.

    Source: sitemaps.org, "Other Sitemap formats", "Text file". Lines that begin with ``#`` are not
    in it, but in many a file: they are passed by like blank ones.
    """

    __slots__ = ("_base", "_held", "_max_length", "_number", "_problems")
    kind = "text"

    def __init__(self, base: str, problems: Problems, max_length: int) -> None:
        self._base = base
        self._problems = problems
        self._max_length = max_length
        self._held = ""  # the beginning of a line that goes on
        self._number = 0

    def entries(self, text: str, *, final: bool) -> Iterator[SitemapEntry | None]:
        """Yield the URLs of the lines that the next piece of text completes; None: it has none."""
        *lines, self._held = _LINE_END.split(self._held + text)
        if final:
            lines.append(self._held)
        elif len(self._held) > self._max_length:
            self._held = self._held[: self._max_length + 1]  # enough to see that it is too long
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
        elif is_relative(line) or (loc := absolute_url(line, self._base)) is None:
            self._problems.note("not-a-url", where, line)
        elif len(loc) >= LONGEST_URL:
            self._problems.note("long-loc", where)
        return None if loc is None else SitemapEntry(loc)


_LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")
