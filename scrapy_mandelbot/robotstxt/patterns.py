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
        """The longest literal besides the head: a target without it cannot match."""
        return max((*self.middle, self.tail or ""), key=len)

    def matches(self, target: str) -> bool:
        """Whether the target matches, in time linear in its length for each piece."""
        if self.exact:
            return target == self.head
        if not target.startswith(self.head):
            return False
        at = len(self.head)
        for piece in self.middle:
            at = target.find(piece, at) + len(piece)
            if at < len(piece):
                return False
        return self.tail is None or (
            len(target) - len(self.tail) >= at and target.endswith(self.tail)
        )


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


class Glob:
    """An sh glob with ``?`` or brackets: all states it may be in are kept at once, as bits.

    Linear in the target for any pattern that a machine word holds, and never worse than their
    product: no state is visited twice.
    """

    __slots__ = ("_accepted", "_loops", "_steps", "head")

    exact = is_prefix = False
    guard = ""

    def __init__(self, head: str, steps: list[_Step], loops: int) -> None:
        self.head = head
        self._steps = steps
        self._loops = loops
        self._accepted: dict[str, int] = {}

    def matches(self, target: str) -> bool:
        """Whether the whole target matches."""
        if len(target) < len(self._steps):
            return False
        states = 1
        for character in target:
            accepted = self._accepted.get(character)
            if accepted is None:
                accepted = self._accepted[character] = self._accepting(character)
            states = (states & accepted) << 1 | states & self._loops
            if not states:
                return False
        return bool(states >> len(self._steps) & 1)

    def _accepting(self, character: str) -> int:
        """Return the bits of the steps that accept a character."""
        bits = ["01"[(character in listed) != but] for listed, but in reversed(self._steps)]
        return int("".join(bits), 2)


# The parts of an sh glob. A bracket that is never closed stands for itself.
_GLOB_PARTS = re.compile(
    r"(?P<star>\*+)|(?P<any>\?)|\[(?P<but>!?)(?P<set>\]?[^\[\]]*)\]|\\(?P<escaped>.)"
    r"|(?P<text>[^*?\[\\]+|[\[\\])",
    re.DOTALL,
)
_LAST_ASCII = 0x7F  # all that comparable targets consist of
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def glob_pattern(path: str, comparable: Callable[[str], str]) -> Pattern | Glob:
    """Read an sh glob, which matches the whole target. Without pattern characters it is exact."""
    pieces: list[str | _Step] = [""]  # literals, and between them "*" or a step
    for part in _GLOB_PARTS.finditer(path):
        literal = part["escaped"] or part["text"]
        if literal is not None:
            pieces[-1] = f"{pieces[-1]}{literal}"
        elif part["star"]:
            pieces += ["*", ""]
        else:
            listed = part["set"] or ""
            pieces += [(_listed(listed), bool(part["but"]) or not listed), ""]
    literals = [comparable(str(literal)) for literal in pieces[::2]]
    between = pieces[1::2]
    if all(step == "*" for step in between):
        return _from_pieces(literals, ends=True)
    steps: list[_Step] = []
    loops = 0
    for literal, step in zip(literals, [*between, None], strict=True):
        steps += [(character, False) for character in literal]
        if step == "*":
            loops |= 1 << len(steps)
        elif isinstance(step, tuple):
            steps.append(step)
    return Glob(literals[0], steps, loops)


def _listed(brackets: str) -> str:
    """Return the characters that ``a-z_`` lists."""
    listed: set[str] = set()
    for one in _RANGE.finditer(brackets):
        first, last = ord(one[1] or one[3]), ord(one[2] or one[3])
        listed.update(map(chr, range(first, min(last, _LAST_ASCII) + 1)))
    return "".join(listed)
