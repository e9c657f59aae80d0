"""Spellings of a path that servers take for another one.

(RFC 3986, section 5.2.4; nginx)
"""

from __future__ import annotations

import pytest

from mandelbot.robotstxt.paths import as_servers_read_it

CASES = [
    ("/x/../no", "/no"),
    ("/./no", "/no"),
    ("//no", "/no"),
    ("/%2e/no", "/no"),
    ("/%2E%2e/no", "/no"),
    ("/x/.%2e/no", "/no"),
    ("/x//../no", "/no"),
    ("/a/b/../../../no", "/no"),
    ("/no/.", "/no/"),
    ("/no/x/..", "/no/"),
    ("/..", "/"),
    ("/a//", "/a/"),
    ("/x/../no?a=//b/../c#d", "/no?a=//b/../c#d"),
    ("https://h.example/x/../no", "https://h.example/no"),
    (
        "https://h.example//no?u=https://x.example//y",
        "https://h.example/no?u=https://x.example//y",
    ),
    ("/", None),
    ("/no", None),
    ("/a.b/..c/d..", None),
    ("/.../a", None),
    ("/%2f/a", None),
    ("/?u=https://x.example//y", None),
    ("https://h.example", None),
    ("https://h.example?x=//y", None),
    ("https://h.example/a?/../b", None),
    ("https://h.example/.well-known/x", None),
    ("", None),
]


@pytest.mark.parametrize(("url", "read"), CASES)
def test_dots_and_slashes_are_resolved(url, read):
    """And nothing else: no query, no host, no other escape; what is resolved stays as
    it is.
    """
    assert as_servers_read_it(url) == read
    if read is not None:
        assert as_servers_read_it(read) is None
