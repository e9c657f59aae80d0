"""From files and responses to the rules that reports are about."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from scrapy_mandelbot.commands.output import check_report as findings
from scrapy_mandelbot.commands.output.check_report import STANDARD_INPUT
from scrapy_mandelbot.commands.output.rules_in_force import SUCCESS, Rules
from scrapy_mandelbot.commands.output.terminal_text import is_url
from scrapy_mandelbot.commands.terminal import UnavailableError
from scrapy_mandelbot.politeness.outcome import Failure
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.lint import Delivery
from scrapy_mandelbot.robots.origins import robots_url, site_of, without_user
from scrapy_mandelbot.robots.robotstxt.paths import split_url

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.fetch import Fetched
    from scrapy_mandelbot.commands.invocation import Invocation

_NEEDS_SITE = "this is no URL with a site, as https://example.com/page"
_MOST = 64 * 1024 * 1024  # bytes; what is larger is no robots.txt, and may never end


def read_source(source: str) -> bytes:
    """Return the contents of a file, or of standard input (``-``)."""
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
        raise UnavailableError(f"{named(source)}: {reason}{hint}") from None


def named(source: str) -> str:
    """Return the source as a person names it."""
    return STANDARD_INPUT if source == "-" else source


def delivery_of_file(source: str) -> Delivery | None:
    """Return what the name of a file says of its delivery; nothing, if it is a draft's."""
    name = Path(source).name
    return Delivery(url=source) if name.lower() == "robots.txt" else None


def robots_url_of(url: str) -> str:
    """Return where the robots.txt of a URL's site is."""
    return robots_url_asked(AskedUrl(url))


def url_to_check(url: str) -> str:
    """Return the URL to fetch, without credentials; of a bare site, its robots.txt."""
    of_site = robots_url_of(url)
    return without_user(url) if urlsplit(url).path.strip("/") else of_site


class AskedUrl(NamedTuple):
    """A URL that is asked about."""

    url: str
    """As it is shown: without credentials."""
    where: str = ""
    """The file and line that it stands in; empty: it is an argument."""

    def refused(self, needed: str) -> UnavailableError:
        """Return the error that says where the URL stands, and what is needed instead."""
        where = f"{self.where}: " if self.where else ""
        return UnavailableError(f"{where}{shown(self.url)}: {needed}")


def read_urls(arguments: list[str], file: str | None) -> list[AskedUrl]:
    """Return the URLs that are named, and those in a file; ``-`` is standard input."""
    urls: list[AskedUrl] = []
    for argument in arguments:
        urls += _urls_in("-") if argument == "-" else [AskedUrl(_escaped(argument))]
    if file:
        urls += _urls_in(file)
    return [one._replace(url=without_user(one.url)) if is_url(one.url) else one for one in urls]


def _urls_in(source: str) -> list[AskedUrl]:
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
    """Raise unless a URL is absolute, or a path.

    No rule matches anything else, mostly a host without its scheme: it would seem allowed.
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
    """Escape the octets of a URL that are not UTF-8."""
    return "".join(
        f"%{ord(sign) - 0xDC00:02X}" if 0xDC80 <= ord(sign) <= 0xDCFF else sign  # noqa: PLR2004
        for sign in url
    )


def page_of(
    invocation: Invocation,
    rules: Rules,
    *,
    checked: dict[str, Any] | None = None,
    corrected: dict[str, Any] | None = None,
    told: dict[str, list[str]] | None = None,
) -> str:
    """Return the page about a robots.txt, with the reports that were made of it.

    `told` are the URLs to be tested, each with what there is to say of it besides.
    """
    from scrapy_mandelbot.commands.output import fix_report as correction  # noqa: PLC0415 - not cheap
    from scrapy_mandelbot.commands.output.robots_page import (  # noqa: PLC0415 - nor is this
        RobotsPageData,
        render,
    )

    invocation.terminal.progress(f"making the page of {rules.source}")
    dialect, max_bytes = invocation.dialect, invocation.max_bytes
    if corrected is None and rules.read(dialect, max_bytes)[0] is not None:
        corrected = correction.fix(rules.source, rules.body, dialect, max_bytes)
    subject = RobotsPageData(
        rules=rules,
        checked=checked or findings.check_rules(rules, max_bytes),
        corrected=corrected,
        dialect=dialect,
        agents=[invocation.agent] if isinstance(invocation.agent, str) else invocation.agent,
        max_bytes=max_bytes,
        told=told or {},
    )
    return render(subject, datetime.now(timezone.utc))


_NOBODY_WAITS = 10  # seconds (Moderatobot, "Robots.txt timeout")


def rules_on_disk(source: str) -> Rules:
    """Return the rules of a file, or of standard input."""
    return Rules(named(source), read_source(source), delivery=delivery_of_file(source))


def rules_from(invocation: Invocation, fetched: Fetched, delivery: Delivery | None) -> Rules:
    """Return the rules that a response means to a crawl of the project."""
    return Rules(fetched.url, fetched.body, fetched.answer, delivery, invocation.law)


def delivery_of(fetched: Fetched) -> Delivery:
    """Return how a file was delivered. A timeout is a finding, if no robot waits longer."""
    seconds = fetched.seconds
    if fetched.failure is Failure.TIMED_OUT and fetched.timeout >= _NOBODY_WAITS:
        seconds = max(seconds, fetched.timeout)
        return Delivery(url=fetched.url, redirects=fetched.redirects, seconds=seconds)
    if fetched.failure is not None and fetched.content_encoding:
        return Delivery(
            url=fetched.url,
            redirects=fetched.redirects,
            content_encoding=fetched.content_encoding,
            encoded=False,
        )
    if fetched.failure is not None:
        raise UnavailableError(fetched.trouble)
    is_success = fetched.status in SUCCESS
    return Delivery(
        url=fetched.url,
        final_url=fetched.final_url,
        redirects=fetched.redirects,
        status=fetched.status,
        seconds=seconds,
        incomplete=fetched.is_incomplete,
        # Of an error page these say nothing about the file.
        content_type=fetched.content_type if is_success else None,
        content_encoding=fetched.content_encoding if is_success else None,
    )
