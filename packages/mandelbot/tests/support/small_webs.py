"""Sites on loopback for tests, served by threads of this process, on free ports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread


@dataclass
class Answer:
    """What a site says to one request."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    """What Content-Length says; None: how long the body is."""


@dataclass
class Hit:
    """One request as a site saw it."""

    path: str
    status: int
    headers: dict[str, str]


class Web:
    """A site: paths and what they answer, and a log of who asked."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.pages: dict[str, Answer | Callable[[], Answer]] = {}
        self.hits: list[Hit] = []
        self.ended = Event()
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.answer(self)

            def log_message(self, *_: object) -> None:
                """Write none: hits are."""

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self.url = f"http://{host}:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Send what the page of the path says."""
        page = self.pages.get(request.path, Answer(b"not here", 404))
        one = page() if callable(page) else page
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.hits.append(Hit(request.path, one.status, headers))
        request.send_response(one.status)
        for name, value in one.headers.items():
            request.send_header(name, value)
        length = len(one.body) if one.length is None else one.length
        request.send_header("Content-Length", str(length))
        request.end_headers()
        request.wfile.write(one.body)

    def close(self) -> None:
        """Refuse connections."""
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def asked(self, path: str) -> int:
        """Return how often the path was asked for."""
        return sum(hit.path == path for hit in self.hits)

    def statuses(self) -> list[int]:
        return [hit.status for hit in self.hits]
