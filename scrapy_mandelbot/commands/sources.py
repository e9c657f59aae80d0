"""From what a call names, or the answer of a site, to the rules that reports are about."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.lint import Delivery
from scrapy_mandelbot.robots.origins import robots_url, site_of, without_user
from scrapy_mandelbot.robots.outcome import Failure
from scrapy_mandelbot.robots.reports import check_report as findings
from scrapy_mandelbot.robots.reports.check_report import STANDARD_INPUT
from scrapy_mandelbot.robots.reports.rules_in_force import SUCCESS, Rules
from scrapy_mandelbot.robots.reports.terminal_text import is_url
from scrapy_mandelbot.robots.robotstxt.paths import split_url

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.call import Invocation
    from scrapy_mandelbot.commands.downloads import FetchedFile

_NEEDS_SITE = "this is no URL with a site, as https://example.com/page"
_MOST = 64 * 1024 * 1024  # bytes; what is larger is no robots.txt, and may never end


class CannotBeHadError(Exception):
    """What was asked for cannot be had; the message is the line that a person reads.

    Whatever reads here what a call names raises it: of a file, a URL, an answer, a choice.
    """


def read_source(source: str) -> bytes:
    """Return what is in a file, or comes from standard input (``-``)."""
    try:
        if source == "-":
            return sys.stdin.buffer.read(_MOST)
        with Path(source).open("rb") as file:
            return file.read(_MOST)
    except OSError as error:
        hint = ""
        if isinstance(error, FileNotFoundError) and "." in source and "/" not in source:
            hint = " (a URL begins with https:// or http://)"
        reason = (error.strerror or str(error)).lower()
        raise CannotBeHadError(f"{named(source)}: {reason}{hint}") from None


def named(source: str) -> str:
    """Return the source as a person names it."""
    return STANDARD_INPUT if source == "-" else source


def delivery_of_file(source: str) -> Delivery | None:
    """Return what a file's name says. Of a draft under another name it says nothing."""
    name = Path(source).name
    return Delivery(url=source) if name.lower() == "robots.txt" else None


def robots_url_of(url: str) -> str:
    """Return where the robots.txt of a URL's site is."""
    return robots_url_asked(AskedUrl(url))


def url_to_check(url: str) -> str:
    """Return the URL that is meant, without credentials: of a bare site, its robots.txt."""
    of_site = robots_url_of(url)
    return without_user(url) if urlsplit(url).path.strip("/") else of_site


class AskedUrl(NamedTuple):
    """A URL that is asked about."""

    url: str
    """As it is shown: without credentials."""
    where: str = ""
    """The file and line that it stands in; empty: it is an argument."""

    def refused(self, needed: str) -> CannotBeHadError:
        """Return the error that says where it stands, and what was needed instead."""
        where = f"{self.where}: " if self.where else ""
        return CannotBeHadError(f"{where}{shown(self.url)}: {needed}")


def read_urls(arguments: list[str], file: str | None) -> list[AskedUrl]:
    """Return the URLs that are meant: those named, and those in a file.

    ``-`` stands for those on standard input.
    """
    urls: list[AskedUrl] = []
    for argument in arguments:
        urls += _urls_in("-") if argument == "-" else [AskedUrl(_escaped(argument))]
    if file:
        urls += _urls_in(file)
    return [one._replace(url=without_user(one.url)) if is_url(one.url) else one for one in urls]


def _urls_in(source: str) -> list[AskedUrl]:
    """Return the lines of a file that are not blank."""
    lines = read_source(source).decode("utf-8", "surrogateescape").splitlines()
    return [
        AskedUrl(_escaped(line.strip()), f"{named(source)}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]


def robots_url_asked(asked: AskedUrl) -> str:
    """Return where the robots.txt of a URL's site is."""
    with suppress(ValueError):
        parts = urlsplit(asked.url)
        if is_url(asked.url) and parts.hostname:
            return robots_url(site_of(parts))
    raise asked.refused(_NEEDS_SITE)


def check_url_of_file(asked: AskedUrl) -> None:
    """Make sure that a file can be asked about a URL: an absolute one, or a path.

    What is neither, a host without a scheme most likely, no rule matches: it would seem allowed.
    """
    url = asked.url
    try:
        parts = urlsplit(url)
        is_absolute = bool(parts.scheme and parts.hostname) and split_url(url) is not None
    except ValueError:
        is_absolute = False
    if not is_absolute and (not url.startswith("/") or url.startswith("//")):
        raise asked.refused("this is no URL: it begins with https:// or with one slash")


def _escaped(url: str) -> str:
    """Return a URL without octets that are not UTF-8: they become escapes."""
    return "".join(
        f"%{ord(sign) - 0xDC00:02X}" if 0xDC80 <= ord(sign) <= 0xDCFF else sign  # noqa: PLR2004
        for sign in url
    )


def check_for_jinja() -> None:
    """Make sure that a page can be made, before anything is asked for."""
    if find_spec("jinja2") is None:
        raise CannotBeHadError(
            "--format html needs Jinja2: pip install 'scrapy-mandelbot[html]' brings it"
        )


def page_of(
    job: Invocation,
    rules: Rules,
    *,
    checked: dict[str, Any] | None = None,
    corrected: dict[str, Any] | None = None,
    told: dict[str, list[str]] | None = None,
) -> str:
    """Return the page about a robots.txt, with the reports that were made of it.

    `told` are the URLs to be tested, each with what there is to say of it besides.
    """
    from scrapy_mandelbot.robots.reports import fix_report as correction  # noqa: PLC0415 - not cheap
    from scrapy_mandelbot.robots.reports.robots_page import (  # noqa: PLC0415 - nor is this
        RobotsPageData,
        render,
    )

    job.terminal.progress(f"making the page of {rules.source}")
    dialect, max_bytes = job.dialect, job.max_bytes
    if corrected is None and rules.read(dialect, max_bytes)[0] is not None:
        corrected = correction.fix(rules.source, rules.body, dialect, max_bytes)
    subject = RobotsPageData(
        rules=rules,
        checked=checked or findings.check_rules(rules, max_bytes),
        corrected=corrected,
        dialect=dialect,
        agents=[job.agent] if isinstance(job.agent, str) else job.agent,
        max_bytes=max_bytes,
        told=told or {},
    )
    return render(subject, datetime.now(timezone.utc))


_NOBODY_WAITS = 10  # seconds (Moderatobot, "Robots.txt timeout")


def rules_on_disk(source: str) -> Rules:
    """Return the rules of a file, or of standard input."""
    return Rules(named(source), read_source(source), delivery=delivery_of_file(source))


def rules_from(job: Invocation, fetched: FetchedFile, delivery: Delivery | None) -> Rules:
    """Return the rules that a site's answer means, to a crawl of the project."""
    return Rules(fetched.wanted.url, fetched.body, fetched.answer, delivery, job.law)


def delivery_of(fetched: FetchedFile) -> Delivery:
    """Return how a file came. That it took longer than anyone waits is a finding."""
    seconds = fetched.seconds
    if fetched.failure is Failure.TIMED_OUT and fetched.wanted.timeout >= _NOBODY_WAITS:
        seconds = max(seconds, fetched.wanted.timeout)
        return Delivery(url=fetched.wanted.url, redirects=fetched.redirects, seconds=seconds)
    if fetched.failure is not None and fetched.content_encoding:
        return Delivery(
            url=fetched.wanted.url,
            redirects=fetched.redirects,
            content_encoding=fetched.content_encoding,
            encoded=False,
        )
    if fetched.failure is not None:
        raise CannotBeHadError(fetched.trouble)
    is_success = fetched.status in SUCCESS
    return Delivery(
        url=fetched.wanted.url,
        final_url=fetched.final_url,
        redirects=fetched.redirects,
        status=fetched.status,
        seconds=seconds,
        incomplete=fetched.is_incomplete,
        # Of an error page these say nothing about the file.
        content_type=fetched.content_type if is_success else None,
        content_encoding=fetched.content_encoding if is_success else None,
    )
