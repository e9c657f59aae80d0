"""Arguments of a wrong type or in the wrong order: what the public functions say."""

from __future__ import annotations

import pytest

from mandelbot import (
    RobotsTxt,
    SitemapReader,
    lint,
    normalize,
    page_usage,
    robot_tags,
    usage,
    wait_asked_for,
)

BODY = b"User-agent: *\nDisallow: /a\n"
ROBOTS = RobotsTxt.parse(BODY)


def read_sitemap(data):
    return list(SitemapReader("https://example.com/sitemap.xml").feed(data))


TAKE_BYTES = {
    "RobotsTxt.parse": RobotsTxt.parse,
    "normalize": normalize,
    "lint": lint,
    "SitemapReader.feed": read_sitemap,
    "robot_tags": lambda body: robot_tags([], body, "Examplebot"),
    "page_usage": lambda body: page_usage([], body, "Examplebot"),
}


@pytest.mark.parametrize("name", TAKE_BYTES)
@pytest.mark.parametrize("value", ["text", None, [BODY], 1])
def test_what_is_not_bytes_is_told_at_once(name, value):
    """The message names the argument, its type and what to pass instead."""
    kind = type(value).__name__
    with pytest.raises(
        TypeError, match=f"^(body|data) must be bytes, not {kind}: pass response.body$"
    ):
        TAKE_BYTES[name](value)


@pytest.mark.parametrize("name", TAKE_BYTES)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_whatever_holds_bytes_is_taken(name, kind):
    """A bytearray and a memoryview are read as bytes are."""
    TAKE_BYTES[name](kind(b"User-agent: *\n"))


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_a_buffer_is_read_as_its_bytes(kind):
    """What a caller does to the buffer afterwards changes no rule."""
    buffer = bytearray(BODY)
    robots = RobotsTxt.parse(kind(buffer))
    buffer[:] = b" " * len(buffer)
    assert not robots.allowed("/a", "Examplebot")
    assert robots.body == BODY


ASK = {
    "allowed": ROBOTS.allowed,
    "verdict": ROBOTS.verdict,
    "usage": lambda url, agent: usage(ROBOTS, url, agent),
    "preparing": lambda url, agent: ROBOTS.decider(agent).preparing(url),
}


@pytest.mark.parametrize("name", ASK)
@pytest.mark.parametrize("url", [b"/a", None, ["/a"], 7])
def test_a_url_is_a_text(name, url):
    """Also once the agent is known, when most decisions are looked up."""
    ROBOTS.allowed("/a", "Examplebot")
    kind = type(url).__name__
    with pytest.raises(TypeError, match=f"^url must be str, not {kind}: pass an"):
        ASK[name](url, "Examplebot")


@pytest.mark.parametrize("name", ASK)
@pytest.mark.parametrize("agent", [b"Examplebot", None, 7, [b"Examplebot"]])
def test_an_agent_is_a_text_or_several(name, agent):
    """Bytes are a sequence, too, but of no names."""
    kind = type(agent).__name__
    with pytest.raises(TypeError, match=f"^agent must be str .*, not {kind}: pass a"):
        ASK[name]("/a", agent)


@pytest.mark.parametrize("method", ["crawl_delay", "request_rates", "comments"])
def test_other_lines_want_an_agent_too(method):
    """Their first argument is the agent."""
    with pytest.raises(TypeError, match=r"^agent must be str .*, not NoneType"):
        getattr(ROBOTS, method)(None)


@pytest.mark.parametrize("read", [robot_tags, page_usage])
@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"X-Robots-Tag": "noindex"}, r"not dict: pass headers\.items\(\)"),
        ("X-Robots-Tag: noindex", "not str: pass a list"),
        ([("X-Robots-Tag",)], "not tuple: pass a list"),
        ([("X-Robots-Tag", ["noindex"])], "not list: pass a pair for each"),
    ],
)
def test_headers_are_pairs(read, headers, said):
    """Scrapy, requests and urllib have mappings: their items are meant."""
    with pytest.raises(TypeError, match=f"^headers must be pairs .*{said}"):
        read(headers, b"", "Examplebot")


def test_a_header_may_be_text_or_bytes():
    """``headers.get`` of requests returns text, that of Scrapy bytes."""
    for value in ("120", b"120"):
        assert wait_asked_for({"Retry-After": value}.get, now=0.0).seconds == 120


def test_swapped_arguments_are_an_error():
    """``allowed(agent, url)`` is the order of other parsers; any agent is allowed."""
    for _ in range(2):
        with pytest.raises(ValueError, match="are they swapped"):
            ROBOTS.allowed("Examplebot", "https://example.com/a")


@pytest.mark.parametrize("agent", ["https://example.com/a", "/a", ["/a"]])
def test_a_verdict_says_that_arguments_seem_swapped(agent):
    """A path may be the name of a robot to somebody: that is said, and no error."""
    verdict = ROBOTS.verdict("Examplebot", agent)
    assert verdict.allowed
    assert "are they swapped?" in str(verdict)


@pytest.mark.parametrize("url", ["mailto:a@example.com", "", "a"])
def test_an_invalid_url_is_no_error(url):
    """Pages hold whatever they hold; only the agent is the caller's."""
    agent = "Examplebot (+https://example.com/bot)"
    assert ROBOTS.allowed(url, agent)
    assert "swapped" not in str(ROBOTS.verdict(url, agent))


def test_a_verdict_is_neither_true_nor_false():
    """``if robots.verdict(...)`` would fetch what is forbidden."""
    verdict = ROBOTS.verdict("/a", "Examplebot")
    with pytest.raises(TypeError, match=r"ask verdict\.allowed"):
        bool(verdict)
