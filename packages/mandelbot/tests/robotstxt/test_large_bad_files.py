"""Whatever a file has wrong, half a megabyte of it is checked in linear time.

In each encoding that occurs: UTF-8, Latin-1, UTF-16, and with NULs.
"""

from __future__ import annotations

import time

import pytest
from cases import findings, findings_elsewhere
from robotstxt.test_dead_rules import WRONG

from mandelbot import DIALECTS, RobotsTxt, usage
from mandelbot.findings import FINDINGS, lint

SIZE = 512_000  # bytes
SECONDS = 10.0  # of processor time, several times what is needed
ENCODED = {
    "UTF-8": lambda text: text.encode(),
    "Latin-1": lambda text: f"{text}# \xe9\n".encode("latin-1", "replace"),
    "UTF-16": lambda text: f"{text}# \xe9\n".encode("utf-16-le"),
    "NULs": lambda text: text.replace("a", "a\0").replace("\n", "\0\n").encode(),
}
STARTS = {"UTF-16": b"\xff\xfe"}
BODIES = [
    *(
        case.body if isinstance(case.body, str) else case.body.decode("latin-1")
        for case in (*findings.CASES, *findings_elsewhere.CASES)
    ),
    *(
        text if isinstance(text, str) else text.decode("latin-1")
        for text, _, _ in WRONG
    ),
]
EVERY = 130


def large(text: str, encoding: str) -> bytes:
    """Return a file of this text, again and again."""
    lines = ENCODED[encoding](f"{text}\n")
    return STARTS.get(encoding, b"") + lines * (SIZE // len(lines))


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODED)
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, marks=[pytest.mark.thorough] * (number % EVERY > 0))
        for number in range(len(BODIES))
    ],
)
def test_half_a_megabyte_of_any_mistake_is_checked(number, encoding):
    """Findings, sitemaps and the use of pages; no exception, and lines that exist."""
    body = large(BODIES[number], encoding)
    start = time.process_time()
    found = lint(body)
    robots = RobotsTxt.parse(body)
    robots.sitemaps  # noqa: B018
    usage(robots, "https://example.com/a", "Examplebot")
    for dialect in DIALECTS:
        RobotsTxt.parse(body, dialect=dialect).allowed("/a", "Googlebot")
    assert time.process_time() - start < SECONDS
    assert len(found) < 50 * len(FINDINGS)
    lines = len(robots.records)
    assert all(one.line is None or 0 < one.line <= lines + 1 for one in found)
