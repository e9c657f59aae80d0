"""A correction opens nothing, to stock Scrapy and to robots that ask with a header,
too.
"""

from __future__ import annotations

import platform
from importlib.metadata import version
from urllib.robotparser import RobotFileParser

import pytest
from protego import Protego

from mandelbot import DIALECTS
from mandelbot.fix import normalize
from mandelbot.fix.effects import (
    FIRST_MATCH,
    OLD_URLLIB,
    OWN_URLLIB,
    READERS,
    _old_urllib,
    _other,
)

HEADER = "Mozilla/5.0 (compatible; {}/1.0; +https://example.com/bot)"
TABOOLA = (
    b"User-agent: Mozilla/5.0 (compatible; Taboolabot/3.7; +https://www.taboola.com)\nDisallow:\n\n"
    b"User-agent: *\nDisallow: /private\nDisallow: /a # drafts\n"
)
URLS = [
    f"https://example.com{path}"
    for path in ("/", "/a", "/a/b", "/private/x", "/servizi/1")
]


def opened(before: bytes, after: str) -> set[tuple[str, str]]:
    """Return what stock Scrapy's parser is let in to, by whichever name it is asked
    with.
    """
    one, other = (Protego.parse(text) for text in (before.decode(), after))
    tokens = ["Googlebot", "Baiduspider", "Taboolabot", "Algolia", "Examplebot"]
    agents = [*tokens, *map(HEADER.format, tokens), "Algolia Crawler/1.0"]
    asked = [(url, agent) for url in URLS for agent in agents]
    return {
        pair for pair in asked if other.can_fetch(*pair) and not one.can_fetch(*pair)
    }


@pytest.mark.parametrize(
    "name",
    [
        "Mozilla/5.0 (compatible; Taboolabot/3.7; +https://www.taboola.com)",
        "Mozilla/5.0",
        "compatible",
        "Opera/9",
        "Algolia Crawler",
        "*Google*",
        "+Baiduspider",
        "Googlebot/2.1",
        "\xa0*",
        "",
    ],
)
@pytest.mark.parametrize("rule", ["Disallow:", "Disallow: /private"])
@pytest.mark.parametrize("place", ["before", "after"])
def test_a_name_that_robots_read_in_different_ways_stays_as_written(name, rule, place):
    """A header, a name of no robot, a name that nobody here reads: nobody is let in by
    another.
    """
    group, everyone = f"User-agent: {name}\n{rule}\n", "User-agent: *\nDisallow: /\n"
    text = "\n".join([group, everyone] if place == "before" else [everyone, group])
    correction = normalize(text.encode())
    assert opened(text.encode(), correction.text) == set()
    assert correction.is_harmless
    assert f"User-agent: {name}".rstrip() in correction.text.split("\n")


def test_the_rest_of_the_file_is_normalized():
    """And the name stays."""
    correction = normalize(TABOOLA)
    assert "# drafts\nDisallow: /a\n" in correction.text
    assert correction.text.startswith(TABOOLA.decode().partition("\n")[0])


def test_for_one_dialect_the_name_is_what_it_reads():
    """And the effects tell that stock Scrapy is let in, asked with a header."""
    correction = normalize(TABOOLA, alone=True)
    assert "User-agent: Mozilla\n" in correction.text
    (effect,) = (one for one in correction.effects if one.reader.startswith("Protego"))
    assert any(agent.startswith("Mozilla/5.0 (") for _, agent in effect.opened)


def test_all_who_read_the_file_are_asked():
    """The dialects, Python's own parser, its older rules, and Scrapy's, by version."""
    dialects, parsers = [*READERS][:6], [*READERS][6:]
    assert dialects == [*DIALECTS]
    assert parsers[0] == f"urllib.robotparser of Python {platform.python_version()}"
    assert parsers[-1] == f"Protego {version('protego')}"
    assert FIRST_MATCH in parsers[:-1]


FIRST = b"User-agent: *\nDisallow: /a\nAllow: /a/b\n"
BLANK = b"User-agent: *\nDisallow: /a\n\nDisallow: /b\n"
DELAY = b"User-agent: bot\nCrawl-delay: 1\nUser-agent: *\nDisallow: /a\n"
NO_RULES = b"User-agent: *\nDisallow: /a\n\nUser-agent: bot\n"
STAR = b"User-agent: bot\nDisallow: /*a\nDisallow: /x$\n"
AGAIN = b"User-agent: bot\nDisallow: /a\n\nUser-agent: bot\nDisallow: /b\n"
HOST = b"User-agent: *\nDisallow: //[x\n"


@pytest.mark.parametrize(
    ("body", "agent", "path", "expected"),
    [
        (FIRST, "bot", "/a/b", False),
        (BLANK, "bot", "/b", True),
        (DELAY, "bot", "/a", True),
        (NO_RULES, "bot", "/a", False),
        (STAR, "bot", "/ba", True),
        (STAR, "bot", "/x", True),
        (STAR, "mybot/1.0", "/ba", True),
        (AGAIN, "bot", "/b", True),
        (AGAIN, "Mozilla/5.0 (compatible; bot/1.0)", "/a", True),
        (b"User-agent: *\nDisallow: /%7ea\n", "bot", "/~a", False),
        (b"user agent: *\nDisallow: /\n", "bot", "/a", True),
    ],
)
def test_the_older_rules_of_python_are_asked_whichever_python_runs(
    body, agent, path, expected
):
    """CPython's changelog, gh-138907: since 3.13.14 robotparser follows RFC 9309."""
    read = READERS.get(OLD_URLLIB, READERS[FIRST_MATCH])
    written = _other(_old_urllib)
    url = f"https://example.com{path}"
    assert read(body)(url, agent) is written(body)(url, agent) is expected


@pytest.mark.parametrize("body", [FIRST, BLANK, DELAY, NO_RULES, STAR, AGAIN, TABOOLA])
def test_the_parser_of_this_python_is_asked_itself(body):
    """No model stands in for it."""
    own = RobotFileParser()
    own.parse(body.decode().splitlines())
    read = READERS[OWN_URLLIB](body)
    for url in (*URLS, "https://example.com/b", "https://example.com/ba"):
        for agent in ("bot", "mybot", "other", "Taboolabot"):
            assert read(url, agent) == own.can_fetch(agent, url)


def test_a_file_that_the_old_parser_cannot_read_has_no_rules_to_it():
    """It raised ValueError."""
    assert _other(_old_urllib)(HOST) is None


CLOUDFLARE = """\
# BEGIN Cloudflare Managed content

User-agent: *
Content-Signal: search=yes,ai-train=no
Allow: /

User-agent: GPTBot
Disallow: /

# END Cloudflare Managed Content

User-agent: *
Disallow: /a # drafts
Disallow:/b
Sitemap: https://example.com/s.xml
User-agent: Examplebot
Disallow: /c
"""


def test_what_a_service_writes_stays_untouched_and_the_rest_is_mended():
    """No line of the block moves, none of the owner's goes into it; it is told."""
    correction = normalize(CLOUDFLARE.encode())
    end = "# END Cloudflare Managed Content\n"
    block, _, own = CLOUDFLARE.partition(end)
    assert correction.text.startswith(block + end)
    assert correction.text[len(block + end) :] == (
        "\nUser-agent: Examplebot\nDisallow: /c\n\n"
        "User-agent: *\n# drafts\nDisallow: /a\nDisallow: /b\n\n"
        "Sitemap: https://example.com/s.xml\n"
    )
    assert own
    assert correction.is_harmless
    assert (
        "Lines 1 to 10 stay as a service wrote them: Cloudflare Managed content."
        in (correction.remarks)
    )
    assert normalize(correction.text.encode()).text == correction.text


def test_owners_lines_that_go_on_with_a_group_of_the_block_stay_with_it():
    """What follows the block without a User-agent is about the robots of its last
    group.
    """
    text = "# BEGIN plugin\nUser-agent: a\nDisallow: /x\n# END plugin\nDisallow:/y\n"
    rest = "user-agent: b\ndisallow: /z\n"
    mended = "\nUser-agent: b\nDisallow: /z\n"
    assert normalize((text + rest).encode()).text == text + mended


@pytest.mark.parametrize("size", [100, 1_000, 4_000])
def test_a_pair_of_rules_that_can_matter_is_asked_about_in_a_file_of_any_size(size):
    """One Allow behind a Disallow, amid thousands of rules, is not closed to
    first-match robots.
    """
    rules = [f"Disallow: /p{n:05}/" for n in range(size)]
    rules[size // 3] = "Allow: /servizi/"
    rules[size // 3 + 1 : size // 3 + 1] = ["Disallow: /servizi/privati"]
    text = "\n".join(["User-agent: *", *rules[::2], "", *rules[1::2], ""])
    correction = normalize(text.encode())
    assert correction.is_harmless
    for name, read in READERS.items():
        before, after = read(text.encode()), read(correction.text.encode())
        for url in (
            "https://example.com/servizi/1",
            "https://example.com/servizi/privati/1",
        ):
            assert before(url, "Examplebot") or not after(url, "Examplebot"), name


def test_a_sample_says_so():
    """Of a file for which there are more questions than can be asked, the proof says
    that.
    """
    groups = "".join(
        f"User-agent: r{n}x\n"
        + "".join(f"Disallow: /{n}/{m}/*.html\n" for m in range(60))
        for n in range(60)
    )
    correction = normalize(groups.encode(), max_decisions=2_000)
    assert not correction.proof.is_whole
    assert "a sample" in str(correction.proof)


def test_robots_that_no_one_runs_do_not_keep_a_file_from_being_put_in_order():
    """A name made of two of the file opens nothing that anyone asks for: it is told
    apart.
    """
    keyword, kenjin = (
        b"User-agent: Keyword\nDisallow: /\n",
        b"User-agent: Kenjin\nDisallow:\n",
    )
    text = b"\n".join([keyword, b"User-agent: *\nDisallow: /a\n", kenjin])
    correction = normalize(text)
    assert not any(one.startswith("In the normal form") for one in correction.remarks)
    assert correction.is_harmless


def test_a_name_of_one_letter_keeps_no_file_from_being_put_in_order():
    """It is in every header that one could make up."""
    text = b"User-agent: *\nDisallow: /a\n\nUser-agent: X\nDisallow: /b\n"
    correction = normalize(text)
    assert correction.is_harmless
    assert correction.text.startswith("User-agent: X\n")
    text = b"User-agent: *\nDisallow: /a\nCrawl-delay: 1\nUser-agent: B\nAllow: /a\n"
    remarks = " ".join(normalize(text).remarks)
    assert "Mozilla" not in remarks
