"""Reduces the XML of a sitemap, however broken, to tags and text.

This is no XML parser. After an error an XML parser resumes where its stack says, which
may be far beyond the next entry, and it expands entities, even external ones. Sitemaps
need neither: they are flat, and an entry ends where the next one begins, whatever is
inside.

`Simplifier` removes comments, processing instructions and the document type, and
escapes CDATA sections. `entries.EntrySplitter`, the next step, therefore meets no
``<url>`` that was commented out, and no entity is ever defined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mandelbot.sitemaps.problems import Problems

_OPENING = re.compile(r"<(?:!(?:--|\[CDATA\[|DOCTYPE)|\?)", re.IGNORECASE)
_OPENINGS = ("<!--", "<![cdata[", "<!doctype", "<?")
_LONGEST = max(map(len, _OPENINGS))

# What ends each. Unclosed ones end where their author probably meant: at the first ">"
# of "<?xml ...>", at the tag that closes the URL around a CDATA section.
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
    """Reduces a document, fed in chunks, to tags and text."""

    _problems: Problems
    _held: str = ""
    """Text that may begin an opening."""
    _inside: str = ""
    """The key of `_CLOSINGS` for the construct that is open."""
    document_type: str = ""
    declares_entities: bool = False

    def feed(self, text: str, *, final: bool) -> str:
        """Return the next chunk, simplified."""
        if self._held:
            text = self._held + text
            self._held = ""
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
        """CachedRobots the text up to the next opening; return where to continue."""
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
        """Skip the open construct up to its end; return where to continue."""
        closing = _CLOSINGS[self._inside].search(text, at)
        if closing:
            end = closing.start()
        elif final:
            end = len(text)
        else:
            end = len(text) - _LONGEST_CLOSING
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
            self._inside = "["
            self.declares_entities = True
        else:
            self._inside = ""
        return closing.end()


def _before_a_beginning(text: str, at: int) -> int:
    """Find where an opening may begin that continues in the next chunk."""
    start = text.rfind("<", max(at, len(text) - _LONGEST))
    if start >= 0 and any(
        opening.startswith(text[start:].lower()) for opening in _OPENINGS
    ):
        return start
    return len(text)
