"""``normalize``: the new file, the diff, and what changes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from mandelbot.cli.output.rules_in_force import Rules
from mandelbot.fix import READERS, named, sentences
from mandelbot.formatting import printable

if TYPE_CHECKING:
    from mandelbot.cli.output import TerminalStyle
    from mandelbot.fix import Correction

    Lines = Sequence[str]

_MOST_PAIRS = 2_000_000  # of a line of each file: difflib may take quadratic time
_CHANGES = ("opened", "closed", "lost", "made_up")
_CONTEXT = 3  # lines around a change, as in `diff -u`


def differing(before: Lines, after: Lines) -> list[tuple[int, int, int, int]]:
    """Return the runs of different lines: start and end in each file, as in slices.

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
        first = max(0, start - _CONTEXT)
        last = min(len(before), stop + _CONTEXT)
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


def corrected(
    rules: Rules, correction: Correction, dialect: str = "mandelbot"
) -> dict[str, Any]:
    """Return the normal form of a file, what changes, and for whom."""
    after = Rules("", correction.text.encode())
    source = rules.source
    before, lines = ([record.raw for record in file.records] for file in (rules, after))
    effects = correction.effects
    proof = correction.proof
    compared = sum(effect.decisions for effect in effects)
    verdict = "not harmless"
    if correction.is_harmless:
        verdict = "verified"
    checked = (
        f"{compared:,} allow/disallow decisions compared, as read by {named(READERS)}"
    )
    return {
        "source": source,
        "dialect": dialect,
        "changed": after.body != rules.body,
        "text": correction.text,
        "diff": unified_diff(before, lines, source, f"{source} (corrected)"),
        "remarks": [
            *correction.remarks,
            *([str(proof)] if proof else []),
            *sentences(effects),
            *([f"{verdict}: {checked}"] if effects else []),
        ],
        "harmless": correction.is_harmless,
        "effects": [
            {
                "reader": effect.reader,
                "decisions": effect.decisions,
                **{name: len(getattr(effect, name)) for name in _CHANGES},
            }
            for effect in effects
        ],
        "proof": (
            proof
            and {
                **proof._asdict(),
                "differences": [one._asdict() for one in proof.differences],
            }
        ),
    }


def diff_shown(report: dict[str, Any], paint: TerminalStyle) -> str:
    """Return what changes for a person: in colours, and harmless."""
    kinds = {"+": "good", "-": "error", "@": "note"}
    lines = map(printable, report["diff"].split("\n")[:-1])
    painted = (
        paint(kinds[line[0]], line) if line[:1] in kinds else line for line in lines
    )
    return "".join(f"{line}\n" for line in painted)


def text_shown(report: dict[str, Any]) -> str:
    """Return the corrected file for a person: harmless."""
    return "".join(f"{printable(line)}\n" for line in report["text"].split("\n")[:-1])
