"""What counts of a body that was cut."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.fetching.limits import whole_lines


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
