"""How verbs read files and URLs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from mandelbot.answers.meaning import GOES_BACK
from mandelbot.answers.outcome import Failure
from mandelbot.cli.output import UnavailableError, is_url
from mandelbot.cli.output.check_report import STANDARD_INPUT
from mandelbot.cli.output.rules_in_force import SUCCESS, Rules
from mandelbot.findings import Delivery
from mandelbot.formatting import shown
from mandelbot.origins import robots_url, site_of, without_user
from mandelbot.robotstxt.paths import split_url

if TYPE_CHECKING:
    from argparse import Namespace

    from mandelbot.cli.fetch import Fetched
    from mandelbot.cli.invocation import Invocation

_MOST = 64 * 1024 * 1024  # bytes; what is larger is no robots.txt, and may never end
_NOBODY_WAITS = 10  # seconds (Moderatobot, "Robots.txt timeout")


def rules_of(invocation: Invocation, source: str) -> Rules:
    """Return the robots.txt of a file, of standard input (``-``) or of a URL.

    Without a response, its ``trouble`` says why.
    """
    max_bytes = int(invocation.setting("robots_max_bytes"))
    if not is_url(source):
        # A file with another name may be a draft: its name says nothing of its
        # delivery.
        is_named_so = Path(source).name.lower() == "robots.txt"
        delivery = Delivery(url=source) if is_named_so else None
        body = read_source(source)
        return Rules(named(source), body, delivery=delivery, max_bytes=max_bytes)
    url = Url(source).robots_url
    if urlsplit(source).path.strip("/"):
        url = without_user(source)
    fetched = invocation.fetch(url)
    answer = fetched.answer
    delivery = _delivery_of(url, fetched)
    if answer.status in invocation.setting("pause_statuses"):
        answer = answer._replace(meaning=GOES_BACK)
    return Rules(url, fetched.body, answer, delivery, fetched.trouble, max_bytes)


def _delivery_of(url: str, fetched: Fetched) -> Delivery | None:
    """Return how a file was delivered.

    A timeout is a finding, if no robot waits longer.
    """
    delivery = Delivery(url=url, redirects=fetched.redirects)
    if fetched.failure is Failure.TIMED_OUT and fetched.seconds >= _NOBODY_WAITS:
        return replace(delivery, seconds=fetched.seconds)
    if fetched.failure is not None:
        coding = fetched.content_encoding
        if coding:
            return replace(delivery, content_encoding=coding, encoded=False)
        return None
    is_success = fetched.status in SUCCESS
    return replace(
        delivery,
        final_url=fetched.final_url,
        status=fetched.status,
        seconds=fetched.seconds,
        incomplete=fetched.is_incomplete,
        # Of an error page these say nothing about the file.
        content_type=fetched.headers.get("content-type", "") if is_success else None,
        content_encoding=fetched.content_encoding if is_success else None,
        encoded=fetched.is_encoded,
    )


def read_source(source: str) -> bytes:
    """Return the contents of a file, or of standard input (``-``)."""
    with errors_at(named(source)):
        if source == "-":
            return sys.stdin.buffer.read(_MOST)
        with Path(source).open("rb") as file:
            return file.read(_MOST)


def write_file(place: str | Path, text: str) -> None:
    """Write a file as a whole, or leave the one that is there.

    Raises UnavailableError if that is impossible.
    """
    from mandelbot.files import replace_file  # noqa: PLC0415 -- few verbs write

    with errors_at(place):
        replace_file(place, [text.encode()])


@contextmanager
def errors_at(place: str | Path) -> Iterator[None]:
    """Raise errors of the file system as UnavailableError, with the place."""
    try:
        yield
    except OSError as error:
        hint = ""
        if (
            isinstance(error, FileNotFoundError)
            and "." in str(place)
            and "/" not in str(place)
        ):
            hint = " (a URL begins with https:// or http://)"
        reason = (error.strerror or str(error)).lower()
        raise UnavailableError(f"{place}: {reason}{hint}") from None


def named(source: str) -> str:
    """Return the source as reports name it."""
    return STANDARD_INPUT if source == "-" else source


class Url(NamedTuple):
    """A URL, and where it was read."""

    url: str
    """Without credentials."""
    where: str = ""
    """The file and line; empty: it is an argument."""

    @property
    def robots_url(self) -> str:
        """Where the robots.txt of its site is."""
        with suppress(ValueError):
            parts = urlsplit(self.url)
            if is_url(self.url) and parts.hostname:
                return robots_url(site_of(parts))
        raise self._refused("this is no URL with a site, as https://example.com/page")

    def check_is_absolute(self) -> None:
        """Raise unless it is absolute, or a path.

        No rule matches anything else, mostly a host without its scheme: it would seem
        allowed.
        """
        is_absolute = False
        with suppress(ValueError):
            parts = urlsplit(self.url)
            is_absolute = (
                bool(parts.scheme and parts.hostname)
                and split_url(self.url) is not None
            )
        is_path = self.url.startswith("/") and not self.url.startswith("//")
        if not is_absolute and not is_path:
            raise self._refused(
                "this is no URL: it begins with https:// or with one slash"
            )

    def _refused(self, needed: str) -> UnavailableError:
        where = f"{self.where}: " if self.where else ""
        return UnavailableError(f"{where}{shown(self.url)}: {needed}")


def read_urls(opts: Namespace) -> list[Url]:
    """Return the URLs of the arguments (``-``: standard input), and those in a file."""
    urls: list[Url] = []
    for argument in opts.urls:
        urls += _urls_in("-") if argument == "-" else [Url(argument)]
    if opts.urls_file:
        urls += _urls_in(opts.urls_file)
    return [one._replace(url=_escaped(one.url)) for one in urls]


def _escaped(url: str) -> str:
    """Escape the octets of a URL that are not UTF-8, and remove credentials."""
    url = re.sub("[\udc80-\udcff]", lambda octet: f"%{ord(octet[0]) - 0xDC00:02X}", url)
    return without_user(url) if is_url(url) else url


def _urls_in(source: str) -> list[Url]:
    lines = read_source(source).decode("utf-8", "surrogateescape").splitlines()
    return [
        Url(line.strip(), f"{named(source)}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
