"""Where the robots of the six dialects decide differently: which findings say so.

A net under the checks: whatever real files hold, a URL that two dialects decide
differently must have a finding in its file that speaks of it. What has none is a check
that is missing.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.findings import lint
from mandelbot.fix.questions import SITE, Questions
from mandelbot.robotstxt.dialects import DIALECTS
from mandelbot.robotstxt.robots_txt import RobotsTxt
from mandelbot.robotstxt.verdict import ROBOTS_TXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OLD = ("rep1994", "rep2008", "extended2")
_FIRST = ("rep1994", "extended2")

#: Findings that say that robots of these dialects decide otherwise than Mandelbot's.
SAYS_SO: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        code: frozenset(dialects)
        for code, dialects in {
            "agent-characters": ("google",),
            "agents-apart": _OLD,
            "allow-after-disallow": _FIRST,
            "allow-before-disallow": _FIRST,
            "allow-loses": _FIRST,
            "blank-line-between-agents": _FIRST,
            "blank-line-in-group": _FIRST,
            "explicit-match": ("extended2",),
            "full-url": ("google", "rfc9309"),
            "hash-without-space": ("extended2",),
            "index-page": ("google",),
            "groups-contradict": _OLD,
            "long-line": ("google",),
            "managed-block": _OLD,
            "misplaced-robot-version": ("extended2",),
            "misspelt-field": ("google",),
            "missing-colon": ("google",),
            "repeated-agent": _OLD,
            "repeated-star": _OLD,
            "read-as-rule": ("google",),
            "robots-txt-in-rule": ("google",),
            "tie": _FIRST,
            "wide-name-first": _OLD,
            "wide-name-last": _OLD,
        }.items()
    }
)


class Unexplained(NamedTuple):
    """A URL that a dialect decides otherwise, and no finding that says so."""

    dialect: str
    url: str
    agent: str


def unexplained(body: bytes, *, max_decisions: int = 20_000) -> Iterator[Unexplained]:
    """Yield what the dialects decide differently without a finding, once a dialect and
    robot.

    Two differences need none: Google's robots take /robots.txt for a page like any
    other, and compare escapes as they are written. That there are wildcards says so of
    URLs only that a rule with wildcards decides.
    """
    codes = {one.code for one in lint(body)}
    said = {dialect for code in codes for dialect in SAYS_SO.get(code, ())}
    readings = {name: RobotsTxt.parse(body, dialect=name) for name in DIALECTS}
    standard = readings.pop("mandelbot")
    silent = {name: robots for name, robots in readings.items() if name not in said}
    if not silent:
        return
    questions = Questions([standard, readings["google"]], len(body), max_decisions)
    for agent, targets in questions.asked():
        asked = []
        for target in targets:
            if target != ROBOTS_TXT:
                url = SITE + target
                is_plain = "%" not in target and target.isascii()
                asked.append((url, is_plain, standard.allowed(url, agent)))
        for name, robots in silent.items():
            compares_as_written = DIALECTS[name].escapes == "google"
            for url, is_plain, allowed in asked:
                if compares_as_written and not is_plain:
                    continue
                if robots.allowed(url, agent) == allowed:
                    continue
                rules = (
                    standard.verdict(url, agent).rule,
                    robots.verdict(url, agent).rule,
                )
                by_wildcards = any(
                    rule and {"*", "$"} & set(rule.path) for rule in rules
                )
                if not ("wildcard" in codes and name in _FIRST and by_wildcards):
                    yield Unexplained(name, url, agent)
                    break
