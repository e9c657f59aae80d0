"""A file as the page holds it: its lines as they are shown, and its octets where these say more."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.commands.reports.diff import same_lines
from scrapy_mandelbot.robotstxt import RobotsTxt
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator


class ShownFile(NamedTuple):
    """A file in a page."""

    lines: tuple[str, ...]
    """As they are, octets that are not UTF-8 as escapes."""
    octets: str | None
    """The whole file, a character for each octet; None: what is shown is all there is."""


def shown_file(body: bytes) -> ShownFile:
    """Return a file as it is shown: all of it, though robots do not read all of a large one."""
    lines = tuple(record.raw for record in RobotsTxt.parse(body, max_bytes=None).records)
    shown = "".join(f"{printable(line)}\n" for line in lines)
    return ShownFile(lines, None if shown.encode() == body else body.decode("latin-1"))


def html_of(file: ShownFile, linked: Container[int]) -> str:
    """Return the lines as items of a list, those that are linked to with an ``id``.

    A line that is not linked costs four characters: a file may have a hundred thousand.
    """
    return "".join(
        f"<li{f' id=L{number}' if number in linked else ''}>{escape(printable(line))}\n"
        for number, line in enumerate(file.lines, start=1)
    )


def changed(before: ShownFile, after: ShownFile) -> tuple[list[list[int]], list[list[int]]]:
    """Return the lines of both that are not in the other: of each run the first and the last."""
    same = same_lines(before.lines, after.lines)
    kept, others = {place for place, _ in same}, {place for _, place in same}
    return (
        list(_ranges(place + 1 for place in range(len(before.lines)) if place not in kept)),
        list(_ranges(place + 1 for place in range(len(after.lines)) if place not in others)),
    )


def _ranges(numbers: Iterable[int]) -> Iterator[list[int]]:
    found = list(numbers)
    if not found:
        return
    start = found[0]
    for number, following in pairwise([*found, -1]):
        if following != number + 1:
            yield [start, number]
            start = following
