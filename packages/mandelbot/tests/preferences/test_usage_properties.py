"""What must hold whatever the web sends: nothing raises, the strictest wins, order is
nothing.
"""

from __future__ import annotations

import json

import http_sf
from cases.usage import CASES
from hypothesis import example, given
from hypothesis import strategies as st

from mandelbot import RobotsTxt, usage
from mandelbot.preferences.in_pages import page_usage, stated_terms
from mandelbot.preferences.statements import (
    CATEGORIES,
    MEANINGS,
    Usage,
    read_content_signal,
    read_content_usage,
)
from mandelbot.preferences.tdmrep import TdmFile

PIECES = st.sampled_from(
    [
        *(
            "Content-Usage: ",
            "Content-Signal:",
            "content-signals :",
            "License: ",
            "\n",
            "\r\n",
        ),
        *(
            "User-agent: *\n",
            "User-agent: Examplebot\n",
            "User-agent: GPTBot\n",
            "Disallow: /",
        ),
        *(
            "train-ai=n",
            "search=y",
            "ai-train=no",
            "use=reference",
            ", ",
            ";",
            "/a ",
            "/a*b$ ",
        ),
        *("\t", "#", "\x00", "é", "\ud800", '"', "(", ")", "%41", "=", "y", "n", ":"),
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)
NAMES = st.sampled_from(
    [
        *(
            "Content-Usage",
            "content-signal",
            "X-Robots-Tag",
            "Robots-Tag",
            "tdm-reservation",
        ),
        *("tdm-policy", "Link", "crawler-price", "WWW-Authenticate", "Content-Type"),
    ]
)
HEADERS = st.lists(st.tuples(NAMES, TEXTS | st.text()), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["location", "tdm-reservation", "tdm-policy", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(TEXTS, st.sampled_from(["https://example.com/a/b", "/a", "", "http://["]))
def test_no_file_raises(text, url):
    """Any robots.txt says something or nothing to any robot about any URL."""
    robots = RobotsTxt.parse(text.encode("utf-8", "surrogatepass"))
    for agent in ("Examplebot", "GPTBot", ["a", "b"], ""):
        said = usage(robots, url, agent)
        assert all(str(one) for one in (*said.statements, *said.terms))
        assert said.is_crawlable == robots.allowed(url, agent)
        lines = {record.number for record in robots.records}
        assert {one.line for one in said.statements} <= lines


@given(HEADERS, st.binary() | TEXTS.map(lambda text: text.encode("utf-8", "replace")))
def test_no_page_raises(headers, body):
    """Nor does any page, in text or octets."""
    usage = page_usage(headers, body, "Examplebot")
    assert all(str(one) for one in (*usage.statements, *usage.terms))
    in_bytes = [
        (name.encode(), value.encode("utf-8", "surrogatepass"))
        for name, value in headers
    ]
    page_usage(in_bytes, body, b"Examplebot")
    for status in (200, 401, 402, 403):
        word = stated_terms(status, headers)
        assert word is None or word.isprintable()


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
@example(b"[" * 100_000)
@example(b'[{"location": "/", "tdm-reservation": ' + b"9" * 100_000 + b"}]")
def test_no_tdm_file_raises(body):
    """Any bytes are a file that says something or nothing."""
    file = TdmFile.parse(body)
    for url in ("/a", "https://example.com/a", "x"):
        assert isinstance(file.usage(url), Usage)


@given(
    st.lists(st.text("/ab*$", max_size=6).map("/".__add__) | st.just("*"), max_size=80),
    st.text("/ab", max_size=12),
)
def test_the_first_rule_of_a_tdm_file_decides(locations, path):
    """However many there are: as when each is tried in turn."""
    rules = [{"location": one, "tdm-policy": str(n)} for n, one in enumerate(locations)]
    file = TdmFile.parse(json.dumps(rules).encode())
    first = [rule.policy for rule in file.rules if rule.pattern.matches(f"/{path}")][:1]
    assert [terms.url for terms in file.usage(f"/{path}").terms] == first


@given(TEXTS)
def test_content_usage_is_read_as_rfc_9651_says(value):
    """A word is a key whose last value is the token y or n; what cannot be parsed has
    none.
    """
    try:
        members = http_sf.parse(
            value.encode("utf-8", "surrogatepass"), tltype="dictionary"
        )
    except (http_sf.StructuredFieldError, ValueError):
        assert not read_content_usage(value).is_readable
        return
    expected = {
        f"{key}={member[0]}"
        for key, member in members.items()
        if key in {"train-ai", "search"}
        and isinstance(member[0], http_sf.Token)
        and str(member[0]) in {"y", "n"}
    }
    assert set(read_content_usage(value).words) == expected


@given(TEXTS)
def test_a_signal_is_a_word_of_the_table(value):
    """And nothing else is."""
    words = read_content_signal(value).words
    assert all(("content-signal", word) in MEANINGS for word in words)


@given(st.lists(st.sampled_from(CASES), max_size=6), st.randoms())
def test_the_strictest_wins_in_any_order(cases, chance):
    """Statements from many places say together what each says, in whatever order they
    come.
    """
    pages = [page_usage(case.headers, case.octets, "Examplebot") for case in cases]
    shuffled = pages.copy()
    chance.shuffle(shuffled)
    together, other = Usage(), Usage()
    for page in pages:
        together = together.combined_with(page)
    for page in shuffled:
        other = other.combined_with(page)
    assert together.answers == other.answers
    for category in CATEGORIES:
        said = {page[category] for page in pages} - {"unknown"}
        strictest = (
            "disallowed" if "disallowed" in said else min(said, default="unknown")
        )
        assert together[category] == strictest
