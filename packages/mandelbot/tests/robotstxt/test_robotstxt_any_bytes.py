"""Any bytes parse, and no bytes make it slow: every limit here is several times what is
needed.
"""

from __future__ import annotations

import random
import time
import tracemalloc

import pytest
from tables import each_row

from mandelbot import DIALECTS, RobotsTxt

SECONDS = 10.0
EVIL = {
    "many agents sharing many rules": b"".join(
        b"User-agent: bot%d\n" % n for n in range(20000)
    )
    + b"".join(b"Disallow: /p%d/x\n" % n for n in range(20000)),
    "20,000 groups": b"".join(
        b"User-agent: b%d\nDisallow: /%d\n\n" % (n, n) for n in range(20000)
    ),
    "one group repeated": b"User-agent: *\nDisallow: /a\n" * 20000,
    "a million stars": b"User-agent: *\nDisallow: /" + b"*" * 1_000_000 + b"b\n",
    "a million stars and letters": b"User-agent: *\nDisallow: /"
    + b"*a" * 500_000
    + b"\n",
    "1,000 rules of stars": b"User-agent: *\n"
    + (b"Disallow: /" + b"*a" * 20 + b"*b\n") * 1000,
    "wildcards on all heads": b"User-agent: *\n"
    + b"".join(b"Disallow: /*x%d\nAllow: /%d*y\n" % (n, n) for n in range(8000)),
    "nested prefixes": b"User-agent: *\n"
    + b"".join(
        b"Disallow: /" + b"a" * n + b"\nAllow: /" + b"a" * n + b"*b\n"
        for n in range(700)
    ),
    "one line of 5 MB": b"User-agent: *\nDisallow: /" + b"a" * 5_000_000,
    "5 MB of white space": b"User-agent: *\n" + b" " * 5_000_000 + b"Disallow: /a",
    "white space and agents": b" user-agent" * 400_000,
    "5 MB of line ends": b"\r\n" * 2_500_000 + b"User-agent: *\nDisallow: /a",
    "5 MB of CR": b"\r" * 5_000_000,
    "5 MB of NUL": b"User-agent: *\nDisallow: /\n" + b"\0" * 5_000_000,
    "5 MB of #": b"User-agent: *\nDisallow: /" + b" #" * 2_500_000,
    "5 MB of colons": b":" * 5_000_000,
    **{
        f"half a MB of {name}": b"User-agent: *\nRobot-version: 2.0\nDisallow: /"
        + name.encode("latin-1") * (500_000 // len(name))
        for name in (
            "%",
            "\xe9",
            "[",
            "[[a]",
            "?",
            "*?",
            "\\a",
            "[a-z]",
            "[!-~]",
            "[]",
            "%4",
            "%41",
        )
    },
    "UTF-16": "\ufeffUser-agent: *\nDisallow: /é\n".encode("utf-16") * 50_000,
    "digits": b"User-agent: *\nCrawl-delay: "
    + b"9" * 1_000_000
    + b"\nRobot-version: 9"
    + b"9" * 99999,
    "random bytes": random.Random(1).randbytes(1_000_000),
}
LONG = "https://www.example.com/" + "a" * 8000


IN_TURN = ["mandelbot", "google", "rep1994", "extended2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        pytest.param(
            name,
            dialect,
            marks=[pytest.mark.thorough] * (dialect != IN_TURN[number % 4]),
        )
        for number, name in enumerate(sorted(EVIL))
        for dialect in IN_TURN
    ],
)
def test_no_file_is_slow(name, dialect):
    """Reading, deciding by both ways, explaining and listing are linear, whatever the
    bytes.
    """
    start = time.process_time()
    robots = RobotsTxt.parse(EVIL[name], dialect=dialect, max_bytes=None)
    for url in (LONG, LONG + "b"):
        assert robots.allowed(url, "bot7") == robots.verdict(url, "bot7").allowed
    assert robots.crawl_delay("bot7") is None
    assert len(robots.sitemaps) < len(EVIL[name])
    assert time.process_time() - start < SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EVIL))
def test_records_of_any_file_are_listed(name):
    """The whole file can be listed in linear time."""
    start = time.process_time()
    records = RobotsTxt.parse(EVIL[name]).records
    assert [record.number for record in records] == list(range(1, len(records) + 1))
    assert time.process_time() - start < SECONDS * 4


@pytest.mark.parametrize(
    "name", ["20,000 groups", "wildcards on all heads", "nested prefixes"]
)
def test_memory_is_linear(name):
    """The index of the worst files stays within a small multiple of the file."""
    body = EVIL[name]
    robots = RobotsTxt.parse(body)
    tracemalloc.start()
    for _ in range(5):
        robots.allowed(LONG, "bot7")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * len(body) + 1_000_000


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@each_row(
    "url",
    [
        *(
            "http://[x/y",
            "http://example.com:abc/y",
            "\ud800",
            "http://\ud800/\udfff",
            "",
            "\0",
        ),
        *(
            "//",
            "///",
            "http://",
            "://",
            "http:///a",
            "#",
            "%",
            "/%",
            "/%zz",
            "/\n",
            "a" * 10**5,
        ),
        *("http://" + "@" * 20_000, "http://" + "[" * 20_000, "/" + "%41" * 20_000),
    ],
)
def test_no_url_raises(url, dialect):
    """A URL that cannot be read is allowed with a reason; none is an exception."""
    robots = RobotsTxt.parse(
        b"User-agent: *\nDisallow: /*a*b\nDisallow: /%zz\n", dialect=dialect
    )
    for _ in range(3):
        assert robots.allowed(url, "x") == robots.verdict(url, "x").allowed


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_what_is_cut_off_ends_with_a_whole_line(end):
    """At any limit a rule is read whole or not at all, and what fits whole is read."""
    lines = [b"User-agent: *", b"Disallow: /abc", b"Disallow: /abd", b"Allow: /abdomen"]
    body = end.join(lines)
    for limit in range(len(body) + 2):
        fits = sum(len(end.join(lines[: n + 1])) <= limit for n in range(len(lines)))
        robots = RobotsTxt.parse(body, max_bytes=limit)
        assert [record.value for record in robots.records if record.value] == [
            line.partition(b": ")[2].decode() for line in lines[:fits]
        ]


def test_a_limit_counts_the_bytes_that_came_and_none_is_no_limit():
    """512,000 by default, before any decoding; None reads all."""
    body = b"User-agent: *\n" + b"#" * 511_900 + b"\n" + b"Disallow: /a\n" * 100
    assert RobotsTxt.parse(body).allowed("/a", "x") is False
    assert len(RobotsTxt.parse(body).records) == 2 + (512_000 - 511_915) // 13
    assert len(RobotsTxt.parse(body, max_bytes=None).records) == 102
    wide = "\ufeffUser-agent: *\nDisallow: /a\nDisallow: /b\n".encode("utf-16-le")
    assert RobotsTxt.parse(wide, max_bytes=2 * 30).allowed("/b", "x")
    assert not RobotsTxt.parse(wide, max_bytes=2 * 30).allowed("/a", "x")


def test_the_body_is_not_copied():
    """The parse refers to the bytes it was given: a copy and its parse share them."""
    body = b"User-agent: *\nDisallow: /a\n"
    assert RobotsTxt.parse(body).cleaned is body
