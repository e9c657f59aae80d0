"""The first word of a crawl: one table of rules, which docs/report.rst shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scrapy_mandelbot.report.judgement import RULES, Counts, Result, judge

PAGE = Path(__file__).parents[2] / "docs" / "report.rst"
WELL = Counts(requested=100, answers=90, pages=90, items=60)
PARTS = {
    "well": ({}, "OK", ()),
    "some pages are 404": ({"pages": 60}, "OK", ()),
    "exit status 1": ({"exits_with_1": True}, "FAILED", ("exit status",)),
    "no page": ({"pages": 0}, "INCOMPLETE", ("no page",)),
    "no page of a run that continues a job": ({"pages": 0, "is_part": True}, "OK", ()),
    "nothing answered": (
        {"answers": 0, "pages": 0, "lost": 3},
        "FAILED",
        ("no answer", "no page", "lost"),
    ),
    "no host was found": (
        {"answers": 0, "pages": 0, "unknown_hosts": 3},
        "FAILED",
        ("no such host", "no page"),
    ),
    "one of many hosts was not found": ({"unknown_hosts": 1}, "OK", ()),
    "lost": ({"lost": 1}, "INCOMPLETE", ("lost",)),
    "left": ({"left": 1}, "INCOMPLETE", ("left",)),
    "forbidden": ({"forbidden_sites": 1}, "INCOMPLETE", ("forbidden",)),
    "denied": ({"denied_sites": 1}, "INCOMPLETE", ("denied",)),
    "a third of the callbacks": ({"callbacks": 30}, "INCOMPLETE", ("callbacks",)),
    "fewer callbacks": ({"callbacks": 29}, "OK", ()),
    "a third of the items": ({"failed_items": 30}, "INCOMPLETE", ("items",)),
    "fewer items": ({"failed_items": 29}, "OK", ()),
    "an item was not written": ({"unwritten": 1}, "INCOMPLETE", ("unwritten",)),
    "an expectation": ({"unmet": 1}, "INCOMPLETE", ("expectations",)),
    "stopped": ({"is_stopped": True}, "INCOMPLETE", ("stopped",)),
}


@pytest.mark.parametrize("case", PARTS)
def test_each_part_of_a_crawl_has_its_word(case):
    """Alone, in a crawl that is well but for it."""
    parts, word, reasons = PARTS[case]
    assert judge(WELL._replace(**parts)) == (Result(word), reasons)


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ({}, "FAILED"),
        ({"is_stopped": True}, "FAILED"),  # by a memory limit
        ({"is_stopped": True, "is_by_hand": True}, "INCOMPLETE"),
        ({"is_running": True}, "INCOMPLETE"),
        ({"items": 3}, "OK"),  # which need no request
        ({"is_part": True}, "OK"),
    ],
)
def test_a_crawl_that_requested_nothing_has_failed(parts, word):
    """Unless it was stopped by hand, has items, or other workers have the sites."""
    assert judge(Counts(**parts)).result is Result(word)


def test_the_worst_word_wins():
    """All rules that hold are named, in the order of the table."""
    its = WELL._replace(lost=1, exits_with_1=True, is_stopped=True)
    assert judge(its) == (Result.FAILED, ("exit status", "lost", "stopped"))


def test_the_table_of_the_documentation_is_the_one_of_the_code():
    """Rules and words, in this order."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^``([a-z ]+)`` +``(FAILED|INCOMPLETE)``", text, re.MULTILINE)
    assert rows == [(rule.name, str(rule.result)) for rule in RULES]
