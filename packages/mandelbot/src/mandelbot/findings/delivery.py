"""Checks of how a robots.txt comes: where from, how fast, as what.

Moderatobot, sections "File name and location" to "File format".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mandelbot.findings.source import LintHit, quoted
from mandelbot.formatting import shown

if TYPE_CHECKING:
    from mandelbot.findings.source import Check

# Moderatobot "makes up to 10 redirections".
_MANY_REDIRECTS = 5
_FOLLOWED = 10
# seconds
_SLOW = 5.0
_TOO_SLOW = 10.0
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd", "identity"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How a file was delivered. None: unknown, and not checked.

    >>> from mandelbot import Delivery
    >>> Delivery(status=200, seconds=1.2).redirects
    0
    """

    url: str | None = None
    """The URL requested, or the name of a file."""
    final_url: str | None = None
    """The URL after redirects."""
    redirects: int = 0
    status: int | None = None
    """Of the last response."""
    seconds: float | None = None
    """From the first request to the last byte."""
    incomplete: bool = False
    """Whether the body was truncated."""
    content_type: str | None = None
    """The header's value; empty: there was none."""
    content_encoding: str | None = None
    """The header's value; empty: there was none."""
    encoded: bool = True
    """Whether the body is encoded as that header says."""
    in_capitals: bool = False
    """Whether there is a /ROBOTS.TXT instead."""


def check_delivery(delivery: Delivery) -> Check:
    """What is wrong with how the file came."""
    yield from _check_place(delivery)
    redirects = delivery.redirects
    seconds = delivery.seconds
    is_redirect = delivery.status is not None and delivery.status // 100 == 3  # noqa: PLR2004
    if redirects > _FOLLOWED or (redirects == _FOLLOWED and is_redirect):
        yield LintHit("too-many-redirects", None, f"There are {redirects} redirects.")
    elif redirects >= _MANY_REDIRECTS:
        yield LintHit("many-redirects", None, f"There are {redirects} redirects.")
    if delivery.in_capitals:
        yield LintHit(
            "only-in-capitals", None, "There is a /ROBOTS.TXT, and no /robots.txt."
        )
    if delivery.status is not None:
        yield from _check_status(delivery.status)
    if seconds is not None and seconds >= _SLOW:
        code = "slow" if seconds < _TOO_SLOW else "too-slow"
        yield LintHit(code, None, f"The file took {seconds:.1f} seconds.")
    if delivery.incomplete:
        yield LintHit("incomplete", None, "The download was truncated.")
    if delivery.content_type is not None:
        yield from _check_type(delivery.content_type)
    if delivery.content_encoding:
        yield from _check_encoding(delivery.content_encoding, is_so=delivery.encoded)


def _check_encoding(named: str, *, is_so: bool) -> Check:
    if not is_so:
        message = (
            f"The Content-Encoding is {quoted(named)}, but the body cannot be decoded"
            " with it."
        )
        yield LintHit("not-encoded", None, message)
    for coding in map(str.strip, named.split(",")):
        if coding and coding.lower() not in _CODINGS:
            message = f"The Content-Encoding is {quoted(coding)}."
            yield LintHit("unknown-content-encoding", None, message)


def _check_place(delivery: Delivery) -> Check:
    if delivery.url is None:
        return
    asked = _split(delivery.url)
    if asked is None:
        yield LintHit("wrong-location", None, f"{quoted(delivery.url)} is no URL.")
        return
    site, path = asked
    directory, _, name = path.rpartition("/")
    if name.lower() != "robots.txt":
        yield LintHit(
            "wrong-location",
            None,
            f"The file's name is {quoted(name)}, not robots.txt.",
        )
    elif site and directory:
        message = f"The file is in {quoted(directory)}, not in the root directory."
        yield LintHit("wrong-location", None, message)
    elif site and urlsplit(delivery.url).query:
        message = f"{quoted(delivery.url)} has a query; robots fetch none."
        yield LintHit("wrong-location", None, message)
    elif name != "robots.txt":
        yield LintHit("name-in-capitals", None, f"The file's name is {quoted(name)}.")
    final = _split(delivery.final_url) if delivery.final_url else None
    if site and final and final[0] != site:
        message = f"The file of {shown(site)} comes from {shown(final[0])}."
        yield LintHit("other-site", None, message)


def _split(url: str) -> tuple[str, str] | None:
    """Return scheme, host and port, empty for the name of a file; and the path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if not parts.netloc:
        return "", url.replace("\\", "/")  # the name of a file
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower(), parts.path


def _check_status(status: int) -> Check:
    row = next((code for code, takes in _STATUSES if takes(status)), None)
    if row is not None:
        try:
            words = f"{status} {HTTPStatus(status).phrase}"
        except ValueError:
            words = str(status)
        yield LintHit(row, None, f"The status is {words}.")


_SUCCESSES = range(201, 300)
_REDIRECTS = range(300, 400)
_CLIENT_ERRORS = range(400, 500)
_SERVER_ERRORS = range(500, 600)
_STATUSES: tuple[tuple[str | None, Callable[[int], bool]], ...] = (
    (None, lambda status: status == HTTPStatus.OK),
    ("status-not-200", lambda status: status in _SUCCESSES),
    ("unfinished-redirect", lambda status: status in _REDIRECTS),
    ("status-forbids", lambda status: status in {401, 403}),
    ("status-not-found", lambda status: status in {404, 410}),
    ("status-too-many-requests", lambda status: status == HTTPStatus.TOO_MANY_REQUESTS),
    ("status-client-error", lambda status: status in _CLIENT_ERRORS),
    ("status-server-error", lambda status: status in _SERVER_ERRORS),
    ("status-unknown", lambda _: True),
)


def _check_type(content_type: str) -> Check:
    kind, *parameters = (part.strip() for part in content_type.split(";"))
    if not kind:
        yield LintHit("no-content-type", None, "The answer has no Content-Type.")
    elif kind.lower() != "text/plain":
        yield LintHit("not-text-plain", None, f"The Content-Type is {quoted(kind)}.")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        charset = value.strip().strip("\"'")
        if name.strip().lower() == "charset" and charset.lower() not in _CHARSETS:
            message = f"The Content-Type says that the file is {quoted(charset)}."
            yield LintHit("charset-not-utf-8", None, message)
