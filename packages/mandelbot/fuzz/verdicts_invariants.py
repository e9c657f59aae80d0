"""What Google's parser has decided stays decided, whatever is written around the rules.

Its verdicts are those of the corpus of real files (``corpus.py`` of the tests); without
one, of ``cases/google.py`` there. An input picks one of them by its first three octets,
and a place in its file and a way to end lines by the next three. The rest is written at
that place so that Google's parser passes it over: after ``#``, or after a field that it
does not know.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from cases import google
from corpus import CORPUS, read_files, read_verdicts

from mandelbot import RobotsTxt

PASSED_OVER = (b"# ", b"x-", b"X-Note: ", b"  \t#")
ENDS = (b"\n", b"\r\n", b"\r")
_LEAD = 6  # octets that pick


class GooglesVerdict(NamedTuple):
    """What was decided, and by which line; 0: by none, None: that is not known."""

    body: bytes
    agent: str | tuple[str, ...]
    url: str
    allowed: bool
    line: int | None


@cache
def known_verdicts() -> tuple[GooglesVerdict, ...]:
    """Return all of them, those of one file in a row."""
    if (CORPUS / "robots").is_dir():
        files = read_files()
        return tuple(
            GooglesVerdict(
                files[name], one["agent"], one["url"], one["allowed"], one["line"]
            )
            for name, verdicts in read_verdicts().items()
            for one in verdicts
        )
    return tuple(
        GooglesVerdict(case.octets, case.agent, url, allowed, dict(case.lines).get(url))
        for case in google.CASES
        if not case.gap
        for urls, allowed in ((case.allowed, True), (case.forbidden, False))
        for url in urls
    )


def google_verdicts(data: bytes) -> None:
    """Comments, unknown fields and other line ends change no verdict and no line."""
    verdicts = known_verdicts()
    known = verdicts[int.from_bytes(data[:3], "big") % len(verdicts)]
    place = int.from_bytes(data[3:5], "big")
    kind = int.from_bytes(data[5:_LEAD], "big")
    lines = known.body.splitlines()
    inserted = PASSED_OVER[kind % len(PASSED_OVER)] + b" ".join(
        data[_LEAD:].split(b"\n")
    )
    inserted = inserted.replace(b"\r", b" ")
    at = 1 + place % len(lines) if lines else 0  # behind a byte order mark
    end = ENDS[kind // len(PASSED_OVER) % len(ENDS)]
    changed = end.join([*lines[:at], inserted, *lines[at:]]) + end
    for body, moved in ((known.body, 0), (changed, 1)):
        robots = RobotsTxt.parse(body, dialect="google", max_bytes=None)
        verdict = robots.verdict(known.url, known.agent)
        line = verdict.rule.line if verdict.rule else 0
        expected = known.line and known.line + moved * (known.line > at)
        said = (
            f"{known.agent} {known.url}: {verdict}, Google's: {known.allowed} by"
            f" {expected}"
        )
        assert verdict.allowed == known.allowed, said
        assert expected in {None, line}, said
        assert robots.allowed(known.url, known.agent) == known.allowed, said


_NOISE = (
    b"",
    b"Disallow: /",
    b"User-agent: *",
    b"Allow: /\0Disallow: /",
    b"\xef\xbb\xbf:#",
    b"%s:" * 9,
)
_SEEDS = [
    bytes([0, number, 7 * number % 256, 0, number, number]) + noise
    for number in range(0, 36, 3)
    for noise in _NOISE
]
_WORDS = [
    b"Disallow: /",
    b"Allow: /",
    b"User-agent: *",
    b"Sitemap: ",
    b"#",
    b":",
    b"\0",
    b"\xff",
]

TARGETS = {"google-verdicts": (google_verdicts, _SEEDS, _WORDS)}
