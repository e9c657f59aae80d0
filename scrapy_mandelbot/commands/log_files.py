"""Access logs as they lie on a disk: plain, packed, or coming from standard input."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from scrapy_mandelbot.commands.sources import CannotBeHadError, named

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator

_PIECE = 1 << 20  # bytes
_LONGEST = 64 * 1024  # characters of a line; a server cuts what it is asked long before
_PACKED: dict[bytes, Callable[[BinaryIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""How files begin, and what unpacks them."""


def pieces_of(source: str, breaks_off: Callable[[str], None]) -> Iterator[list[str]]:
    """Yield the lines of a log, without their ends, some thousand at a time.

    Each octet is a character. A line that is too long is an empty one.

    Args:
        source: a file, or ``-``.
        breaks_off: is told why a packed file ends before its end; what was read of it counts.

    Raises:
        CannotBeHadError: it cannot be read.
    """
    try:
        file = sys.stdin.buffer if source == "-" else Path(source).open("rb")  # noqa: SIM115
        with file:
            yield from _lines(_unpacked(file), source, breaks_off)
    except OSError as error:
        raise CannotBeHadError(
            f"{named(source)}: {(error.strerror or str(error)).lower()}"
        ) from None


def _unpacked(file: BinaryIO) -> io.BufferedIOBase:
    """Return a file that is read as what is packed in it, whatever its name."""
    buffered = cast("io.BufferedReader", file)
    start = buffered.peek(8)
    for magic, unpack in _PACKED.items():
        if start.startswith(magic):
            return unpack(file)
    return buffered


def _lines(
    file: io.BufferedIOBase, source: str, breaks_off: Callable[[str], None]
) -> Iterator[list[str]]:
    rest, is_skipping = "", False
    while octets := _piece(file, source, breaks_off):
        lines = (rest + octets.decode("latin-1")).split("\n")
        rest = lines.pop()
        if is_skipping and lines:
            lines[0], is_skipping = "", False
        if len(rest) > _LONGEST:
            rest, is_skipping = "", True
        if lines:
            yield [line.rstrip("\r") if len(line) <= _LONGEST else "" for line in lines]
    if rest or is_skipping:
        yield ["" if is_skipping else rest.rstrip("\r")]


def _piece(file: io.BufferedIOBase, source: str, breaks_off: Callable[[str], None]) -> bytes:
    try:
        return file.read1(_PIECE)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if getattr(error, "errno", None) is not None:  # of the disk, and not of what is packed
            raise
        breaks_off(f"{named(source)}: it breaks off: {str(error).rstrip('.').lower()}")
        return b""
