"""Checks of names one of which is a part of the other: robots differ in whose group they take.

Moderatobot, "User-agent directive": some robots look for the first name that is a part of theirs,
some for the first that theirs is a part of, some take the most specific one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.lint.source import Found, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy_mandelbot.robotstxt.lint.source import Check

_SHORTEST = 3  # characters: no robot's name is shorter
_LONGEST = 40  # characters of a name that are looked at
_EFFORT = 3_000_000  # parts of names looked up in a file


def check_wide_names(first_line: Mapping[str, int]) -> Check:
    """Which names, in lower case with their first lines, are a part of another."""
    effort = _EFFORT
    lengths = sorted({len(name) for name in first_line if len(name) >= _SHORTEST})
    for name, line in first_line.items():
        if effort < 0:
            return
        own = name[:_LONGEST]
        effort -= sum(len(own) for length in lengths if length <= len(own))
        for wide in dict.fromkeys(_parts(own, lengths)):
            wide_line = first_line.get(wide)
            if wide_line is None or wide == name:
                continue
            if wide_line < line:
                message = f"{quoted(wide)} comes before {quoted(name)}, line {line}."
                yield Found("wide-name-first", wide_line, message)
            elif wide_line > line:
                message = f"{quoted(wide)} comes after {quoted(name)}, line {line}."
                yield Found("wide-name-last", wide_line, message)
            break  # the longest


def _parts(name: str, lengths: list[int]) -> Iterator[str]:
    """Yield the parts of a name that are as long as some name, the longest first."""
    for length in reversed(lengths):
        for at in range(len(name) - length + 1):
            yield name[at : at + length]
