"""What would change a verdict: the line taken away, or another one added.

Nothing is said that was not tried: the changed file is read, and asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.rules_in_force import rule_data
from scrapy_mandelbot.robotstxt import RobotsTxt
from scrapy_mandelbot.robotstxt.agents import names_in_order
from scrapy_mandelbot.robotstxt.outline import read_outline
from scrapy_mandelbot.robotstxt.paths import escape_non_ascii, split_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_mandelbot.robotstxt import Verdict

    Agent = str | Sequence[str]

_SPECIAL = str.maketrans({"*": "%2A", "$": "%24", "#": "%23", " ": "%20"})
_GLOB = str.maketrans({sign: f"\\{sign}" for sign in "*?[\\"})
_LONGEST = 2000  # characters of a URL for which a line is looked for


def changes(robots: RobotsTxt, url: str, agent: Agent) -> list[dict[str, Any]]:
    """Return the changes to the file that would turn the verdict on a URL.

    First what becomes of it without the line that decided, whether it turns or not; then the
    shortest line that turns it, among those that are about this URL and what begins with it.
    """
    return _Changes(robots, url, agent).found()


class _Changes:
    """Tries changed files."""

    def __init__(self, robots: RobotsTxt, url: str, agent: Agent) -> None:
        self._robots = robots
        self._url = url
        self._agent = agent
        self._lines = [record.raw for record in robots.records]
        self._verdict = robots.verdict(url, agent)

    def found(self) -> list[dict[str, Any]]:
        found = []
        if self._verdict.rule is not None:
            found.append(self._without(self._verdict.rule.line))
        found += self._shortest()
        return found

    def _ask(self, lines: list[str]) -> Verdict:
        body = "\n".join(lines).encode()
        changed = RobotsTxt.parse(body, dialect=self._robots.dialect, max_bytes=None)
        return changed.verdict(self._url, self._agent)

    def _without(self, number: int) -> dict[str, Any]:
        # In place of the line comes a comment, as a blank line may end a group.
        verdict = self._ask([*self._lines[: number - 1], "#", *self._lines[number:]])
        return {
            "change": "remove",
            "line": number,
            "lines": [self._lines[number - 1]],
            "allowed": verdict.allowed,
            "rule": None if verdict.rule is None else rule_data(verdict.rule),
        }

    def _shortest(self) -> list[dict[str, Any]]:
        """Return the first of the lines that turns the verdict; none: no such line does."""
        for before, added in self._candidates():
            lines = [*self._lines[: before - 1], *added, *self._lines[before - 1 :]]
            verdict = self._ask(lines)
            if verdict.allowed is not self._verdict.allowed and verdict.rule is not None:
                change = {
                    "change": "add",
                    "line": before,
                    "lines": added,
                    "allowed": verdict.allowed,
                    "rule": rule_data(verdict.rule),
                }
                return [change]
        return []

    def _candidates(self) -> Iterator[tuple[int, list[str]]]:
        """Yield lines, and before which line of the file they would stand."""
        parts = split_url(self._url)
        if parts is None or not parts[1] or len(parts[1]) > _LONGEST:
            return
        field = "Disallow" if self._verdict.allowed else "Allow"
        before, group = self._place()
        for path in self._paths(parts[1]):
            yield before, [*group, f"{field}: {path}"]

    def _place(self) -> tuple[int, list[str]]:
        """Return the line before which a rule would stand, and the lines that make its group."""
        if self._verdict.rule is not None:
            return self._verdict.rule.line, []
        end = len(self._lines) + 1
        if self._verdict.agent is not None:
            outline = read_outline(self._robots.records, self._robots.dialect)
            for group in outline.groups:
                if self._verdict.agent not in {record.value for record in group.agents}:
                    continue
                rules = group.rules()
                return (rules[0].number if rules else group.agents[-1].number + 1), []
        name = next(iter(names_in_order(_hashable(self._agent))), "*")
        return end, [*([""] if self._lines and self._lines[-1] else []), f"User-agent: {name}"]

    def _paths(self, target: str) -> Iterator[str]:
        plain = target.translate(_SPECIAL)
        yield plain
        rule = self._verdict.rule
        if rule is not None:  # where the longest wins, Allow wins ties
            missing = len(escape_non_ascii(rule.path)) - len(escape_non_ascii(plain)) + rule.allow
            if 0 < missing <= _LONGEST:
                yield plain + "*" * missing
        yield f"{plain}$"
        yield target.translate(_GLOB)
        yield f"{target.translate(_GLOB)}*"


def _hashable(agent: Agent) -> str | tuple[str, ...]:
    return agent if isinstance(agent, str) else tuple(agent)
