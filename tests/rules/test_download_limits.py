"""What counts of a body that was cut."""

from __future__ import annotations

import gzip
import zlib

import pytest
from scrapy.http import Response

from scrapy_mandelbot.robots.outcome import Failure
from scrapy_mandelbot.rules.download_limits import UnreadableBodyError, unpacked, whole_lines
from scrapy_mandelbot.rules.failures import failure_of


@pytest.mark.parametrize(
    ("body", "counts"),
    [
        (b"", b""),
        (b"Disallow: /pri", b""),
        (b"Disallow: /a\nDisallow: /pri", b"Disallow: /a\n"),
        (b"Disallow: /a\rDisallow: /pri", b"Disallow: /a\r"),
        (b"Disallow: /a\r\n", b"Disallow: /a\r\n"),
        (b"x" * 500_000 + b"\nDisallow: /pri", b"x" * 500_000 + b"\n"),
    ],
)
def test_half_a_line_is_no_rule(body, counts):
    """``Disallow: /pri`` of ``/private-files`` would close more, an Allow would open more."""
    assert whole_lines(body) == counts


def raw_deflate(body: bytes) -> bytes:
    """Return it packed without zlib's header, as some servers send it."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def packed(body: bytes, coding: str = "gzip") -> Response:
    headers = {"Content-Encoding": coding, "ETag": "x"}
    return Response("https://example.com/robots.txt", 200, headers, body)


@pytest.mark.parametrize(
    ("pack", "coding"),
    [
        (gzip.compress, "gzip"),
        (gzip.compress, "X-GZIP"),
        (zlib.compress, "deflate"),
        (raw_deflate, "deflate"),
        (lambda body: gzip.compress(zlib.compress(body)), "deflate, gzip"),
    ],
)
def test_of_a_compressed_body_as_much_is_unpacked_as_counts(pack, coding):
    """However much there is, no more than that is ever held."""
    response = unpacked(packed(pack(b"a" * 50_000_000), coding), 1_000)
    assert response.body == b"a" * 1_000
    assert (response.headers.get("ETag"), response.headers.get("Content-Encoding")) == (b"x", None)


@pytest.mark.parametrize("body", [b"brotli, or anything", b"\x1f\x8b\xff" * 9])
def test_what_cannot_be_unpacked_is_an_answer_that_was_lost(body):
    """Nobody knows what it says: its site is asked again, and nothing is crawled meanwhile."""
    with pytest.raises(UnreadableBodyError) as raised:
        unpacked(packed(body), 1_000)
    assert failure_of(raised.value) is Failure.LOST


@pytest.mark.parametrize("body", [b"", gzip.compress(b"a" * 9)[:9]])
def test_what_ends_too_early_is_unpacked_as_far_as_it_goes(body):
    """Here: nowhere."""
    assert unpacked(packed(body), 1_000).body == b""
