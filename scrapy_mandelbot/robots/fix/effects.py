"""What a correction changes for anyone who reads the file: what opens, and what closes.

`proof.py` compares all that two files say in one dialect. Here everyone who reads robots.txt is
asked, about the same URLs: nothing that a robot was kept out of may be open to it afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.robotparser import RobotFileParser

from scrapy_mandelbot.robots.fix.questions import SITE, Questions
from scrapy_mandelbot.robots.robotstxt.decider import ROBOTS_TXT
from scrapy_mandelbot.robots.robotstxt.dialects import DIALECTS
from scrapy_mandelbot.robots.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy_mandelbot.robots.robotstxt.dialects import Dialect

if TYPE_CHECKING:
    Allowed = Callable[[str, str], bool]
    """Whether a URL may be fetched by an agent."""
    Reader = Callable[[bytes, int | None], Allowed | None]
    """Reads a body, of which so many bytes count; None: it cannot, and so has no rules."""

URLLIB = "urllib.robotparser"


def _reader(dialect: str) -> Reader:
    def read(body: bytes, max_bytes: int | None) -> Allowed:
        return RobotsTxt.parse(body, dialect=dialect, max_bytes=max_bytes).allowed

    return read


def _urllib(body: bytes, max_bytes: int | None) -> Allowed | None:
    if max_bytes is not None and len(body) > max_bytes:
        return None  # it reads all there is
    parser = RobotFileParser()
    try:
        parser.parse(body.decode("utf-8", "replace").splitlines())
    except ValueError:  # a path such as //[x
        return None
    parser.modified()

    def allowed(url: str, agent: str) -> bool:
        try:
            return parser.can_fetch(agent, url)
        except ValueError:
            return True

    return allowed


#: By name, how each of them reads a file.
READERS: Mapping[str, Reader] = {name: _reader(name) for name in DIALECTS} | {URLLIB: _urllib}


if TYPE_CHECKING:
    _Asked = list[tuple[str, list[str]]]

READINGS = ("mandelbot", "google", "extended2")
"""Dialects that find names and rules in a file that others do not see."""
_SEARCHES = 50  # everyone looks for each robot's groups, some more slowly than Mandelbot's
_LINES = 5  # for each decision, that Python's own may look at: from 3.15 on it tries all of them


@dataclass(slots=True)
class Effect:
    """What becomes otherwise for one reader."""

    reader: str
    """A dialect, or ``urllib.robotparser``."""
    dialect: str
    """That of the correction."""
    bytes_read: int | None
    """As much of both files; None: all."""
    decisions: int = 0
    """As many were compared."""
    opened: list[tuple[str, str]] = field(default_factory=list)
    """URLs and robots that were kept out of them, and are not now."""
    closed: list[tuple[str, str]] = field(default_factory=list)
    """Those that are kept out now, as the dialect of the correction has always kept them out."""
    lost: list[tuple[str, str]] = field(default_factory=list)
    """Those that are kept out now though the dialect of the correction lets them in."""

    @property
    def is_harmless(self) -> bool:
        """Whether nothing opens, and nothing closes that the file leaves open."""
        return not self.opened and not self.lost

    def sentences(self) -> Iterator[str]:
        """Yield what to tell of it."""
        who = self.reader
        if self.bytes_read is not None:
            who += f" up to {self.bytes_read} bytes"
        for does, so, pairs in (
            ("opens", "", self.opened),
            ("closes", f", and {self.dialect} leaves them open", self.lost),
            ("closes", f", as they are to {self.dialect}", self.closed),
        ):
            if pairs:
                url, agent = pairs[0]
                count = f"{len(pairs)} of {self.decisions} URLs"
                yield f"{does} {count} to {who}{so}; first {url.removeprefix(SITE)} for {agent}"


def effects(
    before: bytes,
    after: bytes,
    dialect: str | Dialect = "mandelbot",
    *,
    max_bytes: int | None = 512_000,
    max_decisions: int = 100_000,
) -> tuple[Effect, ...]:
    """Return what changes for whom; nothing of those for whom all stays.

    Args:
        before: The file as fetched.
        after: The other one.
        dialect: That of the correction.
        max_bytes: What robots read of a file. A longer one is compared in whole, too.
        max_decisions: So many are compared for each reader, about.
    """
    files = [
        RobotsTxt.parse(body, dialect=one, max_bytes=None)
        for one in READINGS
        for body in (before, after)
    ]
    questions = Questions(files, _SEARCHES * (len(before) + len(after)), max_decisions)
    return effects_by(questions, before, after, dialect, max_bytes)


def effects_by(
    questions: Questions,
    before: bytes,
    after: bytes,
    dialect: str | Dialect,
    max_bytes: int | None,
) -> tuple[Effect, ...]:
    """Return what changes for whom, as far as these questions tell."""
    asked = [(agent, list(urls)) for agent, urls in questions.asked()]
    longest = max(len(before), len(after))
    limits = [None] if max_bytes is None or longest <= max_bytes else [None, max_bytes]
    own = dialect if isinstance(dialect, str) else dialect.name
    found = []
    for limit in limits:
        standard = RobotsTxt.parse(before, dialect=dialect, max_bytes=limit).allowed
        for name, read in READERS.items():
            files_read = read(before, limit), read(after, limit)
            effect = Effect(name, own, limit)
            these = asked
            if name == URLLIB:
                these = list(
                    _fewer(asked, 1 + _LINES * questions.max_decisions // (before.count(b"\n") + 1))
                )
            _compare(effect, files_read, standard, these, questions.nobody)
            if effect.opened or effect.closed or effect.lost:
                found.append(effect)
    return tuple(found)


def _fewer(asked: _Asked, most: int) -> Iterator[tuple[str, list[str]]]:
    """Yield as many of the questions as allowed, spread evenly."""
    step = 1 + sum(len(urls) for _, urls in asked) // most
    for place, (agent, urls) in enumerate(asked):
        yield agent, urls[place % step :: step]


def _compare(
    effect: Effect,
    files: tuple[Allowed | None, Allowed | None],
    standard: Allowed,
    asked: _Asked,
    nobody: str,
) -> None:
    before, after = files
    if before is None or after is None:
        return
    for agent, targets in asked:
        effect.decisions += len(targets)
        for target in targets:
            url = SITE + target
            is_open = after(url, agent)
            if before(url, agent) == is_open:
                continue
            pair = url, "others" if agent == nobody else agent
            if is_open:
                effect.opened.append(pair)
            elif _is_asked_for(target) and standard(url, agent):
                effect.lost.append(pair)
            else:
                effect.closed.append(pair)


def _is_asked_for(target: str) -> bool:
    """Whether a robot would ask: not about the file itself, nor about a pattern as it stands."""
    return target != ROBOTS_TXT and "*" not in target and "$" not in target
