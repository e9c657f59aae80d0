"""What a correction opens and closes, for every reader of robots.txt.

`correction.py` compares two files in one dialect. This module compares them for every
reader, with the same URLs: a correction must not open anything that was closed to a
robot.

The readers are those that can be run: the dialects of this package, Protego, and the
parser of the Python that runs it. Only the rules that Python's parser had until 3.13.13
are written out here, for a Python that no longer has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain, groupby
from operator import itemgetter
from platform import python_version
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlparse, urlunparse
from urllib.robotparser import RobotFileParser

from protego import Protego

from mandelbot.fix.questions import LINES, SITE, Questions, decisive
from mandelbot.robotstxt.dialects import DIALECTS
from mandelbot.robotstxt.grammar import grammar_of, rule_value, searchable
from mandelbot.robotstxt.groups import read_groups, select_groups
from mandelbot.robotstxt.robots_txt import RobotsTxt
from mandelbot.robotstxt.verdict import ROBOTS_TXT, default_of, read_rules

if TYPE_CHECKING:
    from mandelbot.robotstxt.dialects import Dialect

    Allowed = Callable[[str, str], bool]
    """Whether a URL may be fetched by an agent."""
    Reader = Callable[[bytes], Allowed | None]
    """Reads a body; None: it cannot, and so has no rules."""
    _Asked = list[tuple[str, list[str]]]
    _Deciding = tuple[tuple[object, ...], list[str]]

OLD_URLLIB = "urllib.robotparser before Python 3.13.14"
"""Python's parser before 3.13.14 and 3.14.5."""
OWN_URLLIB = f"urllib.robotparser of Python {python_version()}"
"""The parser of this Python."""
PROTEGO = f"Protego {version('protego')}"
"""Scrapy's own parser."""


def _reader(dialect: Dialect) -> Reader:
    def read(body: bytes) -> Allowed:
        return RobotsTxt.parse(body, dialect=dialect, max_bytes=None).allowed

    return read


def _other(parse: Callable[[str], Allowed]) -> Reader:
    def read(body: bytes) -> Allowed | None:
        try:
            decide = parse(body.decode("utf-8", "replace"))
        except ValueError:  # a path such as //[x
            return None

        def allowed(url: str, agent: str) -> bool:
            try:
                return decide(url, agent)
            except ValueError:
                return True

        return allowed

    return read


def _old_urllib(text: str) -> Allowed:
    """Read a file by the rules of CPython 3.8 to 3.13.13: the first match decides.

    A blank line ends a group, and one without lines is none; the first group whose name
    is part of the robot's applies, and that for all robots last.
    """
    groups: list[tuple[list[str], list[tuple[str, bool]]]] = []
    names: list[str] = []
    rules: list[tuple[str, bool]] = []
    has_lines = False
    for line in (*text.splitlines(), ""):
        name, colon, value = line.partition("#")[0].partition(":")
        field = name.strip().lower() if colon else ""
        value = unquote(value.strip())
        if not line or (has_lines and field == "user-agent"):
            groups += [(names, rules)] * has_lines
            names = []
            rules = []
            has_lines = False
        if field == "user-agent":
            names.append(value.lower())
        elif names and field in {"allow", "disallow", "crawl-delay", "request-rate"}:
            has_lines = True
            if field.endswith("allow"):
                path = quote(urlunparse(urlparse(value)))
                rules.append((path, field == "allow" or not value))
    groups.sort(key=lambda group: "*" in group[0])

    def allowed(url: str, agent: str) -> bool:
        robot = agent.partition("/")[0].lower()
        path = quote(urlunparse(("", "", *urlparse(unquote(url))[2:]))) or "/"
        for names, rules in groups:
            if any(name == "*" or name in robot for name in names):
                return next(
                    (allows for prefix, allows in rules if path.startswith(prefix)),
                    True,
                )
        return True

    return allowed


def _own_urllib(text: str) -> Allowed:
    """Read a file with the parser of this Python."""
    parser = RobotFileParser()
    parser.parse(text.splitlines())
    return lambda url, agent: parser.can_fetch(agent, url)


def _is_old(decide: Allowed) -> bool:
    """Whether the first matching rule decides, as before RFC 9309."""
    return not decide("https://example.com/a", "robot")


_IS_OLD = _is_old(_own_urllib("User-agent: *\nDisallow: /\nAllow: /a"))
FIRST_MATCH = OWN_URLLIB if _IS_OLD else OLD_URLLIB
"""The reader by the rules that Python had until 3.13.13."""

#: By name, how each of them reads a file.
READERS: Mapping[str, Reader] = {
    **{name: _reader(dialect) for name, dialect in DIALECTS.items()},
    OWN_URLLIB: _other(_own_urllib),
    **({} if _IS_OLD else {OLD_URLLIB: _other(_old_urllib)}),
    PROTEGO: _other(lambda text: Protego.parse(text).can_fetch),
}
HEADER = "Mozilla/5.0 (compatible; {}/1.0; +https://example.com/bot)"
"""What a robot may call itself to a reader that looks for names of the file in the
whole.
"""

READINGS = ("mandelbot", "google", "extended2")
"""Dialects that find names and rules in a file that others do not see."""


@dataclass(slots=True)
class Effect:
    """What becomes otherwise for one reader."""

    reader: str
    """A dialect, or another name of `READERS`."""
    decisions: int = 0
    """As many were compared."""
    opened: list[tuple[str, str]] = field(default_factory=list)
    """URLs and robots that were kept out of them, and are not now."""
    closed: list[tuple[str, str]] = field(default_factory=list)
    """Those that are kept out now, as the file means it."""
    lost: list[tuple[str, str]] = field(default_factory=list)
    """Those that are kept out now, and are meant to be let in."""
    made_up: list[tuple[str, str]] = field(default_factory=list)
    """What opens or is lost to robots that no one runs: names of two of the file are in
    theirs, or they have a name of a letter or two.
    """

    @property
    def is_harmless(self) -> bool:
        """Whether nothing opens to robots in use, and none loses what is open."""
        return not self.opened and not self.lost


def named(readers: Iterable[str]) -> str:
    """Return the names of readers: dialects as such, parsers with their versions."""
    dialects = [name for name in readers if name in DIALECTS]
    parsers = [name for name in readers if name not in DIALECTS]
    if dialects:
        kind = "dialect" if len(dialects) == 1 else "dialects"
        parsers.insert(0, f"the {kind} {', '.join(dialects)}")
    return "; ".join(parsers)


def sentences(effects: Iterable[Effect]) -> Iterator[str]:
    """Yield the effects as sentences, each for all readers to whom it is the same."""
    readers: dict[tuple[str, str, str, str], list[str]] = {}
    for effect in effects:
        for does, so, pairs in (
            ("opens", "", effect.opened),
            ("closes", ", though it is meant to be open", effect.lost),
            ("closes", "", effect.closed),
            ("changes", ", whose name no robot has", effect.made_up),
        ):
            for url, agent in pairs[:1]:
                key = does, so, url.removeprefix(SITE), agent
                readers.setdefault(key, []).append(effect.reader)
    for (does, so, path, agent), names in readers.items():
        who = "all readers" if len(names) == len(READERS) else named(names)
        yield f"{does} {path} for {agent}, as read by {who}{so}"


def effects_by(
    questions: Questions, before: bytes, after: bytes, meant: Allowed, dialect: Dialect
) -> tuple[Effect, ...]:
    """Return the changes for each reader that these questions show.

    What is closed now is lost where it is `meant` to be open, in this dialect.
    """
    if before == after:
        return ()
    asked = [(agent, list(urls)) for agent, urls in questions.asked()]
    # As those who try each line find them: ended by a CR, too.
    lines = max(
        len(body.decode("utf-8", "replace").splitlines()) for body in (before, after)
    )
    found = []
    own = [_RobotRules(body, dialect) for body in (before, after)]
    for name, read in READERS.items():
        one = read(before)
        other = read(after)
        if one is None or other is None:
            continue
        these: Iterable[tuple[str, Iterable[str]]]
        effect = Effect(name)
        if name in DIALECTS:
            rules = [_RobotRules(body, DIALECTS[name]) for body in (before, after)]
            these = _where_rules_differ(effect, asked, rules, own)
        else:
            # Python's old one reads of a browser-like header one robot's name, Mozilla.
            if name == FIRST_MATCH:
                by_header = {questions.nobody}
            else:
                by_header = {one for one, _ in asked}
            by_header -= questions.made_up
            if questions.has_short_names:
                by_header = set()
            these = _by_token_and_header(asked, questions, by_header, lines)
        _compare(effect, (one, other), meant, these, questions)
        found.append(effect)
    return tuple(found)


class _RobotRules:
    """The rules of each robot; files with the same rules make the same decisions."""

    def __init__(self, body: bytes, dialect: Dialect) -> None:
        self._grammar = grammar_of(dialect)
        self._text = searchable(self._grammar.clean(body, None))
        self._groups = list(read_groups(self._text, self._grammar))
        self._known: dict[object, _Deciding] = {}  # by their places

    def of(self, agent: str) -> _Deciding:
        """Return what decides, and the paths as they are written."""
        text = self._text
        grammar = self._grammar
        selection = select_groups(text, grammar, grammar.names_of(agent), self._groups)
        spans = tuple(selection.spans)
        if spans not in self._known:
            rules = sorted(read_rules(text, selection, grammar), key=itemgetter(0, 1))
            runs = groupby(rules, key=itemgetter(2))  # of one kind, any may decide
            decides: tuple[object, ...] = (
                default_of(text, selection, grammar),
                *((allows, frozenset(one[3] for one in run)) for allows, run in runs),
            )
            lines = (grammar.rule.finditer(text, start, end) for start, end, _ in spans)
            values = [*map(rule_value, chain.from_iterable(lines))]
            if any("://" in value for value in values):  # they count for some hosts
                decides = (*decides, tuple(values))
            self._known[spans] = decides, values
        return self._known[spans]


def _where_rules_differ(
    effect: Effect, asked: _Asked, files: list[_RobotRules], own: list[_RobotRules]
) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield who finds other rules than before, each kind once, with its questions."""
    seen = set()
    for agent, targets in asked:
        (was, values), (now, others) = (rules.of(agent) for rules in files)
        kind = was, now, *(rules.of(agent)[0] for rules in own)  # by these it is meant
        if was != now and kind not in seen:
            seen.add(kind)
            yield agent, dict.fromkeys([*targets, *decisive([*values, *others])])
        else:
            effect.decisions += len(targets)


def _by_token_and_header(
    asked: _Asked, questions: Questions, by_header: set[str], lines: int
) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the questions to readers that try each line: names, headers, values.

    What Allow rules are about is asked in any case; of the rest a sample, where there
    is too much.
    """
    step = 1 + 2 * sum(len(urls) for _, urls in asked) * lines // LINES
    for place, (agent, urls) in enumerate(asked):
        targets = questions.about_allowed(agent) if step > 1 else {}
        targets.update(dict.fromkeys(urls[place % step :: step]))
        yield agent, targets
        if agent in by_header:
            yield HEADER.format(agent), targets
    for value in questions.values_as_written():
        yield value, targets


def _compare(
    effect: Effect,
    files: tuple[Allowed, Allowed],
    meant: Allowed,
    asked: Iterable[tuple[str, Iterable[str]]],
    questions: Questions,
) -> None:
    before, after = files
    for agent, targets in asked:
        who = "others" if agent == questions.nobody else agent
        for target in targets:
            for url in questions.urls(target):
                effect.decisions += 1
                is_open = after(url, agent)
                if before(url, agent) == is_open:
                    continue
                is_lost = not is_open and _is_asked_for(target) and meant(url, agent)
                if agent in questions.made_up and (is_open or is_lost):
                    effect.made_up.append((url, who))
                elif is_open:
                    effect.opened.append((url, who))
                elif is_lost:
                    effect.lost.append((url, who))
                else:
                    effect.closed.append((url, who))


def _is_asked_for(target: str) -> bool:
    """Whether a robot would request it: neither the file itself nor a bare pattern."""
    return target != ROBOTS_TXT and "*" not in target and "$" not in target
