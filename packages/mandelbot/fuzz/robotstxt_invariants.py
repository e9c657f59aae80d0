"""What must hold for any bytes that are read as a robots.txt, in every dialect.

An input is a robots.txt; its first octet picks the dialect, its last line is taken for
a path.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import robotstxt_reference as reference

from mandelbot import RobotsTxt, lint, normalize
from mandelbot.fix import prove
from mandelbot.robotstxt import decider, index
from mandelbot.robotstxt.dialects import DIALECTS, Dialect
from mandelbot.robotstxt.paths import read_url
from mandelbot.robotstxt.sitemap_lines import urls_of

ROBOTS = ("bot", "b-t", "other")
PATHS = ("/", "/a", "/a/b?c", "/robots.txt", "/index.html", "/%C3%A9")
SITE = "https://www.example.com"


def read_input(data: bytes) -> tuple[bytes, Any, list[str]]:
    """Return the file, its dialect, and the URLs that are asked for."""
    dialects = list(DIALECTS.values())
    body = data[1:]
    dialect = dialects[(data[0] if data else 0) % len(dialects)]
    path = body.rpartition(b"\n")[2].decode("utf-8", "replace")
    return body, dialect, [SITE + one for one in (*PATHS, "/" + path)]


def decisions(data: bytes) -> None:
    """Answers and lines are those of the slow reference; the hot path answers alike."""
    body, dialect, urls = read_input(data)
    robots = RobotsTxt.parse(body, dialect=dialect)
    for robot in ROBOTS:
        for url in urls:
            target = read_url(url, dialect)[1]
            verdict = robots.verdict(url, robot)
            found = verdict.allowed, verdict.rule and verdict.rule.line
            expected = reference.decide(body, dialect, robot, target, SITE)
            assert found == expected, (
                f"{dialect.name} {robot} {url}: {found}, not {expected}"
            )
            for _ in range(3):  # by scan, by index, by index that stands
                assert robots.allowed(url, robot) == verdict.allowed, (
                    f"{dialect.name} {url}"
                )
            assert str(verdict)


def costly(data: bytes) -> None:
    """A small budget of comparisons changes no verdict but to "too costly".

    However often it is decided. Small files, which are not indexed, have none.
    """
    body, dialect, urls = read_input(data)
    limits = (index, "MOST_COMPARED", 60), (index, "FEW", 1), (decider, "_SMALL", -1)
    with ExitStack() as stack:
        for one in limits:
            stack.enter_context(patch.object(*one))
        limited = RobotsTxt.parse(body, dialect=dialect)
        found = [[limited.allowed(url, "bot") for url in urls] for _ in range(3)]
        verdicts = [
            RobotsTxt.parse(body, dialect=dialect).verdict(url, "bot") for url in urls
        ]
    assert found[0] == found[1] == found[2] == [one.allowed for one in verdicts], (
        dialect.name
    )
    robots = RobotsTxt.parse(body, dialect=dialect)
    for url, verdict in zip(urls, verdicts, strict=True):
        expected = not verdict.is_too_costly and robots.allowed(url, "bot")
        assert verdict.allowed == expected, f"{dialect.name} {url}"


def _normal(body: bytes, dialect: Dialect) -> str:
    return normalize(body, dialect, max_decisions=2_000).text


def correction(data: bytes) -> None:
    """Corrected twice is corrected once, and the correction is proved.

    A file that is no UTF-8, and stays as it is, becomes text by it: that is what is
    corrected.
    """
    body, dialect, _ = read_input(data)
    once = _normal(body, dialect)
    if body.decode("utf-8", "replace").encode() != body:
        body = once.encode()
        once = _normal(body, dialect)
    twice = _normal(once.encode(), dialect)
    assert twice == once, f"{dialect.name}: {once!r} becomes {twice!r}"
    proof = prove(body, once, dialect)
    assert proof.holds, str(proof)


def lines(data: bytes) -> None:
    """Findings and values name existing lines; records are all lines, in order."""
    body, dialect, _ = read_input(data)
    robots = RobotsTxt.parse(body, dialect=dialect)
    records = robots.records
    assert [record.number for record in records] == list(range(1, len(records) + 1))
    misspelt = robots.grammar.misspelt_line(robots.cleaned, robots.mentioned)
    if misspelt:
        number, text, field = misspelt
        assert text in records[number - 1].raw
        assert records[number - 1].field != field.lower()
    whole = RobotsTxt.parse(body, dialect=dialect, max_bytes=None)
    for finding in lint(whole):
        assert str(finding).isprintable(), repr(str(finding))
    for robot in ROBOTS:
        delay = robots.crawl_delay(robot)
        assert delay is None or delay >= 0
        assert all(rate.delay >= 0 for rate in robots.request_rates(robot))
        assert all(0 <= window.start < 1440 for window in robots.visit_times(robot))
        assert all(value.strip() for value in robots.comments(robot))
        for field in ("crawl-delay", "request-rate", "visit-time"):
            numbers = [number for number, _ in robots.decider(robot).values(field)]
            assert numbers == sorted(numbers)
            assert all(records[number - 1].field == field for number in numbers), (
                numbers
            )
    cited = [one.value for one in records if one.field == "sitemap" and one.value]
    assert {url for value in cited for url in urls_of(value)} <= {*robots.sitemaps}


def sitemaps(data: bytes) -> None:
    """Sitemaps are in the file, and the normal form lists the same."""
    body, dialect, _ = read_input(data)
    robots = RobotsTxt.parse(body, dialect=dialect)
    found = robots.sitemaps
    assert all(found), found
    text = _normal(body, dialect)
    again = RobotsTxt.parse(text.encode("utf-8", "surrogatepass"), dialect=dialect)
    assert again.sitemaps == found, (found, again.sitemaps)


BASE = b"User-agent: *\nDisallow: /a\nAllow: /a/b\n"
SEEDS = [
    bytes([number]) + body
    for number in range(len(DIALECTS))
    for body in (
        BASE,
        (
            b"\xef\xbb\xbfuser-agent:bot/1.0 # x\r\nDISALLOW:/*?c=*$\rAllow:"
            b" /%7ea%2f\n/~a/"
        ),
        (
            b"User-agent: bot\nUser-agent: other\n\nDisallow:\nCrawl-delay:"
            b" 2.5\nRequest-rate: 1/10m\n"
        ),
        (
            b"User-agent: bot\nRobot-version: 2.0\nAllow: *.html\nDisallow:"
            b" /[a-c!]?\\*\nComment: h\n"
        ),
        (
            b"Sitemap: https://x.example/s.xml\nHost: x.example\nClean-param: s&t"
            b" /a\nuseragent bot\n"
        ),
        (
            b"User-agent: b-t\nAllow: /index.html\nDisallow: http://h:1/a#b\nDisalow:"
            b" /x\nNoindex: /\n"
        ),
        b"User-agent: bot\nDisallow: /*a*b\nDisallow: /*c*d\nAllow: /*a$\n/"
        + b"a" * 40,
        (
            b"User-agent: *\nDisallow: /\xc3\xa9\xff\x00/\n: /x\nno"
            b" colon\n#\nVisit-time: 0600-0845\n"
        ),
    )
]
WORDS = [
    *(
        b"User-agent: ",
        b"Disallow: ",
        b"Allow: ",
        b"Sitemap: ",
        b"Crawl-delay: ",
        b"Comment: ",
    ),
    *(
        b"Request-rate: ",
        b"Visit-time: ",
        b"Robot-version: 2.0",
        b"Host: ",
        b"Clean-param: ",
    ),
    *(
        b"Noindex: ",
        b"bot",
        b"*",
        b"$",
        b"#",
        b"%2F",
        b"%C3%A9",
        b"\r\n",
        b"\n",
        b"/index.html",
    ),
    *(
        b"\xe2\x80\xa8",
        b"\x1c",
        b"\0",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"http://",
        b"1/10s",
        b"[!a]",
    ),
]

_SITEMAPS = [
    b"\0Sitemap: <https://a.b/s.xml>, 'https://a.b/t.xml'\nUser-agent: *\nDisallow: /a",
    b"\0User-agent: *\nhttps://a.b/s.xml\nSitemap = https://a.b/t.xml # c\nSitemap: /s",
    b"\2Sitemap:\xc2\xa0https://a.b/s.xml\nsitemaps;http://a.b\nHTTPS://A.B/SITEMAP",
]
TARGETS = {
    "robotstxt-sitemaps": (sitemaps, _SITEMAPS, [b"Sitemap", b"https://", *WORDS]),
    "robotstxt-decisions": (decisions, SEEDS, WORDS),
    "robotstxt-costly": (costly, SEEDS, WORDS),
    "robotstxt-correction": (correction, SEEDS, WORDS),
    "robotstxt-lines": (lines, SEEDS, WORDS),
}
