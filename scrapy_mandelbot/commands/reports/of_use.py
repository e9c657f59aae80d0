"""What a robots.txt says of the use of a page, for ``explain`` and ``compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.layout import WIDTH, cut, wrapped
from scrapy_mandelbot.robotstxt.preferences import CATEGORY_TEXTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_mandelbot.commands.reports.layout import Paint
    from scrapy_mandelbot.commands.reports.rules_in_force import Rules
    from scrapy_mandelbot.robotstxt import Dialect

    Agent = str | Sequence[str]

ANSWER_COLOURS = {"allowed": "good", "disallowed": "error", "unknown": "warning"}


def of_use(
    url: str, agent: Agent, rules: Rules, dialect: str | Dialect, max_bytes: int
) -> list[dict[str, Any]]:
    """Return the answer for each category, with the statements about it; empty: not known now."""
    robots, _ = rules.read(dialect, max_bytes)
    if robots is None:
        return []
    usage = robots.usage(url, agent)
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


def refuses(report: dict[str, Any], purposes: Sequence[str]) -> bool:
    """Return whether one of the uses is refused."""
    return any(
        one["answer"] == "disallowed" for one in report["usage"] if one["category"] in purposes
    )


def purpose_lines(report: dict[str, Any], purposes: Sequence[str], paint: Paint) -> list[str]:
    """Return what there is to say of some uses, for a terminal."""
    lines = []
    for one in report["usage"]:
        if one["category"] in purposes:
            answer, text = one["answer"], CATEGORY_TEXTS[one["category"]]
            lines += ["", wrapped(f"{one['category']}: {answer} ({text})", 4, "  ")]
            lines[-1] = lines[-1].replace(answer, paint(ANSWER_COLOURS[answer], answer), 1)
            lines += [wrapped(statement, 6, "    ") for statement in one["statements"]]
    if lines:
        told = "The page itself and tdmrep.json may say more: see MANDELBOT_PURPOSE."
        lines += ["", wrapped(told, 2, "  ")]
    return lines


def usage_row(report: dict[str, Any]) -> list[str]:
    """Return the row of a table that tells all uses; none where nothing is said of any."""
    answers = [f"{one['category']} {one['answer']}" for one in report["usage"]]
    if all(one["answer"] == "unknown" for one in report["usage"]):
        return []
    return [f"    {cut('of use: ' + ', '.join(answers), WIDTH - 4)}"]
