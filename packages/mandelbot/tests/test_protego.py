"""``mandelbot.protego`` has all of Protego's methods."""

from __future__ import annotations

import inspect
from datetime import time

import protego
import pytest

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


def test_the_file_is_there_for_verdicts():
    """What Protego cannot say."""
    verdict = Protego.parse(TEXT).robots.verdict("/private/x", "Examplebot")
    assert verdict.rule.line == 2
