"""The codings of a body (``Content-Encoding``), taken off as far as it goes. No Scrapy here."""

from __future__ import annotations

import zlib
from contextlib import suppress
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_MOST_MEMBERS = 100  # of gzip data that are read; each of them costs a copy of the rest
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
    parts: list[bytes] = []
    left = most
    for member in count(1):
        part, has_ended, rest = _inflate(body, left, _GZIP, has_begun=bool(parts))
        parts.append(part)
        left -= len(part)
        # Whatever else follows is no part of it, and unpacks to nothing in Scrapy too.
        if not has_ended or left <= 0 or member == _MOST_MEMBERS or rest[:2] != _GZIP_MAGIC:
            break
        body = rest
    return b"".join(parts), has_ended


def _inflate(
    body: bytes, most: int, window: int, *, has_begun: bool = False
) -> tuple[bytes, bool, bytes]:
    one = zlib.decompressobj(window)
    pieces: list[bytes] = []
    try:
        while body and not one.eof and most > 0:
            pieces.append(one.decompress(body, most))
            most -= len(pieces[-1])
            body = one.unconsumed_tail
    except zlib.error as error:
        if not pieces and not has_begun:
            raise UnreadableBodyError(f"its body cannot be unpacked: {error}") from None
        return b"".join(pieces), False, b""
    return b"".join(pieces), one.eof, one.unused_data


def _undeflate(body: bytes, most: int) -> tuple[bytes, bool]:
    try:
        return _inflate(body, most, zlib.MAX_WBITS)[:2]
    except UnreadableBodyError:  # without its header, as some servers send it
        return _inflate(body, most, -zlib.MAX_WBITS)[:2]


def _unbrotli(body: bytes, most: int) -> tuple[bytes, bool]:
    brotli: Any = _module("brotli", "brotlicffi")
    one = brotli.Decompressor()
    pieces: list[bytes] = []
    try:
        while most > 0 and not one.is_finished():
            piece = one.process(body, output_buffer_limit=most)
            if not piece:
                break
            pieces.append(piece)
            most, body = most - len(piece), b""
    except TypeError:  # before 1.2 it knows no limit
        raise UnknownCodingError("its body cannot be unpacked by this version of brotli") from None
    except brotli.error as error:
        raise UnreadableBodyError(f"its body cannot be unpacked: {error}") from None
    return b"".join(pieces), one.is_finished()


def _unzstd(body: bytes, most: int) -> tuple[bytes, bool]:
    zstd: Any = _module("compression.zstd", "backports.zstd")
    one = zstd.ZstdDecompressor()
    try:
        return one.decompress(body, max_length=most), one.eof
    except zstd.ZstdError as error:
        raise UnreadableBodyError(f"its body cannot be unpacked: {error}") from None


def _module(*names: str) -> Any:
    for name in names:
        with suppress(ImportError):
            return import_module(name)
    raise UnknownCodingError(f"its body cannot be unpacked without {names[-1]}")


_CODINGS: dict[str, Callable[[bytes, int], tuple[bytes, bool]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
