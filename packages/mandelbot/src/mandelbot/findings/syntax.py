"""Checks of each line by itself: field, colon, comment."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

from mandelbot.findings.source import LintHit, field_of, quoted, readable
from mandelbot.findings.spelling import Spelling
from mandelbot.robotstxt.dialects import FIELDS, documented
from mandelbot.robotstxt.grammar import WHITE_SPACE
from mandelbot.robotstxt.records import RecordProblem

if TYPE_CHECKING:
    from mandelbot.findings.source import Check, LintInput
    from mandelbot.robotstxt.records import Record

_REMARK = re.compile(r"rem\s", re.IGNORECASE)


def is_commented_out(record: Record) -> bool:
    """Return whether a line begins like a comment of another language.

    A sign before the field, such as ``;``, ``//``, ``*``, ``<!--`` or a quote, or the
    word of batch files. No name of a field begins with one.
    """
    line = record.raw.lstrip()
    is_mark = unicodedata.category(line[:1] or " ")[0] in "PS"
    return (is_mark and line[0] != "_") or _REMARK.match(line) is not None


_FIELDS = Spelling(FIELDS, shortest=4)
_TAGS = frozenset(
    {"noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "index"}
)
_SCHEMES = frozenset({"http", "https", "ftp"})
_FIRST_WORD = re.compile(r"[A-Za-z][A-Za-z\-_ ]*[A-Za-z]")
_WRONG_COLON = re.compile(r"\s*[;=,：﹕∶]")  # noqa: RUF001 - colons of other scripts
_NEXT_DIRECTIVE = re.compile(
    rf"(?:^|\s)({'|'.join(FIELDS)})\s*:\s*(?=\S)", re.ASCII | re.IGNORECASE
)


def check_syntax(record: Record, source: LintInput) -> Check:
    """What is wrong with a line, whatever its field means."""
    number = record.number
    for problem in record.problems:
        if problem in _PROBLEMS and not source.is_html:
            yield from _PROBLEMS[problem](record)
    if not record.field:
        return
    if record.raw.partition(":")[0][-1:] in WHITE_SPACE:
        yield LintHit(
            "space-before-colon",
            number,
            f"There is a space after {quoted(record.name)}.",
        )
    following = None
    if record.field != "comment":
        following = _NEXT_DIRECTIVE.search(record.value)
    if following:
        message = (
            f"{documented(following[1].lower())} is in the line of another directive."
        )
        yield LintHit("several-directives", number, message)
    if record.comment is None:
        return
    if record.value and record.raw[: -len(record.comment) - 1][-1:] not in WHITE_SPACE:
        message = f"The value ends before the #: it is {quoted(record.value)}."
        yield LintHit("hash-without-space", number, message)
    else:
        message = f"A comment follows {field_of(record)} in the same line."
        yield LintHit("comment-after-directive", number, message)


def _no_colon(record: Record) -> Check:
    if is_commented_out(record):
        yield _only_hash(record)
        return
    text = record.raw.partition("#")[0].strip(WHITE_SPACE)
    word = _FIRST_WORD.match(text)
    field = _field_in(word[0]) if word else None
    if not word or field is None:
        message = f"{quoted(text)} is neither a directive nor a comment."
        yield LintHit("not-a-directive", record.number, message)
    elif _WRONG_COLON.match(text, len(field[0])):
        sign = text[len(field[0]) :].lstrip()[0]
        message = f"There is {quoted(sign)} instead of a colon after {field[0]}."
        yield LintHit("semicolon-for-colon", record.number, message)
    else:
        yield LintHit(
            "missing-colon", record.number, f"There is no colon after {field[0]}."
        )


def meant_field(record: Record) -> str:
    """Return the field of a line, or the one that it misspells; empty: neither."""
    return _field_of(record)[1]


def _field_of(record: Record) -> tuple[str, str]:
    """Return the field as the line spells it, and the one that it means."""
    if record.problems and is_commented_out(record):
        return "", ""
    if RecordProblem.NO_COLON in record.problems:
        word = _FIRST_WORD.match(record.raw.partition("#")[0].strip(WHITE_SPACE))
        return (word and _field_in(word[0])) or ("", "")
    if RecordProblem.UNKNOWN_FIELD in record.problems:
        return record.name, _FIELDS.corrected(record.name) or ""
    return record.name, record.field


def is_agent_misspelt(record: Record) -> bool:
    """Return whether a line misspells User-agent in a way that some robots accept."""
    return record.field != "user-agent" and meant_field(record) == "user-agent"


def _field_in(words: str) -> tuple[str, str] | None:
    """Return as much of the words as is a field, and which one.

    ``User agent`` of two words.
    """
    for text in (" ".join(words.split()[:2]), words.split(maxsplit=1)[0]):
        field = text.lower() if text.lower() in FIELDS else _FIELDS.corrected(text)
        if field and words.startswith(text):
            return text, field
    return None


def _no_field(record: Record) -> Check:
    yield LintHit(
        "no-field", record.number, f"There is no field in {quoted(record.raw)}."
    )


def _only_hash(record: Record) -> LintHit:
    text = quoted(record.raw.strip(WHITE_SPACE))
    message = f"{text} is neither a directive nor a comment: only # begins a comment."
    return LintHit("not-a-directive", record.number, message)


def _unknown_field(record: Record) -> Check:
    number = record.number
    meant = _FIELDS.corrected(record.name)
    sign = _sign_for_colon(record)
    of_url = record.name.rpartition(" ")
    before_url = _field_in(of_url[0]) if of_url[0].strip() else None
    if (
        not sign
        and before_url
        and of_url[2].lower() in _SCHEMES
        and record.value.startswith("//")
    ):
        message = f"There is no colon after {readable(before_url[0])}."
        yield LintHit("missing-colon", number, message)
    elif record.field in _SCHEMES and record.value.startswith("//"):
        url = quoted(record.raw.strip())
        message = f"There is a URL without a field: {url}. Write Sitemap: before it."
        yield LintHit("not-a-directive", number, message)
    elif sign:
        message = (
            f"There is {quoted(sign[1])} instead of a colon after {quoted(sign[0])}."
        )
        yield LintHit("semicolon-for-colon", number, message)
    elif is_commented_out(record):
        yield _only_hash(record)
    elif record.field in _TAGS:
        message = f"{field_of(record)} has no effect in robots.txt."
        yield LintHit("noindex", number, message)
    elif meant:
        message = (
            f"{quoted(record.name)} is not a field: did you mean {documented(meant)}?"
        )
        yield LintHit("misspelt-field", number, message)
    else:
        message = f"No known robot reads {quoted(record.name)}."
        yield LintHit("unknown-field", number, message)


def _sign_for_colon(record: Record) -> tuple[str, str] | None:
    """Return the field and the sign behind it, where a URL has the line's colon."""
    text = record.raw.partition("#")[0].strip(WHITE_SPACE)
    field, sign, _ = text.partition("=")
    field = field.strip(WHITE_SPACE)
    if sign and _FIELDS.corrected(field) and ":" not in field:
        return field, sign
    return None


def _no_value(record: Record) -> Check:
    if record.field not in {"allow", "user-agent"}:  # these have other findings
        yield LintHit("no-value", record.number, f"{field_of(record)} has no value.")


_PROBLEMS: dict[RecordProblem, Callable[[Record], Check]] = {
    RecordProblem.NO_COLON: _no_colon,
    RecordProblem.NO_FIELD: _no_field,
    RecordProblem.UNKNOWN_FIELD: _unknown_field,
    RecordProblem.NO_VALUE: _no_value,
}
