"""Exports the rules of a file as plain data, for programs in other languages.

The work that depends only on the file is done: groups are found, lines are parsed,
values are made comparable, rules are weighed. The rest depends on agent and URL:

1. Make the agent's names and the URL's target, as `agents.py` and `paths.py` do.
2. Take the groups that name the agent best.
3. Of their rules that match the target, the one with the smallest weight decides, and
   the first among equals. Targets that would cost more than `index.MOST_COMPARED` are
   forbidden.

The page of ``mandelbot … --format html`` does this in the browser, and builds the same
tables:

==================  ====================================================================
``dialect``         its name
``escapes``         ``rfc3986`` or ``google``: how a URL becomes a target
``agent_match``     ``equal``, ``inside``, ``inside-first`` or ``contains``: when a name
                    in the file is one of the agent's; ``inside`` prefers the longest
``fallbacks``       names, each with those to try next for its robot
``repeated_agent``  ``merged`` or ``first``: of several groups for a name, all or one
``star_stops``      whether the first group that applies wins, even if it is ``*``
``robots_txt_allowed``
                    whether /robots.txt is always allowed
``kinds``           null: what no rule matches is allowed; or the weights of ``[explicit
                    Allow, Disallow, pattern Allow]``: it is forbidden where there are
                    rules, unless a Disallow is one of them and a pattern Allow is not
``groups[].names``  each as written, and in lower case; ``*`` means all robots
``groups[].rules``  ``[weight, line, allows, pattern]``, in the order of the file
==================  ====================================================================

A pattern is one of

- a text, which the target begins with;
- ``[head, pieces, tail, exact]``: the head begins the target, or is all of it if
  ``exact``; the pieces follow somewhere, in their order; the tail ends it after them,
  if it is not null;
- ``{"head", "steps", "stars"}``: each step ``[characters, but]`` matches one character
  of the target, one of these, or with ``but`` any other; each number in ``stars``
  counts the steps after which any characters may follow; the whole target must match,
  and begins with the head.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from mandelbot.robotstxt.grammar import decode, line_ends, rule_value, searchable
from mandelbot.robotstxt.groups import read_groups, version_of
from mandelbot.robotstxt.patterns import Glob
from mandelbot.robotstxt.verdict import KINDS, read_rule

if TYPE_CHECKING:
    from mandelbot.robotstxt.grammar import Grammar
    from mandelbot.robotstxt.patterns import Pattern

_MATCHES = {"token": "equal", "google": "equal"}
"""Dialects that differ only in where a name ends, which the tables already resolve."""


def tables_of(body: bytes, grammar: Grammar) -> dict[str, Any]:
    """Return the tables of a file."""
    text = searchable(body)
    dialect = grammar.dialect
    ends = line_ends(text)
    groups = []
    for names, start, after_names, end in read_groups(text, grammar):
        version: int | None = 1
        if dialect.robot_version:
            version = version_of(text, after_names, end, grammar)
        if version is None:
            continue
        written = [name for name in map(decode, names) if name]
        rules = [
            [weight, bisect_right(ends, line.start()), allows, _plain(pattern)]
            for line in grammar.rule.finditer(text, start, end)
            for weight, _, allows, pattern in read_rule(
                rule_value(line), version, dialect, line.start(), allow=not line[1]
            )
        ]
        groups.append(
            {"names": [[name, name.lower()] for name in written], "rules": rules}
        )
    return {
        "dialect": dialect.name,
        "escapes": dialect.escapes,
        "agent_match": _MATCHES.get(dialect.agent_match, dialect.agent_match),
        "fallbacks": {name: list(others) for name, others in dialect.fallbacks},
        "repeated_agent": dialect.repeated_agent,
        "star_stops": dialect.star_stops,
        "robots_txt_allowed": dialect.robots_txt_allowed,
        "kinds": list(KINDS) if dialect.precedence == "kind" else None,
        "groups": groups,
    }


def _plain(pattern: Pattern | Glob) -> Any:
    if isinstance(pattern, Glob):
        return {"head": pattern.head, "steps": pattern.steps, "stars": pattern.stars}
    return pattern.head if pattern.is_prefix else list(pattern)
