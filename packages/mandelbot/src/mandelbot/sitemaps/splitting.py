"""Splits the text of a sitemap into the texts of its entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mandelbot.sitemaps.formats import Format


class EntryText(NamedTuple):
    """The text of one entry."""

    text: str
    """From its tag to the tag that ends it; empty if it is too long."""
    plain: tuple[str, ...] | None
    """The contents of the fields of `Format.plain`, if the entry has only these and in
    that order: most entries do, and need no further parsing.
    """
    is_closed: bool
    """Whether its own closing tag follows."""
    is_cut: bool
    """Whether the file ends within it."""


_LONGEST_NAME = 64  # characters of a tag that show which it is


class EntrySplitter:
    """Splits simplified text, in chunks of any size, into entries."""

    __slots__ = (
        *("_boundary", "_entry", "_held", "_max_length", "_root_end", "_scanned"),
        "root_is_closed",
    )

    def __init__(self, form: Format, max_length: int) -> None:
        prefix = r"(?:[\w.-]{1,30}:)?"
        own = "|".join(form.entries)
        root = "|".join(form.roots)
        ends_entry = rf"</{prefix}(?:{own})(?=[\s/>])"
        self._entry = re.compile(
            _plain_pattern(own, form.plain) + rf"<{prefix}(?:{own})(?=[\s/>])"
            rf"[^<]*(?:<(?!/?{prefix}(?:{own}|{root})[\s/>])[^<]*)*(?P<closed>{ends_entry})?",
            re.IGNORECASE,
        )
        self._root_end = re.compile(
            rf"<(?:/{prefix}(?:{root})\b|{prefix}(?:{root})[^<>]*/>)", re.IGNORECASE
        )
        self._boundary = re.compile(
            rf"</?{prefix}(?:{own}|{root})[\s/>]", re.IGNORECASE
        )
        self._max_length = max_length
        self._held = ""
        self._scanned = 0  # how far an unfinished entry was searched for its end
        self.root_is_closed = False

    def feed(self, text: str, *, final: bool) -> Iterator[EntryText]:
        """Yield the complete entries.

        Exhaust the iterator before you feed the next chunk.
        """
        text = self._held + text
        at = 0
        if self._scanned and not final and self._goes_on(text):
            return
        while (entry := self._entry.search(text, at)) is not None:
            is_last = entry.end() == len(text)
            if is_last and not final:
                break
            at = entry.end()
            if at - entry.start() > self._max_length:
                yield _TOO_LONG
            elif entry.lastgroup == "plain":
                yield EntryText(
                    entry[0], entry.groups("")[1:-1], is_closed=True, is_cut=False
                )
            else:
                is_closed = entry["closed"] is not None
                yield EntryText(
                    entry[0], None, is_closed, is_cut=is_last and not is_closed
                )
        self._scanned = 0
        if entry is not None and len(text) - entry.start() <= self._max_length:
            self._held = text[entry.start() :]
            self._scanned = len(self._held)
            return
        if entry is not None:
            yield _TOO_LONG
        elif self._root_end.search(text, at):
            self.root_is_closed = True
        start = text.rfind("<", max(at, len(text) - _LONGEST_NAME))
        self._held = text[start:] if start >= 0 else ""

    def _goes_on(self, text: str) -> bool:
        """Hold the entry that begins the text if it is neither complete nor too long.

        Only the new text is searched: rescanning all of it with each block would be
        quadratic.
        """
        begun = max(1, self._scanned - _LONGEST_NAME)
        if len(text) > self._max_length or self._boundary.search(text, begun):
            return False
        self._held = text
        self._scanned = len(text)
        return True


_TOO_LONG = EntryText("", None, is_closed=False, is_cut=False)


def _plain_pattern(entries: str, fields: tuple[str, ...]) -> str:
    """The first field is required, the others are optional."""
    if not fields:
        return ""
    first, *others = (rf"<{field}>([^<]*)</{field}>\s*" for field in fields)
    optional = "".join(rf"(?:{field})?" for field in others)
    return rf"(?P<plain><(?:{entries})>\s*{first}{optional}</(?:{entries})(?=[\s/>]))|"
