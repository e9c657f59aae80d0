"""What a robots.txt says about the use of pages.

What is read of a file is kept beside it, as long as the file is: a crawl asks about
each page of a site. The parser knows nothing of uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mandelbot.arguments import agent_key
from mandelbot.preferences.in_robots_txt import FIELDS, AgentPreferences
from mandelbot.preferences.statements import NOTHING_SAID, Statement, Terms, Usage
from mandelbot.robotstxt.agents import names_in_order
from mandelbot.robotstxt.grammar import decode, searchable
from mandelbot.robotstxt.known_robots import CONTROL_TOKENS
from mandelbot.robotstxt.robots_txt import CACHED_AGENTS

if TYPE_CHECKING:
    from mandelbot.preferences.in_robots_txt import Preference
    from mandelbot.robotstxt.agents import Agent
    from mandelbot.robotstxt.robots_txt import RobotsTxt
    from mandelbot.robotstxt.verdict import Rule

MOST_LICENSES = 20
"""License lines of a file that are reported with each of its pages."""


def usage(robots: RobotsTxt, url: str, agent: Agent) -> Usage:
    r"""Return the usage preferences of a robots.txt for a page, with their lines.

    A page that the agent may not crawl has none (draft-ietf-aipref-attach). Groups for
    robots whose names stand for a use, such as GPTBot, count too: see `preferences`.

    >>> from mandelbot import RobotsTxt, usage
    >>> robots = RobotsTxt.parse(b"User-agent: *\nContent-Usage: train-ai=n\n")
    >>> usage(robots, "https://example.com/", "Examplebot")["train-ai"]
    'disallowed'
    """
    file = _read(robots)
    if not robots.allowed(url, agent):
        return Usage((), file.licenses, is_crawlable=False)
    said: tuple[Statement, ...] = ()
    if file.has_lines:
        said = file.about(robots, agent).of(url)
    if file.tokens:
        for token in file.tokens_beside(agent):
            said += _refusals(robots, url, token, file.tokens[token])
    if said or file.licenses:
        return Usage(said, file.licenses)
    return NOTHING_SAID


def preference_lines(robots: RobotsTxt, agent: Agent) -> tuple[Preference, ...]:
    """Return the Content-Usage and Content-Signal lines for the agent, in order."""
    return _read(robots).about(robots, agent).lines


class FilePreferences:
    """What a file says about the use of pages.

    It never holds the file itself, which would then be kept for ever.
    """

    __slots__ = ("_by_agent", "has_lines", "licenses", "tokens")

    def __init__(self, robots: RobotsTxt) -> None:
        body = robots.cleaned
        grammar = robots.grammar
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
            if name not in CONTROL_TOKENS:
                continue
            self.tokens[name] = None
            rule = robots.decider(name).only_rule()
            if rule is not None and not rule.allow:
                self.tokens[name] = _refusals_by(name, rule)
        self.has_lines = any(grammar.field_line(field).search(text) for field in FIELDS)
        """Whether it has Content-Usage or Content-Signal lines, for any robot."""
        self._by_agent: dict[object, AgentPreferences] = {}

    def tokens_beside(self, agent: Agent) -> Iterable[str]:
        """The control tokens that refuse an agent: none if it is one itself."""
        is_token = not self.tokens.keys().isdisjoint(names_in_order(agent))
        return () if is_token else self.tokens

    def about(self, robots: RobotsTxt, agent: Agent) -> AgentPreferences:
        """Return the lines of the file for an agent."""
        key = agent_key(agent)
        found = self._by_agent.get(key)
        if found is None:
            if len(self._by_agent) >= CACHED_AGENTS:
                self._by_agent.clear()
            selection = robots.decider(agent).selection
            found = AgentPreferences(robots.cleaned, selection, robots.grammar)
            self._by_agent[key] = found
        return found


_FILES: WeakKeyDictionary[RobotsTxt, FilePreferences] = WeakKeyDictionary()


def _read(robots: RobotsTxt) -> FilePreferences:
    file = _FILES.get(robots)
    if file is None:
        file = FilePreferences(robots)
        _FILES[robots] = file
    return file


def _refusals(
    robots: RobotsTxt, url: str, token: str, known: tuple[Statement, ...] | None
) -> tuple[Statement, ...]:
    """Return how the group for a control token refuses the use of a page."""
    if robots.allowed(url, token):
        return ()
    return known or _refusals_by(token, robots.verdict(url, token).rule)


def _refusals_by(token: str, rule: Rule | None) -> tuple[Statement, ...]:
    if rule is None:
        return ()
    return tuple(Statement.refusals(CONTROL_TOKENS[token], rule))
