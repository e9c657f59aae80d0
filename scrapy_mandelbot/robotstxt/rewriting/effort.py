"""What it costs to compare a file with its corrected version, before it is done.

Each robot that the file names looks for its groups, with every reader, and asks for URLs near each
of its rules. That grows with the product of robots and rules, and with what patterns there are: a
file may be made so that it takes hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.rewriting.questions import LONGEST, PROBES, price_of

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.outline import Outline

# A decision, where no pattern is tried, takes as long as these:
_SEARCH = 80  # bytes that are searched for a robot's groups
_READING = 4  # lines that are read
_OTHERS = 10  # rules of others that each robot is asked about
_FEW = 40  # URLs for each robot of a file that is too large


@dataclass(frozen=True, slots=True)
class Effort:
    """What comparing would cost."""

    questions: int
    """About as many are to be asked."""
    decisions: int
    """As many plain ones take as long, for each reader."""
    few: int
    """So many URLs a robot are what any file can be asked."""


def effort_of(outline: Outline, size: int) -> Effort:
    """Return what it costs to compare all that a file of `size` bytes says."""
    names: set[str] = set()
    paths: list[str] = []
    own = 0
    for group in outline.groups:
        values = [rule.value for rule in group.rules()]
        names.update(agent.value.lower() for agent in group.agents)
        paths += values
        own += len(values) * len(group.agents)
    agents = 2 * len(names) + 1
    questions = PROBES * (own + min(len(paths), _OTHERS) * agents)
    price = price_of(paths)
    decisions = questions * price + agents * size // _SEARCH + len(outline.records) // _READING
    if any(len(path) >= LONGEST for path in paths):
        decisions += size**2
    return Effort(questions, decisions, max(1, _FEW // price))
