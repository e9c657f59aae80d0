"""Lines of a log, however its octets come: in pieces, packed, without an end."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from types import SimpleNamespace

import pytest

from scrapy_mandelbot.commands.audit_verb import pieces_of

LONGEST = 64 * 1024


class Pieces(io.RawIOBase):
    """A pipe whose other end writes one piece after the other."""

    def __init__(self, pieces) -> None:
        self._pieces = list(pieces)

    def readable(self) -> bool:
        return True

    def readinto(self, room) -> int:
        piece = self._pieces.pop(0) if self._pieces else b""
        room[: len(piece)] = piece
        return len(piece)


@pytest.fixture
def piped(monkeypatch):
    """Return the lines of standard input, given its pieces, as they are yielded."""

    def lines(*pieces) -> list[list[str]]:
        stdin = SimpleNamespace(buffer=io.BufferedReader(Pieces(pieces), 1 << 20))
        monkeypatch.setattr(sys, "stdin", stdin)
        return list(pieces_of("-", pytest.fail))

    return lines


def test_a_line_may_come_in_pieces(piped):
    """Nothing is yielded before a line is whole: the format is told by the first lines."""
    assert piped(b"10.0.0.1 - ", b"- x\r\n", b"y", b"z\n") == [["10.0.0.1 - - x"], ["yz"]]


@pytest.mark.parametrize("size", [1 << 20, 100_000, 7_000])
def test_a_line_that_is_too_long_is_an_empty_one(piped, size):
    """Wherever it is cut, at the end of the log too; the lines around it keep their numbers."""
    octets = b"a\n" + b"x" * (LONGEST + 9_000) + b"\nb\n" + b"y" * (3 * LONGEST + 40)
    found = piped(*(octets[at : at + size] for at in range(0, len(octets), size)))
    assert [line for lines in found for line in lines] == ["a", "", "b", ""]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_damaged_file_breaks_off(tmp_path, pack):
    """It is told, whatever packed it, and ends nothing but itself."""
    octets = bytearray(pack(b"".join(b"%d\n" % (number * 7919) for number in range(50_000))))
    middle = len(octets) // 2
    octets[middle : middle + 40] = b"\xff" * 40
    path = tmp_path / "access.log"
    path.write_bytes(octets)
    told: list[str] = []
    for _ in pieces_of(str(path), told.append):
        pass
    assert [text.partition("access.log: ")[2][:14] for text in told] == ["it breaks off:"]
