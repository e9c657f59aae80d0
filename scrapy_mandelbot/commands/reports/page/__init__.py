"""``--format html``: one page about one robots.txt, which needs nothing but a browser.

The file with its findings in the margin, the corrected version beside it, and a box in which URLs
are tested: the page decides by itself, by the tables of `robotstxt.tables`.

What a robots.txt says may be meant to do harm: all of it goes into the page as text, and the page's
Content-Security-Policy lets it run its own script and load nothing. The page is ASCII, so that it
is the same in every pipe and locale.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot._version import __version__
from scrapy_mandelbot.commands.reports.findings import counts_told
from scrapy_mandelbot.commands.reports.layout import counted
from scrapy_mandelbot.commands.reports.page.shown_lines import page_lines
from scrapy_mandelbot.commands.reports.page.tester import tester_data
from scrapy_mandelbot.shown import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from scrapy_mandelbot.commands.reports.rules_in_force import Rules
    from scrapy_mandelbot.robotstxt import Dialect


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
    import jinja2  # noqa: PLC0415 - an extra

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    style, script = _file("page.css"), _file("decide.js") + _file("page.js")
    rules, checked, corrected = subject.rules, subject.checked, subject.corrected
    robots, absent = rules.read(subject.dialect, subject.max_bytes)
    before, after = page_lines(robots, corrected, checked["findings"])
    data = tester_data(subject)
    page = environment.get_template("page.html.jinja").render(
        source=checked["source"],
        summary=", ".join(text for _, text, _ in _counts(checked)),
        counts=list(_counts(checked)),
        delivery=list(_delivery(checked["delivery"], len(rules.body))),
        comments=robots.comments(subject.agents) if robots else (),
        of_the_whole=[one for one in checked["findings"] if not (before and one["line"])],
        lines=before,
        absent=f"No rules are read: {absent}." if absent else "The file is empty.",
        corrected=after,
        proof=corrected and corrected["proof"],
        remarks=corrected["remarks"] if corrected else (),
        named=data["named"],
        dialect=subject.dialect.name,
        dialects=list(data["before"]),
        made=f"scrapy-mandelbot {__version__}, {made:%Y-%m-%d %H:%M} UTC",
        data=_json(data),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
    )
    return page.encode("ascii", "xmlcharrefreplace").decode() + "\n"


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("ascii")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _counts(checked: dict[str, Any]) -> Iterator[tuple[str, str, int | None]]:
    """Yield each severity with its count in words, and the first line with such a finding."""
    for kind, words in counts_told(checked):
        lines = [one["line"] for one in checked["findings"] if one["severity"] == kind]
        yield kind, words, next(filter(None, lines), None)


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


def _json(data: dict[str, Any]) -> str:
    """Return data that no HTML parser takes for the end of the script that holds it."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
