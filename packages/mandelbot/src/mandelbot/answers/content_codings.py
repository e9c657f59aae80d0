"""Decodes bodies (``Content-Encoding``), truncated ones as far as possible.

Needs no Scrapy.
"""

from __future__ import annotations

import re
import zlib
from typing import Any, NamedTuple

_MOST_CODINGS = 4  # of one body; more is an attack


class UnreadableBodyError(ConnectionError):
    """The response cannot be decoded; it counts as a lost connection."""

    packed: Any = None
    """The response of a framework, if its Content-Encoding is wrong."""


class UnknownCodingError(UnreadableBodyError):
    """The coding is not supported here.

    Scrapy may decode it, or passes it on encoded.
    """


class Unpacked(NamedTuple):
    """A decoded body."""

    body: bytes
    is_whole: bool
    """Whether it is complete, or as long as the limit."""


def codings_in(header: str) -> list[str]:
    """Return the codings of a ``Content-Encoding`` header, the last applied first."""
    codings = [value.strip() for value in header.lower().split(",")]
    return [coding for coding in reversed(codings) if coding not in {"", "identity"}]


def unpack(body: bytes, codings: list[str], most_bytes: int) -> Unpacked:
    """Decode a body as far as possible.

    Args:
        body: the encoded bytes; empty ones need no decoding.
        codings: as :func:`codings_in` returns them.
        most_bytes: the limit of the result, above zero.

    Raises:
        UnknownCodingError: a coding is not supported.
        UnreadableBodyError: the body is neither encoded that way nor plain text.
    """
    if len(codings) > _MOST_CODINGS:
        raise UnknownCodingError(f"its body is encoded {len(codings)} times")
    is_whole = True
    for coding in codings:
        step = _CODINGS.get(coding)
        if step is None:
            raise UnknownCodingError(f"its body is encoded as {coding!r}")
        if not body:
            continue
        try:
            decoded, has_ended = step(body, most_bytes)
        except UnreadableBodyError:
            if not is_plain(body):
                raise
            continue
        if not has_ended and is_plain(body):
            continue
        body = decoded
        is_whole = is_whole and (has_ended or len(body) == most_bytes)
    return Unpacked(body[:most_bytes], is_whole)


_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_SHORTEST = 16  # bytes: fewer of encoded data may look like text by chance


def is_plain(body: bytes) -> bool:
    """Return whether a body is text as it is, whatever its Content-Encoding says.

    Some servers name a coding that they do not apply. Encoded data has control
    characters, of gzip the first one, and is no UTF-8.
    """
    if len(body) < _SHORTEST or _NO_TEXT.search(body):
        return False
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _gunzip(body: bytes, most: int) -> tuple[bytes, bool]:
    # Imported late: Scrapy decodes most files, so few crawls need this.
    from mandelbot.sitemaps.problems import Problems  # noqa: PLC0415
    from mandelbot.sitemaps.unpacking import Gunzip, Inbox  # noqa: PLC0415

    packed = Inbox()
    problems = Problems()
    packed.put(body)
    packed.close()
    unpacked_body = b"".join(iter(Gunzip(packed, b"", most, problems).read, b""))[:most]
    if not unpacked_body and "gzip-damaged" in problems:
        raise UnreadableBodyError("its body is no gzip data")
    # Trailing bytes are not part of the body; Scrapy ignores them, too.
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
"""Codings that can be decoded in part, if the body is truncated or too long."""
