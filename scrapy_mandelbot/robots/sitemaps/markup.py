"""From text to the text of one entry after the other: XML, as broken as it may be.

No XML parser takes part. One that goes on after an error goes on where its own stack says, which
may be far behind the next entry; and it knows of entities, external ones even. Sitemaps need
neither: they are flat, and an entry ends where the next one begins, whatever happens within it.

There are two steps. `Simplifier` leaves only tags and text: it removes comments, processing
instructions and the document type, and escapes CDATA sections. The second step therefore meets no
``<url>`` that was commented out, and no entity is ever defined. `EntrySplitter` then splits at the
tags that begin and end entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy_mandelbot.robots.sitemaps.formats import Format
    from scrapy_mandelbot.robots.sitemaps.problems import Problems

_OPENING = re.compile(r"<(?:!(?:--|\[CDATA\[|DOCTYPE)|\?)", re.IGNORECASE)
_OPENINGS = ("<!--", "<![cdata[", "<!doctype", "<?")
_LONGEST = max(map(len, _OPENINGS))

# What ends each. One that is not closed as it should be ends where its author thought it did: at
# the first ">" of "<?xml ...>", at the tag that closes the URL around a CDATA section.
_CLOSINGS = {
    "<!--": re.compile(r"-->"),
    "<![cdata[": re.compile(r"\]\]>|(?=</loc>)", re.IGNORECASE),
    "<!doctype": re.compile(r">|\["),
    "[": re.compile(r"\]\s*>"),  # the document type's own declarations
    "<?": re.compile(r">"),
}
_LONGEST_CLOSING = 64  # characters; white space may stand between "]" and ">"


@dataclass(slots=True)
class Simplifier:
    """Leaves only tags and text of a document that comes in pieces."""

    _problems: Problems
    _held: str = ""
    """What may be the beginning of something."""
    _inside: str = ""
    """The key of `_CLOSINGS` for what is not closed yet."""
    document_type: str = ""
    declares_entities: bool = False

    def feed(self, text: str, *, final: bool) -> str:
        """Return the next piece, simplified."""
        if self._held:
            text, self._held = self._held + text, ""
        parts: list[str] = []
        at = 0
        while at < len(text):
            if self._inside:
                at = self._leave(text, at, parts, final=final)
            else:
                at = self._enter(text, at, parts, final=final)
        if final and self._inside:
            self._problems.note("open-section")
        return "".join(parts)

    def _enter(self, text: str, at: int, parts: list[str], *, final: bool) -> int:
        """Take the text up to the next opening; return where to go on."""
        opening = _OPENING.search(text, at)
        if opening is None:
            end = len(text) if final else _before_a_beginning(text, at)
            parts.append(text[at:end])
            self._held = text[end:]
            return len(text)
        parts.append(text[at : opening.start()])
        self._inside = opening[0].lower()
        return opening.end()

    def _leave(self, text: str, at: int, parts: list[str], *, final: bool) -> int:
        """Pass by what is inside, up to its end; return where to go on."""
        closing = _CLOSINGS[self._inside].search(text, at)
        end = closing.start() if closing else len(text) if final else len(text) - _LONGEST_CLOSING
        if end < at:
            self._held = text[at:]
            return len(text)
        if self._inside == "<![cdata[":
            parts.append(text[at:end].replace("&", "&amp;").replace("<", "&lt;"))
        elif self._inside == "<!doctype" and not self.document_type:
            self.document_type = text[at:end].strip().partition(" ")[0].lower()
        if closing is None:
            self._held = text[end:]
            return len(text)
        if closing[0] == "[":
            self._inside, self.declares_entities = "[", True
        else:
            self._inside = ""
        return closing.end()


def _before_a_beginning(text: str, at: int) -> int:
    """Return where, at the end of the text, an opening may begin that goes on in the next piece."""
    start = text.rfind("<", max(at, len(text) - _LONGEST))
    if start >= 0 and any(opening.startswith(text[start:].lower()) for opening in _OPENINGS):
        return start
    return len(text)


class EntryText(NamedTuple):
    """One entry."""

    text: str
    """From its tag to the tag that ends it; empty: it is too long."""
    plain: tuple[str, ...] | None
    """Where it holds nothing but the fields of `Format.plain`, in their order: what they hold. Most
    entries do, and need no further reading."""
    is_closed: bool
    """Whether its own closing tag followed."""
    is_cut: bool
    """Whether the file ends within it."""


_LONGEST_NAME = 64  # characters of a tag, as far as it has to be read to know what it is


class EntrySplitter:
    """Cuts simplified text, in pieces of any size, into entries."""

    __slots__ = (
        *("_boundary", "_entry", "_held", "_max_length", "_root_end", "_scanned"),
        "root_is_closed",
    )

    def __init__(self, form: Format, max_length: int) -> None:
        prefix = r"(?:[\w.-]{1,30}:)?"
        own, root = "|".join(form.entries), "|".join(form.roots)
        ends_entry = rf"</{prefix}(?:{own})(?=[\s/>])"
        self._entry = re.compile(
            _plain_pattern(own, form.plain) + rf"<{prefix}(?:{own})(?=[\s/>])"
            rf"[^<]*(?:<(?!/?{prefix}(?:{own}|{root})[\s/>])[^<]*)*(?P<closed>{ends_entry})?",
            re.IGNORECASE,
        )
        self._root_end = re.compile(
            rf"<(?:/{prefix}(?:{root})\b|{prefix}(?:{root})[^<>]*/>)", re.IGNORECASE
        )
        self._boundary = re.compile(rf"</?{prefix}(?:{own}|{root})[\s/>]", re.IGNORECASE)
        self._max_length = max_length
        self._held = ""
        self._scanned = 0  # what of an entry that goes on was looked through for its end
        self.root_is_closed = False

    def feed(self, text: str, *, final: bool) -> Iterator[EntryText]:
        """Yield the entries that are complete. The next piece is fed when all were taken."""
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
                yield EntryText(entry[0], entry.groups("")[1:-1], is_closed=True, is_cut=False)
            else:
                is_closed = entry["closed"] is not None
                yield EntryText(entry[0], None, is_closed, is_cut=is_last and not is_closed)
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
        """Hold the entry that the text begins with, if it does not end there and is not too long.

        Only what came since is looked at: all of it again, block by block, would take long.
        """
        begun = max(1, self._scanned - _LONGEST_NAME)
        if len(text) > self._max_length or self._boundary.search(text, begun):
            return False
        self._held, self._scanned = text, len(text)
        return True


_TOO_LONG = EntryText("", None, is_closed=False, is_cut=False)


def _plain_pattern(entries: str, fields: tuple[str, ...]) -> str:
    """Return the pattern of an entry of these fields: the first is required, the others are not."""
    if not fields:
        return ""
    first, *others = (rf"<{field}>([^<]*)</{field}>\s*" for field in fields)
    optional = "".join(rf"(?:{field})?" for field in others)
    return rf"(?P<plain><(?:{entries})>\s*{first}{optional}</(?:{entries})(?=[\s/>]))|"
