"""Modules that had another path before: the old one still imports, and says what it is now."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import pytest

from scrapy_mandelbot import _moved


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """No module is kept under its old name."""
    for name in [name for name in sys.modules if _moved.new_path(name)]:
        monkeypatch.delitem(sys.modules, name)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if _moved.new_path(name):
            del sys.modules[name]


@pytest.mark.parametrize(("old", "new"), _moved.MOVED.items())
def test_an_old_path_is_the_same_module(old, new):
    """Nothing is loaded twice: an exception that is caught by its old path is the one raised."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        module = importlib.import_module(f"scrapy_mandelbot.{old}")
    assert f"scrapy_mandelbot.{old} is scrapy_mandelbot.{new} now" in map(
        str, (w.message for w in told)
    )
    assert module is importlib.import_module(f"scrapy_mandelbot.{new}")
    assert module.__spec__.name == f"scrapy_mandelbot.{new}"


def test_what_is_imported_from_an_old_path_is_what_there_is():
    """As a project writes it; the warning names the line that does."""
    code = (
        "from scrapy_mandelbot.robotstxt.rewriting import prove\n"
        "from scrapy_mandelbot.robots.fix import prove as it\n"
        "assert prove is it\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "always::DeprecationWarning", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "scrapy_mandelbot.robotstxt.rewriting is scrapy_mandelbot.robots.fix now" in run.stderr


def test_what_never_was_is_not_found():
    """An old path leads nowhere else."""
    with pytest.warns(DeprecationWarning, match="now"), pytest.raises(ModuleNotFoundError):
        importlib.import_module("scrapy_mandelbot.robotstxt.nothing_of_that_name")
