"""The form of a robots.txt's body in a store: deflated, where that is worth it."""

from __future__ import annotations

import zlib

_PLAIN = b"\x00"
_DEFLATED = b"\x01"
LONGEST_BODY = 16 * 1024 * 1024  # bytes; what is longer no crawl has put there
_WORTHWHILE = 750  # bytes; below, what deflating saves is not worth its time


def pack(body: bytes) -> bytes:
    if len(body) >= _WORTHWHILE:
        deflated = zlib.compress(body)
        if len(deflated) < len(body):
            return _DEFLATED + deflated
    return _PLAIN + body


def unpack(packed: bytes) -> bytes:
    """Return the body; a ValueError: it is damaged, too long, or in an unknown form."""
    if packed[:1] == _DEFLATED:
        inflating = zlib.decompressobj()
        try:
            body = inflating.decompress(packed[1:], LONGEST_BODY)
        except zlib.error as error:
            raise ValueError(f"a damaged body: {error}") from None
        if inflating.eof:
            return body
        raise ValueError("a damaged body: truncated, or longer than any that is stored")
    if packed[:1] == _PLAIN and len(packed) <= LONGEST_BODY:
        return packed[1:]
    raise ValueError(f"a body in an unknown form: {packed[:1]!r}")
