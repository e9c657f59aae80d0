"""Verdicts: what decided, as a record and as a sentence; and who is asking."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from mandelbot import DIALECTS, RobotsTxt, Rule, Verdict
from mandelbot.robotstxt.agents import product_tokens

BODY = b"""\
User-agent: Mandelbot/2.0
Disallow: /private  # mine
Allow: /private/open$
Disallow:

User-agent: *
Disallow: /
"""


@pytest.mark.parametrize(
    ("url", "agent", "sentence"),
    [
        (
            "/private/a",
            "Mandelbot",
            "forbidden by line 2: Disallow: /private (agent Mandelbot)",
        ),
        (
            "/private/open",
            "Mandelbot",
            "allowed by line 3: Allow: /private/open$ (agent Mandelbot)",
        ),
        ("/other", "Mandelbot", "allowed: no rule matches (agent Mandelbot)"),
        ("/other", "Other", "forbidden by line 7: Disallow: / (agent *)"),
        ("/robots.txt", "Other", "allowed: /robots.txt is always allowed (agent *)"),
        ("http://[x", "Other", "allowed: not a URL that can be read (agent *)"),
    ],
)
def test_a_verdict_is_a_sentence(url, agent, sentence):
    """A verdict has the deciding rule, its line, its text and its group."""
    assert str(RobotsTxt.parse(BODY).verdict(url, agent)) == sentence


def test_a_verdict_without_a_group_says_so():
    """No group applies to the agent: allowed, with the reason."""
    verdict = RobotsTxt.parse(b"User-agent: x\nDisallow: /\n").verdict("/", "Mandelbot")
    assert verdict == Verdict(
        allowed=True, rule=None, agent=None, reason="no group is about this agent"
    )
    assert str(verdict) == "allowed: no group is about this agent"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_name_that_is_a_path_names_no_robot(dialect):
    robots = RobotsTxt.parse(b"User-agent: /*\nDisallow: /\n", dialect=dialect)
    assert robots.allowed("https://example.com/a", "Mandelbot")


def test_google_an_index_page_allows_its_folder_in_a_small_file():
    robots = RobotsTxt.parse(
        b"User-agent: *\nDisallow: /\nAllow: /a/index.htm", dialect="google"
    )
    paths = "/a/", "/a/index.html", "/a", "/a/b", "/b/"
    allowed = [
        robots.allowed(f"https://example.com{path}", "Mandelbot") for path in paths
    ]
    assert allowed == [True, True, False, False, False]


def test_google_an_empty_rule_can_decide():
    """Google's deciding line may be a rule without a path."""
    verdict = RobotsTxt.parse(b"User-agent: *\nDisallow:\n", dialect="google").verdict(
        "/a", "x"
    )
    assert str(verdict) == "allowed by line 2: Disallow: (agent *)"


def test_extended2_older_text_what_is_not_listed_is_forbidden_with_a_reason():
    """Where only Allow lines are given, the verdict has no rule but a reason."""
    dialect = replace(DIALECTS["extended2"], precedence="kind")
    robots = RobotsTxt.parse(b"User-agent: *\nAllow: /a\n", dialect=dialect)
    reason = "no rule matches, and only what is allowed may be read"
    assert robots.verdict("/b", "x") == Verdict(
        allowed=False, rule=None, agent="*", reason=reason
    )


def test_a_rule_is_told_as_written():
    """The path keeps its spelling: escapes, case, full URL; octets that are no text as
    escapes.
    """
    body = b"User-agent: *\nDISALLOW: https://example.com/%7eA\xe9 # why\n"
    verdict = RobotsTxt.parse(body).verdict("/~A%E9", "x")
    assert verdict.rule == Rule(allow=False, path="https://example.com/%7eA%E9", line=2)
    assert str(verdict.rule) == "Disallow: https://example.com/%7eA%E9"


def test_results_are_values():
    """Rules, verdicts and dialects compare, hash, and do not change."""
    robots = RobotsTxt.parse(BODY)
    verdict = robots.verdict("/private", "Mandelbot")
    assert {verdict, robots.verdict("/private", "Mandelbot")} == {verdict}
    with pytest.raises(FrozenInstanceError):
        verdict.allowed = True
    with pytest.raises(FrozenInstanceError):
        DIALECTS["mandelbot"].name = "mine"
    with pytest.raises(TypeError):
        DIALECTS["mine"] = DIALECTS["mandelbot"]


def test_a_dialect_that_does_not_exist_is_an_error_that_names_them_all():
    """Misuse by the programmer is an exception, what a file says never is."""
    with pytest.raises(
        ValueError, match="no dialect 'bing': there are mandelbot, rfc9309, google"
    ):
        RobotsTxt.parse(b"", dialect="bing")


def test_the_state_is_visible():
    """The repr of a parsed file has its dialect and its size."""
    assert repr(RobotsTxt.parse(BODY)) == f"<RobotsTxt mandelbot, {len(BODY)} bytes>"
    assert RobotsTxt.parse(BODY, dialect="google").dialect is DIALECTS["google"]


@pytest.mark.parametrize(
    ("agent", "tokens"),
    [
        ("Mandelbot", ("mandelbot",)),
        ("Mandelbot/1.0", ("mandelbot",)),
        (
            "Mozilla/5.0 (compatible; Mandelbot/1.0; +https://example.com/bot)",
            ("mandelbot",),
        ),
        ("Scrapy/2.14 (+https://scrapy.org)", ("scrapy",)),
        (
            (
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible;"
                " bingbot/2.0)"
            ),
            ("bingbot",),
        ),
        (
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:109.0) Gecko/20100101"
                " Firefox/115.0"
            ),
            (),
        ),
        (
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 16_0 like Mac OS X)"
                " (Googlebot-Image/1.0)"
            ),
            ("googlebot-image",),
        ),
        ("WebCrawler/3.0 Robot libwww/5.0a", ("webcrawler", "libwww", "robot")),
        ("Yahoo! Slurp", ("yahoo!", "slurp")),
        ("", ()),
        (" ", ()),
        ("5.0", ("5.0",)),
    ],
)
def test_the_names_of_a_robot_are_taken_from_its_header(agent, tokens):
    """Product tokens in and outside of comments, without versions, URLs and browsers'
    words.
    """
    assert product_tokens(agent) == tokens


def test_agents_may_be_any_sequence_and_are_kept_within_bounds():
    """Lists, tuples and generated names decide equally, and many of them fill no
    memory.
    """
    robots = RobotsTxt.parse(BODY)
    for number in range(1000):
        assert not robots.allowed("/a", f"bot{number}")
    assert robots.allowed("/a", ["nobody", "Mandelbot"])
    assert robots.allowed("/a", ("nobody", "Mandelbot"))
    assert robots.allowed("/a", ["nobody", "Mandelbot"])
    assert len(robots._deciders) < 300
