"""What a robots.txt says of the use of a page, for ``explain`` and ``compare``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.preferences.vocabulary import CATEGORIES, CATEGORY_TEXTS
from scrapy_mandelbot.robots.reports.terminal_text import cut, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_mandelbot.robots.reports.rules_in_force import Question
    from scrapy_mandelbot.robots.reports.terminal_text import Paint
    from scrapy_mandelbot.robots.robotstxt import Dialect

ANSWER_COLOURS = {"allowed": "good", "disallowed": "error", "unknown": "warning"}
USE_HEAD = CATEGORIES
"""The columns of a CSV."""


def of_use(question: Question, dialect: str | Dialect, max_bytes: int) -> list[dict[str, Any]]:
    """Return the answer for each category, with the statements about it; empty: not known now."""
    robots, _ = question.rules.read(dialect, max_bytes)
    if robots is None:
        return []
    usage = robots.usage(question.url, question.agent)
    return [
        {
            "category": category,
            "answer": answer,
            "statements": [
                str(statement) for statement in usage.statements if statement.category == category
            ],
        }
        for category, answer in usage.answers.items()
    ]


def refuses(report: dict[str, Any]) -> bool:
    """Return whether one of the uses asked about is refused."""
    return any(one["answer"] == "disallowed" for one in _asked(report))


def _asked(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in report["usage"] if one["category"] in report["purposes"]]


def purpose_lines(report: dict[str, Any], paint: Paint) -> list[str]:
    """Return what there is to say of the uses asked about, for a terminal."""
    lines = []
    for one in _asked(report):
        answer, text = one["answer"], CATEGORY_TEXTS[one["category"]]
        told = wrapped(f"{one['category']}: {answer} ({text})", 4, "  ", width=paint.width)
        lines += ["", told.replace(answer, paint(ANSWER_COLOURS[answer], answer), 1)]
        lines += [wrapped(said, 6, "    ", width=paint.width) for said in one["statements"]]
    if lines:
        told = "The page itself and tdmrep.json may say more: see MANDELBOT_PURPOSE."
        lines += ["", wrapped(told, 2, "  ", width=paint.width)]
    return lines


def usage_row(report: dict[str, Any], paint: Paint) -> list[str]:
    """Return the row of a table that tells all uses; none where nothing is said of any."""
    answers = [f"{one['category']} {one['answer']}" for one in report["usage"]]
    if all(one["answer"] == "unknown" for one in report["usage"]):
        return []
    return [f"    {cut('of use: ' + ', '.join(answers), paint.width - 4)}"]


# Of lists.


def use_cells(report: dict[str, Any]) -> list[str]:
    """Return the answers as cells of a CSV; all empty: not known now."""
    return [one["answer"] for one in report["usage"]] or [""] * len(USE_HEAD)


def asked_cells(report: dict[str, Any]) -> list[str]:
    """Return the answers for the uses asked about, in their order."""
    answers = {one["category"]: one["answer"] for one in report["usage"]}
    return [answers.get(purpose, "unknown") for purpose in report["purposes"]]


def asked_totals(reports: Sequence[dict[str, Any]]) -> list[str]:
    """Return for each use asked about how many answers there are of each."""
    lines = []
    cells = zip(*map(asked_cells, reports), strict=True)
    for purpose, answers in zip(reports[0]["purposes"], cells, strict=True):
        counts = Counter(answers)
        told = (f"{counts[answer]:,} {answer}" for answer in ANSWER_COLOURS if counts[answer])
        lines.append(f"{purpose}: {', '.join(told)}")
    return lines
