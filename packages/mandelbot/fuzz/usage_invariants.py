"""What must hold for all that is said of the use of a page, wherever it stands."""

from __future__ import annotations

from mandelbot import DIALECTS, RobotsTxt, normalize, usage
from mandelbot.preferences.in_pages import page_usage, stated_terms
from mandelbot.preferences.statements import CATEGORIES
from mandelbot.preferences.tdmrep import TdmFile, with_tdm_file

AGENTS = ("Examplebot", "GPTBot", "*")
URLS = ("https://example.com/a/b", "/ai-ok/x", "https://example.com/")
HEADERS = (
    "Content-Usage",
    "Content-Signal",
    "X-Robots-Tag",
    "Robots-Tag",
    "tdm-reservation",
)


def answers(data: bytes) -> None:
    """Any refusal wins, and each answer has a statement.

    The input is a robots.txt, a header, a page and a tdmrep.json, with NULs between
    them; its first octet picks the dialect and the header.
    """
    pick, rest = (data[0], data[1:]) if data else (0, b"")
    body, header, page, tdmrep = [*rest.split(b"\0", 3), b"", b"", b""][:4]
    dialect = list(DIALECTS.values())[pick % len(DIALECTS)]
    headers = [(HEADERS[pick % len(HEADERS)], header), ("Link", header)]
    robots = RobotsTxt.parse(body, dialect=dialect)
    file = TdmFile.parse(tdmrep)
    for status in (200, 401, 402, 403):
        terms = stated_terms(status, headers)
        assert terms is None or terms.isprintable()
    for agent in AGENTS:
        said = page_usage(headers, page, agent)
        for url in URLS:
            of_file = usage(robots, url, agent)
            of_tdm = file.usage(url)
            whole = of_file.combined_with(with_tdm_file(said, of_tdm))
            assert of_file.is_crawlable == robots.allowed(url, agent)
            for category in CATEGORIES:
                refused = "disallowed" in {of_file[category], said[category]}
                assert not refused or whole[category] == "disallowed", (
                    url,
                    agent,
                    category,
                )
                decided = whole.decided_by(category)
                assert (decided is None) == (whole[category] == "unknown")
                assert str(decided).isprintable()


def kept(data: bytes) -> None:
    """A correction says the same of uses to each robot, and terms are kept."""
    pick, body = (data[0], data[1:]) if data else (0, b"")
    dialect = list(DIALECTS.values())[pick % len(DIALECTS)]
    robots = RobotsTxt.parse(body, dialect=dialect)
    normal = normalize(robots, max_decisions=2_000).text
    after = RobotsTxt.parse(normal.encode(), dialect=dialect)
    assert set(after.licenses) == set(robots.licenses)
    for agent in AGENTS:
        for url in URLS:
            one = usage(robots, url, agent)
            other = usage(after, url, agent)
            assert one.answers == other.answers, f"{dialect.name} {url} {agent}"


_FILE = b"""\
License: https://example.com/l
User-agent: *
Content-Signal: search=yes,ai-train=no
User-agent: Examplebot
Content-Usage: /ai-ok/ train-ai=y
Content-Usage: train-ai=n
Disallow: /a

User-agent: GPTBot
Disallow: /
"""
_SEEDS = [
    bytes([number]) + piece
    for number in range(6)
    for piece in (
        _FILE,
        _FILE
        + b'\0train-ai=n, search=y\0<meta name=robots content=noai>\0[{"location":'
        b' "/a",'
        b' "tdm-reservation": 1}]',
        (
            b"User-agent: *\nContent-Signal: /a/ ai-train=no,"
            b" search=yes\nContent-Signal: search=no\n"
        ),
        b'\0*;noai, examplebot;noml\0<meta name="tdm-reservation" content=1>\0[]',
        b'\0</l>; rel="license"\0<link rel=license href=/l>\0[{"location": "/*$"',
    )
]
_WORDS = [
    *(
        b"Content-Usage: ",
        b"Content-Signal: ",
        b"License: ",
        b"User-agent: ",
        b"Disallow: ",
    ),
    *(
        b"train-ai=n",
        b"search=y",
        b"ai-train=no",
        b"ai-input=no",
        b"use=immediate",
        b"GPTBot",
    ),
    *(
        b"Examplebot",
        b"/ai-ok/",
        b"/a*b$",
        b'"location":',
        b'"tdm-reservation": 1',
        b"noai",
    ),
    *(
        b"<meta name=tdm-reservation content=1>",
        b"<link rel=license href=/l>",
        b"\0",
        b"\n",
    ),
]

TARGETS = {"usage": (answers, _SEEDS, _WORDS), "usage-kept": (kept, _SEEDS, _WORDS)}
