"""How numbers, columns and text of the web are written."""

import pytest

from mandelbot.formatting import (
    LONGEST,
    columns,
    number,
    printable,
    shown,
    without_credentials,
)


@pytest.mark.parametrize(
    "sign", ["\x1b", "\r", "\n", "\x00", "\x9b", "\u202e", "\u2066", "\u2028", "\ud800"]
)
def test_nothing_moves_a_cursor_or_turns_a_line(sign):
    """A sign that a terminal obeys becomes an escape, that one reads."""
    text = printable(f"Disallow: /{sign}x")
    assert text.isprintable()
    assert text == f"Disallow: /{sign.encode('unicode_escape').decode()}x"


def test_what_can_be_printed_stays():
    """Letters of any script are no danger."""
    assert shown("Disallow: /日本/café") == "Disallow: /日本/café"


def test_a_log_line_is_short_whatever_stands_in_a_file():
    """Half a megabyte of rule is cut, also where each of its signs grows into an
    escape.
    """
    for text in ("x" * 500_000, "\x1b" * 500_000):
        assert len(shown(text)) == LONGEST
        assert shown(text).endswith("…")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://me:secret@example.com/a@b", "http://example.com/a@b"),
        ("<GET https://me:se@cret@example.com>", "<GET https://example.com>"),
        ("socks5://me@127.0.0.1:1080", "socks5://127.0.0.1:1080"),
        ("mail me@example.com", "mail me@example.com"),
        ("https://example.com/?a=//b@c", "https://example.com/?a=//c"),
    ],
)
def test_no_credentials_are_shown(text, expected):
    """Neither user nor password of a URL reaches a log."""
    assert without_credentials(text) == shown(text) == expected


def test_credentials_that_are_cut_are_not_shown():
    """A URL whose password is longer than what is shown gives nothing of it away."""
    assert "secret" not in shown("http://me:" + "secret" * 50 + "@example.com/")


@pytest.mark.parametrize(
    ("value", "text"), [(1_240, "1,240"), (0.0521, "0.052"), (12.0, "12"), (None, "")]
)
def test_a_number_has_no_more_decimals_than_it_needs(value, text):
    """Three at most."""
    assert number(value) == text


def test_columns_are_aligned_and_an_empty_one_is_left_out():
    """Numbers to the right, text to the left, the last column as short as it is."""
    rows = [("SITE", "B", "PAGES", "LINE", "END"), ("a", None, 1_240, "7", "well")]
    rows += [("longer", None, 1.25, "17", ""), ("x", None, None, "", "given up")]
    assert columns(rows, frozenset({3})) == [
        ["SITE  ", "PAGES", "LINE", "END"],
        ["a     ", "1,240", "   7", "well"],
        ["longer", "  1.2", "  17", ""],
        ["x     ", "     ", "    ", "given up"],
    ]
