"""What differs between a file and its corrected version, line by line.

`difflib` alone takes minutes where thousands of groups change a little each. So lines that both
files have once are matched first, as many as keep their order ("patience diff"), and `difflib` is
left with what stands between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Lines = Sequence[str]

_MOST_PAIRS = 250_000  # of lines, in a part without lines that are there once: about a second
_CONTEXT = 3  # lines around a change, as in `diff -u`


def same_lines(before: Lines, after: Lines) -> list[tuple[int, int]]:
    """Return the places of the lines that stay: of each in both files, from 0, in their order."""
    found: list[tuple[int, int]] = []
    parts = [(0, len(before), 0, len(after))]
    while parts:
        start, end, other_start, other_end = parts.pop()
        while start < end and other_start < other_end and before[start] == after[other_start]:
            found.append((start, other_start))
            start, other_start = start + 1, other_start + 1
        while start < end and other_start < other_end and before[end - 1] == after[other_end - 1]:
            end, other_end = end - 1, other_end - 1
            found.append((end, other_end))
        one, other = before[start:end], after[other_start:other_end]
        anchors = _anchors(one, other)
        if not anchors:
            found += ((start + a, other_start + b) for a, b in _matched(one, other))
            continue
        found += ((start + a, other_start + b) for a, b in anchors)
        borders = [(-1, -1), *anchors, (len(one), len(other))]
        parts += (
            (start + a + 1, start + next_a, other_start + b + 1, other_start + next_b)
            for (a, b), (next_a, next_b) in pairwise(borders)
            if next_a > a + 1 and next_b > b + 1
        )
    return sorted(found)


def _anchors(before: Lines, after: Lines) -> list[tuple[int, int]]:
    """Return the lines that are once in both, as many as keep their order."""
    counts, others = Counter(before), Counter(after)
    place_of = {line: place for place, line in enumerate(after) if others[line] == 1}
    pairs = [
        (place, place_of[line])
        for place, line in enumerate(before)
        if counts[line] == 1 and line in place_of
    ]
    ends: list[int] = []  # of runs of each length, the smallest last place
    last: list[int] = []  # the pairs that these are
    previous: list[int] = []  # before each pair, in the run that ends with it
    for number, (_, other) in enumerate(pairs):
        length = bisect_left(ends, other)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [other]
        last[length : length + 1] = [number]
    run = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(pairs[number])
        number = previous[number]
    return run[::-1]


def _matched(before: Lines, after: Lines) -> Iterator[tuple[int, int]]:
    if len(before) * len(after) > _MOST_PAIRS:
        return
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        for place in range(block.size):
            yield block.a + place, block.b + place


def unified_diff(before: Lines, after: Lines, name: str, other_name: str) -> str:
    """Return what changes as ``diff -u`` shows it; empty where nothing does."""
    script = list(_script(before, after))
    lines: list[str] = []
    line, other_line, done = 1, 1, 0
    for start, end in _hunks([sign != " " for sign, _ in script]):
        line, other_line = line + start - done, other_line + start - done  # all between is the same
        hunk = script[start:end]
        length = sum(sign != "+" for sign, _ in hunk)
        other_length = sum(sign != "-" for sign, _ in hunk)
        lines.append(f"@@ -{_range(line, length)} +{_range(other_line, other_length)} @@")
        lines += (sign + text for sign, text in hunk)
        line, other_line, done = line + length, other_line + other_length, end
    if not lines:
        return ""
    return "".join(f"{one}\n" for one in [f"--- {name}", f"+++ {other_name}", *lines])


def _script(before: Lines, after: Lines) -> Iterator[tuple[str, str]]:
    """Yield the lines of both files, each with ``-``, ``+``, or a space where it stays."""
    done = other_done = 0
    for place, other in [*same_lines(before, after), (len(before), len(after))]:
        yield from (("-", line) for line in before[done:place])
        yield from (("+", line) for line in after[other_done:other])
        yield from ((" ", line) for line in before[place : place + 1])
        done, other_done = place + 1, other + 1


def _hunks(changed: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the ends of the parts that are shown: changes with what is around them."""
    start = end = 0
    for place in (place for place, is_changed in enumerate(changed) if is_changed):
        if end and place - _CONTEXT > end:
            yield start, end
            end = 0
        if not end:
            start = max(0, place - _CONTEXT)
        end = min(len(changed), place + 1 + _CONTEXT)
    if end:
        yield start, end


def _range(line: int, length: int) -> str:
    if length == 1:
        return str(line)
    return f"{line if length else line - 1},{length}"
