"""Checks of what Allow and Disallow are about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.lint.source import Found, quoted

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt.lint.source import Check
    from scrapy_mandelbot.robotstxt.records import Record

_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?//[^/]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
_DOLLAR_INSIDE = re.compile(r"\$(?!\**\Z)")  # Mandelbot's page: /earn$* is about a dollar
_REGULAR_EXPRESSION = re.compile(
    r"\^|\\[.dwsDWS/?$\-]|\[\^?\w-\w|\(\?|\([^()|]*\|[^()]*\)|(?<![/*.])\.[*+]|\.\+"
)
_NO_LETTER = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z]")


def check_path(record: Record) -> Check:
    """What is wrong with the path of a rule."""
    path, number = record.value, record.number
    field = record.field.capitalize()
    if not path:
        if record.field == "allow":
            yield Found("empty-allow", number, "Allow has no path.")
        return
    if record.field == "allow" and not path.strip("/*"):
        yield Found(
            "allow-all", number, f"{field}: {_shown(path)} allows what is allowed by default."
        )
    yield from _check_beginning(path, field, number)
    yield from _check_wildcards(path, field, number)
    yield from _check_characters(path, field, number)
    if record.field == "allow" and path.rpartition("/")[2].startswith("index.htm"):
        message = f"{field}: {_shown(path)} is about an index page."
        yield Found("index-page", number, message)
    if path.rstrip("*$").lower() == "/robots.txt":
        yield Found(
            "robots-txt-in-rule", number, f"{field}: {_shown(path)} is about the file itself."
        )


def _check_beginning(path: str, field: str, number: int) -> Check:
    if path[0] == "*":
        if path.strip("*"):
            message = f"{field}: {_shown(path)} does not begin with a slash."
            yield Found("leading-star", number, message)
    elif _SCHEME.match(path):
        yield Found("full-url", number, f"{quoted(path)} is a whole URL, not a path.")
    elif path[0] != "/":
        yield Found("no-leading-slash", number, f"{quoted(path)} does not begin with a slash.")


def _check_wildcards(path: str, field: str, number: int) -> Check:
    if "*" not in path and "$" not in path:
        return
    if "*" in path or path[-1] == "$":
        message = f"{field}: {_shown(path)} has wildcards."
        yield Found("wildcard", number, message)
    if len(path) > 1 and path.endswith(("*", "*$")) and not path.rstrip("*").endswith("$"):
        yield Found("redundant-star", number, f"The * at the end of {quoted(path)} adds no match.")
    elif path.endswith("*$"):
        yield Found("redundant-star", number, f"The *$ at the end of {quoted(path)} adds nothing.")
    if _DOLLAR_INSIDE.search(path):
        message = f"The $ within {quoted(path)} is a dollar, not the end."
        yield Found("dollar-inside", number, message)


def _check_characters(path: str, field: str, number: int) -> Check:  # noqa: ARG001 - one shape
    if _REGULAR_EXPRESSION.search(path):
        message = f"{quoted(path)} looks like a regular expression."
        yield Found("regular-expression", number, message)
    if " " in path or "\t" in path:
        yield Found("space-in-path", number, f"There is a space in {quoted(path)}.")
    if not path.isascii():
        message = f"There are characters outside ASCII in {quoted(path)}."
        yield Found("unescaped-character", number, message)
    if "%" in path:
        bad = _BAD_ESCAPE.search(path)
        if bad:
            yield Found("bad-escape", number, f"{quoted(bad[0])} is no escape.")
    if path.isupper() and len(_NO_LETTER.sub("", path)) > 1:
        message = f"{quoted(path)} matches paths in capitals only."
        yield Found("capitals-in-path", number, message)


def _shown(path: str) -> str:
    return quoted(path)[1:-1]
