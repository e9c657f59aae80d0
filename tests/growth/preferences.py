"""Statements about the use of pages, as slow to read as anyone could make them."""

from __future__ import annotations

from mandelbot.preferences.in_pages import page_usage, stated_terms
from mandelbot.preferences.statements import Statement, Usage
from mandelbot.preferences.tdmrep import TdmFile

from growth import Row, numbered, repeated

_PAGES = {
    "reservations": repeated(b"<meta name=tdm-reservation content=1>"),
    "policies": repeated(b"<meta name=tdm-policy content=/p>"),
    "tags": repeated(b"<meta name=robots content='noai,noml'>"),
    "licences": repeated(b"<link rel=license href=/l>\n"),
    "links that are none": repeated(b"<link rel=icon href=/license>"),
    "links without end": repeated(b"<link ", b"license"),
    "attributes of a link": repeated(b"a= ", b"<link rel=license "),
    "quotes in a link": repeated(b"'\"", b"<link rel=license a="),
    "lines": repeated(
        b"\n", b"<link rel=license href=/l>", b"<link rel=license href=/m>"
    ),
}
_VALUES = {
    "members": repeated(b"train-ai=n, "),
    "keys": numbered(b"a%d=n, "),
    "parameters": repeated(b";a", b"train-ai=n"),
    "a list": repeated(b"n ", b"train-ai=("),
    "a string": repeated(b"n", b'train-ai="'),
    "signals": repeated(b"ai-train=no,"),
    "equals": repeated(b"="),
    "commas": repeated(b","),
    "quotes": repeated(b';a="', b"</l>"),
    "semicolons": repeated(b";", b"</l>"),
    "links": repeated(b"</l>;rel=license,"),
    "open links": repeated(b"<"),
    "octets": repeated(b"\xff"),
}
_RULE = b'{"location": "/a*b%d", "tdm-reservation": 1},'
_FILES = {
    "rules": numbered(_RULE, b"["),
    "a long location": repeated(
        b"*a", b'[{"tdm-reservation": 1, "location": "/', b'"}]'
    ),
    "arrays": repeated(b"["),
    "commas": repeated(b",", b"["),
    "lines": repeated(b"\n", b"["),
    "numbers": repeated(b"1,", b"["),
    "a number": repeated(b"1", b"["),
    "a string": repeated(b"a", b'["'),
    "octets": repeated(b"\xff"),
}
_FIELDS = (
    *("Content-Usage", "Content-Signal", "X-Robots-Tag", "Robots-Tag"),
    *("tdm-reservation", "tdm-policy", "Link"),
)


def _in_lines(value):
    lines = [value[at : at + 4_000] for at in range(0, len(value), 4_000)]
    return [(_FIELDS[number % len(_FIELDS)], line) for number, line in enumerate(lines)]


def _statements(size):
    refusal = Statement("search", allowed=False, source="s", where="w", text="t")
    return Usage((refusal,) * (size // 20))


ROWS = (
    Row(
        "preferences.page_usage",
        lambda page: page_usage([], page, "bot"),
        _PAGES,
        "pages",
    ),
    Row(
        "preferences.page_usage",
        lambda lines: page_usage(lines, b"", "bot"),
        _VALUES,
        "headers",
        _in_lines,
    ),
    Row(
        "preferences.stated_terms",
        lambda lines: stated_terms(403, lines),
        _VALUES,
        "",
        _in_lines,
    ),
    Row("preferences.TdmFile.parse", TdmFile.parse, _FILES),
    Row(
        "preferences.TdmFile.usage",
        lambda file: file.usage("/a" * 1_000),
        _FILES,
        prepare=TdmFile.parse,
    ),
    Row(
        "preferences.Usage.answer",
        lambda said: said.answer("tdm"),
        {"statements": _statements},
    ),
    Row(
        "preferences.Usage.answers",
        lambda said: said.answers,
        {"statements": _statements},
    ),
    Row(
        "preferences.Usage.decided_by",
        lambda said: said.decided_by("tdm"),
        {"statements": _statements},
    ),
    Row(
        "preferences.Usage.combined_with",
        lambda said: said.combined_with(said),
        {"statements": _statements},
    ),
)

NOT_FROM_OUTSIDE = {
    "preferences.Statement": (
        "measured with the page, the file and the list of which it is one"
    ),
    "preferences.with_tdm_file": "two answers whose statements were measured before",
}
