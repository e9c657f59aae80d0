"""What the page holds of a file, and what it costs."""

from __future__ import annotations

from mandelbot.answers.outcome import Answer
from mandelbot.cli.output.robots_page import changed, html_of, title_of
from mandelbot.cli.output.robots_page import shown_file as shown_rules
from mandelbot.cli.output.rules_in_force import Rules


def shown_file(body):
    return shown_rules(Rules("", body))


def test_the_corrected_file_is_shown_whole():
    """However much of a file counts: it is longer than the original, and it is saved
    whole.
    """
    count = 60_000
    body = b"User-agent: *\n" + b"Disallow: /abc\n" * count
    assert len(body) > 512_000
    file = shown_file(body)
    assert len(file.lines) == count + 1
    assert changed(file, file) == ([], [])


def test_a_file_is_there_once_where_what_is_shown_is_all():
    """Its octets are there beside only where they say more than what is shown."""
    assert shown_file(b"User-agent: *\n").octets is None
    for body in (b"a", b"a\r\n", b"\xef\xbb\xbfa\n", b"\xe9\n", b"\x1b\n", b"a\tb\n"):
        assert shown_file(body).octets == body.decode("latin-1")


def test_lines_are_text():
    """Whatever they hold; those that are linked to have an id."""
    file = shown_file(b"<b>&amp;\n\x1b\n")
    assert html_of(file, {2}) == "<li>&lt;b&gt;&amp;amp;\n<li id=L2>\\x1b\n"


def test_changes_are_ranges():
    """First and last line of each, in both files."""
    before, after = shown_file(b"a\nb\nc\nd\n"), shown_file(b"a\nx\ny\nd\nz\n")
    assert changed(before, after) == ([[2, 3]], [[2, 3], [5, 5]])


def test_a_page_of_many_groups_is_not_large(page):
    """1,000 groups: less than 400 KB, where the file has a quarter of that."""
    body = b"".join(
        b"User-agent: examplebot-%d\nDisallow: /private/%d/\nDisallow: /search/%d?q=\n"
        b"Allow: /private/%d/open\n\n" % (n, n, n, n)
        for n in range(1_000)
    )
    assert len(body) > 85_000
    assert len(page(body)) < 400_000


def test_the_title_is_the_site_or_the_files_name():
    """Never a folder: the page is sent to others."""
    titles = {
        "/home/ann/secret-client/robots.txt": "robots.txt",
        "../drafts/new.txt": "new.txt",
        "standard input": "robots.txt",
        "https://example.com/robots.txt": "example.com",
        "http://example.com:8080/robots.txt": "example.com:8080",
        "https://example.com/a/robots.txt": "example.com/a/robots.txt",
    }
    answers = {source: Answer(200) if "://" in source else None for source in titles}
    assert {one: title_of(Rules(one, answer=answers[one])) for one in titles} == titles


def test_no_folder_is_in_the_page(page):
    """Neither in its text nor in its data."""
    assert "secret-client" not in page(
        b"User-agent: *\n", source="/home/ann/secret-client/r.txt"
    )
