"""docs/usage.rst agrees with the code."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import docutils.core
import docutils.nodes
import docutils.utils
import pytest

from mandelbot import RobotsTxt, usage
from mandelbot.preferences.statements import CATEGORY_TEXTS, DOCUMENTS, MEANINGS
from mandelbot.robotstxt.known_robots import CONTROL_TOKENS

CASES = Path(__file__).parents[1] / "cases"
PAGE = (Path(__file__).parents[2] / "docs" / "usage.rst").read_text(encoding="utf-8")
TREE = docutils.core.publish_doctree(
    PAGE, settings_overrides={"halt_level": docutils.utils.Reporter.WARNING_LEVEL}
)
TABLES = [
    [
        [entry.astext() for entry in row.findall(docutils.nodes.entry)]
        for row in table.findall(docutils.nodes.row)
    ]
    for table in TREE.findall(docutils.nodes.table)
]
BY_HEAD = {rows[0][0]: rows[1:] for rows in TABLES}
CITED = re.findall(
    r"^- (.+)$",
    PAGE.partition("The documents:\n\n")[2].partition("\n\n")[0],
    re.MULTILINE,
)
NAMES = {"TDMRep": "tdmrep"}


def test_the_categories_are_those_of_the_code():
    """With what each means."""
    assert dict(BY_HEAD["category"]) == dict(CATEGORY_TEXTS)


def test_the_words_are_those_of_the_code():
    """Each with what it says, and the document that says so."""
    listed = {}
    for source, word, says, document in BY_HEAD["source"]:
        name = NAMES.get(source, source.lower().replace(" ", "-"))
        listed[name, "" if word == "a path" else word] = (says, document)
    assert listed.keys() == MEANINGS.keys()
    for key, (says, document) in listed.items():
        meaning = MEANINGS[key]
        said = [f"{one} allowed" for one in meaning.allows]
        said += [f"{one} disallowed" for one in meaning.refuses]
        said += ["of images"] * meaning.images_only
        assert says == (", ".join(said) or "nothing")
        (entry,) = [one for one in CITED if one.startswith(document)]
        assert DOCUMENTS[key].startswith(entry)


def test_the_tokens_are_those_of_the_code():
    """In their order, each with its source and the month of the comparison."""
    rows = [
        [one.name, ", ".join(one.refuses), *one[3:5]] for one in CONTROL_TOKENS.values()
    ]
    assert BY_HEAD["token"] == rows


LIST, *LISTED = (CASES / "ai_robots_txt.tsv").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", LISTED)
def test_each_robot_that_trains_by_a_public_list_is_known_or_left_out_for_a_reason(
    line,
):
    """A Disallow for it refuses training; a name ends at its space."""
    name, _, reason = line.partition("\t")
    robots = RobotsTxt.parse(f"User-agent: {name}\nDisallow: /\n".encode())
    said = usage(robots, "https://example.com/", "Examplebot")
    assert said["train-ai"] == ("unknown" if reason else "disallowed")


def test_the_date_of_that_list_is_on_the_page():
    """And all that is known by the list alone is on it."""
    dated = LIST.removeprefix("# ").partition(":")[0].replace(",", " of")
    assert f"compared with {dated}" in PAGE
    by_list = [
        one.name for one in CONTROL_TOKENS.values() if "ai-robots-txt" in one.source
    ]
    assert len(by_list) == 13
    assert set(by_list) <= set(LISTED)


def test_the_examples_do_what_they_show():
    """The Python session is real."""
    test = doctest.DocTestParser().get_doctest(PAGE, {}, "usage.rst", "usage.rst", 0)
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(test).failed == 0
    assert runner.summarize(verbose=False).attempted >= 5
