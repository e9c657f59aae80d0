"""The checker of built pages finds what does not hold, and nothing else."""

from __future__ import annotations

import sys

import pytest
from pages import DOCS

sys.path.insert(0, str(DOCS / "sphinx"))
from check_links import broken

HOLDS = [
    '<a href="b.html">',
    '<a href="b.html#there">',
    '<a href="#here">',
    '<a href="b.html#with%20escapes">',
    '<a href="https://example.com/a/b?c=d#e">',
    '<img src="p.svg">',
]
BROKEN = [
    ('<a href="c.html">', "no such file"),
    ('<a href="b.html#gone">', "no such anchor"),
    ('<a href="#gone">', "no such anchor"),
    ('<img src="gone.svg">', "no such file"),
    ('<a href="http://example.com/">', "not the form of a link"),
    ('<a href="https://example/">', "not the form of a link"),
    ('<a href="https://example.com/a b">', "not the form of a link"),
    ('<script src="https://cdn.example.com/x.js">', "loaded from the network"),
    (
        '<link rel="stylesheet" href="//fonts.example.com/x.css">',
        "loaded from the network",
    ),
]


@pytest.fixture
def pages(tmp_path):
    """Build two pages and a picture; the first has what is given."""
    (tmp_path / "b.html").write_text('<p id="there"></p><p id="with escapes"></p>')
    (tmp_path / "p.svg").write_text("<svg/>")

    def make(element):
        (tmp_path / "a.html").write_text(f'<p id="here"></p>{element}')
        return broken(tmp_path)

    return make


@pytest.mark.parametrize("element", HOLDS)
def test_good_links_have_no_problem(pages, element):
    """Files, anchors, escapes of them, links to elsewhere."""
    assert pages(element) == []


@pytest.mark.parametrize(("element", "why"), BROKEN)
def test_each_broken_link_is_a_problem(pages, element, why):
    """It is named with its page, and with the reason."""
    (line,) = pages(element)
    assert line.startswith("a.html: ")
    assert line.endswith(f": {why}")


def test_styles_load_nothing(pages, tmp_path):
    """A font of another host in a style sheet is found; one in the sheet itself is
    none.
    """
    (tmp_path / "own.css").write_text(
        "@font-face { src: url(data:font/woff2;base64,AA) }"
    )
    assert pages("") == []
    (tmp_path / "far.css").write_text("@import 'https://fonts.example.com/css';")
    assert pages("") == ["far.css: loads from the network"]
