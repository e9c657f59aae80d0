"""Every line of a robots.txt as a numbered record, and what is wrong with it.

Deciding does not read records: it finds the lines it needs (`lines.py`). Records are for who wants
to see the whole file: to list it, to check it, to write it anew.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.dialects import FIELDS, FIELDS_OF_USE
from scrapy_mandelbot.robotstxt.lines import WHITE_SPACE, decode
from scrapy_mandelbot.robotstxt.times import read_delay, read_rate, read_window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_mandelbot.robotstxt.dialects import Dialect


class RecordProblem(enum.Enum):
    """What can be wrong with a line by itself."""

    NO_COLON = "there is no colon"
    NO_FIELD = "there is nothing before the colon"
    UNKNOWN_FIELD = "no robot known here reads this field"
    NO_VALUE = "the value is missing"
    BAD_VALUE = "the value cannot be read"
    NOT_UTF8 = "there are octets that are not UTF-8"


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the file as read."""

    number: int
    """The line, from 1."""
    raw: str
    """The whole line without its end, octets that are not UTF-8 as escapes."""
    name: str
    """The field as written; empty where there is none."""
    field: str
    """The field that is meant, in lower case: ``disallow`` for ``Dissallow`` where accepted."""
    value: str
    """Without white space around it and without the comment."""
    comment: str | None
    """What follows the ``#``; None: there is none."""
    problems: tuple[RecordProblem, ...] = ()

    @property
    def is_blank(self) -> bool:
        """Whether the line holds nothing at all; one with a comment is not blank."""
        return not self.raw.strip(WHITE_SPACE)


def read_records(body: bytes, dialect: Dialect) -> Iterator[Record]:
    """Yield the lines of a body that `clean_bytes` returned."""
    for number, octets in enumerate(body.splitlines(), start=1):
        if not octets:
            yield Record(number, "", "", "", "", None)
            continue
        line = octets.decode("latin-1")
        text, comment = _cut_comment(line, dialect)
        name, value = _split(text.strip(WHITE_SPACE), dialect)
        field = _meant(name.lower(), dialect)
        said = decode(value)
        yield Record(
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
    return (line, None) if at < 0 else (line[:at], line[at + 1 :])


def _split(text: str, dialect: Dialect) -> tuple[str, str]:
    """Return field and value; no field where the line has none."""
    name, colon, value = text.partition(":")
    if colon:
        return name.strip(WHITE_SPACE), value.strip(WHITE_SPACE)
    words = text.replace("\t", " ").split(" ")
    if dialect.colon_optional and len(list(filter(None, words))) == 2:  # noqa: PLR2004 - field, value
        return words[0], words[-1].strip(WHITE_SPACE)
    return "", ""


def _meant(name: str, dialect: Dialect) -> str:
    """Return the field that a name in lower case stands for: itself when it is unknown."""
    for field in FIELDS if name else ():
        spellings = (field, *dict(dialect.spellings).get(field, ()))
        by_prefix = dialect.field_by_prefix and field not in FIELDS_OF_USE
        if name in spellings or (by_prefix and name.startswith(spellings)):
            return field
    return name


_READERS: dict[str, Callable[[str], object]] = {
    "crawl-delay": read_delay,
    "request-rate": read_rate,
    "visit-time": read_window,
}
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
    elif field in _READERS and _READERS[field](value) is None:
        yield RecordProblem.BAD_VALUE
    if not line.isascii() and not _is_utf8(line):
        yield RecordProblem.NOT_UTF8


def _is_utf8(line: str) -> bool:
    try:
        line.encode("latin-1").decode()
    except UnicodeDecodeError:
        return False
    return True
