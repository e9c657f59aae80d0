"""Sites on loopback for tests, served by Twisted in this process, on free ports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from loop_time import TIME
from twisted.web.resource import Resource
from twisted.web.server import Site as HttpSite

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.web.server import Request as HttpRequest


@dataclass
class Answer:
    """What a site says to one request."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str | list[str]] = field(default_factory=dict)
    """A list: the header comes several times."""
    delay: float = 0.0


@dataclass
class Hit:
    """One request as a site saw it."""

    path: str
    status: int
    at: float
    """Seconds, as `TIME` has them."""
    headers: dict[str, str]


_LATE: WeakSet[IDelayedCall] = WeakSet()


def later(seconds: float, call: Callable[..., object], *arguments: Any) -> IDelayedCall:
    """Continue an answer of this process' site when so much time has passed."""
    from twisted.internet import reactor

    late = reactor.callLater(seconds, call, *arguments)
    _LATE.add(late)
    return late


def held_back() -> int:
    """Return how often sites of this process are about to go on with an answer."""
    return sum(late.active() for late in _LATE)


def html(*links: str, title: str = "page") -> Answer:
    """Return a page that links to others."""
    anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in links)
    body = f"<html><head><title>{title}</title></head><body>{anchors}</body></html>"
    return Answer(body.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


class Web(Resource):
    """A site: paths and what they answer, a log of who asked, and times at which it is
    down.
    """

    isLeaf = True  # noqa: N815 -- Twisted's name

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__()
        self.host = host
        self.pages: dict[str, Answer | Callable[[HttpRequest], Answer]] = {}
        self.hits: list[Hit] = []
        self.refuse: Callable[[str], Answer | None] = lambda _path: None
        """Asked first of every request; what it returns is the answer."""
        self._port = None
        self.channels: WeakSet = WeakSet()

    def listen(self) -> Web:
        from twisted.internet import reactor

        self._port = reactor.listenTCP(0, self._factory(), interface=self.host)
        return self

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self._port.getHost().port}"

    def drop(self) -> None:
        """Go down: refuse connections, and drop those that are open."""
        self._number = self._port.getHost().port
        self._port.stopListening()
        for channel in list(self.channels):
            channel._channel.transport.abortConnection()

    def listen_again(self) -> None:
        """Come up on the same port."""
        from twisted.internet import reactor

        self._port = reactor.listenTCP(
            self._number, self._factory(), interface=self.host
        )

    def _factory(self) -> HttpSite:
        web = self

        class Remembering(HttpSite):
            def buildProtocol(self, addr):  # noqa: N802 -- Twisted's name
                channel = super().buildProtocol(addr)
                web.channels.add(channel)
                return channel

            def startFactory(self):  # noqa: N802
                """Open no log: for its lines a timer would look at the time each
                second.
                """

            def stopFactory(self):  # noqa: N802
                """Close no log."""

            def log(self, request):
                """Write none: hits are."""

        return Remembering(self, timeout=5)

    def close(self) -> None:
        self._port.stopListening()

    def asked(self, path: str, status: int | None = None) -> int:
        """Return how often the path was asked for, and answered so."""
        return sum(
            hit.path == path and status in {None, hit.status} for hit in self.hits
        )

    def statuses(self) -> list[int]:
        return [hit.status for hit in self.hits]

    def chain(self, count: int) -> list[str]:
        """Serve ``/`` with links to that many pages, and return all paths."""
        paths = [f"/page/{number}" for number in range(count)]
        self.pages["/"] = html(*paths)
        self.pages.update({path: html(title=path) for path in paths})
        return ["/", *paths]

    def urls(self, count: int) -> list[str]:
        """Return the URLs of ``/`` and of that many pages, sorted."""
        return sorted(
            self.url + path for path in ["/", *(f"/page/{n}" for n in range(count))]
        )

    def render(self, request: HttpRequest) -> bytes:
        path = request.uri.decode()
        answer = self.refuse(path)
        if answer is None:
            page = self.pages.get(path, Answer(b"not here", 404))
            answer = page(request) if callable(page) else page
        headers = {
            name.decode().lower(): values[0].decode("latin-1")
            for name, values in request.requestHeaders.getAllRawHeaders()
        }
        self.hits.append(Hit(path, answer.status, TIME.elapsed(), headers))
        request.setResponseCode(answer.status)
        for name, value in answer.headers.items():
            values = [value] if isinstance(value, str) else value
            request.responseHeaders.setRawHeaders(name, values)
        if answer.delay:
            late = later(answer.delay, self._finish, request, answer.body)
            request.notifyFinish().addErrback(lambda _: late.active() and late.cancel())
            return 1  # NOT_DONE_YET
        return answer.body

    @staticmethod
    def _finish(request: HttpRequest, body: bytes) -> None:
        request.write(body)
        request.finish()


def site(
    webs: Callable[[str], Web], pages: int, host: str = "127.0.0.1", delay: float = 0.0
) -> Web:
    """Start a site of that many pages, each `delay` seconds late; robots.txt forbids
    nothing.
    """
    web = webs(host)
    web.chain(pages)
    for answer in web.pages.values():
        answer.delay = delay
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow:\n")
    return web


class Closed:
    """A refusal for some seconds, from the n-th page on: 503 and Retry-After, or
    neither.
    """

    def __init__(
        self,
        seconds: float,
        after: int = 0,
        retry_after: str | None = None,
        status: int = 503,
        *,
        robots_too: bool = True,
        delay: float = 0.0,
    ) -> None:
        self.seconds = seconds
        self.retry_after = retry_after
        self.status = status
        self.robots_too = robots_too
        self.delay = delay
        self.began: float | None = None
        self._left = after

    def __call__(self, path: str) -> Answer | None:
        now = TIME.elapsed()
        if path == "/robots.txt" and not self.robots_too:
            return None
        if self.began is None:
            if self._left > 0:
                self._left -= path != "/robots.txt"
                return None
            self.began = now
        if now - self.began >= self.seconds:
            return None
        headers = {} if self.retry_after is None else {"Retry-After": self.retry_after}
        return Answer(b"back soon", self.status, headers, self.delay)
