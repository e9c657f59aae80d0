"""Checks of User-agent values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.lint.robot_names import ROBOT_NAMES
from scrapy_mandelbot.robotstxt.lint.source import Found, quoted
from scrapy_mandelbot.robotstxt.lint.spelling import Spelling
from scrapy_mandelbot.robotstxt.outline import name_of

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.lint.source import Check
    from scrapy_mandelbot.robotstxt.records import Record

_KNOWN = frozenset(ROBOT_NAMES)
_SPELLING = Spelling(ROBOT_NAMES, shortest=6)
_SEPARATORS = re.compile("[,;|]")
_NAME = re.compile(r"\*|[A-Za-z][\w.\- ]*(?:/[\d.]+)?")
_GOOGLES_NAME = re.compile(r"[A-Za-z_\-]*")


def check_agent(record: Record) -> Check:
    """What is wrong with a User-agent line: the worst, and what Google makes of the name."""
    value, number = record.value, record.number
    name = name_of(record)
    if not value:
        yield Found("empty-agent", number, "The User-agent has no name.")
    elif value == "*":
        return
    elif "(" in value or "://" in value or value.lower().startswith("mozilla/"):
        message = f"{quoted(value)} is a whole header; what is read is {quoted(name)}."
        yield Found("agent-is-header", number, message)
    elif _is_several(value):
        message = f"{quoted(value)} are several robots; what is read is {quoted(name)}."
        yield Found("several-names", number, message)
    elif "*" in value:
        message = f"{quoted(value)} mixes * with other signs: what is read is {quoted(name)}."
        yield Found("star-in-agent", number, message)
    elif "/" in value:
        message = f"{quoted(value)} has a version; what is read is {quoted(name)}."
        yield Found("agent-with-version", number, message)
    elif len(value.split()) > 1:
        message = f"There is a space in {quoted(value)}; what is read is {quoted(name)}."
        yield Found("space-in-agent", number, message)
    else:
        yield from _check_spelling(name, number)
    read = _GOOGLES_NAME.match(name)
    if read and read[0] != name and name != "*":
        message = f"Of {quoted(name)} Google's parser reads {quoted(read[0])}."
        yield Found("agent-characters", number, message)


def _is_several(value: str) -> bool:
    parts = [part.strip() for part in _SEPARATORS.split(value) if part.strip()]
    if len(parts) > 1:
        return all(map(_NAME.fullmatch, parts))
    words = value.lower().split()
    return len(words) > 1 and all(word in _KNOWN or word == "*" for word in words)


def _check_spelling(name: str, number: int) -> Check:
    meant = None if name.lower() in _KNOWN else _SPELLING.surely_corrected(name)
    if meant:
        message = f"No robot is known as {quoted(name)}: {quoted(meant)} is meant, most likely."
        yield Found("misspelt-agent", number, message)
