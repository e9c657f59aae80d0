"""``fix``: the corrected file, what changes, and the proof that it decides alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.diff import unified_diff
from scrapy_mandelbot.robotstxt import RobotsTxt
from scrapy_mandelbot.robotstxt.rewriting import correct, prove
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.reports.layout import Paint
    from scrapy_mandelbot.robotstxt import Dialect


def fix(
    source: str, body: bytes, dialect: str | Dialect, max_bytes: int, *, alone: bool = False
) -> dict[str, Any]:
    """Return the corrected file, whether it is proved to decide as the original does, for whom not.

    Of the whole file: what comes after `max_bytes`, which robots do not read, too. With `alone` it
    is corrected for the robots of the dialect, whatever that opens to others.
    """
    robots = RobotsTxt.parse(body, dialect=dialect, max_bytes=None)
    rewritten = correct(body, dialect, alone=alone, max_bytes=max_bytes)
    proof = prove(
        body, rewritten.text, dialect, max_bytes=None
    )  # asks more than is needed to choose
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
            "differences": [
                {
                    "question": one.question,
                    "agent": one.agent,
                    "before": one.before,
                    "after": one.after,
                }
                for one in proof.differences
            ],
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
