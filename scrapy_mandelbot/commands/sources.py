"""Where a robots.txt comes from that is not asked for: a file, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from scrapy_mandelbot.robots.lint import Delivery
from scrapy_mandelbot.robots.origins import robots_url, site_of, without_user
from scrapy_mandelbot.robots.reports.check_report import STANDARD_INPUT
from scrapy_mandelbot.robots.reports.terminal_text import is_url
from scrapy_mandelbot.robots.robotstxt.paths import split_url
from scrapy_mandelbot.robots.shown import shown

_NEEDS_SITE = "this is no URL with a site, as https://example.com/page"
_MOST = 64 * 1024 * 1024  # bytes; what is larger is no robots.txt, and may never end


class CannotBeHadError(Exception):
    """What was asked for cannot be had; the message is the line that a person reads."""


def read_source(source: str) -> bytes:
    """Return what is in a file, or comes from standard input (``-``).

    Raises:
        CannotBeHadError: there is no such file, or it cannot be read.
    """
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
    """Return where the robots.txt of a URL's site is.

    Raises:
        CannotBeHadError: the URL has no site.
    """
    return robots_url_asked(AskedUrl(url))


def _robots_url(url: str) -> str | None:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return robots_url(site_of(parts)) if is_url(url) and parts.hostname else None


def url_to_check(url: str) -> str:
    """Return the URL that is meant, without credentials: of a bare site, its robots.txt.

    Raises:
        CannotBeHadError: the URL has no site.
    """
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

    Raises:
        CannotBeHadError: the file cannot be read.
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
    """Return where the robots.txt of a URL's site is.

    Raises:
        CannotBeHadError: the URL has no site.
    """
    found = _robots_url(asked.url)
    if found is None:
        raise asked.refused(_NEEDS_SITE)
    return found


def check_url_of_file(asked: AskedUrl) -> None:
    """Make sure that a file can be asked about a URL: an absolute one, or a path.

    What is neither, a host without a scheme most likely, no rule matches: it would seem allowed.

    Raises:
        CannotBeHadError: it is neither.
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
