"""Each public name has an example, and all examples come out as they say."""

from __future__ import annotations

import doctest
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

import mandelbot

PLAIN = {"__version__", "Agent", "DIALECTS"}  # values
MODULES = [
    one.name
    for one in pkgutil.walk_packages(mandelbot.__path__, "mandelbot.")
    if not one.name.endswith("__main__")
]


@pytest.mark.parametrize("name", sorted({*mandelbot.__all__} - PLAIN))
def test_every_public_name_has_an_example(name):
    """It shows the name used as a caller imports it."""
    doc = getattr(mandelbot, name).__doc__
    assert doctest.DocTestParser().get_examples(doc)


@pytest.mark.parametrize("name", ["mandelbot", *MODULES])
def test_examples_come_out_as_they_say(name):
    results = doctest.testmod(import_module(name))
    assert results.failed == 0


def test_there_are_few_public_names():
    assert len(mandelbot.__all__) <= 33


def test_the_readmes_examples_come_out_as_they_say():
    """They are what a newcomer types first."""
    page = Path(__file__).parents[1] / "README.rst"
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.attempted >= 8
    assert results.failed == 0


def test_the_readmes_scores_are_those_of_the_conformance_page():
    """A row there is a row here, with fewer columns."""
    folder = Path(__file__).parents[1]
    page = (folder / "conformance" / "README.rst").read_text(encoding="utf-8")
    readme = (folder / "README.rst").read_text(encoding="utf-8")
    rows = re.findall(
        r"(?m)^(\S.*?)  +(\d+ of 110) +(\d+ of 97) +(\d+ of 18[35])$", readme
    )
    assert len(rows) >= 7
    for row in rows:
        assert re.search(r" +".join(map(re.escape, row)), page), row
