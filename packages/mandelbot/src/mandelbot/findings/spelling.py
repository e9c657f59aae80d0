"""Finds the known word that a misspelt one means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_NO_LETTERS = re.compile(r"[\W_]+")
_REPEATED = re.compile(r"(.)\1+")
_LONG = 9  # characters: words this long are seldom similar by chance
_LONGEST = 40  # characters: no known word is as long


class Spelling:
    """A list of known words."""

    def __init__(self, known: Iterable[str], *, shortest: int) -> None:
        self._shortest = shortest
        """Characters of the shortest word that is corrected: short ones are similar by
        chance.
        """
        self._known: dict[str, str] = {}
        for word in known:
            for form in _forms(_simplified(word)):
                self._known.setdefault(form, word)

    def corrected(self, word: str) -> str | None:
        """Return the known word that is like this one; None: there is none."""
        if not self._shortest <= len(word) <= _LONGEST:
            return None
        forms = _forms(_simplified(word))
        return next((self._known[form] for form in forms if form in self._known), None)

    def surely_corrected(self, word: str) -> str | None:
        """Like `corrected`, for words of which only some are known, such as names.

        The first letter is the same, and a short word has a letter too few, too many,
        or two swapped: ``Roverbot`` is not Rogerbot.
        """
        known = self.corrected(word)
        if known is None or known[0] != word[0].lower():
            return None
        ours = _simplified(word)
        its = _simplified(known)
        one_is_wrong = len(ours) == len(its) and sorted(ours) != sorted(its)
        if one_is_wrong and len(known) < _LONG:
            return None
        return known


def _simplified(word: str) -> str:
    """Return the letters and digits in lower case, doubled ones as one.

    ``dissallow``.
    """
    return _REPEATED.sub(r"\1", _NO_LETTERS.sub("", word.lower()))


def _forms(word: str) -> Iterator[str]:
    yield word
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]
