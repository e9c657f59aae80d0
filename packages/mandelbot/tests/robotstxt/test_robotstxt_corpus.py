"""Real files: nothing raises on any, and Google's parser is equalled on all its
verdicts.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest
import robotstxt_reference as reference
from corpus import needs_corpus, one_in, read_files, read_verdicts
from differences import SAYS_SO, unexplained

from mandelbot import DIALECTS, RobotsTxt, lint
from mandelbot.findings import FINDINGS
from mandelbot.fix import normalize, prove, rewrite
from mandelbot.robotstxt.paths import read_url
from mandelbot.robotstxt.sitemap_lines import urls_of

pytestmark = needs_corpus


@pytest.fixture(scope="module")
def files():
    return read_files()


@pytest.fixture(scope="module")
def verdicts():
    return read_verdicts()


@pytest.fixture(scope="module")
def findings(files):
    """Return a file's findings, made once."""
    return cache(lambda name: lint(files[name]))


def test_google_decides_as_googles_parser_on_every_line(files, verdicts):
    """Answer and deciding line are equal, on all of the corpus: no file, no URL is left
    out.
    """
    different, compared = [], 0
    for name, expected in verdicts.items():
        robots = RobotsTxt.parse(files[name], dialect="google", max_bytes=None)
        for line in expected:
            verdict = robots.verdict(line["url"], line["agent"])
            answer = (verdict.allowed, verdict.rule.line if verdict.rule else 0)
            allowed = robots.allowed(line["url"], line["agent"])
            compared += 1
            if (*answer, allowed) != (line["allowed"], line["line"], line["allowed"]):
                different.append((line, str(verdict)))
    assert compared == 20_327
    assert different == []


@one_in(4)
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_nothing_raises_on_any_file(files, verdicts, dialect, one_in):
    """Every file is read, decided both ways, explained and listed in every dialect."""
    assert len(files) >= 1000
    for name, body in list(files.items())[::one_in]:
        robots = RobotsTxt.parse(body, dialect=dialect)
        for line in [
            *verdicts[name][:3],
            {"url": "https://www.example.com/a/b?c", "agent": "zz"},
        ]:
            for url in (line["url"], line["url"] + "%7E"):
                answer = robots.allowed(url, line["agent"])
                assert answer == robots.verdict(url, line["agent"]).allowed
                assert answer == robots.allowed(url, line["agent"])
        assert isinstance(robots.request_rates("zz"), tuple)
        assert (robots.crawl_delay("zz") or 0) >= 0


def test_every_file_is_listed_line_by_line(files):
    """Records are as many as the file has lines, and Sitemap lines are where sitemaps
    are.
    """
    for body in files.values():
        robots = RobotsTxt.parse(body, max_bytes=None)
        assert [record.number for record in robots.records] == [
            *range(1, len(robots.cleaned.splitlines()) + 1)
        ]
        listed = [r.value for r in robots.records if r.field == "sitemap" and r.value]
        assert {url for value in listed for url in urls_of(value)} <= {*robots.sitemaps}


def test_every_file_is_checked(files, findings):
    """Findings are of lines that are there; of some kinds there are as many as grep
    finds.
    """
    counts = Counter()
    for name, body in files.items():
        lines = RobotsTxt.parse(body).cleaned.splitlines()
        found = findings(name)
        assert {one.line for one in found} <= {None, *range(1, len(lines) + 1)}
        for one in found:
            counts[one.code] += 1 + one.more
    assert counts["byte-order-mark"] == sum(
        body[:3] == b"\xef\xbb\xbf" for body in files.values()
    )
    assert (
        counts["too-large"] == sum(len(body) > 512_000 for body in files.values()) == 1
    )
    noindex = re.compile(rb"^\s*noindex\s*:", re.IGNORECASE | re.MULTILINE)
    assert counts["noindex"] == sum(
        len(noindex.findall(body)) for body in files.values()
    )
    assert counts["html-page"] == counts["utf-16"] == 0
    assert (counts["tie"], counts["missing-colon"], counts["misspelt-field"]) == (
        1,
        10,
        5,
    )


@pytest.mark.slow
@one_in(12)
def test_every_file_is_corrected_and_proved(files, one_in):
    """In Mandelbot's dialect all decisions stay, and nothing opens to anybody.

    Putting it in order again changes nothing. All files take a minute.
    """
    decisions = 0
    for name, body in list(files.items())[::one_in]:
        correction = normalize(body, max_decisions=20_000)
        assert correction.is_harmless, (
            f"{name}: {correction.proof} {correction.effects}"
        )
        text = rewrite(RobotsTxt.parse(body)).text
        assert rewrite(RobotsTxt.parse(text.encode())).text == text, name
        decisions += correction.proof.decisions
    assert decisions > 250_000 / one_in


@one_in(18, nightly=6)
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_files_are_corrected_in_every_dialect(files, dialect, one_in):
    """Each dialect's own reading is kept, of other files in each; all take minutes."""
    first = 3 * sorted(DIALECTS).index(dialect)
    for name, body in list(files.items())[first::one_in]:
        text = rewrite(RobotsTxt.parse(body, dialect=dialect)).text
        assert rewrite(RobotsTxt.parse(text.encode(), dialect=dialect)).text == text, (
            name
        )
        proof = prove(body, text, dialect, max_decisions=5_000)
        assert proof.holds, f"{name}: {proof}"


@one_in(4)
def test_rules_that_never_decide_can_go(files, findings, one_in):
    """Without the rules that findings call unreachable, decisions on real files are
    unchanged.
    """
    gone = 0
    for name, body in list(files.items())[::one_in]:
        useless = {
            one.line
            for one in findings(name)
            if one.code in {"unreachable-rule", "duplicate-rule", "tie"}
        }
        if not useless or body[:2] in {b"\xff\xfe", b"\xfe\xff"}:
            continue
        gone += len(useless)
        lines = enumerate(body.splitlines(), start=1)
        without = b"\n".join(
            b"" if number in useless else line for number, line in lines
        )
        assert prove(body, without, max_decisions=50_000).holds, name
    assert gone > 300 / one_in


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_small_files_are_decided_as_by_the_reference(files, verdicts, dialect):
    """On real files the slow obvious reader comes to the same answers and lines."""
    for name, body in list(files.items())[::8]:
        if len(body) > 5000:
            continue
        robots = RobotsTxt.parse(body, dialect=dialect)
        for line in verdicts[name][:2]:
            target = read_url(line["url"], DIALECTS[dialect])[1]
            agent = line["agent"].lower()
            origin = re.match("[a-z]+://[^/?]+", line["url"])[0]
            expected = reference.decide(body, DIALECTS[dialect], agent, target, origin)
            verdict = robots.verdict(line["url"], agent)
            assert (verdict.allowed, verdict.rule and verdict.rule.line) == expected


@one_in(10)
def test_what_dialects_decide_differently_has_a_finding(files, one_in):
    """No two dialects differ on a URL of which no finding says so."""
    some = list(files.items())[::one_in]
    found = {name: next(unexplained(body), None) for name, body in some}
    assert [(name, *one) for name, one in found.items() if one] == []
    assert SAYS_SO.keys() <= FINDINGS.keys()
