"""Limits of what is read of a page that says very much, and of what is kept of it."""

from __future__ import annotations

import tracemalloc

import pytest

from mandelbot import robot_tags
from mandelbot.tags.head import HEAD_LIMIT, METAS_LIMIT
from mandelbot.tags.reading import DIRECTIVES_LIMIT, HEADERS_LIMIT, RobotTag

META = b'<meta name="robots" content="%s">'


def tags_of(headers: list[str], body: bytes = b""):
    return robot_tags(
        [("X-Robots-Tag", value) for value in headers], body, "Examplebot"
    )


def test_as_many_directives_are_read_as_any_page_has():
    """Up to the limit all count, in headers and metas together; what comes after is not
    read.
    """
    header = ",".join(["nofollow"] * (DIRECTIVES_LIMIT - 1))
    tags = tags_of([header], META % b"noindex, noarchive")
    assert (tags.noindex, tags.noarchive) == (True, False)
    assert len(tags.sources) == DIRECTIVES_LIMIT


def test_directives_for_others_count_too():
    """A header that speaks to other robots without end costs no more than one that
    speaks to us.
    """
    assert not tags_of(
        ["otherbot: " + "noindex," * DIRECTIVES_LIMIT, "*: noindex"]
    ).sources


def test_as_many_meta_tags_are_read_as_any_page_has():
    """Those that speak to other robots, or that are none's, do not count."""
    foreign = b'<meta name="otherbot" content="nofollow">' * 2 * METAS_LIMIT
    page = (
        foreign
        + META % b"all" * (METAS_LIMIT - 1)
        + META % b"noindex"
        + META % b"noarchive"
    )
    tags = tags_of([], page)
    assert (tags.noindex, tags.noarchive) == (True, False)
    assert len(tags.sources) == METAS_LIMIT


def test_as_much_of_headers_is_read_as_any_page_has():
    """Headers without directives end somewhere too."""
    rest = "a" * (HEADERS_LIMIT // 4)
    assert tags_of([rest] * 3 + ["noindex"]).noindex
    assert not tags_of([rest] * 4 + ["noindex"]).noindex


def test_a_page_is_looked_at_so_far():
    """A meta tag past it is not read."""
    for spaces, is_read in ((1_000, True), (HEAD_LIMIT, False)):
        page = b"<head><!--" + b" " * spaces + b"-->" + META % b"noindex"
        assert tags_of([], page).noindex == is_read


def test_what_pages_say_is_not_kept():
    """Of eighty pages that all say something else, and much, next to nothing stays."""
    pages = (META % (b"%d," % number + b"a," * 2_000) * 60 for number in range(80))
    tracemalloc.start()
    for page in pages:
        assert len(tags_of([], page).sources) == DIRECTIVES_LIMIT
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000


def test_what_is_kept_of_pages_that_say_little_is_bounded():
    """A page of few characters with as many directives as fit in them, and all others
    such.
    """
    tracemalloc.start()
    for number in range(500):
        tags_of([f"{number},{'a,' * 125}"])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 4 * 2**20


@pytest.mark.parametrize(
    "reference", ["&#" + "1" * 5_000 + ";", "&#x" + "f" * 50_000, "&#" * 9]
)
def test_references_that_are_no_character_raise_nothing(reference):
    """More digits than Python makes a number of: the text is as written, and no robot's
    name.
    """
    page = (
        f'<meta name="robots{reference}" content=none><meta name=robots'
        f' content="{reference}">'
    )
    assert not tags_of([], page.encode()).noindex


@pytest.mark.parametrize("where", ["header", "meta", "link"])
def test_a_tag_in_a_log_is_harmless(where):
    """No escape sequence and no override of a page reaches a terminal by a log."""
    text = str(RobotTag(where, "noindex\x1b[2J\u202e\n" + "a" * 150, line=1))
    assert text.isprintable()
    assert "noindex\\x1b[2J" in text
