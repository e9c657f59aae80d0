"""What ``scrapy_mandelbot`` offers, and what importing it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

import scrapy_mandelbot


@pytest.mark.parametrize("name", scrapy_mandelbot.__all__)
def test_every_public_name_is_there(name):
    """Each name of ``__all__`` can be imported."""
    assert getattr(scrapy_mandelbot, name) is not None


def test_no_other_name_is_public():
    """A misspelt name is an AttributeError, as in any module."""
    with pytest.raises(AttributeError, match="Adon"):
        scrapy_mandelbot.Adon  # noqa: B018


def test_the_stub_has_the_same_names():
    """Type checkers read the stub, the interpreter ``_HOMES``: both say the same."""
    stub = Path(scrapy_mandelbot.__file__).with_name("__init__.pyi").read_text()
    imports = [line.split() for line in stub.splitlines() if line.startswith("from ")]
    assert {words[3]: words[1] for words in imports} == scrapy_mandelbot._HOMES
