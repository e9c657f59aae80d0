"""Reads the usage preferences of a robots.txt for one robot and page.

Content-Usage is a rule of a group with an optional path. The longest matching path
counts, as for Allow and Disallow, and all rules of that length do
(draft-ietf-aipref-attach, 19 August 2026, section "Robots Exclusion Protocol
Content-Usage Rule"). Content-Signal takes a path in the same way (contentsignals.org,
"Advanced usage"). Both apply to the robots named before the line in its group, and so
does DisallowAITraining, which is a path, as of Disallow, that may not be used for
training (draft-canel-robots-ai-control-00); AllowAITraining permits nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.preferences.statements import Statement
from mandelbot.robotstxt.dialects import documented
from mandelbot.robotstxt.grammar import WHITE_SPACE, decode, searchable
from mandelbot.robotstxt.paths import COMPARABLE, escape_non_ascii, read_url
from mandelbot.robotstxt.patterns import Pattern, wildcard_pattern

if TYPE_CHECKING:
    from mandelbot.robotstxt.grammar import Grammar
    from mandelbot.robotstxt.groups import GroupMatch

_SIGNALS = ("content-signal", "content-signals")
"""The field, and a common misspelling."""
_TRAINING = "disallowaitraining"
FIELDS = ("content-usage", *_SIGNALS, _TRAINING)
_EVERYTHING = Pattern("")


class Preference(NamedTuple):
    """One Content-Usage, Content-Signal or DisallowAITraining line for a robot."""

    line: int
    field: str
    value: str
    """As written."""

    @property
    def text(self) -> str:
        """The line with the documented spelling of its field."""
        return f"{documented(self.source)}: {self.value}"

    @property
    def source(self) -> str:
        """The field, in lower case and as it is spelt in documents."""
        return "content-signal" if self.field in _SIGNALS else self.field

    @property
    def path(self) -> str | None:
        """Where it applies; None: to all pages."""
        if self.field == _TRAINING:
            return self.value
        return split_path(self.value)[0]


def split_path(value: str) -> tuple[str | None, str]:
    """Split a Content-Usage or Content-Signal into its path, or None, and the rest.

    A value that begins with a slash has a path, up to the first space or tab
    ("Processing Content-Usage Rules").
    """
    if not value.startswith("/"):
        return None, value
    words = value.replace("\t", " ").split(" ", 1)
    return words[0], words[1].strip(WHITE_SPACE) if len(words) > 1 else ""


class AgentPreferences:
    """The lines of a file for one robot. Values are parsed when they first apply."""

    __slots__ = ("_dialect", "_rules", "_said", "lines")

    def __init__(self, body: bytes, selection: GroupMatch, grammar: Grammar) -> None:
        self.lines = tuple(_lines_about(body, selection, grammar))
        self._dialect = grammar.dialect
        comparable = COMPARABLE[grammar.dialect.escapes]
        self._rules: list[tuple[int, Pattern, Preference]] = []
        """Length and pattern of the path, and the line; the longest path first."""
        for one in self.lines:
            path = one.path
            length = 0 if path is None else len(escape_non_ascii(path))
            if path is None:
                pattern = _EVERYTHING
            else:
                pattern = wildcard_pattern(path, comparable)
            self._rules.append((length, pattern, one))
        self._rules.sort(key=lambda rule: -rule[0])
        self._said: dict[int, tuple[Statement, ...]] = {}

    def of(self, url: str) -> tuple[Statement, ...]:
        """Return the statements about a page."""
        said = []
        parts = read_url(url, self._dialect)
        target = parts[1] if parts else ""
        longest: dict[str, int] = {}
        for length, pattern, one in self._rules:
            if length >= longest.get(one.source, 0) and pattern.matches(target):
                longest[one.source] = length
                said.append(self._read(one))
        return tuple(chain.from_iterable(said))

    def _read(self, one: Preference) -> tuple[Statement, ...]:
        if one.line not in self._said:
            place = "robots.txt", one.text, one.line
            if one.field == _TRAINING:
                said = Statement.of_words(_TRAINING, [""], *place)
            else:
                value = split_path(one.value)[1]
                said = Statement.read(one.source, value, *place)
            self._said[one.line] = said
        return self._said[one.line]


def _lines_about(
    body: bytes, selection: GroupMatch, grammar: Grammar
) -> Iterator[Preference]:
    if selection.agent is None:
        return
    wanted = selection.agent.lower()
    text = searchable(body)
    spans = []
    for start, end, version in selection.spans:
        for line in grammar.agent_lines(text[start:end]):
            if decode(line[1]).lower() == wanted:
                spans.append((start + line.end(), end, version))
                break
    found: dict[int, tuple[str, str]] = {}
    for field in FIELDS:
        found |= {
            line: (field, value) for line, value in grammar.values(field, body, spans)
        }
    for number, (field, value) in sorted(found.items()):
        if field != _TRAINING or value[:1] in {"/", "*"}:
            yield Preference(number, field, value)
