"""What a robots.txt says about the use of pages, whichever robot reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from mandelbot.preferences.in_robots_txt import FIELDS
from mandelbot.preferences.statements import Statement, Terms
from mandelbot.robotstxt.agents import names_in_order
from mandelbot.robotstxt.grammar import decode, searchable
from mandelbot.robotstxt.known_robots import CONTROL_TOKENS

if TYPE_CHECKING:
    from mandelbot.robotstxt.grammar import Grammar
    from mandelbot.robotstxt.verdict import Rule

MOST_LICENSES = 20
"""License lines of a file that are reported with each of its pages."""


class FilePreferences:
    """What a file says about the use of pages, for any robot."""

    __slots__ = ("has_lines", "licenses", "tokens")

    def __init__(
        self, body: bytes, grammar: Grammar, only_rule: Callable[[str], Rule | None]
    ) -> None:
        text = searchable(body)
        # For all robots, wherever they are: RSL 1.0 (December 2025), "Adding RSL to
        # robots.txt".
        values = grammar.values("license", body)
        links = (
            Terms("license", url, "robots.txt", number) for number, url in values if url
        )
        self.licenses = tuple(islice(links, MOST_LICENSES))
        self.tokens: dict[str, tuple[Statement, ...] | None] = {}
        """The control tokens that it names, in order: the refusals of one with a single
        rule, as most have (Disallow: /); None: they depend on the URL.
        """
        for name in dict.fromkeys(
            decode(line[1]).lower() for line in grammar.agent_lines(text)
        ):
            if name in CONTROL_TOKENS:
                rule = only_rule(name)
                self.tokens[name] = (
                    self.refusals(name, rule) if rule and not rule.allow else None
                )
        self.has_lines = any(grammar.field_line(field).search(text) for field in FIELDS)
        """Whether it has Content-Usage or Content-Signal lines, for any robot."""

    def tokens_beside(self, agent: str | Sequence[str]) -> Iterable[str]:
        """The control tokens that refuse an agent: none if it is one itself."""
        is_token = not self.tokens.keys().isdisjoint(names_in_order(agent))
        return () if is_token else self.tokens

    def refusals(self, token: str, rule: Rule | None) -> tuple[Statement, ...]:
        """Return the refusals that a rule against a control token makes."""
        if rule is None:
            return ()
        return tuple(Statement.refusals(CONTROL_TOKENS[token], rule))
