"""Bodies whose Content-Encoding is not what the header says."""

from __future__ import annotations

import gzip
import zlib

import pytest

from mandelbot.answers.content_codings import (
    UnreadableBodyError,
    is_plain,
    unpack,
)

RULES = b"User-agent: *\nDisallow: /private\n"
RAW = zlib.compress(RULES, wbits=-15)


@pytest.mark.parametrize("codings", [["gzip"], ["x-gzip"], ["deflate"], ["gzip"] * 2])
@pytest.mark.parametrize("body", [RULES, "# é\r\n\t".encode() + RULES])
def test_plain_text_is_read_as_it_is(codings, body):
    """Whatever the label says: it is whole."""
    assert unpack(body, codings, 1000) == (body, True)
    assert unpack(body, codings, 1) == (body[:1], True)


@pytest.mark.parametrize(
    "body",
    [
        b"\0\1\2",
        b"\x1f\x8bno gzip, but long enough",
        RULES + b"\0",
        RULES.decode().encode("utf-16"),
        b"# caf\xe9\n" + RULES,
        b"Disallow: /",
    ],
)
def test_what_is_neither_text_nor_encoded_is_unreadable(body):
    """It is no file of rules, and must not open the site."""
    assert not is_plain(body)
    with pytest.raises(UnreadableBodyError):
        unpack(body, ["gzip"], 1000)


@pytest.mark.parametrize(
    ("codings", "body"),
    [
        (["gzip"], gzip.compress(RULES)),
        (["deflate"], zlib.compress(RULES)),
        (["deflate"], RAW),
    ],
)
def test_what_is_encoded_is_decoded(codings, body):
    """A truncated one as far as possible, and it is not whole."""
    assert not is_plain(body)
    assert unpack(body, codings, 1000) == (RULES, True)
    for end in range(1, len(body) - 2):
        try:
            unpacked = unpack(body[:end], codings, 1000)
        except UnreadableBodyError:
            continue
        assert not unpacked.is_whole, end
