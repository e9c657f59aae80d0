"""A verb that is given a URL fetches it without Scrapy: redirects, limits, one
deadline.
"""

from __future__ import annotations

import gzip
import io
import socket
import ssl
from threading import Event, Thread

import pytest
from certificates import Authority

from mandelbot.answers.inside import leads_inside
from mandelbot.answers.outcome import Failure
from mandelbot.cli.fetch import TimedDownload

URL = "http://site.example/robots.txt"
BODY = b"User-agent: *\nDisallow: /x\n"


class Wire(io.RawIOBase):
    """The socket of a server that sends pieces, and of one that then sends no more."""

    def __init__(self, pieces) -> None:
        self.pieces, self.sent = list(pieces), b""

    def setsockopt(self, *_):
        pass

    def sendall(self, data):
        self.sent += data

    def makefile(self, *_):
        return io.BufferedReader(self)

    def close(self):
        """Stay open for its file, as a socket does."""

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self.pieces:
            return 0
        piece = self.pieces.pop(0)
        if isinstance(piece, Exception):
            raise piece
        if isinstance(piece, Stall):
            piece.wait()
            return 0
        buffer[: len(piece)] = piece
        return len(piece)


class Stall:
    """A server that sends nothing until the deadline is over."""

    def __init__(self) -> None:
        self.seconds = None
        self._began, self._over = Event(), Event()

    def wait(self):
        self._began.set()
        self._over.wait(30)

    def deadline(self, thread, seconds):
        """Let the deadline come while it waits."""
        self.seconds = seconds
        assert self._began.wait(30)

    def end(self):
        self._over.set()


@pytest.fixture
def stall():
    stall = Stall()
    yield stall
    stall.end()


def fetched(*answers, most=1_000, url=URL, may=lambda *_: True, join=Thread.join):
    """Fetch from servers that send these pieces, one after the other; return that, and
    them.
    """
    wires = [Wire(pieces) for pieces in answers]
    opened = iter(wires)
    hosts = []

    def fake(address, *_):
        hosts.append(tuple(address))
        return next(opened)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "create_connection", fake)
        found = TimedDownload(url, "Examplebot/1.0", may).fetch(most, 10.0, join)
    return found, wires, hosts


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def response(body=BODY, status="200 OK", *headers) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def moved(where: str) -> list[bytes]:
    return [response(b"", "302 Found", f"Location: {where}")]


def test_a_response_is_read():
    """Its status, headers and body; the request names the robot."""
    head = ("Content-Type: text/plain", "X-A: 1", "X-A: 2")
    found, (wire,), hosts = fetched([response(BODY, "200 OK", *head)])
    assert (found.status, found.body, found.failure) == (200, BODY, None)
    assert (found.headers["content-type"], found.headers["x-a"]) == (
        "text/plain",
        "1, 2",
    )
    assert (found.final_url, found.redirects, found.is_incomplete) == (URL, 0, False)
    assert hosts == [("site.example", 80)]
    assert wire.sent.startswith(b"GET /robots.txt HTTP/1.1\r\n")
    assert b"\r\nUser-Agent: Examplebot/1.0\r\n" in wire.sent


@pytest.mark.parametrize(
    "status", ["404 Not Found", "500 No", "304 Not Modified", "599 ?"]
)
def test_any_status_is_a_response(status):
    found, *_ = fetched([response(b"<html>", status)])
    assert (found.status, found.failure) == (int(status[:3]), None)


# One deadline for the whole download.


def test_a_body_that_trickles_ends_at_the_deadline(stall):
    """A byte a second is never late by itself; what came until then counts."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"
    found, *_ = fetched([head, *([b"x"] * 9), stall], join=stall.deadline)
    assert (found.status, found.is_incomplete, found.seconds) == (200, True, 10.0)
    assert (found.body, stall.seconds) == (b"x" * 9, 10.0)


@pytest.mark.parametrize(
    "pieces",
    [
        [],
        [b"HTTP/1.1 200 OK\r\n", *([b"X-A: 1\r\n"] * 9)],
        [bytes([one]) for one in b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"],
        [b"HTTP/1.1 100 Continue\r\n\r\n"] * 9,
    ],
    ids=["nothing", "headers", "bytes", "continue"],
)
def test_headers_that_trickle_end_at_the_deadline(pieces, stall):
    found, *_ = fetched([*pieces, stall], join=stall.deadline)
    assert (found.status, found.failure, found.seconds) == (
        None,
        Failure.TIMED_OUT,
        10.0,
    )


def test_redirects_share_the_deadline(stall):
    found, *_ = fetched(
        *(moved(f"/{n}") for n in range(3)), [stall], join=stall.deadline
    )
    assert (found.failure, found.redirects, found.seconds) == (
        Failure.TIMED_OUT,
        3,
        10.0,
    )


def test_a_name_that_is_never_resolved_ends_at_the_deadline(monkeypatch, stall):
    """The resolver of the system waits as long as it likes."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: stall.wait() or [])
    found = TimedDownload(URL, "x", lambda *_: True).fetch(10, 5, stall.deadline)
    assert found.failure is Failure.TIMED_OUT
    stall.end()


# Redirects.


def test_redirects_are_followed_to_the_tenth():
    """RFC 9309, section 2.3.1.2: at least five."""
    hops = [moved(f"http://other.example/{n}") for n in range(10)]
    found, *_ = fetched(*hops, [response()])
    assert (found.redirects, found.body) == (10, BODY)
    found, _, hosts = fetched(*hops, moved("/last"))
    assert (found.redirects, found.status, len(hosts)) == (10, 302, 11)
    assert found.answer.failure is Failure.NOWHERE


@pytest.mark.parametrize(
    "where", ["ftp://site.example/", "file:///etc/passwd", "http://", "//[", "\x7f"]
)
def test_a_redirect_to_an_invalid_url_is_not_followed(where):
    """It does not say that there is no file. (RFC 9309, section 2.3.1.4)"""
    found, _, hosts = fetched(moved(where))
    assert (found.answer.failure, len(hosts)) == (Failure.BAD_REDIRECT, 1)


def test_a_redirect_that_leads_nowhere_is_not_followed():
    found, _, hosts = fetched(moved("/robots.txt"))
    assert (found.answer.failure, len(hosts)) == (Failure.NOWHERE, 1)


def test_each_hop_is_judged_by_the_site_that_was_named():
    """A second hop leads inside no more than a first one does."""
    judged = []

    def may(site, url):
        judged.append((site, url))
        return not leads_inside(site, url)

    hops = moved("https://www.site.example/r"), moved("http://169.254.169.254/keys")
    found, _, hosts = fetched(moved("http://b.example/"), hops[1], may=may)
    assert hosts == [("site.example", 80), ("b.example", 80)]
    assert judged == [(URL, "http://b.example/"), (URL, "http://169.254.169.254/keys")]
    assert found.answer.failure is Failure.NOWHERE


def test_credentials_of_a_url_are_not_sent():
    """Nor do those of a redirect go anywhere."""
    found, wires, hosts = fetched(
        *(moved("http://me:secret@b.example/"), [response()]),
        url="http://me:secret@a.example/",
    )
    assert hosts == [("a.example", 80), ("b.example", 80)]
    assert b"secret" not in b"".join(wire.sent for wire in wires)
    assert found.final_url == "http://b.example/"


# Bad responses.


@pytest.mark.parametrize(
    ("pieces", "failure"),
    [
        ([], Failure.LOST),
        ([b"what?\r\n\r\n"], Failure.LOST),
        ([b"HTTP/1.1 99999 OK\r\n\r\n"], Failure.LOST),
        ([b"HTTP/1.1 200 OK\r\nX: ", *([b"x" * 900] * 80)], Failure.LOST),
        ([b"HTTP/1.1 200 OK\r\n", *([b"X: y\r\n"] * 200), b"\r\n"], Failure.LOST),
        ([ConnectionResetError()], Failure.LOST),
        ([ssl.SSLError()], Failure.TLS),
        ([response(b"\0plain", "200 OK", "Content-Encoding: gzip")], Failure.LOST),
    ],
)
def test_a_malformed_response_is_a_failure(pieces, failure):
    """And never an exception."""
    found, *_ = fetched(pieces)
    assert (found.failure, found.body) == (failure, b"")
    assert found.trouble.startswith(URL)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n", BODY],
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n",
            BODY,
            ConnectionResetError(),
        ],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n", BODY],
        [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1b\r\n",
            BODY,
            b"\r\nzz\r\n",
        ],
    ],
)
def test_a_truncated_body_counts_as_far_as_it_came(pieces):
    found, *_ = fetched(pieces)
    assert (found.status, found.body, found.is_incomplete) == (200, BODY, True)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\n\r\n", BODY],
        [b"HTTP/1.0 200\r\nContent-Length: x\r\n\r\n", BODY],
        [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1b\r\n",
            BODY,
            b"\r\n0\r\n\r\n",
        ],
        [response(gzip.compress(BODY), "200 OK", "Content-Encoding: GZIP")],
    ],
)
def test_a_body_is_whole_however_it_ends(pieces):
    found, *_ = fetched(pieces)
    assert (found.body, found.is_incomplete, found.content_encoding) == (
        BODY,
        False,
        "",
    )


def test_a_truncated_gzip_is_incomplete():
    body = gzip.compress(BODY * 20)[:-9]
    found, *_ = fetched([response(body, "200 OK", "Content-Encoding: gzip")])
    assert found.is_incomplete
    assert BODY in found.body


def test_an_unknown_coding_is_left_on():
    found, *_ = fetched([response(BODY, "200 OK", "Content-Encoding: rot13")])
    assert (found.body, found.content_encoding, found.failure) == (BODY, "rot13", None)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_body_is_read_to_its_limit(pack):
    """One byte more shows that it is longer; a bomb is not unpacked."""
    coding = () if pack is bytes else ("Content-Encoding: gzip",)
    found, *_ = fetched(
        [response(pack(b"x" * 30_000), "200 OK", *coding)[:1_100]], most=1_000
    )
    assert (len(found.body), found.is_incomplete) == (1_001, False)


@pytest.mark.parametrize(
    "url", ["http://" + "a" * 70 + ".example/", "http://a..b/", "http://1.2.3.999/"]
)
def test_an_impossible_host_name_is_no_such_host(url):
    found = TimedDownload(url, "x", lambda *_: True).fetch(10, 5)
    assert found.failure is Failure.NO_SUCH_HOST


# The real ones.


class Served:
    """A server on loopback that answers each connection with the same octets."""

    def __init__(self, octets: bytes, context: ssl.SSLContext | None = None) -> None:
        self.requests = []
        self._octets, self._context = octets, context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            try:
                with connection:
                    if self._context is not None:
                        connection = self._context.wrap_socket(
                            connection, server_side=True
                        )
                    self.requests.append(connection.recv(65_536))
                    connection.sendall(self._octets)
                    connection.close()
            except OSError:
                continue

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@pytest.fixture
def served():
    made = []

    def serve(*arguments) -> Served:
        made.append(Served(*arguments))
        return made[-1]

    yield serve
    for one in made:
        one.stop()


def test_a_real_server_is_read(served):
    """By its address, through the system's sockets."""
    server = served(response())
    url = f"http://127.0.0.1:{server.port}/r"
    found = TimedDownload(url, "x", lambda *_: True).fetch(1_000, 30)
    assert (found.status, found.body) == (200, BODY)


def test_the_proxy_of_the_environment_is_used(served, monkeypatch):
    """And looks the name up."""
    server = served(response())
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
    found = TimedDownload("http://nowhere.invalid/r", "x", lambda *_: True).fetch(
        1_000, 30
    )
    assert found.body == BODY
    assert server.requests[0].startswith(b"GET http://nowhere.invalid/r HTTP/1.1\r\n")


def test_a_proxy_that_refuses_a_tunnel_is_no_connection(served, monkeypatch):
    server = served(b"HTTP/1.1 403 No\r\n\r\n")
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{server.port}")
    found = TimedDownload("https://nowhere.invalid/r", "x", lambda *_: True).fetch(
        1_000, 30
    )
    assert found.failure is Failure.UNREACHABLE
    assert server.requests[0].startswith(b"CONNECT nowhere.invalid:443 ")


@pytest.mark.parametrize("verify", [True, False])
def test_certificates_are_verified_if_enabled(served, tmp_path, verify):
    """Nobody trusts the authority of this one."""
    cert, key = Authority(tmp_path, "ours").sign("127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server = served(response(), context)
    url = f"https://127.0.0.1:{server.port}/r"
    found = TimedDownload(url, "x", lambda *_: True, verify=verify).fetch(1_000, 30)
    assert (found.failure, found.status) == (
        (Failure.TLS, None) if verify else (None, 200)
    )
