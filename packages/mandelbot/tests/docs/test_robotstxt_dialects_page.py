"""docs/dialects.rst agrees with the code."""

from __future__ import annotations

import re
from dataclasses import fields
from inspect import cleandoc
from itertools import combinations
from pathlib import Path

import pytest

from mandelbot import DIALECTS, Dialect, RobotsTxt

PAGE = (Path(__file__).parents[2] / "docs" / "dialects.rst").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"^([A-Z]): .*\n~+\n\n::\n\n((?: {4}.*\n|\n)+)``(.+)``\n", PAGE, re.MULTILINE
)
ANSWERS = dict(
    re.findall(r"^([A-Z]) {8}((?:allowed|forbidden).*)$", PAGE, re.MULTILINE)
)


def answers(letter):
    """Return what the page says of an example, by dialect."""
    return dict(zip(DIALECTS, ANSWERS[letter].split(), strict=True))


def pairs():
    """Return, for each two dialects, the example that the page names."""
    rows = re.findall(
        r"^``(\w+)`` +(.*\S)$", PAGE[PAGE.index("Each two") :], re.MULTILINE
    )[:6]
    cells = {name: row.split() for name, row in rows}
    names = list(DIALECTS)
    return {(a, b): cells[a][names.index(b)] for a, b in combinations(names, 2)}


@pytest.mark.parametrize(
    ("letter", "body", "url"), EXAMPLES, ids=[one[0] for one in EXAMPLES]
)
def test_every_example_on_the_page_is_so(letter, body, url):
    """Each dialect gives the answer on the page."""
    decided = {
        name: "allowed"
        if RobotsTxt.parse(cleandoc(body).encode(), dialect=name).allowed(
            url, "Mandelbot"
        )
        else "forbidden"
        for name in DIALECTS
    }
    assert decided == answers(letter)


def test_each_two_dialects_are_told_apart_by_the_example_named():
    """For all 15 pairs the example gives two answers."""
    named = pairs()
    assert len(EXAMPLES) == len(ANSWERS) >= 10
    assert len(named) == 15
    for (one, other), letter in named.items():
        assert answers(letter)[one] != answers(letter)[other]


def test_the_table_of_fields_lists_the_fields():
    """Every field of Dialect is explained, in order, and no other."""
    table = PAGE[PAGE.index("field                       means") :]
    listed = re.findall(r"^``(\w+)`` ", table, re.MULTILINE)
    assert listed == [field.name for field in fields(Dialect)]


def test_the_dialects_are_explained_in_their_order():
    """Every dialect has its paragraph, and no other."""
    assert re.findall(r"^``(\w+)``\n    ", PAGE, re.MULTILINE) == list(DIALECTS)
