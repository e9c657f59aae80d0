"""The codings of a body (``Content-Encoding``), taken off as far as it goes. No Scrapy here."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy.http import Response

_MOST_CODINGS = 4  # one upon the other; nobody means more


class UnreadableBodyError(ConnectionError):
    """An answer has come that cannot be read: as if the connection had been lost."""

    packed: Response | None = None
    """The answer, where its body is not encoded as it says."""


class UnknownCodingError(UnreadableBodyError):
    """What it is encoded as is not known here; Scrapy may know, or leaves it as it came."""


class Unpacked(NamedTuple):
    """What was in a packed body."""

    body: bytes
    is_whole: bool
    """Whether all of it has come, or as much as was asked for."""


def codings_in(header: str) -> list[str]:
    """Return the codings that a ``Content-Encoding`` names, the last one first."""
    codings = [value.strip() for value in header.lower().split(",")]
    return [coding for coding in reversed(codings) if coding not in {"", "identity"}]


def unpack(body: bytes, codings: list[str], most_bytes: int) -> Unpacked:
    """Unpack a body as far as it goes, to so many bytes at most.

    Args:
        body: as it came. An empty one is as it should be: nothing was packed.
        codings: as :func:`codings_in` has them.
        most_bytes: that count, above zero.

    Raises:
        UnknownCodingError: one of the codings is not known here.
        UnreadableBodyError: the body is not encoded so.
    """
    if len(codings) > _MOST_CODINGS:
        raise UnknownCodingError(f"its body is encoded {len(codings)} times")
    is_whole = True
    for coding in codings:
        step = _CODINGS.get(coding)
        if step is None:
            raise UnknownCodingError(f"its body is encoded as {coding!r}")
        if body:
            body, has_ended = step(body, most_bytes)
            is_whole = is_whole and (has_ended or len(body) == most_bytes)
    return Unpacked(body, is_whole)


def _gunzip(body: bytes, most: int) -> tuple[bytes, bool]:
    # Most robots.txt files that come packed have been unpacked by Scrapy: few crawls need this.
    from scrapy_mandelbot.robots.sitemaps.problems import Problems  # noqa: PLC0415
    from scrapy_mandelbot.robots.sitemaps.unpacking import Gunzip, Inbox  # noqa: PLC0415

    packed, problems = Inbox(), Problems()
    packed.put(body)
    packed.close()
    unpacked_body = b"".join(iter(Gunzip(packed, b"", most, problems).read, b""))[:most]
    if not unpacked_body and "gzip-damaged" in problems:
        raise UnreadableBodyError("its body is no gzip data")
    # Whatever else follows is no part of it, and unpacks to nothing in Scrapy too.
    return unpacked_body, "gzip-damaged" not in problems and "gzip-cut" not in problems


def _undeflate(body: bytes, most: int) -> tuple[bytes, bool]:
    try:
        return _inflate(body, most, zlib.MAX_WBITS)
    except UnreadableBodyError:  # without its header, as some servers send it
        return _inflate(body, most, -zlib.MAX_WBITS)


def _inflate(body: bytes, most: int, window: int) -> tuple[bytes, bool]:
    one = zlib.decompressobj(window)
    pieces: list[bytes] = []
    try:
        while body and not one.eof and most > 0:
            pieces.append(one.decompress(body, most))
            most -= len(pieces[-1])
            body = one.unconsumed_tail
    except zlib.error as error:
        if not pieces:
            raise UnreadableBodyError(f"its body cannot be unpacked: {error}") from None
        return b"".join(pieces), False
    return b"".join(pieces), one.eof


_CODINGS = {"gzip": _gunzip, "x-gzip": _gunzip, "deflate": _undeflate}
ACCEPTED = "gzip, deflate"
"""What can be unpacked as far as it goes, if it is truncated or too long."""
