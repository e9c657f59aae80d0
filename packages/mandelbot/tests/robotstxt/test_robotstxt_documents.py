"""The documents' own examples and rules, from the tables in tests/cases."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest
from tables import each_row

from mandelbot import DIALECTS, RobotsTxt

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

MADE = {
    "extended2 old text": replace(DIALECTS["extended2"], precedence="kind"),
    "no allow": replace(DIALECTS["rep1994"], honours_allow=False),
    "star stops": replace(DIALECTS["rep2008"], star_stops=True),
    "inside first": replace(DIALECTS["rep2008"], agent_match="inside-first"),
    "contains": replace(DIALECTS["rep2008"], agent_match="contains"),
}
"""Dialects that the tables use, made by changing a field."""

MANY = 20
"""Decisions after which any file has been asked often enough to be decided by its
index.
"""


def _cases():
    for document in DOCUMENTS:
        table = import_module(f"cases.{document}")
        for number, case in enumerate(table.CASES):
            marks = (
                [pytest.mark.xfail(strict=True, reason=case.gap)] if case.gap else []
            )
            name = f"{document}-{case.section}-{number}".replace(" ", "_")
            yield pytest.param(
                case, case.dialect or table.DIALECT, id=name, marks=marks
            )


@each_row(("case", "dialect"), _cases())
def test_the_case_holds(case, dialect):
    """Every URL of the case gets the document's answer, asked once and asked often."""
    robots = RobotsTxt.parse(case.octets, dialect=MADE.get(dialect, dialect))
    expected = dict.fromkeys(case.allowed, True) | dict.fromkeys(case.forbidden, False)
    first = {url: robots.allowed(url, case.agent) for url in expected}
    assert first == expected, case.says

    for _ in range(MANY):
        robots.allowed("https://www.example.com/other", case.agent)
    late = {url: robots.allowed(url, case.agent) for url in expected}
    assert late == expected, case.says

    verdicts = {
        url: robots.verdict(url, case.agent) for url in expected | dict(case.lines)
    }
    assert {url: verdicts[url].allowed for url in expected} == expected
    lines = {
        url: rule and rule.line
        for url, rule in ((u, verdicts[u].rule) for u, _ in case.lines)
    }
    assert lines == dict(case.lines), case.says
