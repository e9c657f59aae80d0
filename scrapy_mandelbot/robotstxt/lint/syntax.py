"""Checks of each line by itself: field, colon, comment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.dialects import FIELDS, documented
from scrapy_mandelbot.robotstxt.lines import WHITE_SPACE
from scrapy_mandelbot.robotstxt.lint.source import Found, field_of, quoted
from scrapy_mandelbot.robotstxt.lint.spelling import Spelling
from scrapy_mandelbot.robotstxt.records import RecordProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_mandelbot.robotstxt.lint.source import Check, Source
    from scrapy_mandelbot.robotstxt.records import Record

_FIELDS = Spelling(FIELDS, shortest=4)
_TAGS = frozenset({"noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "index"})
_SCHEMES = frozenset({"http", "https", "ftp"})
_FIRST_WORD = re.compile(r"[A-Za-z][A-Za-z\-_ ]*[A-Za-z]")
_WRONG_COLON = re.compile(r"\s*[;=,：﹕∶]")  # noqa: RUF001 - colons of other scripts
_NEXT_DIRECTIVE = re.compile(
    rf"(?:^|\s)({'|'.join(FIELDS)})\s*:\s*(?=\S)", re.ASCII | re.IGNORECASE
)


def check_syntax(record: Record, source: Source) -> Check:
    """What is wrong with a line, whatever its field means."""
    number = record.number
    for problem in record.problems:
        if problem in _PROBLEMS and not source.is_html:
            yield from _PROBLEMS[problem](record)
    if not record.field:
        return
    if record.raw.partition(":")[0][-1:] in WHITE_SPACE:
        yield Found("space-before-colon", number, f"There is a space after {quoted(record.name)}.")
    following = _NEXT_DIRECTIVE.search(record.value) if record.field != "comment" else None
    if following:
        message = f"{documented(following[1].lower())} is in the line of another directive."
        yield Found("several-directives", number, message)
    if record.comment is None:
        return
    if record.value and record.raw[: -len(record.comment) - 1][-1:] not in WHITE_SPACE:
        message = f"The value ends before the #: it is {quoted(record.value)}."
        yield Found("hash-without-space", number, message)
    else:
        message = f"A comment follows {field_of(record)} in the same line."
        yield Found("comment-after-directive", number, message)


def _no_colon(record: Record) -> Check:
    text = record.raw.partition("#")[0].strip(WHITE_SPACE)
    word = _FIRST_WORD.match(text)
    field = _field_in(word[0]) if word else None
    if not word or field is None:
        message = f"{quoted(text)} is neither a directive nor a comment."
        yield Found("not-a-directive", record.number, message)
    elif _WRONG_COLON.match(text, len(field[0])):
        sign = text[len(field[0]) :].lstrip()[0]
        message = f"There is {quoted(sign)} instead of a colon after {field[0]}."
        yield Found("semicolon-for-colon", record.number, message)
    else:
        yield Found("missing-colon", record.number, f"There is no colon after {field[0]}.")


def _field_in(words: str) -> tuple[str, str] | None:
    """Return as much of the words as is a field, and which one: ``User agent`` of two words."""
    for text in (" ".join(words.split()[:2]), words.split(maxsplit=1)[0]):
        field = text.lower() if text.lower() in FIELDS else _FIELDS.corrected(text)
        if field and words.startswith(text):
            return text, field
    return None


def _no_field(record: Record) -> Check:
    yield Found("no-field", record.number, f"There is no field in {quoted(record.raw)}.")


def _unknown_field(record: Record) -> Check:
    meant = _FIELDS.corrected(record.name)
    if record.field in _SCHEMES and record.value.startswith("//"):
        message = f"There is a URL without a field: {quoted(record.raw.strip())}."
        yield Found("not-a-directive", record.number, message)
    elif record.field in _TAGS:
        message = f"{field_of(record)} has no effect in robots.txt."
        yield Found("noindex", record.number, message)
    elif meant:
        message = f"{quoted(record.name)} is no field: {documented(meant)} is meant, most likely."
        yield Found("misspelt-field", record.number, message)
    else:
        message = f"No robot known here reads {quoted(record.name)}."
        yield Found("unknown-field", record.number, message)


def _no_value(record: Record) -> Check:
    if record.field not in {"allow", "user-agent"}:  # these have rows of their own
        yield Found("no-value", record.number, f"{field_of(record)} has no value.")


_PROBLEMS: dict[RecordProblem, Callable[[Record], Check]] = {
    RecordProblem.NO_COLON: _no_colon,
    RecordProblem.NO_FIELD: _no_field,
    RecordProblem.UNKNOWN_FIELD: _unknown_field,
    RecordProblem.NO_VALUE: _no_value,
}
