"""Rules with whole URLs: for whom they count, and what is told."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pytest

from mandelbot import RobotsTxt
from mandelbot.findings import lint
from mandelbot.protego import Protego
from mandelbot.robotparser import RobotFileParser
from mandelbot.robotstxt.decider import Decider
from mandelbot.robotstxt.full_urls import host_of

AETNA = "User-agent: *\nDisallow: /private/\nDisallow: http://xsearch.aetna.com/\n"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com", "example.com"),
        ("HTTPS://User:pw@WWW.Example.COM.:443/a?b#c", "example.com"),
        ("http://example.com:443", "example.com:443"),
        ("http://example.com:/", "example.com"),
        ("http://[2001:DB8::1]:80/", "[2001:db8::1]"),
        ("http://[::1]:8080", "[::1]:8080"),
        ("https://b\u00fccher.example/", "xn--bcher-kva.example"),
        ("https://www.www.example", "www.example"),
        ("ftp://example.com:80", "example.com:80"),
        ("http://", ""),
        ("http:///a", ""),
        ("/a", None),
        ("a", None),
        ("//example.com/a", None),
        ("http://[x/a", None),
        ("", None),
    ],
)
def test_a_host_is_told_by_what_rules_mean(url, host):
    """Not by case, scheme, the scheme's port, a user, a final dot or www."""
    assert host_of(url) == host


@pytest.mark.parametrize("times", [1, 60])
def test_a_rule_for_another_host_closes_nothing(times):
    """www.aetna.com had a rule for its search: no page of it was crawled."""
    robots = RobotsTxt.parse(AETNA.encode())
    for _ in range(times):
        assert robots.allowed("https://www.aetna.com/", "Examplebot")
        assert robots.allowed("https://www.aetna.com/a?b", "Examplebot")
        assert not robots.allowed("https://www.aetna.com/private/", "Examplebot")
        assert not robots.allowed("https://xsearch.aetna.com/a", "Examplebot")
        assert not robots.allowed("/a", "Examplebot")


def test_a_verdict_shows_the_rule_as_it_is_written():
    """With the host, and the line of the file."""
    robots = RobotsTxt.parse(AETNA.encode())
    for _ in range(20):
        verdict = robots.verdict("http://xsearch.aetna.com/a", "Examplebot")
        assert str(verdict) == (
            "forbidden by line 3: Disallow: http://xsearch.aetna.com/ (agent *)"
        )


def test_more_hosts_than_are_kept():
    """Each is decided as if it were the only one."""
    hosts = [f"h{number}.example" for number in range(100)]
    lines = [f"Disallow: https://{host}/{host}\n" for host in hosts]
    robots = RobotsTxt.parse(("User-agent: *\n" + "".join(lines)).encode())
    for _ in range(2):
        for host, other in pairwise(hosts):
            assert not robots.allowed(f"https://{host}/{host}", "Examplebot")
            assert robots.allowed(f"https://{host}/{other}", "Examplebot")


def test_a_large_file_is_prepared_in_steps_for_a_host():
    """As any file is: the steps are those of the copy for the host."""
    rules = "".join(f"Disallow: /{number}\n" for number in range(5_000))
    robots = RobotsTxt.parse((AETNA + rules).encode())
    url = "https://www.aetna.com/1"
    for steps in (
        robots.decider("bot").preparing(url),
        robots.decider("bot").explaining(),
    ):
        assert steps is not None
        assert sum(1 for _ in steps) > 10
    assert not robots.allowed(url, "bot")
    assert robots.verdict(url, "bot").rule.line == 5


def test_other_files_are_decided_as_before():
    """A URL in a Sitemap line, a comment or a path costs a search and no more."""
    body = (
        b"# Rules: see https://example.com\nUser-agent: *\nDisallow: /a?u=http://b.c\n"
        b"Allow: /b # http://b.c\nSitemap: https://example.com/s.xml\n"
    )
    assert type(RobotsTxt.parse(body).decider("bot")) is Decider
    assert type(RobotsTxt.parse(AETNA.encode()).decider("bot")) is not Decider
    google = RobotsTxt.parse(AETNA.encode(), dialect="google")
    assert type(google.decider("bot")) is Decider


def test_a_parsed_file_can_be_stored():
    """After decisions, too."""
    robots = RobotsTxt.parse(AETNA.encode())
    assert not robots.allowed("https://xsearch.aetna.com/", "bot")
    copy = pickle.loads(pickle.dumps(robots))
    assert copy.allowed("https://aetna.com/", "bot")
    assert not copy.allowed("https://xsearch.aetna.com/", "bot")


@pytest.mark.parametrize("url", ["https://xsearch.aetna.com/a", "https://aetna.com/a"])
def test_the_drop_ins_match_nothing_as_their_models(url):
    """Neither Protego nor urllib has a host in a rule."""
    assert Protego.parse(AETNA).can_fetch(url, "Examplebot")
    parser = RobotFileParser()
    parser.parse(AETNA.splitlines())
    assert parser.can_fetch("Examplebot", url)


@pytest.mark.parametrize(
    ("site", "sitemap", "said"),
    [
        ("https://www.aetna.com", "", "is a whole URL: this rule is for another host."),
        ("https://xsearch.aetna.com", "", 'is a whole URL, not a path: write "/".'),
        (
            "",
            "https://aetna.com/s.xml",
            "is a whole URL: this rule is for another host.",
        ),
        ("", "http://www.xsearch.aetna.com/s", 'a whole URL, not a path: write "/".'),
        ("", "", "is a whole URL, not a path."),
    ],
)
def test_a_finding_says_for_whom_a_rule_is(site, sitemap, said):
    """The site is known, or the file cites its host, or nobody knows."""
    body = f"{AETNA}Sitemap: {sitemap}\n" if sitemap else AETNA
    found = {one.code: one for one in lint(body.encode(), site=site)}
    assert found["full-url"].message.endswith(said)
    is_own = "write" in said
    assert ("closed-to-all" in found) == is_own
    if is_own:
        assert "whole URL" in found["closed-to-all"].message


def test_a_url_without_a_host_is_told():
    """``http://`` closed whole sites."""
    found = lint(b"User-agent: *\nDisallow: http://\n", site="https://example.com")
    assert [one.message for one in found if one.code == "full-url"] == [
        '"http://" is a URL without a host: it matches nothing.'
    ]
