"""Sentences about any file are safe for any log and terminal."""

from __future__ import annotations

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from mandelbot import DIALECTS, RobotsTxt, Rule, Verdict
from mandelbot.findings import lint
from mandelbot.findings.delivery import Delivery, check_delivery
from mandelbot.fix import prove, rewrite

LONG = 350  # characters: what is of the web, and the words around it
WILD = [
    "\x1b[2J",
    "\x9b31m",
    "\u202e",
    "\u2066",
    "\x00",
    "\x7f",
    "\u2028",
    "\r",
    "\x85",
    "\ud800",
]
FIELDS = [
    "Disallow",
    "Allow",
    "User-agent",
    "Crawl-delay",
    "Sitemap",
    "Host",
    "Dissalow",
    "x y",
    "",
]
signs = st.lists(
    st.sampled_from([*WILD, "a", "/", "*", "$", " ", "#", ":"]), max_size=6
)
values = st.builds(
    lambda text, times: "".join(text) * times, signs, st.sampled_from([1, 1, 500])
)


def is_harmless(text):
    """Return whether a text is one short line of printable characters."""
    return text.isprintable() and len(text) <= LONG


@settings(max_examples=examples(200))
@given(
    st.lists(st.tuples(st.sampled_from(FIELDS), values), max_size=6),
    st.sampled_from(WILD),
)
def test_messages_and_verdicts_are_harmless(lines, sign):
    """No control character or override of a file is in a sentence about it, and none is
    long.
    """
    text = "".join(f"{field}: {value}\n" for field, value in lines)
    body = f"User-agent: bot{sign}\nDisallow: /{sign}\n{text}".encode(
        "utf-8", "surrogatepass"
    )
    assert all(is_harmless(found.message) for found in lint(body))
    for dialect in DIALECTS:
        robots = RobotsTxt.parse(body, dialect=dialect)
        assert is_harmless(str(robots.verdict(f"/{sign}", f"bot{sign}")))
        assert all(is_harmless(remark) for remark in rewrite(robots).remarks)
    proof = prove(body, "User-agent: *\nDisallow: /\n")
    assert all(
        text.isprintable() and len(text) < 1000 for text in map(str, proof.differences)
    )


@pytest.mark.parametrize("sign", WILD)
def test_fields_are_as_written_and_texts_are_not(sign):
    """`path` is the path as written; the text of a rule is for people."""
    rule = Rule(allow=False, path=f"/{sign}", line=2)
    assert rule.path == f"/{sign}"
    assert str(rule) == f"Disallow: /{sign.encode('unicode_escape').decode()}"
    verdict = Verdict(
        allowed=False, rule=rule, agent=f"bot{sign}", reason="a rule matches"
    )
    assert verdict.agent == f"bot{sign}"
    assert is_harmless(str(verdict))


def test_half_a_megabyte_of_rule_is_a_short_sentence():
    """The path is cut in the text, not in the field."""
    path = "/" + "a" * 500_000
    verdict = RobotsTxt.parse(f"User-agent: *\nDisallow: {path}\n".encode()).verdict(
        path, "bot"
    )
    assert verdict.rule.path == path
    assert str(verdict).startswith("forbidden by line 2: Disallow: /aaa")
    assert len(str(verdict)) < 300


def test_where_a_file_comes_from_is_harmless_too():
    """The URLs of the delivery are of the web as well."""
    delivery = Delivery(
        url="https://example.com/robots.txt",
        final_url="https://\u202e" + "x" * 999 + "/robots.txt",
    )
    assert all(is_harmless(found.message) for found in check_delivery(delivery))
