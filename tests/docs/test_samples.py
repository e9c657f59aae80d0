"""Python in the documents runs as shown, or at least compiles."""

from __future__ import annotations

import ast
import doctest
import re
import textwrap

import pytest
from pages import PAGES, ROOT
from scrapy.settings import Settings

from scrapy_mandelbot.settings.config import Config

DOCUMENTS = [ROOT / "README.rst", *PAGES]
WITH_SESSIONS = [
    path for path in DOCUMENTS if "\n    >>> " in path.read_text(encoding="utf-8")
]

BLOCK = re.compile(r"\.\. code-block:: python\n\n((?: {4}.*\n|\n)+)")
BLOCKS = [
    pytest.param(textwrap.dedent(block), id=f"{path.parts[-3]}-{path.stem}-{number}")
    for path in DOCUMENTS
    for number, block in enumerate(BLOCK.findall(path.read_text(encoding="utf-8")))
    if ">>>" not in block
]


@pytest.mark.parametrize("path", WITH_SESSIONS, ids=str)
def test_the_sessions_do_what_they_show(path):
    """Every line after ``>>>`` prints what stands below it."""
    text = path.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(test).failed == 0


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_is_valid_python_with_valid_settings(block):
    """It is Python, and sets only settings that exist, to values that they take."""
    for line in ast.parse(block).body:
        name = ast.unparse(line.targets[0]) if isinstance(line, ast.Assign) else ""
        if name.startswith(("MANDELBOT_", "ROBOTSTXT_")):
            value = eval(ast.unparse(line.value))
            before = Config.from_settings(Settings())
            assert (
                Config.from_settings(Settings({name: value})) != before
                or name in TOLD_AS_THEY_ARE
            )


TOLD_AS_THEY_ARE = {
    "ROBOTSTXT_PARSER",
    "ROBOTSTXT_OBEY",
    "MANDELBOT_USAGE",
    "MANDELBOT_USAGE_UNKNOWN",
}
"""Scrapy's, and those of which an example shows the default."""
