"""``--format html``: one page about one robots.txt, which needs nothing but a browser.

The findings by kind, the file, the corrected version, and a box in which URLs are tested. The file
can be edited, and is judged as one types: the page reads it and decides by itself, by scripts that
are held equal to the package (`read.js`, `decide.js`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot import pages
from scrapy_mandelbot._version import __version__
from scrapy_mandelbot.commands.reports.findings import counts_told
from scrapy_mandelbot.commands.reports.layout import counted
from scrapy_mandelbot.commands.reports.page.shown_file import changed, html_of, shown_file
from scrapy_mandelbot.commands.reports.page.tester import robots_offered, tester_data
from scrapy_mandelbot.commands.reports.page.words import kinds_of, title_of
from scrapy_mandelbot.robotstxt.lint import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from scrapy_mandelbot.commands.reports.rules_in_force import Rules
    from scrapy_mandelbot.robotstxt import Dialect


_WITHOUT_SCRIPTS = (
    ".file { list-style: decimal; padding-left: 4rem; } "
    ".file li { content-visibility: visible; display: list-item; padding-left: 0.5rem; }"
)
"""Numbers of lines, where no script writes them."""
_SCRIPTS = ("decide.js", "read.js", "lines.js", "page.js")


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a page is about."""

    rules: Rules
    checked: dict[str, Any]
    """The report of ``check``."""
    corrected: dict[str, Any] | None
    """The report of ``fix``; None: there is no file to be read."""
    dialect: Dialect
    agents: Sequence[str]
    """Names of the robot, tried in order."""
    max_bytes: int
    told: dict[str, list[str]] = field(default_factory=dict)
    """URLs to be tested at once, each with what there is to say of its verdict besides; none: some
    of which the file says something."""


def render(subject: Subject, made: datetime) -> str:
    """Return the page.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    rules, checked, corrected = subject.rules, subject.checked, subject.corrected
    robots, absent = rules.read(subject.dialect, subject.max_bytes)
    before = shown_file(rules.body if rules.is_there else b"")
    after = shown_file(corrected["text"].encode()) if robots and corrected else None
    found = checked["findings"]
    data = tester_data(subject, before, after)
    marked, marked_after = changed(before, after) if after else ([], [])
    return pages.render(
        __name__,
        "page.html.jinja",
        {
            "title": title_of(checked["source"]),
            "summary": ", ".join(text for _, text in counts_told(checked)),
            "counts": counts_told(checked),
            "delivery": list(_delivery(checked["delivery"], len(rules.body))),
            "comments": robots.comments(subject.agents) if robots else (),
            "kinds": kinds_of(found, map(str, reversed(Severity))),
            "lines": html_of(before, {one["line"] for one in found}),
            "absent": _absence(absent, is_empty=not before.lines),
            "corrected": None if after is None else html_of(after, ()),
            "proof": corrected and corrected["proof"],
            "remarks": _remarks(corrected) if corrected else (),
            "offered": robots_offered(rules),
            "dialect": subject.dialect.name,
            "dialects": list(data["dialects"]),
            "made": f"scrapy-mandelbot {__version__}, {made:%Y-%m-%d %H:%M} UTC",
            "data": pages.script_data(
                {**data, "changed": {"before": marked, "after": marked_after}}
            ),
        },
        style=pages.file_of(__name__, "page.css"),
        script="".join(pages.file_of(__name__, name) for name in _SCRIPTS),
        unscripted=_WITHOUT_SCRIPTS,
    )


def _absence(reason: str, *, is_empty: bool) -> str:
    """Return why there is nothing to show, or nothing of what is shown is read."""
    if reason:
        return f"No rules are read: {reason}."
    return "The file is empty." if is_empty else ""


def _remarks(corrected: dict[str, Any]) -> list[str]:
    """Return what there is to say of the corrected version, for robots of other dialects too."""
    effects = (sentence for effect in corrected["effects"] for sentence in effect["summary"])
    return [*corrected["remarks"], *effects]


def _delivery(delivery: dict[str, Any] | None, size: int) -> Iterator[tuple[str, str]]:
    """Yield what is known of how the file came, for people."""
    known = delivery or {}
    if known.get("final_url") and known["final_url"] != known["url"]:
        yield "Came from", known["final_url"]
    if known.get("status") is not None:
        yield "Status", str(known["status"])
    if known.get("redirects"):
        yield "Redirects", str(known["redirects"])
    if known.get("seconds") is not None:
        yield "Time", f"{known['seconds']:.3f} s"
    if known.get("content_type"):
        yield "Type", known["content_type"]
    if known.get("content_encoding"):
        yield "Encoding", known["content_encoding"]
    yield "Size", counted(size, "byte")
