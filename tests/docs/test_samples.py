"""What the documents show in Python sessions is so."""

from __future__ import annotations

import doctest

import pytest
from pages import DOCS, ROOT

DOCUMENTS = [ROOT / "README.rst", *sorted(DOCS.rglob("*.rst"))]
WITH_SESSIONS = [path for path in DOCUMENTS if "\n    >>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_SESSIONS, ids=lambda path: path.stem)
def test_the_sessions_do_what_they_show(path):
    """Every line after ``>>>`` prints what stands below it."""
    text = path.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(test).failed == 0
