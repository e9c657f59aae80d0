"""``docs/words.py`` counts what is read: prose, of every page of the sidebar."""

from __future__ import annotations

import importlib.util
import re

import pytest
from pages import DOCS

SPEC = importlib.util.spec_from_file_location("words", DOCS / "words.py")
words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(words)

TABLE = """\
=====  =====
key    value
=====  =====
one    two

three  four
=====  =====
"""
NOT_READ = [
    ".. code-block:: python\n\n    a = 1\n\n    b = 2\n",
    ".. csv-table::\n   :delim: ;\n\n   a; b\n",
    ".. a comment of\n   two lines\n",
    ".. _target:\n",
    TABLE,
    "+---+---+\n| a | b |\n+---+---+\n",
    ">>> 1 + 1\n2\n",
    ":default: None\n:takes: a number\n",
    "-----\n",
]


@pytest.mark.parametrize("text", NOT_READ)
def test_what_is_looked_up_is_not_counted(text):
    """What stands around it is."""
    assert words.words_in(f"Two words.\n\n{text}\nTwo more.\n") == 4


READ = [
    ("A ``literal`` is a word.\n", 5),
    ("- one\n- two - three\n", 3),
    (".. note::\n   Two words.\n", 2),
    ("Such as::\n\n    code\n\nThe end.\n", 4),
    ("term\n    what it means\n", 4),
]


@pytest.mark.parametrize(("text", "number"), READ)
def test_what_is_read_is_counted(text, number):
    """Each word once; a dash is none."""
    assert words.words_in(text) == number


def test_every_page_is_counted_once():
    """In the tree of its site."""
    for folder in words.SITES.values():
        names = [page.name for page in words.pages(folder)]
        files = [path.relative_to(folder) for path in folder.rglob("*.rst")]
        stems = [path.with_suffix("").as_posix() for path in files]
        assert sorted(names) == sorted(stems)


def test_the_command_prints_both_trees(capsys):
    """With what a user reads, and the names in the last line."""
    assert words.main() == 0
    printed = capsys.readouterr().out
    assert "The add-on: " in printed
    assert "The library: " in printed
    read, names = printed.splitlines()[-2:]
    assert read.startswith("To read (start, recipes, ")
    assert re.fullmatch(r"Names: (\d+ [a-z ]+, ){5}\d+ stats", names)


def test_no_kind_of_name_is_counted_as_none():
    """Else a page has another form than is looked for."""
    assert all(words.names().values())
