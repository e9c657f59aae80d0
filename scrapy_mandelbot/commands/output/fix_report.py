"""``fix``: the corrected file, its diff, and the check that no decision changes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.fix import correct
from scrapy_mandelbot.robots.formatting import printable
from scrapy_mandelbot.robots.robotstxt import RobotsTxt

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.output.terminal_text import TerminalStyle
    from scrapy_mandelbot.robots.robotstxt import Dialect

    Lines = Sequence[str]

_MOST_PAIRS = 2_000_000  # of a line of each file: difflib may take quadratic time
_CONTEXT = 3  # lines around a change, as in `diff -u`


def differing(before: Lines, after: Lines) -> list[tuple[int, int, int, int]]:
    """Return the runs of lines that differ: start and end in each file, as slices have them.

    In large files, all from the first change to the last one is one run.
    """
    if len(before) * len(after) <= _MOST_PAIRS:
        found = SequenceMatcher(None, before, after).get_opcodes()
        return [places for tag, *places in found if tag != "equal"]  # type: ignore[misc]
    most = min(len(before), len(after))
    start = next((at for at in range(most) if before[at] != after[at]), most)
    most -= start
    end = next((at for at in range(most) if before[-1 - at] != after[-1 - at]), most)
    return [(start, len(before) - end, start, len(after) - end)]


def unified_diff(before: Lines, after: Lines, name: str, other_name: str) -> str:
    """Return what changes as ``diff -u`` shows it; empty where nothing does.

    In large files, all from the first change to the last one is one hunk.
    """
    if len(before) * len(after) <= _MOST_PAIRS:
        lines = list(difflib.unified_diff(before, after, name, other_name, lineterm=""))
    elif before == after:
        lines = []
    else:
        [(start, stop, _, other_stop)] = differing(before, after)
        first, last = max(0, start - _CONTEXT), min(len(before), stop + _CONTEXT)
        length = last - first
        lines = [
            *(f"--- {name}", f"+++ {other_name}"),
            f"@@ -{first + 1},{length} +{first + 1},{length + other_stop - stop} @@",
            *(f" {line}" for line in before[first:start]),
            *(f"-{line}" for line in before[start:stop]),
            *(f"+{line}" for line in after[start:other_stop]),
            *(f" {line}" for line in before[stop:last]),
        ]
    return "".join(f"{line}\n" for line in lines)


def fix(  # noqa: PLR0913 - as `correct` takes them
    source: str,
    body: bytes,
    dialect: str | Dialect,
    max_bytes: int,
    *,
    alone: bool = False,
    unsafe: bool = False,
) -> dict[str, Any]:
    """Return the corrected file, whether it is verified, and its effects.

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
    """Return 0 if no decision changes, else 3."""
    return 0 if report["proof"]["holds"] else 3


def diff_shown(report: dict[str, Any], paint: TerminalStyle) -> str:
    """Return what changes for a person: in colours, and harmless."""
    kinds = {"+": "good", "-": "error", "@": "note"}
    lines = map(printable, report["diff"].split("\n")[:-1])
    painted = (paint(kinds[line[0]], line) if line[:1] in kinds else line for line in lines)
    return "".join(f"{line}\n" for line in painted)


def text_shown(report: dict[str, Any]) -> str:
    """Return the corrected file for a person: harmless."""
    return "".join(f"{printable(line)}\n" for line in report["text"].split("\n")[:-1])


def remarks(report: dict[str, Any]) -> list[str]:
    """Return the sentences to print beside the file."""
    differences = report["proof"]["differences"][1:10]
    changed = [
        f"{one['question']}{'' if one['agent'] is None else ' for ' + one['agent']} was "
        f"{one['before']}, and is {one['after']}"
        for one in differences
    ]
    effects = [sentence for effect in report["effects"] for sentence in effect["summary"]]
    return [*report["remarks"], report["proof"]["summary"], *changed, *effects]
