"""``fix``: the corrected file, what changes, and the proof that it decides alike."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.fix import correct
from scrapy_mandelbot.robots.formatting import printable
from scrapy_mandelbot.robots.robotstxt import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_mandelbot.robots.reports.terminal_text import Paint
    from scrapy_mandelbot.robots.robotstxt import Dialect

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


def fix(  # noqa: PLR0913 - as `correct` takes them
    source: str,
    body: bytes,
    dialect: str | Dialect,
    max_bytes: int,
    *,
    alone: bool = False,
    unsafe: bool = False,
) -> dict[str, Any]:
    """Return the corrected file, whether it is proved to decide as the original does, for whom not.

    Of the whole file: what comes after `max_bytes`, which robots do not read, too. With `alone` it
    is corrected for the robots of the dialect, whatever that opens to others; with `unsafe` put in
    order for all of them, whatever that opens to some.
    """
    robots = RobotsTxt.parse(body, dialect=dialect, max_bytes=None)
    rewritten = correct(body, dialect, alone=alone, unsafe=unsafe, max_bytes=max_bytes)
    proof = rewritten.proof
    before = [record.raw for record in robots.records]
    return {
        "source": source,
        "dialect": robots.dialect.name,
        "changed": rewritten.text.encode() != body,
        "text": rewritten.text,
        "diff": unified_diff(
            before, rewritten.text.split("\n")[:-1], source, f"{source} (corrected)"
        ),
        "remarks": list(rewritten.remarks),
        "harmless": rewritten.is_harmless,
        "effects": [
            {
                "reader": effect.reader,
                "bytes_read": effect.bytes_read,
                "decisions": effect.decisions,
                "opened": len(effect.opened),
                "closed": len(effect.closed),
                "lost": len(effect.lost),
                "made_up": len(effect.made_up),
                "summary": list(effect.sentences()),
            }
            for effect in rewritten.effects
        ],
        "proof": {
            "holds": proof.holds,
            "is_whole": proof.is_whole,
            "decisions": proof.decisions,
            "fields": proof.fields,
            "different": proof.different,
            "differences": [one._asdict() for one in proof.differences],
            "summary": str(proof),
        },
    }


def exit_code(report: dict[str, Any]) -> int:
    """Return 0 where it is proved that nothing is decided otherwise, else 3."""
    return 0 if report["proof"]["holds"] else 3


def diff_shown(report: dict[str, Any], paint: Paint) -> str:
    """Return what changes for a person: in colours, and harmless."""
    kinds = {"+": "good", "-": "error", "@": "note"}
    lines = map(printable, report["diff"].split("\n")[:-1])
    painted = (paint(kinds[line[0]], line) if line[:1] in kinds else line for line in lines)
    return "".join(f"{line}\n" for line in painted)


def text_shown(report: dict[str, Any]) -> str:
    """Return the corrected file for a person: harmless."""
    return "".join(f"{printable(line)}\n" for line in report["text"].split("\n")[:-1])


def remarks(report: dict[str, Any]) -> list[str]:
    """Return what there is to tell beside the file, as sentences."""
    differences = report["proof"]["differences"][1:10]
    told = [
        f"{one['question']}{'' if one['agent'] is None else ' for ' + one['agent']} was "
        f"{one['before']}, and is {one['after']}"
        for one in differences
    ]
    effects = [sentence for effect in report["effects"] for sentence in effect["summary"]]
    return [*report["remarks"], report["proof"]["summary"], *told, *effects]
