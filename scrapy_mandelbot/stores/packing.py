"""Bodies as they are kept: deflated where that makes them smaller.

The first byte tells which. An unknown one is of a later version of the package.
"""

from __future__ import annotations

import zlib

_PLAIN = b"\x00"
_DEFLATED = b"\x01"
_WORTHWHILE = 100  # bytes; below, what deflating saves is not worth its time


def pack(body: bytes) -> bytes:
    """Return the body in the form in which it is kept."""
    if len(body) >= _WORTHWHILE:
        deflated = zlib.compress(body)
        if len(deflated) < len(body):
            return _DEFLATED + deflated
    return _PLAIN + body


def unpack(packed: bytes) -> bytes:
    """Return the body.

    Raises:
        ValueError: the bytes are damaged, or nothing that this version knows.
    """
    if packed[:1] == _PLAIN:
        return packed[1:]
    if packed[:1] == _DEFLATED:
        try:
            return zlib.decompress(packed[1:])
        except zlib.error as error:
            raise ValueError(f"a damaged body: {error}") from None
    raise ValueError(f"a body in an unknown form: {packed[:1]!r}")
