"""Text of the web as a log, a terminal or an exception may have it: harmless, and not long.

Whoever writes a robots.txt, a header or a page chooses what stands in it: control characters that
move a cursor, overrides that turn the direction of a line, a rule of half a megabyte, a password in
a URL.
"""

from __future__ import annotations

import re

LONGEST = 200
"""Characters of one text of the web in a log line."""

_LOOKED_AT = 4  # times what is shown
_CREDENTIALS = re.compile(r"(//)[^/?#\s]*@")


def printable(text: str) -> str:
    """Return a text of which nothing moves a cursor or turns the direction of a line.

    Other signs than printable ones become escapes, a tab a space.
    """
    if text.isprintable():
        return text
    text = text.replace("\t", " ")
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def shown(text: str, longest: int = LONGEST) -> str:
    """Return a text for a log line: printable, without credentials in URLs, cut where it is long.

    The cost does not grow with the length of the text.
    """
    start = text[: _LOOKED_AT * longest]  # more than is shown: credentials may be what is cut
    start = printable(without_credentials(start) if "@" in start else start)
    return start if len(start) <= longest else f"{start[: longest - 1]}…"


def without_credentials(text: str) -> str:
    """Return a text in whose URLs no user and no password stands."""
    return _CREDENTIALS.sub(r"\1", text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: ``1 site``, ``1,240 requests``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
