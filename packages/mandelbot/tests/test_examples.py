"""Every public name has an example in its docstring, and examples come out as they say."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import mandelbot

PLAIN = {"__version__", "DIALECTS"}  # values, documented with Dialect
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
    assert len(mandelbot.__all__) <= 25
