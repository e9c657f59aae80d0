"""Matches the paths of rules, without regular expressions: no path makes a match slow.

Mandelbot's page, section "Wildcards": ``*`` is any characters, a final ``$`` is the end
of the URL, and a path without it is a prefix. Globs are those of the extended standard
2.0.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple


class Pattern(NamedTuple):
    """Literal pieces that a target must contain in order, the first at its start."""

    head: str
    """What every match begins with."""
    middle: tuple[str, ...] = ()
    """Pieces that follow somewhere, in this order."""
    tail: str | None = None
    """The end of every match, after the rest; None: any end."""
    exact: bool = False
    """Whether the head is the whole target."""

    @property
    def is_prefix(self) -> bool:
        """Whether it is a plain prefix."""
        return not self.middle and self.tail is None and not self.exact

    @property
    def guard(self) -> str:
        """The last of the longest literals after the head: every match contains it."""
        return max((self.tail or "", *reversed(self.middle)), key=len)

    def matches(self, target: str) -> bool:
        """Return whether the target matches, in linear time for each piece."""
        head, middle, tail, exact = self
        if exact:
            return target == head
        if not target.startswith(head) or (
            tail is not None and not target.endswith(tail)
        ):
            return False
        if middle and middle[-1] not in target:  # usually the last is the one missing
            return False
        at = len(head)
        for piece in middle:
            at = target.find(piece, at) + len(piece)
            if at < len(piece):
                return False
        return tail is None or len(target) - len(tail) >= at


def wildcard_pattern(path: str, comparable: Callable[[str], str]) -> Pattern:
    """Read a path in which ``*`` is any text and a final ``$`` the URL's end.

    `comparable` makes a literal piece comparable with targets; an escaped ``%2A`` or
    ``%24`` is then part of a piece, not a wildcard.
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


def _prefix_pattern(path: str, comparable: Callable[[str], str]) -> Pattern:
    """Read a path in which only a lone ``*`` is special: it matches everything."""
    return Pattern("" if path == "*" else comparable(path))


_Step = tuple[str, bool]  # the characters listed, and whether all but these are meant

# Steps are characters; all comparable targets are ASCII, so ASCII stands for itself.
_ANY = "\x80"
_END = "\x81"  # after the last step; it matches no character
_FIRST_CLASS = 0x82
_OCTETS = 0x100
_LAST_ASCII = "\x7f"
_ASCII = "".join(map(chr, range(0x80)))
_BEYOND = 0x80
_ALL_BITS = (2 << _BEYOND) - 1


class Glob:
    """An sh glob with ``?`` or brackets."""

    __slots__ = ("classes", "head", "stars", "text")
    exact: ClassVar[bool] = False
    is_prefix: ClassVar[bool] = False
    guard: ClassVar[str] = ""

    def __init__(
        self,
        head: str,
        text: str,
        classes: tuple[tuple[str, str], ...],
        stars: list[int],
    ) -> None:
        self.head = head
        """What every match begins with."""
        self.text = text
        """A character for each step; beyond ASCII and `_END`, the number of a class."""
        self.classes = classes
        """``!`` or nothing, and the content of the brackets as written."""
        self.stars = stars
        """The number of steps before each star."""

    @property
    def steps(self) -> list[_Step]:
        """For each character of the target: those listed, or with True all others."""
        meant: dict[str, _Step] = {_ANY: ("", True)}
        for number, (but, written) in enumerate(self.classes, start=_FIRST_CLASS):
            bits = _taken(("", written))
            listed = "".join(one for one in _ASCII if bits >> ord(one) & 1)
            meant[chr(number)] = listed, bool(but)
        return [meant.get(step, (step, False)) for step in self.text]

    def matches(self, target: str) -> bool:
        """Return whether the whole target matches."""
        return len(target) >= len(self.text) and Globs([self]).first(target) is not None


class Globs:
    """Globs that are matched together, by a bit-parallel automaton."""

    __slots__ = (
        *("_accepted", "_classes", "_end_bits", "_ends", "_loops"),
        *("_shortest", "_starts", "_steps", "_taken"),
    )

    def __init__(self, globs: Sequence[Glob]) -> None:
        self._classes: dict[tuple[str, str], str] = {}
        """The character of each class, in all the globs."""
        self._taken: list[int] = []
        """The characters of each class, as bits."""
        self._shortest = min((len(glob.text) for glob in globs), default=0)
        steps = []
        starts = []
        stars = []
        self._ends: list[int] = []
        """The bit at the end of each glob."""
        start = 0
        for glob in globs:
            steps.append(self._renumbered(glob) + _END)
            starts.append(start)
            stars += [start + star for star in glob.stars]
            start += len(glob.text)
            self._ends.append(start)
            start += 1
        signs = "".join(steps)[::-1]  # numbers are written from their highest bit
        is_narrow = _FIRST_CLASS + len(self._classes) <= _OCTETS
        self._steps: str | bytes = signs.encode("latin-1") if is_narrow else signs
        self._starts = _bits(starts, start)
        self._loops = _bits(stars, start)
        self._end_bits = _bits(self._ends, start)
        self._accepted: dict[str, int] = {}

    def first(self, target: str) -> int | None:
        """Return the index of the first glob that matches the whole target, or None."""
        if len(target) < self._shortest:
            return None
        states = self._starts
        loops = self._loops
        accepted = self._accepted
        for character in target:
            accepting = accepted.get(character)
            if accepting is None:
                accepting = self._accepting(character)
            states = (states & accepting) << 1 | states & loops
            if not states:
                return None
        found = states & self._end_bits
        if found:
            return bisect_left(self._ends, (found & -found).bit_length() - 1)
        return None

    def _renumbered(self, glob: Glob) -> str:
        """Replace the classes of a glob by the characters that stand for them here."""
        if not glob.classes:
            return glob.text
        signs = {}
        for number, one in enumerate(glob.classes, start=_FIRST_CLASS):
            sign = self._classes.get(one)
            if sign is None:
                sign = chr(_FIRST_CLASS + len(self._classes))
                self._classes[one] = sign
                self._taken.append(_taken(one))
            signs[number] = sign
        return glob.text.translate(signs)

    def _accepting(self, character: str) -> int:
        if character > _LAST_ASCII:
            character = _END  # no step lists it
        accepting = self._accepted.get(character)
        if accepting is None:
            bit = 1 << min(ord(character), _BEYOND)
            taking = (
                n for n, bits in enumerate(self._taken, _FIRST_CLASS) if bits & bit
            )
            signs = {_ANY, *map(chr, taking), *({character} - {_END})}
            accepting = _marked(self._steps, signs)
            self._accepted[character] = accepting
        return accepting


def _bits(places: Iterable[int], size: int) -> int:
    """Set these bits, in time linear in the size."""
    digits = bytearray(b"0") * (size or 1)
    for place in places:
        digits[-1 - place] = 0x31
    return int(digits, 2)


def _marked(steps: str | bytes, signs: set[str]) -> int:
    """Set a bit for each step that is one of `signs`."""
    if isinstance(steps, str):  # more classes than in practice; much slower
        return int("".join(["01"[step in signs] for step in steps]), 2)
    table = bytearray(b"0") * _OCTETS
    for sign in signs:
        table[ord(sign)] = 0x31
    return int(steps.translate(table), 2)


# Reading.

# The parts of an sh glob. A bracket that is empty or never closed stands for itself.
_PARTS = re.compile(
    r"(?P<run>[*?]+)|\[(?P<but>!?)(?P<set>\]?[^\[\]]+|\])\]|\\(?P<escaped>.)"
    r"|(?P<text>[^*?\[\\]+|\[+(?=\[)|\[|\\)",
    re.DOTALL,
)
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def _glob_pattern(path: str, comparable: Callable[[str], str]) -> Pattern | Glob:
    """Read an sh glob, which matches the whole target.

    Without pattern characters it is exact.
    """
    literal: list[str] = []
    pieces: list[str] = []  # literal and comparable
    # between the pieces: steps, and a star if any characters may follow
    between: list[str] = []
    classes: dict[tuple[str, str], str] = {}
    for run, but, brackets, escaped, text in _PARTS.findall(path):
        if escaped or text:
            literal.append(escaped or text)
            continue
        pieces.append(comparable("".join(literal)) if literal else "")
        literal.clear()
        if run:  # "*?*?" is two characters or more, in whatever order
            between.append(_ANY * run.count("?") + "*" * ("*" in run))
        else:
            between.append(
                classes.setdefault((but, brackets), chr(_FIRST_CLASS + len(classes)))
            )
    pieces.append(comparable("".join(literal)))
    if all(one == "*" for one in between):
        return from_pieces(pieces, ends=True)
    steps = [pieces[0]]
    stars: list[int] = []
    size = len(pieces[0])
    for one, piece in zip(between, pieces[1:], strict=True):
        taking = one.removesuffix("*")
        size += len(taking)
        if taking != one:
            stars.append(size)
        size += len(piece)
        steps += (taking, piece)
    return Glob(pieces[0], "".join(steps), tuple(classes), stars)


def _taken(brackets: tuple[str, str]) -> int:
    """Set a bit for each character that brackets match, one for all beyond ASCII."""
    but, written = brackets
    taken = 0
    for first, last, single in _RANGE.findall(written):
        low = ord(first or single)
        high = min(ord(last or single), _BEYOND - 1)
        if low <= high:
            taken |= (2 << high) - (1 << low)
    return taken ^ _ALL_BITS if but else taken


#: What reads a path, by `Dialect.patterns` and the version of its group.
PATTERNS: dict[
    tuple[str, int], Callable[[str, Callable[[str], str]], Pattern | Glob]
] = {
    ("wildcards", 1): wildcard_pattern,
    ("wildcards", 2): wildcard_pattern,
    ("none", 1): _prefix_pattern,
    ("none", 2): _prefix_pattern,
    ("globs", 1): _prefix_pattern,
    ("globs", 2): _glob_pattern,
}
