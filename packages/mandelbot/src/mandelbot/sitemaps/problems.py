"""A table of the problems of sitemaps and how the reader handles them.

Each problem is reported once for each file, with its first place and the number of
times.
"""

from __future__ import annotations

from dataclasses import dataclass

MESSAGES = {
    # The file as a whole.
    "empty": "the file is empty",
    "html": "this is an HTML page, not a sitemap: the first tag is <{}>",
    "not-a-sitemap": "neither a sitemap nor a feed nor a list of URLs",
    "no-root": (
        "there is no <urlset>, <sitemapindex>, <rss> or <feed> around the entries"
    ),
    "late-start": "something stands before the XML declaration or the root",
    "cut-off": "the file ends within an entry or before its root is closed",
    # Limits.
    "too-many-bytes": "unpacked, it is longer than {:,} bytes: the rest is not read",
    "too-many-entries": "there are more than {:,} entries: the rest is not read",
    "entry-too-long": "an entry is longer than {:,} characters: it is left out",
    # Bytes and characters.
    "gzip-cut": "the gzip data end too early: what came before counts",
    "gzip-damaged": "the gzip data are damaged: what came before counts",
    "gzip-followed": "something follows the gzip data that is not gzip: it is left out",
    "gzip-members": "it is made of more than {:,} gzip files: the others are left out",
    "gzip-nested": "it is packed more than {} times: it is not read",
    "encoding": (
        "the encoding that it declares, {!r}, is not the one it is in: read as UTF-8"
    ),
    "not-utf8": "there are bytes that are not UTF-8: they are read as Windows-1252",
    # Markup.
    "open-section": "a comment, a declaration or a CDATA section is not closed",
    "entity": (
        "an entity of the file's own is used: none is expanded, the value does not"
        " count"
    ),
    "ampersand": "an ampersand is not written as &amp;",
    "not-closed": "an entry is not closed",
    # Entries.
    "no-loc": "an entry has no URL: it is left out",
    "bare-loc": "an entry's URL is not in a <loc>: it is read all the same",
    "several-locs": "an entry has several URLs: each counts as an entry",
    "bad-loc": (
        "an entry's URL cannot be read, or is not of http or https: it is left out"
    ),
    "relative-loc": "an entry's URL is relative: it is read as relative to the sitemap",
    "long-loc": "an entry's URL is longer than 2,048 characters",
    "many-tags": "an entry has more than {:,} tags: it is left out",
    "many-alternates": (
        "an entry has more than {:,} alternates: the others are left out"
    ),
    "bad-alternate": "an alternate's URL cannot be read, or is not of http or https",
    "bad-lastmod": "a date cannot be read: {!r}",
    "bad-changefreq": "a change frequency is none of the seven: {!r}",
    "bad-priority": "a priority is not a number from 0.0 to 1.0: {!r}",
    "not-a-url": "a line is not a URL: {!r}",
}

_SHOWN = 80  # characters of a quotation


@dataclass(frozen=True, slots=True)
class SitemapProblem:
    """One kind of problem of a sitemap, however often it occurs."""

    code: str
    """A key of `MESSAGES`."""
    message: str
    """The problem and how it was handled; quotes the first occurrence."""
    where: str
    """The first occurrence: ``entry 17``, ``line 3``, ``byte 52428800``; empty: the
    whole file.
    """
    count: int = 1
    """How often it occurs."""

    def __str__(self) -> str:
        often = f" ({self.count:,} times)" if self.count > 1 else ""
        if self.where:
            return f"{self.where}: {self.message}{often}"
        return f"{self.message}{often}"


class Problems:
    """The problems of one file, in the order of their first occurrence."""

    __slots__ = ("_found", "_times")

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, str]] = {}
        self._times: dict[str, int] = {}

    def __contains__(self, code: str) -> bool:
        """Return whether the problem has occurred: only its first place matters."""
        return code in self._found

    def note(self, code: str, where: str = "", detail: str | int = "") -> None:
        """Record a problem. `detail` goes into its message, shortened."""
        if code not in self._found:
            shown = detail[:_SHOWN] if isinstance(detail, str) else detail
            self._found[code] = (MESSAGES[code].format(shown), where)
        self._times[code] = self._times.get(code, 0) + 1

    def found(self) -> tuple[SitemapProblem, ...]:
        """Return the problems: at most one for each code."""
        return tuple(
            SitemapProblem(code, message, where, self._times[code])
            for code, (message, where) in self._found.items()
        )
