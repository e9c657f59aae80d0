"""Lines that do nothing of what their owner wrote have a warning or an error."""

from __future__ import annotations

import pytest

from mandelbot import RobotsTxt, lint, normalize
from mandelbot.findings import Severity

STAR = "User-agent: *\n"
RULE = "Disallow: /private/\n"
HIDDEN = (
    "\u00a0\u00ad\u061c\u115f\u1680\u180e\u2000\u2002\u2003\u2009\u200a\u200b\u200c"
    "\u200d\u200e\u200f\u2028\u2029\u202a\u202e\u202f\u205f\u2060\u2063\u2066\u2069"
    "\u3000\u3164\ufeff\uffa0\x85"
)


WRONG = [
    (b"User-agent: *\xa0\nDisallow: /a\n", 1, {"invisible-character"}),
    (b"User-agent: \xa0*\nDisallow: /a\n", 1, {"invisible-character"}),
    (b"User-agent: Googlebot\xa0\nDisallow: /\n", 1, {"invisible-character"}),
    (f"{STAR}Disallow: /a\u200bb\n", 2, {"invisible-character"}),
    (f"{STAR}Disallow: /caf\u00e9\n", 2, set()),
    *[
        (f"User-agent: {name}\n{RULE}", 1, {"name-for-all"})
        for name in (
            *("All", "any", "EVERYONE", "all robots", ".*", "%"),
            *("Robots", "crawlers", "Any bot", "every crawler"),
        )
    ],
    *[
        (f"User-agent: {name}\n{RULE}", 1, set())
        for name in ("allbot", "bot", "crawler")  # a part of some robots' names
    ],
    *[
        (f"User-agent: {name}\n{RULE}", 1, {"star-in-agent"})
        for name in ("**", "*/1.0", "*bot")
    ],
    *[
        (f"User-agent: {name}\n{RULE}", 1, {"empty-agent"})
        for name in ("/", "/2.0", "+")
    ],
    *[
        (f"User-agent: {name}\n{RULE}", 1, {"quoted-name"})
        for name in (
            *('"Googlebot"', "'*'", "\u201cGooglebot\u201d", "<Googlebot>"),
            *("[Googlebot]", "(Bingbot)", "{*}", "\u201aBingbot\u2018"),
        )
    ],
    *[
        (f"User-agent: {name}\n{RULE}", 1, {"misspelt-agent"})
        for name in (
            *("ChatGPT", "google", "Bing", "Googlebot.", "Googlebot:"),
            *("Chat-GPT", "chat_gpt", "Internet-Archive"),
        )
    ],
    ("User-agent: Yandex\nDisallow: /a\n", 1, set()),
    *[
        (f"{STAR}Disallow: {path}\n", 2, {"parameter-as-path"})
        for path in ("/sid=", "/nocrawl=1", "/a[b]=c$")
    ],
    *[
        (f"{STAR}Disallow: {path}\n", 2, set())
        for path in ("/*sid=", "/?sid=", "/a/b=c", "/=", "/a;b=c", "/1=")
    ],
    *[
        (f"{STAR}Disallow: {path}\n", 2, {"ends-with-punctuation"})
        for path in ("/a/,", "/a.html;")
    ],
    *[
        (f"{STAR}Disallow: {path}\n", 2, set())
        for path in ("/*,", "/*;", "/x?a,", "/,a")
    ],
    *[
        (f"{STAR}Disallow: {path}\n\nSitemap: {url}/s.xml\n", 2, {"host-in-path"})
        for path in ("/example.com/admin/", "/www.example.com")
        for url in ("https://example.com", "https://www.example.com")
    ],
    (f"{STAR}Disallow: /example.com/a\nDisallow: /b\n", 2, set()),
    (f"{STAR}Disallow: /a.com\nSitemap: https://b.com/s.xml\n", 2, set()),
    (f"{STAR}Sitemap = https://example.com/s.xml\n", 2, {"semicolon-for-colon"}),
    (f"{STAR}Sitemap https://example.com/s.xml\n", 2, {"missing-colon"}),
    (f"{STAR}Sitemaps: https://example.com/s.xml\n", 2, {"misspelt-field"}),
    *[
        (f"{STAR}Sitemap: {value}\n", 2, {"sitemap-not-alone"})
        for value in (
            "https://example.com/s.xml;",
            "https://example.com/s.xml,",
            "[https://example.com/s.xml](https://example.com/s.xml)",
            "[our sitemap](https://example.com/s.xml)",
        )
    ],
    *[
        (f"{STAR}{RULE}{line}\n", 3, {"not-a-directive"})
        for line in (
            *(";Disallow: /", "//Disallow: /", "<!-- Disallow: / -->"),
            *("/* Disallow: /shop */", "'Disallow: /shop", "--Disallow: /shop"),
            *("!Disallow: /shop", "; a sentence", "REM Disallow: /", "%Disallow /"),
            *(";User-agent: Bingbot", "//www.example.com/"),
            *("* Disallow: /x", "- Disallow: /x", "(Disallow: /x)", "+ Allow: /"),
            *("\u201cDisallow: /x", "\u2022 Disallow: /x", "| Disallow: /x"),
        )
    ],
]
"""Files, each with a line and the codes of its errors and warnings."""


def found_in(text: str | bytes, line: int) -> set[str]:
    """Return the codes of the errors and warnings in a line."""
    body = text if isinstance(text, bytes) else text.encode()
    return {
        one.code
        for one in lint(body)
        if one.line == line and one.severity >= Severity.WARNING
    }


@pytest.mark.parametrize("sign", HIDDEN, ids=lambda sign: f"U+{ord(sign):04X}")
def test_a_character_that_nobody_sees_is_found_at_both_ends(sign):
    """Of a name and of a path; nothing else is said of the line."""
    for name in (f"{sign}*", f"*{sign}", f"{sign}Googlebot", f"Googlebot{sign}"):
        assert found_in(f"User-agent: {name}\n{RULE}", 1) == {"invisible-character"}
    for path in (f"{sign}/a", f"/a{sign}"):
        assert found_in(f"{STAR}Disallow: {path}\n", 2) == {"invisible-character"}


@pytest.mark.parametrize(("text", "line", "codes"), WRONG)
def test_a_line_has_these_errors_and_warnings(text, line, codes):
    """And no others."""
    assert found_in(text, line) == codes


def test_what_is_commented_out_begins_no_group():
    """Neither to the linter nor to the normal form."""
    text = f"{STAR}{RULE};User-agent: Bingbot\n;Disallow: /\n"
    robots = RobotsTxt.parse(text.encode())
    lines = normalize(robots).text.splitlines()
    assert [line for line in lines if line[:1] != "#"] == [*text.splitlines()[:2], ""]
    assert {one.code for one in lint(robots)} == {"not-a-directive"}


def test_the_message_of_several_names_has_the_lines_to_write():
    """Three agents with commas are three lines."""
    file = b"User-agent: Bingbot, Googlebot, Slurp\nDisallow: /a\n"
    found = lint(file)
    (message,) = [one.message for one in found if one.code == "several-names"]
    lines = "User-agent: Bingbot; User-agent: Googlebot; User-agent: Slurp"
    assert f"write {lines}." in message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("Clean-param: a b", "write a&b."),
        ("Clean-param: a b /shop", "write a&b /shop."),
        ("Clean-param: a /shop b", "write a&b /shop."),
    ],
)
def test_a_clean_param_with_a_space_is_written_anew(line, says):
    """Its parameters are joined by &."""
    file = f"User-agent: Yandex\nDisallow: /a\n{line}\n".encode()
    (found,) = lint(file)
    assert found.code == "space-in-clean-param"
    assert found.message.endswith(says)


def test_of_rules_before_any_agent_the_line_to_write_is_said():
    """It is User-agent: *."""
    (found,) = lint(b"Disallow: /a\n")
    assert "write User-agent: * above it" in found.message


@pytest.mark.parametrize(
    "line",
    [
        "Sitemap https://example.com/s.xml",
        "Sitemaps: https://example.com/s.xml",
        "Sitemap: https://example.com/s.xml;",
        "Sitemap: https://example.com/s.xml,",
        "Sitemap: [our sitemap](https://example.com/s.xml)",
        "Sitemap: \u00abhttps://example.com/s.xml\u00bb",
    ],
)
def test_the_url_of_a_sitemap_is_read_where_it_is_evident(line):
    """A sign beside it, a colon that is missing, a link of Markdown."""
    robots = RobotsTxt.parse(f"{STAR}{RULE}{line}\n".encode())
    assert robots.sitemaps == ("https://example.com/s.xml",)


@pytest.mark.parametrize(
    "url",
    ["https://example.com/s;jsessionid=1.xml", "https://example.com/s?a=1;b=2"],
)
def test_a_semicolon_within_the_url_of_a_sitemap_stays(url):
    """It is a part of URLs."""
    assert RobotsTxt.parse(f"Sitemap: {url}\n".encode()).sitemaps == (url,)
