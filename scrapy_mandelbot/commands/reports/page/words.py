"""What the page explains in a sentence: titles, dialects, kinds of findings."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from scrapy_mandelbot.commands.reports.findings import STANDARD_INPUT
from scrapy_mandelbot.commands.use import is_url
from scrapy_mandelbot.politeness import site_of
from scrapy_mandelbot.robotstxt.lint import FINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DIALECTS = {
    "mandelbot": "The longest path that matches decides, and Allow wins a tie. * and a final $ are"
    " wildcards, groups for the same robot count together.",
    "rfc9309": "The standard of 2022. It decides as Mandelbot does.",
    "google": "Google's own parser: the standard, some misspelt fields, and lines without a colon.",
    "rep1994": "The first standard: the first path that matches decides, nothing is a wildcard, and"
    " a blank line ends a group.",
    "rep2008": "What search engines agreed on in 2008: the longest path decides, and of several"
    " groups for a robot the first.",
    "extended2": "The extended standard 2.0: the first path that matches decides; shell patterns in"
    " groups with Robot-version: 2.0.",
}
OWN_DIALECT = "A dialect of this project's own."


def title_of(source: str) -> str:
    """Return the name of what a page is about: the site, or the file, without its folder."""
    if not is_url(source):
        return "robots.txt" if source == STANDARD_INPUT else PurePath(source).name
    parts = urlsplit(source)
    site = site_of(parts).removeprefix("https://").removeprefix("http://")
    return site if parts.path == "/robots.txt" else f"{site}{parts.path}"


class FoundKind(NamedTuple):
    """All findings of one kind."""

    code: str
    severity: str
    text: str
    """What is wrong."""
    why: str
    findings: list[dict[str, Any]]
    """Those that are listed, in the order of their lines."""
    total: int
    """How many there are, with those that are not listed."""


def kinds_of(findings: Sequence[dict[str, Any]], severities: Iterable[str]) -> list[FoundKind]:
    """Return findings by their kind, the worst first, then in the order of their first lines."""
    by_code: dict[str, list[dict[str, Any]]] = {}
    for one in findings:
        by_code.setdefault(one["code"], []).append(one)
    kinds = [
        FoundKind(
            *(code, found[0]["severity"], FINDINGS[code].text, found[0]["why"], found),
            sum(1 + one["more"] for one in found),
        )
        for code, found in by_code.items()
    ]
    order = list(severities)
    return sorted(kinds, key=lambda kind: order.index(kind.severity))
