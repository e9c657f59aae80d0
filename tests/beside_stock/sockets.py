"""The same sites behind sockets: Scrapy's own handlers, HTTP/1.1 and HTTP/2."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cell import Cell, World
from certificates import Authority
from network import Asked, Fault, Network, page, with_robots
from reported import NO, OUT_8, after, pages
from twisted.internet import ssl
from twisted.internet.protocol import Protocol
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET
from twisted.web.server import Site as HttpSite
from webs import later

if TYPE_CHECKING:
    from twisted.web.server import Request as HttpRequest

H2 = "scrapy.core.downloader.handlers.http2.H2DownloadHandler"
HOST = "127.0.0.1"
NAME = "localhost"
"""Of a site with TLS: HTTP/2 is negotiated by name."""


class _Drops(Protocol):
    def connectionMade(self):  # noqa: N802 -- Twisted's name
        self.transport.abortConnection()


class Served(Resource):
    """Serves the one site of a network on a port of loopback."""

    isLeaf = True  # noqa: N815 -- Twisted's name

    def __init__(self, network: Network, *, tls: bool) -> None:
        super().__init__()
        self._network = network
        self._port = self._listen(tls=tls)
        scheme = "https" if tls else "http"
        host = NAME if tls else HOST
        self.url = f"{scheme}://{host}:{self._port.getHost().port}"

    def _listen(self, *, tls: bool):
        from twisted.internet import reactor

        factory = HttpSite(self, timeout=5)
        factory.log = lambda _request: None
        if not tls:
            return reactor.listenTCP(0, factory, interface=HOST)
        with TemporaryDirectory() as folder:
            files = Authority(Path(folder), "authority").sign("site", host=NAME)
            pem = b"".join(path.read_bytes() for path in files)
        options = ssl.PrivateCertificate.loadPEM(pem).options()
        return reactor.listenSSL(0, factory, options, interface=HOST)

    def drop(self) -> None:
        """Drop each connection as it comes."""
        self._port.factory.buildProtocol = lambda _address: _Drops()

    def render(self, request: HttpRequest) -> object:
        headers = {
            name.decode().lower(): values[0].decode("latin-1")
            for name, values in request.requestHeaders.getAllRawHeaders()
        }
        asked = Asked(
            method=request.method.decode(),
            path=request.uri.decode(),
            n=1 + sum(one.path == request.uri.decode() for one in self._network.asked),
            t=self._network.t,
            headers=headers,
            body=request.content.read(),
            url=self.url + request.uri.decode(),
            host=HOST,
        )
        (site,) = self._network.sites.values()
        answer = site(asked)
        assert not isinstance(answer, Fault)
        asked.status = answer.status
        self._network.asked.append(asked)
        request.setResponseCode(answer.status)
        request.setHeader("content-type", "text/html; charset=utf-8")
        for name, value in answer.headers.items():
            request.setHeader(name, value)
        late = later(answer.wait, self._finish, request, answer.body)
        request.notifyFinish().addErrback(lambda _: late.active() and late.cancel())
        return NOT_DONE_YET

    @staticmethod
    def _finish(request: HttpRequest, body: bytes) -> None:
        request.write(body)
        request.finish()

    def close(self) -> None:
        self._port.stopListening()


def healthy(protocol):
    return World(with_robots(page), [*pages(40), "/no/1"], serve=protocol)


def outage(protocol):
    return World(after(10, NO, 8.0), [*pages(40), "/no/1"], serve=protocol)


def dropped(protocol):
    return World(with_robots(page), pages(5), serve=protocol, drops=True)


CELLS = [
    cell
    for protocol, name, settings in (
        ("http", "HTTP/1.1", {}),
        ("https", "HTTPS", {}),
        ("https", "HTTP/2", {"DOWNLOAD_HANDLERS": {"https": H2}}),
    )
    for cell in (
        Cell(
            f"{name} over sockets",
            "40 pages, and one that robots.txt forbids",
            partial(healthy, protocol),
            settings=settings,
            needs="sockets",
        ),
        Cell(
            f"{name} over sockets, an outage",
            "the same, and 503 for 8 s after ten pages",
            partial(outage, protocol),
            settings=settings,
            waits=14,
            why=OUT_8,
            needs="sockets",
        ),
        Cell(
            f"{name} over sockets, all dropped",
            "each connection is dropped as it comes",
            partial(dropped, protocol),
            settings=settings,
            waits=45,
            why="the host is tried again after 1, 3, 9 and 27 s",
            needs="sockets",
        ),
    )
]
