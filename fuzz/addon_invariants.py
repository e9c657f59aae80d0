"""What must hold for any refusal and any stored body: targets of the library's runner.

Usage::

    python packages/mandelbot/fuzz/run.py 60 fuzz
"""

from __future__ import annotations

from scrapy import Request
from scrapy.http import Response

from scrapy_mandelbot.downloadermiddlewares.refusals import Refusals
from scrapy_mandelbot.store import pack, unpack

MOST_SAID = 300  # characters of a type or title, escapes included


def problem_details(data: bytes) -> None:
    """Of any body the rest of a log line is made, of bounded length."""
    request = Request("https://example.com/")
    answer = Response(request.url, 429, body=data)
    said = Refusals.problem(answer)
    assert said.isprintable() or not said, said
    assert len(said) < 2 * MOST_SAID, said


def packing(data: bytes) -> None:
    """What was packed comes back; anything else raises ValueError or is a body."""
    packed = pack(data)
    assert unpack(packed) == data
    assert len(packed) <= len(data) + 1
    try:
        unpack(data)
    except ValueError:
        return


PROBLEM_SEEDS = [
    (
        b'{"type": "https://example.com/p", "title": "Too many\\nrequests\\u001b[31m",'
        b' "status": 429}'
    ),
    b'{"type": {"type": ["a"]}, "title": 1e999}',
    b'["title"]',
    b"[" * 1_500,
    b'{"title": "' + b"a" * 500 + b'\\ud800"}',
]
PROBLEM_WORDS = [
    b'"title": ',
    b'"type": ',
    b"{",
    b"[",
    b"\\u202e",
    b"\\n",
    b"null",
    b"NaN",
]
PACKING_SEEDS = [b"", b"a", b"ab" * 100, b"\x00plain", b"\x01\x78\x9c\x03\x00", b"\x02"]

TARGETS = {
    "problem-details": (problem_details, PROBLEM_SEEDS, PROBLEM_WORDS),
    "packing": (packing, PACKING_SEEDS, []),
}
