"""Checks of how a robots.txt comes: where from, how fast, as what.

Moderatobot, sections "File name and location" to "File format".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.lint.source import LintHit, quoted
from scrapy_mandelbot.robots.robotstxt.dialects import FIELDS
from scrapy_mandelbot.robots.robotstxt.records import RecordProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_mandelbot.robots.lint.source import Check, LintInput
    from scrapy_mandelbot.robots.robotstxt.records import Record

GOOGLES_LINE = 16_663
"""Bytes of a line that Google's parser reads."""

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SEPARATOR = re.compile("[\v\f\x85\u2028\u2029]")


#: What files begin with that are no text, by what they are; UTF-32 before UTF-16, which begins
#: like it.
_KINDS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"PK\x03\x04": "a zip file",
    b"\x89PNG": "a PNG image",
    b"GIF8": "a GIF image",
    b"\xff\xd8\xff": "a JPEG image",
    b"RIFF": "a WebP image, or another RIFF file",
    b"\0\0\1\0": "an icon",
    b"%PDF": "a PDF file",
}
_SAMPLE = 4096  # bytes at the beginning by which a file is judged
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_TOO_MANY = 10  # one in so many of these signs, and it is no text


def kind_of_binary(octets: bytes) -> str | None:
    """Return what a file is that is no text; None: it is text, or UTF-16 with its mark."""
    for begins, kind in _KINDS.items():
        if octets.startswith(begins):
            return kind
    if octets.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    sample = octets[:_SAMPLE]
    zeros = sample.count(b"\0")
    if zeros * 3 > len(sample):
        return "UTF-32" if zeros * 2 > len(sample) + 4 else "UTF-16 without its mark"
    return "no text" if len(_NO_TEXT.findall(sample)) * _TOO_MANY > len(sample) else None


def _check_end(source: LintInput) -> Check:
    """Whether the file breaks off within the name of a field."""
    last = source.outline.records[-1] if source.outline.records else None
    if (
        last is None
        or source.body[-1:] in {b"\n", b"\r"}
        or len(source.body) < len(source.octets) - 3
    ):
        return
    word = last.raw.strip().lower()
    if word and last.number > 1 and any(field.startswith(word) for field in FIELDS):
        message = f"The file breaks off after {quoted(last.raw.strip())}."
        yield LintHit("broken-off", last.number, message)


def check_octets(source: LintInput) -> Check:
    """What is wrong with the file as a whole."""
    octets, body = source.octets, source.body
    yield from _check_end(source)
    if source.is_html:
        begins = quoted(body.lstrip()[:40].decode("utf-8", "replace").splitlines()[0])
        yield LintHit("html-page", 1, f"The file is a web page, it begins with {begins}.")
    elif not any(record.field for record in source.outline.records):
        yield LintHit("empty-file", None, "There is no directive in the file.")
    if octets.startswith(b"\xef\xbb\xbf"):
        yield LintHit("byte-order-mark", 1, "The file begins with the byte-order mark of UTF-8.")
    elif octets.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield LintHit("utf-16", 1, "The file begins with the byte-order mark of UTF-16.")
    if source.max_bytes is not None and len(octets) > source.max_bytes:
        read = len(source.outline.records)
        message = f"Of {len(octets)} bytes {source.max_bytes} are read: nothing after line {read}."
        yield LintHit("too-large", read or None, message)
    yield from _check_line_ends(body)


def _check_line_ends(body: bytes) -> Check:
    both = body.count(b"\r\n")
    counts = {"CR LF": both, "LF": body.count(b"\n") - both, "CR": body.count(b"\r") - both}
    used = [f"{count} with {end}" for end, count in counts.items() if count]
    if len(used) > 1:
        yield LintHit("mixed-line-ends", None, f"Lines end in several ways: {', '.join(used)}.")
    elif counts["CR"]:
        yield LintHit("carriage-returns", None, "All lines end with CR alone.")


def check_characters(record: Record, source: LintInput) -> Check:
    """What is wrong with the characters of a line."""
    number, raw = record.number, record.raw
    if len(raw) > GOOGLES_LINE // 4:  # a character has up to four octets, an escape has three
        size = len(raw.encode("utf-8", "surrogatepass"))
        if size > GOOGLES_LINE:
            yield LintHit("long-line", number, f"The line has {size} bytes.")
    if RecordProblem.NOT_UTF8 in record.problems:
        yield LintHit(
            "not-utf-8", number, f"The line holds octets that are not UTF-8: {quoted(raw)}."
        )
    if raw.isprintable() or source.is_html:
        return
    control = _CONTROL.search(raw)
    if control:
        yield LintHit("control-character", number, f"There is a character {quoted(control[0])}.")
    separator = _SEPARATOR.search(raw.strip("\v\f"))
    if separator:
        message = f"There is {quoted(separator[0])} in the line, which ends no line."
        yield LintHit("odd-line-end", number, message)


_MANY_REDIRECTS, _FOLLOWED = 5, 10  # "makes up to 10 redirections" (Moderatobot)
_SLOW, _TOO_SLOW = 5.0, 10.0  # seconds
_CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd", "identity"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How a file came. What is not known is None, and not checked."""

    url: str | None = None
    """The URL that was asked for, or the name of a file."""
    final_url: str | None = None
    """The URL that answered, after redirects."""
    redirects: int = 0
    status: int | None = None
    """Of the last answer."""
    seconds: float | None = None
    """From the first request to the last byte."""
    incomplete: bool = False
    """Whether it broke off before its end."""
    content_type: str | None = None
    """The header's value; empty: there was none."""
    content_encoding: str | None = None
    """The header's value; empty: there was none."""
    encoded: bool = True
    """Whether the body is encoded as that header says."""
    in_capitals: bool = False
    """Whether there is a /ROBOTS.TXT where this one is not there."""


def check_delivery(delivery: Delivery) -> Check:
    """What is wrong with how the file came."""
    yield from _check_place(delivery)
    redirects, seconds = delivery.redirects, delivery.seconds
    is_redirect = delivery.status is not None and delivery.status // 100 == 3  # noqa: PLR2004
    if redirects > _FOLLOWED or (redirects == _FOLLOWED and is_redirect):
        yield LintHit("too-many-redirects", None, f"There are {redirects} redirects.")
    elif redirects >= _MANY_REDIRECTS:
        yield LintHit("many-redirects", None, f"There are {redirects} redirects.")
    if delivery.in_capitals:
        yield LintHit("only-in-capitals", None, "There is a /ROBOTS.TXT, and no /robots.txt.")
    if delivery.status is not None:
        yield from _check_status(delivery.status)
    if seconds is not None and seconds >= _SLOW:
        code = "slow" if seconds < _TOO_SLOW else "too-slow"
        yield LintHit(code, None, f"The file took {seconds:.1f} seconds.")
    if delivery.incomplete:
        yield LintHit("incomplete", None, "The file broke off before its end.")
    if delivery.content_type is not None:
        yield from _check_type(delivery.content_type)
    if delivery.content_encoding:
        yield from _check_encoding(delivery.content_encoding, is_so=delivery.encoded)


def _check_encoding(named: str, *, is_so: bool) -> Check:
    if not is_so:
        message = f"The Content-Encoding is {quoted(named)}, and the body cannot be decoded by it."
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
        yield LintHit("wrong-location", None, f"The file's name is {quoted(name)}, not robots.txt.")
    elif site and directory:
        message = f"The file is in {quoted(directory)}, not in the root directory."
        yield LintHit("wrong-location", None, message)
    elif site and urlsplit(delivery.url).query:
        message = f"{quoted(delivery.url)} has a query, which no robot asks for."
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


_STATUSES: tuple[tuple[str | None, Callable[[int], bool]], ...] = (
    (None, lambda status: status == HTTPStatus.OK),
    ("status-not-200", lambda status: 200 < status < 300),  # noqa: PLR2004 - ranges of HTTP
    ("unfinished-redirect", lambda status: 300 <= status < 400),  # noqa: PLR2004
    ("status-forbids", lambda status: status in {401, 403}),
    ("status-not-found", lambda status: status in {404, 410}),
    ("status-too-many-requests", lambda status: status == HTTPStatus.TOO_MANY_REQUESTS),
    ("status-client-error", lambda status: 400 <= status < 500),  # noqa: PLR2004
    ("status-server-error", lambda status: 500 <= status < 600),  # noqa: PLR2004
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
