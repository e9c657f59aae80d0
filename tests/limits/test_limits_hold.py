"""What happens at a limit of docs/limits.rst, and past it."""

from __future__ import annotations

import gzip

import pytest
from mandelbot import RobotsTxt, SitemapReader, robot_tags
from mandelbot.answers.retry_after import wait_asked_for
from mandelbot.dates import IN_SITEMAPS, IN_TAGS, read_date
from mandelbot.formatting import LONGEST, shown
from mandelbot.robotstxt import robots_txt as robots_module
from mandelbot.sitemaps import entries, unpacking
from mandelbot.tags import head, reading

from scrapy_mandelbot.fetching.fetcher import MOST_CITED, cited_sitemaps

URL = "https://example.com/sitemap.xml"
ENTRY = "<url><loc>https://example.com/{}</loc>{}</url>"


def read(*written, **limits):
    """Return the entries of a sitemap, and the codes of its problems."""
    body = f"<urlset>{''.join(written)}</urlset>".encode()
    return read_bytes(body, **limits)


def read_bytes(body, **limits):
    reader = SitemapReader(URL, **limits)
    found = [*reader.feed(body), *reader.close()]
    return found, {problem.code for problem in reader.problems}


def test_of_a_long_file_the_whole_lines_within_count():
    """A rule that ends at the limit is read, and one that ends past it is not."""
    body = b"User-agent: *\nDisallow: /a\nDisallow: /b\n"
    cut = body.index(b"\n", body.index(b"/b"))
    assert not RobotsTxt.parse(body, max_bytes=len(body)).allowed("/b", "bot")
    assert RobotsTxt.parse(body, max_bytes=cut - 1).allowed("/b", "bot")
    assert not RobotsTxt.parse(body, max_bytes=cut - 1).allowed("/a", "bot")


def test_a_file_keeps_the_rules_of_so_many_agents():
    """Whoever invents agents gets right answers, and fills no memory."""
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /a\n")
    for number in range(3 * robots_module.CACHED_AGENTS):
        assert not robots.allowed("/a", f"bot{number}")
        assert len(robots._deciders) <= robots_module.CACHED_AGENTS + 1


def test_so_many_sitemap_lines_are_read():
    """The last one within is cited, and the next is not."""
    lines = "".join(f"Sitemap: /{number}.xml\n" for number in range(MOST_CITED + 1))
    cited = cited_sitemaps(
        RobotsTxt.parse(lines.encode()), "https://example.com", inside=False
    )
    assert len(cited) == MOST_CITED
    assert cited[-1] == f"https://example.com/{MOST_CITED - 1}.xml"


def test_a_long_retry_after_counts_as_absent():
    """White space around it is not counted; digits are."""
    assert wait_asked_for({"Retry-After": b" " * 200 + b"5"}.get, 0).seconds == 5
    assert wait_asked_for({"Retry-After": b"0" * 101 + b"5"}.get, 0).seconds is None


def test_a_date_beyond_its_limit_is_not_read():
    """Of a sitemap or a tag."""
    for forms in (IN_SITEMAPS, IN_TAGS):
        assert read_date("2024-01-01T00:00:00." + "0" * 79 + "Z", forms) is not None
        assert read_date("2024-01-01T00:00:00." + "0" * 80 + "Z", forms) is None


@pytest.mark.parametrize(
    ("most", "name", "problem"),
    [
        ("max_entries", "entry", "too-many-entries"),
        ("max_bytes", "byte", "too-many-bytes"),
    ],
)
def test_of_a_long_sitemap_the_beginning_is_read(most, name, problem):
    """Entries within the limit are there, and the rest is not read."""
    written = [ENTRY.format(number, "") for number in range(5)]
    limit = 3 if name == "entry" else len("<urlset>" + "".join(written[:3]))
    found, problems = read(*written, **{most: limit})
    assert [entry.loc for entry in found] == [
        f"https://example.com/{n}" for n in range(3)
    ]
    assert problem in problems


def test_a_long_entry_is_left_out_alone():
    """Its neighbours are read."""
    found, problems = read(
        ENTRY.format(1, ""), ENTRY.format(2, "x" * 70_000), ENTRY.format(3, "")
    )
    assert [entry.loc[-1] for entry in found] == ["1", "3"]
    assert problems == {"entry-too-long"}


def test_an_entry_of_many_tags_is_left_out():
    """One with as many as there may be is not."""
    few, many = "<a/>" * 1_000, "<a/>" * (entries.MOST_TAGS + 1)
    found, problems = read(ENTRY.format(1, few), ENTRY.format(2, many))
    assert [entry.loc[-1] for entry in found] == ["1"]
    assert problems == {"many-tags"}


def test_gzip_is_unpacked_so_many_times():
    """What is packed once more is not read."""
    body = f"<urlset>{ENTRY.format(1, '')}</urlset>".encode()
    for _ in range(unpacking.MOST_LAYERS):
        body = gzip.compress(body)
    assert len(read_bytes(body)[0]) == 1
    assert read_bytes(gzip.compress(body)) == ([], {"gzip-nested", "empty"})


def test_a_page_is_looked_at_so_far():
    """A meta tag past it is not read."""
    tag = b'<meta name="robots" content="noindex">'
    within = b"<head><!--" + b" " * 1_000 + b"-->"
    past = b"<head><!--" + b" " * head.HEAD_LIMIT + b"-->"
    assert robot_tags([], within + tag, "bot").noindex
    assert not robot_tags([], past + tag, "bot").noindex


def test_meta_tags_beyond_the_limit_are_not_read():
    tags = b"<meta name=robots content=all>" * (head.METAS_LIMIT - 1)
    last = b"<meta name=robots content=noindex>"
    assert robot_tags([], b"<head>" + tags + last, "bot").noindex
    assert not robot_tags(
        [], b"<head>" + tags + b"<meta name=robots content=all>" + last, "bot"
    ).noindex


def test_directives_beyond_the_limit_are_not_read():
    many = [("X-Robots-Tag", "all," * 200)] * 10
    assert len(robot_tags(many, b"", "bot").sources) <= reading.DIRECTIVES_LIMIT


def test_a_text_of_the_web_is_shown_cut():
    """However long it is, and however much of it has to be escaped."""
    for text in ("x" * 10_000, "\x1b" * 10_000, "\u202e" * 10_000):
        assert len(shown(text)) <= LONGEST + 1
