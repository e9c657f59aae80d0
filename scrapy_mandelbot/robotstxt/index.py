"""The second way to decide: an index of all rules, for files that are asked often.

A rule without wildcards holds for a range of URLs: those that begin with ``/a`` are, in the order
of strings, those from ``/a`` up to but not including ``/b``. Ranges of such rules are nested or
apart, never crossing, so together they cut all URLs into intervals, each with one answer. The
index is the sorted bounds of the intervals and their answers; to decide is one `bisect`.

A rule with wildcards hangs on the range of its literal head. Where it could change the answer of
an interval, the answer is a `Contest`: the rules that may, strongest first, and the answer that
stands when none of them matches.

The bounds carry the origin of the site's URLs in front, so that whole URLs are looked up as they
come, and a URL of another origin falls outside of all intervals.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.rules import Matcher


_Rule = tuple[int, bool]  # its rank, 0 for the strongest, and whether it allows


_Wildcard = tuple[int, bool, str, Callable[[str], bool]]
# Its rank, whether it allows, a literal that its matches contain, and what tells whether it matches


class _Wildcards:
    """Rules with wildcards whose heads are the same, strongest first, and those of ranges around."""

    __slots__ = ("around", "first", "here")

    def __init__(self, here: list[_Wildcard], around: _Wildcards | None) -> None:
        self.here = here
        self.around = around
        self.first = dict(around.first) if around else {True: sys.maxsize, False: sys.maxsize}
        """The ranks of the strongest that allows and that forbids, here or around."""
        for rank, allows, _, _ in reversed(here):
            self.first[allows] = min(rank, self.first[allows])


class Contest:
    """An interval in which rules with wildcards may change the answer."""

    __slots__ = ("_allows", "_path_at", "_rank", "_wildcards")

    def __init__(self, rank: int, wildcards: _Wildcards, path_at: int, *, allows: bool) -> None:
        self._rank = rank
        self._allows = allows
        self._wildcards = wildcards
        self._path_at = path_at

    def decide(self, url: str) -> bool:
        """Return the answer of the strongest rule that matches."""
        strongest, answer = self._rank, self._allows
        wildcards: _Wildcards | None = self._wildcards
        while wildcards is not None:
            for rank, allows, guard, matches in wildcards.here:
                if rank > strongest:
                    break
                if guard in url and matches(url[self._path_at :]):
                    strongest, answer = rank, allows
                    break
            wildcards = wildcards.around
        return answer


class _Range(NamedTuple):
    """A range while the sweep is in it: where it ends, and what holds where no other is inside."""

    end: str
    rank: int
    allows: bool
    wildcards: _Wildcards | None
    answer: bool | Contest | None


_OUTSIDE = _Range("", sys.maxsize, True, None, None)  # noqa: FBT003 - nothing is allowed by it


class Index:
    """Answers for one robot."""

    __slots__ = ("answers", "bounds", "origin")

    def __init__(self, matchers: list[Matcher], *, default: bool, origin: str) -> None:
        self.origin = origin
        self.bounds: list[str] = []
        """Where the intervals begin, the origin in front."""
        self.answers: list[bool | Contest | None] = [None]
        """One more than the bounds: before each and after the last. None: not of the origin."""
        prefixes, exacts, wildcards = _by_head(matchers, default=default)
        open_ranges = [_OUTSIDE]
        for head in sorted({*prefixes, *exacts, *wildcards}):
            while len(open_ranges) > 1 and open_ranges[-1].end <= head:
                self._close(open_ranges)
            if head in prefixes or head in wildcards:
                end = head[:-1] + chr(ord(head[-1]) + 1)
                here = wildcards.get(head)
                self._open(open_ranges, head, end, prefixes.get(head), here)
            if head in exacts:
                self._open(open_ranges, head, head + "\0", exacts[head], None)
        while len(open_ranges) > 1:
            self._close(open_ranges)

    def decide(self, target: str) -> bool:
        """Return whether a comparable target is allowed."""
        url = self.origin + target
        answer = self.answers[bisect_right(self.bounds, url)]
        return answer.decide(url) if isinstance(answer, Contest) else answer is True

    def _open(
        self,
        open_ranges: list[_Range],
        head: str,
        end: str,
        rule: _Rule | None,
        here: list[_Wildcard] | None,
    ) -> None:
        """Enter a range: what holds around it holds in it, unless a stronger rule is its own."""
        _, rank, allows, wildcards, _ = open_ranges[-1]
        if rule and rule[0] < rank:
            rank, allows = rule
        if here:
            wildcards = _Wildcards(here, wildcards)
        answer: bool | Contest = allows
        if wildcards is not None and wildcards.first[not allows] < rank:
            answer = Contest(rank, wildcards, len(self.origin), allows=allows)
        open_ranges.append(_Range(end, rank, allows, wildcards, answer))
        self._add(head, answer)

    def _close(self, open_ranges: list[_Range]) -> None:
        """Leave the innermost range."""
        end = open_ranges.pop().end
        self._add(end, open_ranges[-1].answer)

    def _add(self, bound: str, answer: bool | Contest | None) -> None:  # noqa: FBT001 - the answer
        """Begin an interval, unless the one before has the same answer."""
        bound = self.origin + bound
        if self.bounds and self.bounds[-1] == bound:
            self.bounds.pop()
            self.answers.pop()
        if self.answers[-1] is not answer:
            self.bounds.append(bound)
            self.answers.append(answer)


def _by_head(
    matchers: list[Matcher], *, default: bool
) -> tuple[dict[str, _Rule], dict[str, _Rule], dict[str, list[_Wildcard]]]:
    """Rank the rules and sort them by what they are and begin with; the weaker of equals drop."""
    prefixes: dict[str, _Rule] = {}
    exacts: dict[str, _Rule] = {}
    wildcards: dict[str, list[_Wildcard]] = {}
    matchers = sorted(matchers, key=itemgetter(0, 1))
    for rank, (_, _, allows, pattern) in enumerate(matchers):
        head = pattern.head or "/"
        if head[0] != "/":
            continue  # no target begins like that
        if pattern.exact:
            exacts.setdefault(head, (rank, allows))
        elif pattern.is_prefix:
            prefixes.setdefault(head, (rank, allows))
        else:
            wildcard = (rank, allows, pattern.guard, pattern.matches)
            wildcards.setdefault(head, []).append(wildcard)
    prefixes.setdefault("/", (len(matchers), default))
    return prefixes, exacts, wildcards
