"""What a rule's path matches, without regular expressions: no path makes a match slow.

Mandelbot's page, section "Wildcards": ``*`` is any characters, ``$`` at the end is the end
of the URL, and a path without it matches what begins with it. Globs are in `globs.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Pattern(NamedTuple):
    """Literal pieces that a target must hold in order, the first at its beginning."""

    head: str
    """What every match begins with."""
    middle: tuple[str, ...] = ()
    """What follows somewhere, in this order."""
    tail: str | None = None
    """What a match ends with, after the rest; None: it may go on."""
    exact: bool = False
    """The head is the whole."""

    @property
    def is_prefix(self) -> bool:
        """Whether this is nothing but a prefix."""
        return not self.middle and self.tail is None and not self.exact

    @property
    def guard(self) -> str:
        """The last of the longest literals besides the head: without it nothing matches."""
        return max((self.tail or "", *reversed(self.middle)), key=len)

    def matches(self, target: str) -> bool:
        """Whether the target matches, in time linear in its length for each piece."""
        head, middle, tail, exact = self
        if exact:
            return target == head
        if not target.startswith(head) or (tail is not None and not target.endswith(tail)):
            return False
        if middle and middle[-1] not in target:  # what is missing mostly is the last
            return False
        at = len(head)
        for piece in middle:
            at = target.find(piece, at) + len(piece)
            if at < len(piece):
                return False
        return tail is None or len(target) - len(tail) >= at


def wildcard_pattern(path: str, comparable: Callable[[str], str]) -> Pattern:
    """Read a path in which ``*`` is any characters and a final ``$`` the end of the URL.

    `comparable` makes a literal piece comparable with targets; an escaped ``%2A`` or ``%24`` is
    inside a piece by then, and no wildcard any more.
    """
    ends = path[-1:] == "$"
    pieces = (path[:-1] if ends else path).split("*")
    if "%" in path or not path.isascii():
        pieces = [comparable(piece) for piece in pieces]
    return from_pieces(pieces, ends=ends)


def from_pieces(pieces: list[str], *, ends: bool) -> Pattern:
    """Return the pattern of comparable literals with any characters between them."""
    if len(pieces) == 1:
        return Pattern(pieces[0], (), None, ends)
    tail = pieces.pop() if ends else ""
    return Pattern(pieces[0], tuple(filter(None, pieces[1:])), tail or None)


def prefix_pattern(path: str, comparable: Callable[[str], str]) -> Pattern:
    """Read a path in which nothing is special, but a lone ``*``, which is everything."""
    return Pattern("" if path == "*" else comparable(path))
