"""Where a robots.txt comes from that is not asked for: a file, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit

from scrapy_mandelbot.commands.use import is_url
from scrapy_mandelbot.politeness import robots_url, site_of, without_user
from scrapy_mandelbot.robotstxt.lint import Delivery

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
    return "standard input" if source == "-" else source


def delivery_of_file(source: str) -> Delivery | None:
    """Return what a file's name says. Of a draft under another name it says nothing."""
    name = Path(source).name
    return Delivery(url=source) if name.lower() == "robots.txt" else None


def robots_url_of(url: str) -> str:
    """Return where the robots.txt of a URL's site is.

    Raises:
        CannotBeHadError: the URL has no site.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if not is_url(url) or not parts.hostname:
        raise CannotBeHadError(f"{url}: this is no URL with a site, as https://example.com/page")
    return robots_url(site_of(parts))


def url_to_check(url: str) -> str:
    """Return the URL that is meant, without credentials: of a bare site, its robots.txt.

    Raises:
        CannotBeHadError: the URL has no site.
    """
    of_site = robots_url_of(url)
    return without_user(url) if urlsplit(url).path.strip("/") else of_site


def read_urls(arguments: list[str], file: str | None) -> list[str]:
    """Return the URLs that are meant: those named, and those in a file.

    ``-`` stands for those on standard input.

    Raises:
        CannotBeHadError: the file cannot be read.
    """
    urls: list[str] = []
    for argument in arguments:
        urls += _urls_in("-") if argument == "-" else [argument]
    if file:
        urls += _urls_in(file)
    return [_escaped(without_user(url) if is_url(url) else url) for url in urls]


def _urls_in(source: str) -> list[str]:
    """Return the lines of a file that are not blank."""
    lines = read_source(source).decode("utf-8", "surrogateescape").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _escaped(url: str) -> str:
    """Return a URL without octets that are not UTF-8: they become escapes."""
    return "".join(
        f"%{ord(sign) - 0xDC00:02X}" if 0xDC80 <= ord(sign) <= 0xDCFF else sign  # noqa: PLR2004
        for sign in url
    )
