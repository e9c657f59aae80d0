r"""What a rule's path matches, without regular expressions: no path makes a match slow.

Mandelbot's page, section "Wildcards": ``*`` is any characters, ``$`` at the end is the end
of the URL, and a path without it matches what begins with it. The sh globs of "An Extended
Standard for Robot Exclusion" add ``?``, ``[…]``, ``[!…]`` and ``\``, and match the whole.
"""

from __future__ import annotations

import re
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
    return _from_pieces(pieces, ends=ends)


def _from_pieces(pieces: list[str], *, ends: bool) -> Pattern:
    if len(pieces) == 1:
        return Pattern(pieces[0], (), None, ends)
    tail = pieces.pop() if ends else ""
    return Pattern(pieces[0], tuple(filter(None, pieces[1:])), tail or None)


def prefix_pattern(path: str, comparable: Callable[[str], str]) -> Pattern:
    """Read a path in which nothing is special, but a lone ``*``, which is everything."""
    return Pattern("" if path == "*" else comparable(path))


_Step = tuple[str, bool]  # the characters listed, and whether all but these are meant
_ANY: _Step = ("", True)


class Glob:
    """An sh glob with ``?`` or brackets: all states it may be in are kept at once, as bits.

    Linear in the target for any pattern that a machine word holds, and never worse than their
    product: no state is visited twice. A pattern that is longer than the target costs nothing.
    """

    __slots__ = ("_accepted", "head", "stars", "steps")

    exact = is_prefix = False
    guard = ""

    def __init__(self, head: str, steps: list[_Step], stars: list[int]) -> None:
        self.head = head
        self.steps = steps
        """Each a character of the target: those listed, or with True all but these."""
        self.stars = stars
        """After how many steps a star stands."""
        self._accepted: dict[str, int] = {}

    def matches(self, target: str) -> bool:
        """Whether the whole target matches."""
        if len(target) < len(self.steps):
            return False
        states, loops = 1, sum(1 << star for star in set(self.stars))
        for character in target:
            accepted = self._accepted.get(character)
            if accepted is None:
                accepted = self._accepted[character] = self._accepting(character)
            states = (states & accepted) << 1 | states & loops
            if not states:
                return False
        return bool(states >> len(self.steps) & 1)

    def _accepting(self, character: str) -> int:
        """Return the bits of the steps that accept a character."""
        bits = ["01"[(character in listed) != but] for listed, but in reversed(self.steps)]
        return int("".join(bits), 2)


# The parts of an sh glob. A bracket that is empty or never closed stands for itself.
_GLOB_PARTS = re.compile(
    r"(?P<run>[*?]+)|\[(?P<but>!?)(?P<set>\]?[^\[\]]+|\])\]|\\(?P<escaped>.)"
    r"|(?P<text>[^*?\[\\]+|\[+(?=\[)|\[|\\)",
    re.DOTALL,
)
_LAST_ASCII = 0x7F  # all that comparable targets consist of
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def glob_pattern(path: str, comparable: Callable[[str], str]) -> Pattern | Glob:
    """Read an sh glob, which matches the whole target. Without pattern characters it is exact."""
    literals: list[list[str]] = [[]]
    between: list[tuple[list[_Step], bool]] = []  # steps, and whether any characters may follow
    for part in _GLOB_PARTS.finditer(path):
        literal = part["escaped"] or part["text"]
        if literal:
            literals[-1].append(literal)
            continue
        run = part["run"] or ""  # "*?*?" is two characters or more, in whatever order
        bracket = [] if run else [(_listed(part["set"]), bool(part["but"]))]
        between.append((bracket or [_ANY] * run.count("?"), "*" in run))
        literals.append([])
    pieces = [comparable("".join(parts)) for parts in literals]
    if not any(steps for steps, _ in between):
        return _from_pieces(pieces, ends=True)
    steps: list[_Step] = [(character, False) for character in pieces[0]]
    stars: list[int] = []
    for (single, star), piece in zip(between, pieces[1:], strict=True):
        steps += single
        if star:
            stars.append(len(steps))
        steps += [(character, False) for character in piece]
    return Glob(pieces[0], steps, stars)


def _listed(brackets: str) -> str:
    """Return the characters that ``a-z_`` lists."""
    listed: set[str] = set()
    for one in _RANGE.finditer(brackets):
        first, last = ord(one[1] or one[3]), ord(one[2] or one[3])
        listed.update(map(chr, range(first, min(last, _LAST_ASCII) + 1)))
    return "".join(sorted(listed))
