"""Sites that misbehave as no well-made server can, and a site over TLS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from self_signed import self_signed
from twisted.internet import ssl, task
from twisted.internet.protocol import Factory, Protocol
from twisted.protocols.policies import WrappingFactory
from twisted.web.server import NOT_DONE_YET
from twisted.web.server import Site as HttpSite
from webs import Hit, Web

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.web.server import Request as HttpRequest


class WildWeb(Web):
    """A site whose robots.txt is answered by a function that does what it likes, a few
    times.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__(host)
        self.wild: Callable[[HttpRequest], None] | None = None
        self.wild_times = 10**9

    def render(self, request: HttpRequest) -> bytes:
        if request.uri != b"/robots.txt" or self.wild is None or not self.wild_times:
            return super().render(request)
        self.wild_times -= 1
        self.hits.append(Hit("/robots.txt", 0, 0.0, {}))
        self.wild(request)
        return NOT_DONE_YET


def no_answer(request: HttpRequest) -> None:
    """Take the request, and say nothing."""
    request.notifyFinish().addErrback(lambda _: None)


def reset(request: HttpRequest) -> None:
    """Drop the connection."""
    request.notifyFinish().addErrback(lambda _: None)
    request.channel.transport.abortConnection()


def endless(piece: bytes, interval: float) -> Callable[[HttpRequest], None]:
    """Answer 200 with rules, and then go on for ever."""

    def answer(request: HttpRequest) -> None:
        request.write(b"User-agent: *\nDisallow: /page/1\n")
        loop = task.LoopingCall(request.write, piece)
        request.notifyFinish().addErrback(lambda _: loop.stop())
        loop.start(interval)

    return answer


class SecureWeb(Web):
    """A site over TLS, with a certificate that nobody has signed."""

    def listen(self) -> SecureWeb:
        from twisted.internet import reactor

        # Wrapped, it offers no HTTP/2, which Twisted 25 cannot with the newest
        # pyOpenSSL.
        factory = WrappingFactory(HttpSite(self, timeout=5))
        options = ssl.PrivateCertificate.loadPEM(self_signed()).options()
        self._port = reactor.listenSSL(0, factory, options, interface=self.host)
        return self

    @property
    def url(self) -> str:
        return super().url.replace("http://", "https://")


class NoTls(Protocol):
    """What speaks plain HTTP to whoever says anything."""

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 -- Twisted's name
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


class NoTlsWeb(SecureWeb):
    """A site whose owner forgot the certificate."""

    def listen(self) -> NoTlsWeb:
        from twisted.internet import reactor

        self._port = reactor.listenTCP(
            0, Factory.forProtocol(NoTls), interface=self.host
        )
        return self
