"""What was decided, and what decided it."""

from __future__ import annotations

from dataclasses import dataclass

A_RULE = "a rule matches"
NO_RULE = "no rule matches"
NOT_LISTED = "no rule matches, and only what is allowed may be read"
NO_GROUP = "no group is about this agent"
ROBOTS_TXT = "/robots.txt is always allowed"
NOT_A_URL = "not a URL that can be read"


@dataclass(frozen=True, slots=True)
class Rule:
    """One Allow or Disallow line of the file."""

    allow: bool
    path: str
    """As written."""
    line: int
    """From 1."""

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.path}".rstrip()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one URL and agent. Its text is a sentence for a log."""

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
        return f"{answer}{why}" if self.agent is None else f"{answer}{why} (agent {self.agent})"
