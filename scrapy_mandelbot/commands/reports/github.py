"""Findings as GitHub shows them beside the lines of a pull request: its workflow commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports.findings import message_told
from scrapy_mandelbot.commands.use import is_url
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def text(reports: Iterable[dict[str, Any]]) -> str:
    """Return a command a line for each finding, and for each file that cannot be had."""
    return "".join(f"{line}\n" for report in reports for line in _commands(report))


def _commands(report: dict[str, Any]) -> Iterator[str]:
    source = report["source"]
    if report["failure"]:
        yield f"::error title=robots.txt::{_data(report['failure'])}"
        return
    for one in report["findings"]:
        properties = [] if is_url(source) else [f"file={_property(source)}"]
        if one["line"] and properties:
            properties.append(f"line={one['line']}")
        properties.append(f"title={_property(one['code'])}")
        said = f"{message_told(one)} {one['why']}"
        if is_url(source):
            place = f", line {one['line']}" if one["line"] else ""
            said = f"{source}{place}: {said}"
        yield f"::{_LEVELS[one['severity']]} {','.join(properties)}::{_data(said)}"


def _data(value: str) -> str:
    """Escape what ends a command; a robots.txt must not begin one of its own."""
    return printable(value).replace("%", "%25")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
