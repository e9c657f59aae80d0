"""``mandelbot.protego`` has all of Protego's methods."""

from __future__ import annotations

import inspect
from datetime import time

import protego
import pytest

from mandelbot import RobotsTxt
from mandelbot.protego import Protego

TEXT = """\
User-agent: *
Disallow: /private
Allow: /private/open
Crawl-delay: 2.5
Request-rate: 10/1m 0800-1700
Visit-time: 0600-0845
Sitemap: https://example.com/sitemap.xml
Host: example.com
"""
BOTH = [Protego.parse(TEXT), protego.Protego.parse(TEXT)]


def test_every_method_of_protegos_is_there_with_its_arguments():
    """A caller passes them by place or by name."""
    for name, method in inspect.getmembers(protego.Protego):
        if name.startswith("_") or not callable(method):
            continue
        theirs = [*inspect.signature(method).parameters]
        assert [*inspect.signature(getattr(Protego, name)).parameters][
            : len(theirs)
        ] == theirs, name


@pytest.mark.parametrize("robots", BOTH)
def test_the_answers_are_of_the_same_kinds(robots):
    """The URL stands before the agent."""
    assert not robots.can_fetch("https://example.com/private", "Examplebot")
    assert robots.can_fetch("https://example.com/private/open", "Examplebot")
    assert robots.can_fetch("https://example.com/robots.txt", "Examplebot")
    assert robots.crawl_delay("Examplebot") == 2.5
    assert robots.request_rate("Examplebot") == (10, 60, time(8), time(17))
    assert robots.request_rate("Examplebot").start_time == time(8)
    assert robots.visit_time("Examplebot") == (time(6), time(8, 45))
    assert next(robots.sitemaps) == "https://example.com/sitemap.xml"
    assert robots.preferred_host == "example.com"


@pytest.mark.parametrize("parse", [Protego.parse, protego.Protego.parse])
def test_a_file_that_says_nothing_has_no_answers(parse):
    """None, and nothing to iterate over."""
    robots = parse("")
    assert robots.can_fetch("https://example.com/", "Examplebot")
    assert robots.crawl_delay("Examplebot") is None
    assert robots.request_rate("Examplebot") is None
    assert robots.visit_time("Examplebot") is None
    assert list(robots.sitemaps) == []
    assert robots.preferred_host is None


@pytest.mark.parametrize("parse", [Protego.parse, protego.Protego.parse])
def test_bytes_are_no_text(parse):
    """The error is Protego's, too."""
    with pytest.raises(TypeError, match="expects str, got bytes"):
        parse(b"User-agent: *")


@pytest.mark.parametrize("parse", [Protego.parse, protego.Protego.parse])
@pytest.mark.parametrize(
    "line", ["Disalow: /x", "Dissallow: /x", "Disallow /x", "disallow : /x"]
)
def test_what_protego_reads_as_disallow_stays_closed(parse, line):
    """A project that changes its import must not find closed pages open."""
    robots = parse(f"User-agent: *\n{line}\n")
    assert not robots.can_fetch("https://example.com/x", "Examplebot")


WITHOUT_COLON = (
    "user agent bot\ndisallow /x\n",
    "USER  AGENT\tbot\r\n Disallow\t /x # a comment: closed\r\n",
    "user-agent harry potter\ndisallow /x\n",
    "user-agent *\ndisallow /x:y\n",
    "user-agent *\ndisallow /x: y\n",
    "user-agent *\ndisallow : /x\n",
    "user-agent *\ndisallow :/x\n",
    "user-agent *\ndisallow\n",
    "user-agent *\ndisallow /x",
    "user-agent *\rdisallow /x\rallow /x/y",
    "useragent *\ndisalow /x y\n",
    "user-agent *\ncrawl delay 5\n",
    "user-agent *\nrequest rate 1/5\nvisit time 0600-0845\n",
    "site-map https://example.com/s.xml\nhost example.com\n",
    "Sitemap https://example.com/s.xml\nSitemaps: https://example.com/t.xml\n",
)


@pytest.mark.parametrize("text", WITHOUT_COLON)
def test_a_line_without_a_colon_is_read_as_there(text):
    """The first words are the field, the rest is the value, with blanks or not."""
    here, there = (one.parse(text) for one in (Protego, protego.Protego))
    for agent in ("bot", "harry potter"):
        for path in ("/x", "/x:y", "/x/y", "/x%20y", "/:/x"):
            url = f"https://example.com{path}"
            assert here.can_fetch(url, agent) == there.can_fetch(url, agent), path
        for method in ("crawl_delay", "request_rate", "visit_time"):
            assert getattr(here, method)(agent) == getattr(there, method)(agent)
    assert list(here.sitemaps) == list(there.sitemaps)
    assert here.preferred_host == there.preferred_host


DIFFERENT = {
    "a User-agent line": ("User-agent: Google\nDisallow: /\n", "/", "Googlebot"),
    "a robot's name in other letters": (
        "User-agent: \u0420\u043e\u0431\u043e\u0442\nDisallow: /\n",
        "/",
        "\u0420\u043e\u0431\u043e\u0442/1.0",
    ),
    "a URL with $, /a$": ("User-agent: *\nDisallow: /a$\n", "/a$", "Examplebot"),
    "/a$b": ("User-agent: *\nDisallow: /a$\n", "/a$b", "Examplebot"),
    "a line with an unknown field between two User-agent lines": (
        "User-agent: *\nInvalid: /x\nUser-agent: otherbot\nDisallow: /\n",
        "/a",
        "Examplebot",
    ),
    "Allow: /a/index.html": (
        "User-agent: *\nAllow: /a/index.html\nDisallow: /\n",
        "/a/",
        "x",
    ),
}
"""What docs/coming_from.rst lists: a file, a path and an agent."""


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_differs_is_what_the_page_lists(case):
    """Protego decides otherwise there; here the decision is that of RFC 9309."""
    body, path, agent = DIFFERENT[case]
    url = f"https://example.com{path}"
    here = Protego.parse(body).can_fetch(url, agent)
    assert here != protego.Protego.parse(body).can_fetch(url, agent)
    assert here == RobotsTxt.parse(body.encode(), dialect="rfc9309").allowed(url, agent)


@pytest.mark.parametrize("path", ["/a$b", "/a%24", "/a$$b", "/*$c", "/a*$d"])
def test_a_dollar_within_a_path_is_read_as_there(path):
    """It is a character like others."""
    parsers = [
        one.parse(f"User-agent: *\nDisallow: {path}\n")
        for one in (Protego, protego.Protego)
    ]
    for url in ("/a", "/a$", "/a$b", "/a%24", "/a$$", "/a$$b", "/x$c", "/ab$d"):
        answers = {one.can_fetch(f"https://example.com{url}", "x") for one in parsers}
        assert len(answers) == 1, url


def test_the_file_is_there_for_verdicts():
    """What Protego cannot say."""
    verdict = Protego.parse(TEXT).robots.verdict("/private/x", "Examplebot")
    assert verdict.rule.line == 2
