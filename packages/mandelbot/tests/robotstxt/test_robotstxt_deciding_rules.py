"""Many verdicts for a file equal single ones."""

from __future__ import annotations

import time
import tracemalloc
from collections import defaultdict
from importlib import import_module
from itertools import product

import pytest
from corpus import needs_corpus, read_files, read_verdicts
from hypothesis import given
from hypothesis import strategies as st
from wildrobots import ALL, agents, bodies, dialects, rooted

from mandelbot import DIALECTS, RobotsTxt
from mandelbot.robotstxt import decider
from mandelbot.robotstxt.grammar import grammar_of, searchable
from mandelbot.robotstxt.index import DecidingRules
from mandelbot.robotstxt.paths import read_url
from mandelbot.robotstxt.verdict import Rule

DOCUMENTS = (
    *(
        "mandelbot",
        "rfc9309",
        "google",
        "rep1994",
        "rep2008",
        "moderatobot",
        "extended2",
    ),
    "decided",
)


def kept_for(robots, agent):
    """Return the rules that are kept for an agent."""
    rules = DecidingRules()
    grammar = grammar_of(robots.dialect)
    text = searchable(grammar.clean(robots.body, None))
    any(rules.build(text, robots.decider(agent).selection, grammar))  # all steps
    return rules


def check(robots, asked):
    """Compare the rules that are kept with the scan that keeps nothing."""
    kept = {}
    for url, agent in asked:
        parts = read_url(url, robots.dialect)
        if parts is None:
            continue
        if agent not in kept:
            kept[agent] = kept_for(robots, agent)
        allowed, line = robots.decider(agent).scan(parts[1])
        if line is None and parts[1] == "/robots.txt":
            continue  # allowed whatever the rules say, and so none is looked for
        assert kept[agent].explain(parts[1]) == (allowed, line and Rule.of(line)), (
            url,
            agent,
        )


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_documents_cases_are_explained_alike(document):
    """Every URL of every case, in every dialect."""
    asked_of = defaultdict(list)  # many cases are about one file
    for case in import_module(f"cases.{document}").CASES:
        urls = [*case.allowed, *case.forbidden, *(url for url, _ in case.lines)]
        asked_of[case.octets] += product(urls, [case.agent, "*"])
    for octets, asked in asked_of.items():
        for dialect in ALL.values():
            check(RobotsTxt.parse(octets, dialect=dialect), asked)


@given(
    body=bodies,
    dialect=dialects,
    asked=st.lists(st.tuples(rooted, agents), min_size=1, max_size=6),
)
def test_any_file_is_explained_alike(body, dialect, asked):
    """Whatever the file, the dialect, the URL and the agent."""
    check(RobotsTxt.parse(body, dialect=dialect), asked)


@needs_corpus
def test_real_files_are_explained_alike():
    """Every twentieth, in all dialects."""
    files = read_files()
    for name, verdicts in list(read_verdicts().items())[::20]:
        asked = [(one["url"], one["agent"]) for one in verdicts]
        for dialect in DIALECTS:
            check(RobotsTxt.parse(files[name], dialect=dialect), asked)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_verdict_does_not_depend_on_how_often_it_was_asked(dialect):
    """The hundredth is the first one, also of /robots.txt and of what is no URL."""
    body = b"User-agent: *\nDisallow: /a\nAllow: /a/*b$\nDisallow: /robots.txt\n"
    robots = RobotsTxt.parse(body, dialect=dialect)
    urls = ("/a", "/a/xb", "/c", "/robots.txt", "http://[x")
    first = [robots.verdict(url, "Bot") for url in urls]
    for _ in range(20):
        assert [robots.verdict(url, "Bot") for url in urls] == first


def test_what_is_kept_grows_with_the_rules_alone():
    """A file may be as long as its owner likes, with many robots to decide for."""
    agents = [f"bot{number}" for number in range(10)]
    names = "".join(f"User-agent: {name}\n" for name in agents)
    robots = RobotsTxt.parse(f"{names}Disallow: /a\n".encode() + b"\n" * 20_000)
    tracemalloc.start()
    try:
        for name in agents:
            for _ in range(20):
                assert robots.verdict("/a", name).rule.line == len(agents) + 1
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100_000  # half of what the text takes if each robot keeps it


def test_a_file_is_decoded_for_its_first_verdicts_alone(monkeypatch):
    """A scan decodes it, and what stores the rules; a lookup needs none of its text."""
    decoded = []

    def counted(body):
        decoded.append(len(body))
        return searchable(body)

    monkeypatch.setattr(decider, "searchable", counted)
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /a*b\n" * 1_000)
    for number in range(100):
        assert robots.verdict(f"/a{number}", "bot").allowed
    assert len(decoded) < 20


def test_many_questions_of_many_rules_cost_little():
    """Rules with wildcards are looked up, too: as `explain --urls` asks."""
    lines = (
        f"{'Allow' if n % 5 == 0 else 'Disallow'}:"
        f" /{'*' if n % 7 == 0 else ''}p{n * 7919}/{'*x' if n % 11 == 0 else ''}\n"
        for n in range(22_000)
    )
    robots = RobotsTxt.parse(
        f"User-agent: *\n{''.join(lines)}".encode(), max_bytes=None
    )
    start = time.process_time()
    forbidden = sum(
        not robots.verdict(f"/p{n * 2 * 7919}/a", "Examplebot").allowed
        for n in range(3_000)
    )
    assert time.process_time() - start < 3
    assert forbidden > 1_500
