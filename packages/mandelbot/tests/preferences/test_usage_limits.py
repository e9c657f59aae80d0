"""As much of what is said of uses is read as docs/limits.rst says: what is cut opens
nothing.
"""

from __future__ import annotations

import json

import pytest

from mandelbot.preferences.in_pages import MOST_HEADERS, page_usage
from mandelbot.preferences.tdmrep import (
    _CONTENT_LIMIT,
    BYTES_LIMIT,
    MOST_RULES,
    TdmFile,
)
from mandelbot.robotstxt.patterns import Pattern
from mandelbot.tags.head import HEAD_LIMIT, METAS_LIMIT, license_links
from mandelbot.tags.reading import LIST_LIMIT


def test_a_link_is_read_within_the_head():
    """One that goes on after it, however far, is none."""
    start = b"<link rel=license a='"
    end = b"' href=/l>"
    within = start + b" " * (HEAD_LIMIT - len(start) - len(end)) + end
    assert [link.href for link in license_links(within)] == ["/l"]
    assert license_links(start + b" " * HEAD_LIMIT + end) == ()
    assert (
        len(license_links(b"<link rel=license href=/l>" * (METAS_LIMIT + 1)))
        == METAS_LIMIT
    )


def test_a_list_of_tags_is_read_up_to_its_last_whole_member():
    """By what asks for uses as by what asks for tags."""
    members = ", ".join(f"a{number};x" for number in range(LIST_LIMIT))
    usage = page_usage([("Robots-Tag", f"*;noai, {members}")], b"", "Examplebot")
    assert usage["train-ai"] == "disallowed"


def test_so_many_headers_are_read():
    """Those that say nothing of uses are not among them."""
    many = [("Content-Usage", "search=y"), ("Date", "x")] * (MOST_HEADERS - 1)
    last = ("tdm-reservation", "1")
    assert page_usage([*many, last], b"", "a")["tdm"] == "disallowed"
    assert page_usage([*many, ("Link", "</>"), last], b"", "a")["tdm"] == "unknown"


def test_so_much_of_a_tdm_file_is_read():
    """So many bytes, so many rules, so much of a policy: what comes before counts."""
    rule = {
        "location": "/a",
        "tdm-reservation": 1,
        "tdm-policy": "p" * (_CONTENT_LIMIT + 1),
    }
    body = json.dumps([rule]).encode()
    file = TdmFile.parse(b" " * (BYTES_LIMIT - len(body)) + body)
    assert (file.problem, len(file.rules)) == ("", 1)
    (terms,) = file.usage("/a").terms
    assert len(terms.url) == _CONTENT_LIMIT
    past = TdmFile.parse(b"[" + b" " * BYTES_LIMIT + body[1:])
    assert (past.problem, past.rules) == ("it is no JSON from line 1 on", ())
    many = TdmFile.parse(json.dumps([{"location": "/a"}] * (MOST_RULES + 1)).encode())
    assert len(many.rules) == MOST_RULES
    assert many.problem


@pytest.mark.parametrize(
    "location",
    ["/a*b%d", "/*page%d*x", "/page%d", "/*aa%d", "/%d/*x/", "/*%d$", "/a%d*b*c"],
)
def test_of_a_long_tdm_file_few_rules_are_tried(location, monkeypatch):
    """A page is decided without each of 10,000 patterns being matched."""
    asked = []
    matches = Pattern.matches
    monkeypatch.setattr(
        Pattern,
        "matches",
        lambda pattern, target: asked.append(1) or matches(pattern, target),
    )
    rules = [
        {"location": location % number, "tdm-reservation": 1} for number in range(9_999)
    ]
    rules.append({"location": "/*", "tdm-reservation": 0})
    file = TdmFile.parse(json.dumps(rules, separators=(",", ":")).encode())
    assert len(file.rules) == MOST_RULES
    page = "https://example.com/a/page12/bb/c?id=4711"
    assert file.usage(page).answer("tdm") in {"allowed", "disallowed"}
    assert len(asked) < 300


@pytest.mark.parametrize(("length", "is_shared"), [(100, True), (1_000, False)])
def test_pages_that_say_the_same_share_their_statements(length, is_shared):
    """A site says it with each page. Of a long value nothing is kept."""
    value = "train-ai=n, x=" + "y" * length
    first = page_usage([("Content-Usage", value)], b"", "Examplebot").statements[0]
    second = page_usage([("Content-Usage", value)], b"", "Examplebot").statements[0]
    assert first == second
    assert (first is second) == is_shared
