"""Files as owners write them today: what is found in them, what they answer, what
``fix`` keeps.
"""

from __future__ import annotations

import pytest
from cases.usage_files import FILES
from differences import unexplained

from mandelbot import DIALECTS, RobotsTxt, usage
from mandelbot.findings import FINDINGS, lint
from mandelbot.fix import normalize

OF_USE = {
    *(
        "bad-content-usage",
        "bad-content-signal",
        "older-usage",
        "read-as-rule",
        "unknown-usage",
        "usage-contradiction",
    ),
    *("groups-contradict", "relative-license", "managed-block"),
}
PARAMETERS = [pytest.param(file, id=file.name) for file in FILES]


@pytest.mark.parametrize("file", PARAMETERS)
def test_what_is_found(file):
    """At the lines said, nothing else about uses, and nothing that is no fault of the
    owner.
    """
    found = lint(file.octets)
    wanted = {code for code, _ in file.codes} | OF_USE
    assert [(one.code, one.line) for one in found if one.code in wanted] == sorted(
        file.codes, key=lambda one: one[1]
    )
    assert not {one.code for one in found} & set(file.absent)
    assert set(file.absent) <= FINDINGS.keys() | {"license-not-for-yandex"}


@pytest.mark.parametrize("file", PARAMETERS)
def test_what_it_answers(file):
    """To a robot that has no name in it, and for no page otherwise than said."""
    said = usage(RobotsTxt.parse(file.octets), "https://example.com/page", "Examplebot")
    known = {
        name: answer for name, answer in said.answers.items() if answer != "unknown"
    }
    assert known == file.answers


@pytest.mark.parametrize("file", PARAMETERS)
def test_a_correction_keeps_what_is_in_force(file):
    """For every robot, named or not, preferences and licences of every page are
    unchanged.
    """
    correction = normalize(file.octets)
    before, after = (
        RobotsTxt.parse(file.octets),
        RobotsTxt.parse(correction.text.encode()),
    )
    assert correction.is_harmless
    assert set(after.licenses) == set(before.licenses)
    for agent in ("Examplebot", "GPTBot", "CCBot", "ClaudeBot"):
        for path in ("/page", "/ai-ok/x", "/open/x", "/never/x", "/x", "/private/x"):
            url = f"https://example.com{path}"
            assert usage(after, url, agent).answers == usage(before, url, agent).answers


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_correction_moves_no_statement_to_another_robot(dialect):
    """Groups whose merging would make a line about more robots stay."""
    body = b"User-agent: a\nContent-Signal: ai-train=no\nUser-agent: b\nDisallow: /x\n"
    correction = normalize(body, dialect)
    after = RobotsTxt.parse(correction.text.encode(), dialect=dialect)
    assert correction.proof.holds
    before = RobotsTxt.parse(body, dialect=dialect)
    for agent in ("a", "b"):
        url = "https://example.com/page"
        assert usage(after, url, agent).answers == usage(before, url, agent).answers


@pytest.mark.parametrize("file", PARAMETERS)
def test_what_dialects_decide_differently_has_a_finding(file):
    """Mildness hides no difference between robots."""
    assert list(unexplained(file.octets)) == []
