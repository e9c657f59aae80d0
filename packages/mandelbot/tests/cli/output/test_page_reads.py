"""The page reads any file in the browser as the package does: into the same tables."""

from __future__ import annotations

import json
from importlib import import_module, resources

import pytest
from corpus import needs_corpus, read_files
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wildrobots import ALL, bodies, dialects

from mandelbot.cli.output import robots_page as page
from mandelbot.cli.output.robots_page import dialect_data
from mandelbot.robotstxt import DIALECTS, RobotsTxt
from mandelbot.robotstxt.known_robots import FALLBACKS, IGNORE_STAR

FILES = resources.files(page)
SCRIPT = "".join(
    FILES.joinpath(name).read_text("ascii") for name in ("decide.js", "read.js")
)
READ = """
return JSON.parse(arguments[0]).map(([octets, dialect, most]) =>
  JSON.stringify(readTables(octets, dialect, most)));
"""
DOCUMENTS = (
    *(
        "mandelbot",
        "rfc9309",
        "google",
        "rep1994",
        "rep2008",
        "moderatobot",
        "extended2",
    ),
    *("decided", "findings", "findings_elsewhere"),
)


@pytest.fixture(scope="module")
def check(chromium):
    """Compare the tables of the page's script with the package's.

    To a dialect's fall-backs the page adds those of the robots' operators, which the
    command line looks up by the robot that it is asked about (`with_fallback`), and
    the robots that ignore the group for all.
    """
    of_operators = {one.name.lower(): [one.group.lower()] for one in FALLBACKS}
    chromium.get("about:blank")

    def compare(files, max_bytes=512_000):
        data = [
            [body.decode("latin-1"), dialect_data(one), max_bytes]
            for body, one in files
        ]
        found = chromium.execute_script(SCRIPT + READ, json.dumps(data))
        for (body, dialect), tables in zip(files, map(json.loads, found), strict=True):
            robots = RobotsTxt.parse(body, dialect=dialect, max_bytes=max_bytes)
            expected = json.loads(json.dumps(robots.tables()))
            expected["fallbacks"].update(of_operators)
            expected["ignore_star"] = [one.name.lower() for one in IGNORE_STAR]
            assert tables == expected, (dialect.name, body[:2000])

    return compare


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_documents_cases_are_read_alike(check, document):
    """Every file of every case table, in every dialect."""
    cases = import_module(f"cases.{document}").CASES
    files = [(case.octets, dialect) for case in cases for dialect in ALL.values()]
    assert len(files) >= 10 * len(ALL)
    check(files)


ODD = (
    b"",
    b"\n",
    b"\xef\xbb\xbfUser-agent: *\nDisallow: /a\n",
    b"\xef\xbbUser-agent: *\nDisallow: /a\n",
    "User-agent: *\nDisallow: /é\U0001f600\n".encode("utf-16"),
    b"\xfe\xff"
    + "User-agent: *\r\nDisallow: /\ud800x\n".encode("utf-16-be", "surrogatepass")
    + b"x",
    b"User-agent: *\nDisallow: /\xe9\xc3\xa9\xe2\x82/%e9\n",
    b"User-agent:\xa0*\nDisallow:\xa0/a\nDisallow: /b\xc2\xa0\n",
    b"User-agent: *\rDisallow: /a\r\0x\nAllow: /b\0c\r\n",
    b"user-AGENT\t: *\n dIsAllow /x\nallow /y # z\nDisallow /x y\n",
    b"User-agent: *\nAllow: /a/index.html\nAllow: /index.htm\nAllow: index.htm5\n",
    (
        b"User-agent: *\nDisallow: https://x.example:8/a?b#c\nDisallow:"
        b" https://[x/a\nDisallow: a\n"
    ),
    (
        b"User-agent: *\nRobot-version: 2.0\nAllow:"
        b" /[a-c\xc3\xa9-]?*\\*[!]]x*\nDisallow: ?*[[\\\n"
    ),
    b"User-agent: *\nDisallow: /" + b"a" * 20_000 + b"\nAllow: /b\n",
    (
        b"User-agent: *\n\nUser-agent: b\n # x\nUser-agent: c\nCrawl-delay:"
        b" 1\nDisallow: /a#b #c\n"
    ),
)


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_odd_files_are_read_alike(check, body):
    """Marks, encodings, octets, line ends, spellings, URLs, globs, long lines."""
    check([(body, dialect) for dialect in ALL.values()])


@pytest.mark.parametrize("most", [0, 1, 13, 14, 15, 20, 26, 27, 28])
def test_no_more_is_read_than_robots_read(check, most):
    """Whole lines within the limit."""
    body = b"User-agent: *\nDisallow: /a\r\nDisallow: /b\n"
    check([(body, dialect) for dialect in ALL.values()], most)


@settings(
    max_examples=examples(250),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(several=st.lists(st.tuples(bodies, dialects), min_size=1, max_size=8))
def test_any_file_is_read_alike(check, several):
    """Whatever the file and the dialect."""
    check(several)


@needs_corpus
def test_real_files_are_read_alike(check):
    """Every tenth, in all dialects."""
    for name, body in list(read_files().items())[::10]:
        assert name
        check([(body, dialect) for dialect in DIALECTS.values()])
