"""What was decided, and what decided it."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_mandelbot.shown import shown

A_RULE = "a rule matches"
NO_RULE = "no rule matches"
NOT_LISTED = "no rule matches, and only what is allowed may be read"
NO_GROUP = "no group is about this agent"
ROBOTS_TXT = "/robots.txt is always allowed"
NOT_A_URL = "not a URL that can be read"

_NAME_SHOWN = 60  # characters of a robot's name in the text of a verdict


@dataclass(frozen=True, slots=True)
class Rule:
    """One Allow or Disallow line of the file. Its text is for a log: printable, and not long."""

    allow: bool
    path: str
    """As written."""
    line: int
    """From 1."""

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {shown(self.path)}".rstrip()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one URL and agent. Its text is a sentence for any log."""

    allowed: bool
    rule: Rule | None
    """The rule that decided; None where none matched."""
    agent: str | None
    """The name in the file, as written, of the group that applies; None where none does."""
    reason: str
    """In words, why."""

    def __str__(self) -> str:
        answer = "allowed" if self.allowed else "forbidden"
        rule = self.rule
        why = f": {self.reason}" if rule is None else f" by line {rule.line}: {rule}"
        if self.agent is None:
            return f"{answer}{why}"
        return f"{answer}{why} (agent {shown(self.agent, _NAME_SHOWN)})"
