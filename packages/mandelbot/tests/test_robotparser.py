"""``mandelbot.robotparser`` has all of ``urllib.robotparser``'s methods."""

from __future__ import annotations

import inspect
import threading
import urllib.robotparser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError

import pytest

from mandelbot.robotparser import RobotFileParser

LINES = """\
User-agent: *
Disallow: /*.pdf$
Disallow: /private
Crawl-delay: 3
Request-rate: 9/30

User-agent: Other
Crawl-delay: 0.5

Sitemap: https://example.com/one.xml
Sitemap: https://example.com/two.xml
""".splitlines()


@pytest.fixture
def serve():
    """Serve one status and body as any robots.txt; return its URL."""
    servers = []

    def begin(status, body=b""):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}/robots.txt"

    yield begin
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def parsed(lines=LINES):
    parser = RobotFileParser("https://example.com/robots.txt")
    parser.parse(lines)
    return parser


def test_every_method_of_urllibs_is_there_with_its_arguments():
    """A caller passes them by place or by name."""
    theirs = urllib.robotparser.RobotFileParser
    for name, method in inspect.getmembers(theirs, inspect.isfunction):
        if name.startswith("_"):
            continue
        ours = getattr(RobotFileParser, name)
        assert [*inspect.signature(ours).parameters] == [
            *inspect.signature(method).parameters
        ], name


def test_every_attribute_but_the_entries_is_there():
    """``entries`` and ``default_entry`` hold the groups as urllib keeps them."""
    theirs = vars(urllib.robotparser.RobotFileParser("https://example.com/robots.txt"))
    ours = RobotFileParser("https://example.com/robots.txt")
    for name, value in theirs.items():
        if name not in {"entries", "default_entry", "groups"}:
            assert getattr(ours, name) == value, name


def test_rules_are_read_as_rfc_9309_has_them():
    """urllib before Python 3.13.14 allows the first: it knows no wildcards."""
    parser = parsed()
    assert not parser.can_fetch("Examplebot/1.0", "https://example.com/a.pdf")
    assert not parser.can_fetch("Examplebot/1.0", "https://example.com/private/x")
    assert parser.can_fetch("Examplebot/1.0", "https://example.com/")
    assert parser.can_fetch("Other", "https://example.com/private/x")


def test_lines_may_have_their_ends():
    """As they come from a file."""
    parser = parsed([f"{line}\r\n" for line in LINES])
    assert not parser.can_fetch("Examplebot", "/a.pdf")
    assert parser.can_fetch("Examplebot", "")


def test_nothing_may_be_fetched_before_a_file_is_parsed():
    """The caller forgot to call `read`."""
    parser = RobotFileParser("https://example.com/robots.txt")
    assert not parser.can_fetch("Examplebot", "https://example.com/")
    assert parser.crawl_delay("Examplebot") is None
    assert parser.request_rate("Examplebot") is None
    assert parser.mtime() == 0
    parser.modified()
    assert parser.mtime() > 0
    assert parser.can_fetch("Examplebot", "https://example.com/")


@pytest.mark.parametrize(
    ("name", "allowed"), [("allow_all", True), ("disallow_all", False)]
)
def test_a_caller_may_set_what_holds_for_all(name, allowed):
    """Crawlers do, after a status that they judge themselves."""
    parser = parsed()
    setattr(parser, name, True)
    assert parser.can_fetch("Examplebot", "https://example.com/private") is allowed
    assert parser.can_fetch("Examplebot", "https://example.com/") is allowed


def test_numbers_are_as_urllib_has_them():
    """A whole delay is an int, and a rate is urllib's tuple."""
    parser = parsed()
    assert repr(parser.crawl_delay("Examplebot")) == "3"
    assert parser.crawl_delay("Other") == 0.5
    assert parser.request_rate("Examplebot") == urllib.robotparser.RequestRate(9, 30)
    assert parser.request_rate("Other") is None
    assert parser.site_maps() == [
        "https://example.com/one.xml",
        "https://example.com/two.xml",
    ]
    assert parsed([]).site_maps() is None


@pytest.mark.parametrize(
    ("status", "allowed"),
    [(200, False), (401, False), (403, False), (404, True), (410, True), (503, False)],
)
def test_a_status_means_what_it_means_to_urllib(serve, status, allowed):
    """A project that changes its import must not find closed sites open."""
    url = serve(status, b"User-agent: *\nDisallow: /\n")
    parser = RobotFileParser(url)
    parser.read()
    theirs = urllib.robotparser.RobotFileParser(url)
    theirs.read()
    assert parser.can_fetch("Examplebot", "/x") is allowed
    assert theirs.can_fetch("Examplebot", "/x") is allowed


def test_bytes_that_are_no_utf8_are_read(serve):
    """urllib raises UnicodeDecodeError."""
    parser = RobotFileParser(
        serve(200, b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /x\n")
    )
    parser.read()
    assert not parser.can_fetch("Examplebot", "/x")


def test_a_host_that_does_not_answer_raises_what_urllib_raises(serve):
    """Nothing is open because of it."""
    parser = RobotFileParser("http://127.0.0.1:1/robots.txt")
    with pytest.raises(URLError):
        parser.read()
    assert not parser.can_fetch("Examplebot", "/x")


def test_the_file_is_there_for_verdicts():
    """What urllib cannot say."""
    verdict = parsed().robots.verdict("https://example.com/a.pdf", "Examplebot")
    assert verdict.rule.line == 2
    assert str(parsed()).startswith("User-agent: *\n")


def test_another_dialect_may_be_named():
    """As of any parser here."""
    parser = RobotFileParser(dialect="rep1994")
    parser.parse(["User-agent: *", "Disallow: /*.pdf$"])
    assert parser.can_fetch("Examplebot", "/a.pdf")
