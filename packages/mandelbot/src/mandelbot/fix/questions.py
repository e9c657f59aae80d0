"""The robots and URLs for which two files are compared.

The robots are those that a group of any of the files names, and one that none names.
Their URLs are near the rules of their groups, and near the rules of other groups.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from string import ascii_lowercase, digits
from typing import TYPE_CHECKING

from mandelbot.robotstxt.grammar import grammar_of
from mandelbot.robotstxt.known_robots import KNOWN_ROBOTS
from mandelbot.robotstxt.paths import split_url
from mandelbot.robotstxt.records import read_outline

if TYPE_CHECKING:
    from mandelbot.robotstxt.robots_txt import RobotsTxt

_FILLINGS = ("", "x", "y/z.w")
"""What stands for a run of any characters."""
_MEETINGS = 8
"""So many others a rule with wildcards meets."""
_BRACKET = re.compile(r"\[!?(\]?[^\[\]]+|\])\]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")

ALWAYS = ("/", "/robots.txt", "/zz/unlisted.html?q=1")
"""What is asked of every file."""


def probes(value: str) -> Iterator[str]:
    """Yield targets near a rule's path: some that match, some that just do not."""
    path = _path(value)
    yield from _near(path)  # as written: a wildcard that is none
    bare = path.removesuffix("$")
    fillings = _FILLINGS if _has_wildcards(path) else _FILLINGS[:1]
    for filling in fillings:
        yield from _near(_filled(bare, filling))


def _has_wildcards(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def decisive(values: Iterable[str]) -> Iterator[str]:
    """Yield what is asked because of each rule, however many there are.

    Of two rules that a URL may match, the longer one's path is such a URL. So these are
    enough to see that a rule moved past another, is gone, or has become another.
    """
    for value in values:
        path = _path(value)
        if len(path) < LONGEST:
            bare = _filled(path.removesuffix("$"), "")
            yield bare
            yield f"{bare}x"


def meetings(values: Iterable[str]) -> Iterator[str]:
    """Yield targets that only a rule with wildcards and one other may match.

    What the other matches stands for the first wildcard. Each rule meets a few of those
    that it can meet, the next rule the next few: of many pairs a part, spread evenly.
    """
    paths = [_path(value).removesuffix("$") for value in values]
    literals = sorted({_filled(path, "") for path in paths})
    starred = [path.partition("*") for path in paths if "*" in path]
    for turn, (head, _, tail) in enumerate(starred):
        rest = _filled(tail, "")
        place = turn * _MEETINGS
        first = bisect_left(literals, head)
        last = bisect_left(literals, f"{head}\U0010ffff")
        for number in range(place, place + min(_MEETINGS, last - first)):
            other = literals[first + number % (last - first)]
            both = _overlap(other, rest)
            yield from (other + rest, f"{other}x{rest}", other + rest[both:])
            yield from (f"{other}{rest}x", f"{other}x{rest}x")  # past a $
        for number in range(place, place + min(_MEETINGS, len(starred))):
            other, _, tail_of_it = starred[number % len(starred)]
            if head.startswith(other):
                its = _filled(tail_of_it, "")
                yield from (head + its + rest, f"{head}x{its}{rest}")
                yield from (head + rest + its, f"{head}x{rest}{its}")


def _overlap(text: str, other: str) -> int:
    """Return how many characters at the end of the one begin the other."""
    for count in range(len(other), 0, -1):
        if text.endswith(other[:count]):
            return count
    return 0


def _path(value: str) -> str:
    """Return a rule's path, from the root; of a URL its path; # begins no fragment."""
    path = value
    if "://" in value:
        parts = split_url(value)
        if parts is not None:
            path = parts[1]
    return f"/{path.removeprefix('/')}".replace("#", "%23")


def _filled(path: str, filling: str) -> str:
    """Return the path with something for its wildcards, and for those of globs."""
    if "[" in path:
        path = _BRACKET.sub(lambda bracket: bracket[1][0], path)
    path = path.replace("*", filling)
    if filling:
        path = path.replace("?", "q")
    return path.replace("\\", "")


def _near(path: str) -> Iterator[str]:
    """Yield a path, what goes on from it, what is shorter, what differs by a little."""
    yield path
    yield f"{path}x"
    yield f"{path}/y.html?z=1"
    yield path[:-1] or "/"
    yield f"{path[:-1]}~"
    yield path.rpartition("/")[0] or "/"
    yield path.swapcase()
    if "%" in path:
        yield _ESCAPE.sub(lambda escape: escape[0].swapcase(), path)


SITE = "https://www.example.com"
_SHORTEST = 3  # characters: the name of no known robot is shorter

PROBES = 20  # as many URLs there are of a rule, about
_FEWEST_URLS = 100  # for each robot, where there are as many
_FEWEST_ROBOTS = 20
_URLS = 1000  # for each robot: there are no more robots than allow for as many
LONGEST = 2_083  # characters of a URL: crawlers ask for no longer ones
# bytes that may be searched for robots' groups: one search a robot and file
_READ = 250_000_000
# decisions that are asked because of each rule; robots take as long squared
_AFFORDED = 300_000
LINES = 1_000_000  # that are tried by each who tries one after the other
_OTHERS = 200  # URLs because of the rules of others, where all robots are asked
# bytes of patterns that are tried while a URL is decided by plain paths
_PATTERNS = 250


def price_of(paths: Iterable[str]) -> int:
    """Return how many decisions by plain paths take as long as one by these, about."""
    tried = sum(len(path) for path in paths if _has_wildcards(path))
    return 1 + tried // _PATTERNS


class Questions:
    """The questions for some files, or for a file in several dialects."""

    def __init__(
        self,
        files: Sequence[RobotsTxt],
        size: int,
        max_decisions: int,
        *,
        all_robots: bool = False,
    ) -> None:
        """Read the files.

        Args:
            files: Each that may be asked.
            size: Bytes that are searched to find a robot's groups.
            max_decisions: There are no more questions, about; fewer, where each takes
                longer.
            all_robots: None is left out, whatever `size` and `max_decisions` allow.
        """
        self._files = files
        self.max_decisions = max_decisions
        self._own: dict[str, list[list[str]]] = {}
        """Paths of the rules for a robot, by its name: of each of its groups, which are
        shared.
        """
        self._allowed: dict[str, dict[str, None]] = {}
        self._everything: dict[str, None] = {}
        self.nobody = ""
        """The robot that none of the files names."""
        self.made_up: frozenset[str] = frozenset()
        """Robots that no one runs: they hold two names of the files in theirs, or have
        a name of a letter or two.
        """
        self.has_short_names = False
        """Whether the files have a name so short that any header contains it."""
        self._written: dict[str, None] = {}
        self.is_whole = True
        """False: there are so many questions that a part of them, spread evenly, has to
        do.
        """
        for robots in files:
            self._read(robots)
        self._has_full_urls = any("://" in value for value in self._everything)
        self._affordable = max_decisions // price_of(self._everything)
        most_robots = max(
            _FEWEST_ROBOTS, min(_READ // (size + 1), self._affordable // _URLS)
        )
        self._most_robots = len(self._own) ** 2 if all_robots else most_robots
        self._most_others = _OTHERS if all_robots else 0
        every_group = chain.from_iterable(self._own.values())
        always = 2 * sum(map(len, every_group))
        effort = always * price_of(self._everything) + len(self._own) ** 2
        self.is_too_large = effort > _AFFORDED
        """Whether a part alone can be asked of what is to be asked because of each
        rule.
        """
        allowed = sum(map(len, self._allowed.values()))
        # Two URLs a rule, by a name and by a header: see `about_allowed`.
        self.most_lines = LINES // (4 * allowed) if allowed else LINES
        """A file with more lines takes too long to those who try each line."""

    def urls(self, target: str) -> tuple[str, ...]:
        """Return the URLs that are asked for a target: one with a host, most often.

        Rules with whole URLs count for paths without a host, too.
        """
        if self._has_full_urls:
            return SITE + target, target
        return (SITE + target,)

    def asked(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield robots, each with the targets that it asks for."""
        names = [name for name in self._own if name and name != "*"]
        blended = self._blended(names)
        short = [name for name in names if len(name) < _SHORTEST]
        self.made_up = frozenset([*blended, *short])
        self.nobody = self._nobody()
        # It stands for all that the file does not name, so what changes for it is named
        # as theirs.
        agents = [self.nobody, *self._some([*names, *blended], self._most_robots)]
        agents += self._known(names, {name.lower() for name in short})
        quota = max(_FEWEST_URLS, self._affordable // len(agents))
        everywhere = self._urls(list(self._everything), self._most_others or quota)
        for agent in agents:
            groups = self._own.get(self._name_in_files(agent), ())
            paths = list(dict.fromkeys(chain(*groups)))
            own = self._urls(paths, quota)
            most = 2 * len(paths)
            if self.is_too_large:
                most = 2 * quota
            always = self._some(list(decisive(paths)), most)
            yield agent, dict.fromkeys([*always, *own, *everywhere])

    def _known(self, names: list[str], short: set[str]) -> list[str]:
        """Return the known robots whose names hold one of the file that is very short.

        Such a name is in anything, also in a header that was made up.
        """
        self.has_short_names = bool(short)
        if not short:
            return []
        named = {name.lower() for name in names}
        found = []
        for robot in KNOWN_ROBOTS:
            known = robot.name.lower()
            if known not in named and any(name in known for name in short):
                found.append(robot.name)
        return found

    def about_allowed(self, agent: str) -> dict[str, None]:
        """Return the questions about a robot's Allow rules, whose order matters."""
        rules = self._allowed.get(self._name_in_files(agent), ())
        return dict.fromkeys(decisive(rules))

    def _name_in_files(self, agent: str) -> str:
        """Return by which name the rules for a robot are found."""
        if agent == self.nobody:
            return "*"
        return agent

    def values_as_written(self) -> list[str]:
        """Return the User-agent values that are more than a name."""
        return self._some([*self._written], self._most_robots)

    def _read(self, robots: RobotsTxt) -> None:
        grammar = grammar_of(robots.dialect)
        for group in read_outline(robots.records, robots.dialect).groups:
            paths = [rule.value for rule in group.rules() if rule.value]
            self._everything.update(dict.fromkeys(paths))
            allowed = [rule.value for rule in group.rules() if rule.field == "allow"]
            for agent in group.agents:
                name = grammar.robot_name(agent.value)
                self._own.setdefault(name, []).append(paths)
                self._allowed.setdefault(name, {}).update(dict.fromkeys(allowed))
                if agent.value and name != agent.value:
                    self._written[agent.value] = None

    def _blended(self, names: list[str]) -> list[str]:
        """Return names that contain the names of two groups."""
        if not any(
            robots.dialect.agent_match.startswith("inside") for robots in self._files
        ):
            return []
        return [f"{one}-{other}" for one, other in pairwise(names)]

    def _nobody(self) -> str:
        """Return a name that no group is about but that for ``*``, in any of the files.

        Of one letter, because some robots look for names inside theirs. A file that
        names every letter names everybody.
        """
        for letter in ascii_lowercase + digits:
            name = letter * 8
            found = {robots.verdict("/", name).agent for robots in self._files}
            if found <= {None, "*"}:
                return name
        return "unnamed"

    def _some(self, these: list[str], most: int) -> list[str]:
        """Return all, or if there are too many as many as allowed, spread evenly."""
        if len(these) <= most:
            return these
        self.is_whole = False
        return [these[place * len(these) // most] for place in range(most)]

    def _urls(self, paths: list[str], most: int) -> list[str]:
        short = [path for path in paths if len(path) < LONGEST]
        self.is_whole = self.is_whole and len(short) == len(paths)
        paths = self._some(short, max(1, most // PROBES))
        near = chain.from_iterable(map(probes, paths))
        return self._some(list(dict.fromkeys([*ALWAYS, *near, *meetings(paths)])), most)
