"""The glossary has the words in use, and few of them. (docs/glossary.rst)"""

from __future__ import annotations

import re

import pytest
from pages import PAGES as PATHS
from pages import page

GLOSSARY = page("glossary")
WORDS = re.findall(r"^(\w[\w ]*)\n    \S", GLOSSARY, flags=re.MULTILINE)
PAGES = "\n".join(
    path.read_text("utf-8")
    for path in PATHS
    if path.name not in {"glossary.rst", "changes.rst"}
)
FIELD_HAS_A_WORD = {
    "alarm",
    "asking again",
    "claim",
    "copy",
    "flight",
    "homeless",
    "hungry",
    "ladder",
    "law",
    "line",
    "neighbour",
    "news feed",
    "patience of a worker",
    "recovery",
    "scout",
    "settled",
    "spread",
    "survey",
    "tally",
    "turn",
    "unsaved",
    "waiting room",
}
"""Ours, for what the field has a word; they are not to be learnt from a glossary."""


def test_there_are_few_of_them():
    """Thirty at most, each once, in their order."""
    assert len(WORDS) == len(set(WORDS)) <= 30
    assert sorted(WORDS) == WORDS
    assert FIELD_HAS_A_WORD.isdisjoint(WORDS)


@pytest.mark.parametrize("word", WORDS)
def test_each_is_in_use(word):
    """On another page than this."""
    stem = re.escape(word).replace(r"\ ", r"[\s_]+")
    assert re.search(rf"\b{stem}", PAGES, flags=re.IGNORECASE)


@pytest.mark.parametrize("word", WORDS)
def test_each_has_one_meaning_said_in_a_line(word):
    """A sentence that does not run on to another paragraph."""
    meaning = GLOSSARY.partition(f"\n{word}\n")[2].split("\n\n")[0]
    assert meaning.strip().endswith(".")
    assert len(meaning.strip()) <= 100
