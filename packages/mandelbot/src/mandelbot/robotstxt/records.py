"""Every line of a robots.txt as a numbered record with its problems.

Decisions do not use records: they find the lines that they need (`grammar.py`). Records
are for tools that need the whole file: to list, check or rewrite it.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mandelbot.robotstxt.dialects import FIELDS, FIELDS_OF_USE, GROUP_FIELDS, OWN_FIELDS
from mandelbot.robotstxt.grammar import WHITE_SPACE, decode
from mandelbot.robotstxt.times import TIME_READERS

if TYPE_CHECKING:
    from mandelbot.robotstxt.dialects import Dialect

#: Fields that apply to all robots, wherever they are.
ABOUT_ALL = frozenset({"sitemap", "host", "clean-param", "license"})


@dataclass(slots=True)
class AgentRun:
    """User-agent lines that no rule separates, and the delays after them."""

    agents: list[Record] = field(default_factory=list)
    own: list[Record] = field(default_factory=list)
    """The delays, rates and times for these agents of the group alone."""


@dataclass(slots=True)
class Group:
    """User-agent lines and the lines that follow."""

    agents: list[Record] = field(default_factory=list)
    directives: list[Record] = field(default_factory=list)
    """All lines with a field but the User-agent lines, in order; unknown fields too."""
    runs: list[AgentRun] = field(default_factory=list)
    """One, unless some lines apply to some of the agents."""

    def rules(self) -> list[Record]:
        """Return the Allow and Disallow lines."""
        return [
            record
            for record in self.directives
            if record.field in {"allow", "disallow"}
        ]


@dataclass(slots=True)
class Outline:
    """The lines of a file, sorted into groups."""

    records: tuple[Record, ...]
    groups: list[Group] = field(default_factory=list)
    outside: list[Record] = field(default_factory=list)
    """Lines with a field outside of groups."""


def read_outline(records: Iterable[Record], dialect: Dialect) -> Outline:
    """Sort the lines into groups by the rules of the dialect."""
    outline = Outline(tuple(records))
    group: Group | None = None
    run_is_open = False
    names_are_open = False
    for record in outline.records:
        if record.is_blank:
            if dialect.blank_line_ends_group:
                group = None
                run_is_open = False
        elif record.field == "user-agent":
            if group is None or not run_is_open:
                group = Group()
                run_is_open = True
                outline.groups.append(group)
                names_are_open = False
            if not names_are_open:
                group.runs.append(AgentRun())
                names_are_open = True
            group.agents.append(record)
            group.runs[-1].agents.append(record)
        elif record.field:
            names_are_open = names_are_open and record.field not in GROUP_FIELDS
            (outline.outside if group is None else group.directives).append(record)
            if group is not None and record.field in OWN_FIELDS:
                group.runs[-1].own.append(record)
            is_rule = record.field in (
                "disallow",
                "allow" if dialect.honours_allow else "",
            )
            if dialect.run_ends_at == "directive" or is_rule:
                run_is_open = False
    return outline


_NAME = re.compile(r"\*(?=[\s\0/*+,;]|\Z)|[^\s\0/*+,;]*", re.ASCII)


def name_of(agent: Record) -> str:
    """Return the name in a User-agent line as Mandelbot reads it: see `Dialect`."""
    name = _NAME.match(agent.value)
    return name[0] if name else ""


class RecordProblem(enum.Enum):
    """A problem of a single line."""

    NO_COLON = "there is no colon"
    NO_FIELD = "there is nothing before the colon"
    UNKNOWN_FIELD = "no robot known here reads this field"
    NO_VALUE = "the value is missing"
    BAD_VALUE = "the value cannot be read"
    NOT_UTF8 = "there are octets that are not UTF-8"


@dataclass(frozen=True, slots=True)
class Record:
    r"""One line of the file.

    >>> from mandelbot import RobotsTxt
    >>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /a # drafts\n")
    >>> robots.records[1].value, robots.records[1].comment
    ('/a', ' drafts')
    """

    number: int
    """The line, from 1."""
    raw: str
    """The line without its end; bytes that are not UTF-8 are escapes."""
    name: str
    """The field as written; empty if there is none."""
    field: str
    """The field as read, in lower case: ``disallow`` for ``Dissallow`` if accepted."""
    value: str
    """Stripped, without the comment."""
    comment: str | None
    """The text after the ``#``; None: no comment."""
    problems: tuple[RecordProblem, ...] = ()

    @property
    def is_blank(self) -> bool:
        """Whether the line is empty; a line with a comment is not."""
        return not self.raw.strip(WHITE_SPACE)

    @classmethod
    def read(cls, body: bytes, dialect: Dialect) -> Iterator[Record]:
        """Yield the lines of a body that `Grammar.clean` returned."""
        meant: dict[str, str] = {}  # a file names few fields, again and again
        for number, octets in enumerate(body.splitlines(), start=1):
            if not octets:
                yield cls(number, "", "", "", "", None)
                continue
            line = octets.decode("latin-1")
            text, comment = _cut_comment(line, dialect)
            name, value = _split(text.strip(WHITE_SPACE), dialect)
            lower = name.lower()
            field = meant.get(lower, "")
            if not field:
                field = _meant(lower, dialect)
                meant[lower] = field
            said = decode(value)
            yield cls(
                number,
                decode(line),
                decode(name),
                decode(field),
                said,
                None if comment is None else decode(comment),
                tuple(_problems(line, text.strip(WHITE_SPACE), field, said)),
            )


def _cut_comment(line: str, dialect: Dialect) -> tuple[str, str | None]:
    at = line.find("#")
    if dialect.comment_needs_space:
        while at > 0 and line[at - 1] not in WHITE_SPACE:
            at = line.find("#", at + 1)
    if at < 0:
        return (line, None)
    return (line[:at], line[at + 1 :])


def _split(text: str, dialect: Dialect) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if colon:
        return name.strip(WHITE_SPACE), value.strip(WHITE_SPACE)
    words = text.replace("\t", " ").split(" ")
    if dialect.colon_optional and len(list(filter(None, words))) == 2:  # noqa: PLR2004 - field, value
        return words[0], words[-1].strip(WHITE_SPACE)
    return "", ""


def _meant(name: str, dialect: Dialect) -> str:
    """A lower-case name that is unknown stands for itself."""
    for known in FIELDS if name else ():
        spellings = (known, *dict(dialect.spellings).get(known, ()))
        by_prefix = dialect.field_by_prefix and known not in FIELDS_OF_USE
        if name in spellings or (by_prefix and name.startswith(spellings)):
            return known
    return name


_MAY_BE_EMPTY = frozenset({"disallow", "comment"})


def _problems(line: str, text: str, field: str, value: str) -> Iterator[RecordProblem]:
    if text and ":" not in text and not field:
        yield RecordProblem.NO_COLON
    elif text and not field:
        yield RecordProblem.NO_FIELD
    elif field and field not in FIELDS:
        yield RecordProblem.UNKNOWN_FIELD
    elif field and not value and field not in _MAY_BE_EMPTY:
        yield RecordProblem.NO_VALUE
    elif field in TIME_READERS and TIME_READERS[field](value) is None:
        yield RecordProblem.BAD_VALUE
    if not line.isascii() and not _is_utf8(line):
        yield RecordProblem.NOT_UTF8


def _is_utf8(line: str) -> bool:
    try:
        line.encode("latin-1").decode()
    except UnicodeDecodeError:
        return False
    return True
