"""What holds for any bytes, any URL, any agent, in any dialect."""

from __future__ import annotations

import re
from dataclasses import replace
from unittest.mock import patch

import pytest
import robotstxt_reference as reference
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from wildrobots import ALL, MORE_DIALECTS, bodies, dialects, paths, rooted

from mandelbot import DIALECTS, RobotsTxt
from mandelbot.robotstxt import decider, index
from mandelbot.robotstxt.paths import normalise, read_url

ORIGINS = (
    "https://www.example.com",
    "http://EXAMPLE.com:80",
    "https://example.com:8443",
    "https://x.example",
)
"""Hosts that rules with whole URLs name, and others."""


@settings(max_examples=examples(1500))
@given(
    body=bodies,
    dialect=dialects,
    targets=st.lists(rooted, min_size=1, max_size=4),
    small=st.sampled_from([0, 4_000]),
    origin=st.sampled_from(ORIGINS),
)
def test_all_ways_to_decide_agree_with_the_slow_obvious_one(
    body, dialect, targets, small, origin
):
    """Scan, list, index and the reference matcher give one answer, and one deciding
    line.
    """
    robots = RobotsTxt.parse(body, dialect=dialect)
    urls = [origin + target for target in targets]
    expected = [
        reference.decide(body, dialect, "bot", read_url(url, dialect)[1], origin)
        for url in urls
    ]
    with patch.object(decider, "_SMALL", small):
        assert [robots.allowed(url, "bot") for url in urls] == [
            allowed for allowed, _ in expected
        ]
    for _ in range(60):
        robots.allowed(f"{origin}/", "bot")
    assert [robots.allowed(url, "bot") for url in urls] == [
        allowed for allowed, _ in expected
    ]
    assert [robots.allowed(target, "bot") for target in targets] == [
        robots.verdict(target, "bot").allowed for target in targets
    ]
    verdicts = [robots.verdict(url, "bot") for url in urls]
    assert [(v.allowed, v.rule and v.rule.line) for v in verdicts] == expected


short = st.text("ab*$/1", max_size=6).map(lambda path: "/" + path)
rule_lines = st.tuples(st.sampled_from(["Allow: ", "Disallow: "]), short).map("".join)


@settings(max_examples=examples(800))
@given(
    rules=st.lists(rule_lines, min_size=1, max_size=25),
    targets=st.lists(st.text("ab/1", max_size=7), min_size=5, max_size=5),
    many=st.sampled_from([2, 48]),
    dialect=st.sampled_from(
        [DIALECTS["mandelbot"], DIALECTS["google"], MORE_DIALECTS["ordered"]]
    ),
)
def test_list_and_index_agree_where_ranges_and_wildcards_are_nested(
    rules, targets, many, dialect
):
    """A list, an index and its tables give one answer, however rules overlap."""
    body = "\n".join(["User-agent: *", *rules, ""]).encode()
    robots = RobotsTxt.parse(body, dialect=dialect)
    urls = [f"https://www.example.com/{target}" for target in targets]
    expected = [reference.decide(body, dialect, "bot", url[23:])[0] for url in urls]
    assert [robots.allowed(url, "bot") for url in urls] == expected
    with patch.object(index, "_MANY", many):
        for _ in range(60):
            robots.allowed(urls[0], "bot")
    assert [robots.allowed(url, "bot") for url in urls] == expected


@settings(max_examples=examples(400))
@given(
    body=st.binary(max_size=200),
    dialect=dialects,
    url=st.one_of(st.text(max_size=40), rooted),
    agent=st.one_of(st.text(max_size=20), st.lists(st.text(max_size=5), max_size=3)),
    max_bytes=st.one_of(st.none(), st.integers(0, 100)),
)
def test_nothing_raises(body, dialect, url, agent, max_bytes):
    """Any bytes parse, and any question about them is answered."""
    robots = RobotsTxt.parse(body, dialect=dialect, max_bytes=max_bytes)
    verdict = robots.verdict(url, agent)
    assert robots.allowed(url, agent) == verdict.allowed
    assert str(verdict).startswith(("allowed", "forbidden"))
    assert robots.crawl_delay(agent) is None or robots.crawl_delay(agent) >= 0
    said = [
        robots.request_rates(agent),
        robots.visit_times(agent),
        robots.comments(agent),
    ]
    said += [robots.sitemaps, robots.hosts, robots.clean_params]
    assert all(isinstance(values, tuple) for values in said)
    assert [record.number for record in robots.records] == list(
        range(1, len(robots.records) + 1)
    )


@settings(max_examples=examples(400))
@given(body=bodies, dialect=dialects)
def test_records_and_rules_read_the_lines_alike(body, dialect):
    """Every deciding rule is a record of its line, with its field and value."""
    robots = RobotsTxt.parse(body, dialect=dialect)
    records = {record.number: record for record in robots.records}
    for url in ("/", "/a", "/ab", "/a/b", "/index.html"):
        rule = robots.verdict(url, "bot").rule
        if rule is not None:
            record = records[rule.line]
            assert record.field == ("allow" if rule.allow else "disallow")
            assert record.value == rule.path


@given(text=st.one_of(st.text(), paths))
def test_normalising_twice_changes_nothing(text):
    """Normalisation is idempotent, and agrees with one that walks every character."""
    assert normalise(normalise(text)) == normalise(text) == reference.normalise(text)
    assert normalise(text).isascii()


@settings(max_examples=examples(300))
@given(
    rules=st.lists(
        st.tuples(st.sampled_from(["Allow", "Disallow"]), rooted), max_size=8
    ).flatmap(lambda rules: st.tuples(st.just(rules), st.permutations(rules))),
    dialect=dialects,
    target=rooted,
)
def test_order_does_not_matter_where_the_longest_decides(rules, dialect, target):
    """Shuffling the rules of a group changes no answer in a dialect with precedence by
    length.
    """
    if dialect.precedence != "longest":
        return

    def answer(order):
        text = "User-agent: *\n" + "".join(f"{name}: {path}\n" for name, path in order)
        return RobotsTxt.parse(text.encode(), dialect=dialect).allowed(target, "bot")

    assert answer(rules[0]) == answer(rules[1])


@settings(max_examples=examples(300))
@given(body=bodies, end=st.sampled_from([b"\n", b"\r\n", b"\r"]), target=rooted)
def test_the_kind_of_line_end_does_not_matter(body, end, target):
    """Decisions and their lines do not depend on what separates lines."""
    body = re.sub(rb"\r\n|\r", b"\n", body)
    one, other = RobotsTxt.parse(body), RobotsTxt.parse(body.replace(b"\n", end))
    assert one.verdict(target, "bot") == other.verdict(target, "bot")


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_dialect_is_found_by_its_fields_not_by_its_name(name):
    """A renamed dialect decides as before: names decide nothing."""
    body = b"User-agent: bot/1\nAllow: /a*b\nDisallow: /index.html#x\n\nDisallow: /c\n"
    renamed = replace(ALL[name], name="renamed")
    for url in ("/a1b", "/index.html", "/c"):
        one = RobotsTxt.parse(body, dialect=ALL[name]).verdict(url, "bot")
        assert one == RobotsTxt.parse(body, dialect=renamed).verdict(url, "bot")
