"""A server that refuses, in one of several ways: for ``pauses.py``.

Prints its URL, serves until its standard input is closed, and then prints what it answered, as
JSON. Pages are ``/0`` to ``/N``; ``/`` links to all of them.

Usage::

    python benchmarks/refusing_server.py PAGES BEHAVIOUR [HOST]

A behaviour is ``limit:RATE:BURST``, ``distant:RATE:BURST`` (the same 50 ms away in either
direction, with ``Retry-After: 1``), ``halving:RATE:BURST`` (after ten seconds), ``flapping`` (up
two seconds, down one), ``down:SECONDS`` (after 50 pages), ``closed:SECONDS`` (the same, with
Retry-After), ``odd:RATE:BURST`` (a limit whose refusals are 429, 430, 509 and 529 in turn),
``maintained:SECONDS`` (after 50 pages, redirects each page to a notice), ``one-page`` (page 7
answers 503), or ``well``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import cycle
from time import monotonic

from twisted.internet import reactor, stdio
from twisted.internet.protocol import Protocol
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

FOUND = 302
NOTICE = "/notice.html"
ONE_WAY = 0.05  # seconds to a distant server, and from it


class Refusing(Resource):
    """Pages, and when they are refused."""

    isLeaf = True  # noqa: N815 -- Twisted's name

    def __init__(self, pages: int, behaviour: str) -> None:
        super().__init__()
        kind, *numbers = behaviour.split(":")
        self._refuses = getattr(self, "_" + kind.replace("-", "_"))
        self._one_way = ONE_WAY if kind == "distant" else 0.0
        self._numbers = [float(number) for number in numbers]
        self._index = "".join(f'<a href="/{n}">{n}</a>' for n in range(pages)).encode()
        self._statuses = cycle([429, 430, 509, 529])
        self._excess = 0.0
        self._last = -1e9
        self._began: float | None = None
        self._closed_at: float | None = None
        self._served = 0
        self.times: list[float] = []
        self.refusals: list[float] = []
        self.statuses: Counter[int] = Counter()

    def render(self, request):
        if not self._one_way:
            return self._answer(request)
        reactor.callLater(self._one_way, self._answer_later, request)
        return NOT_DONE_YET

    def _answer_later(self, request):
        reactor.callLater(self._one_way, self._send, request, self._answer(request))

    @staticmethod
    def _send(request, body):
        request.write(body)
        request.finish()

    def _answer(self, request):
        now = monotonic()
        self._began = self._began or now
        path = request.path.decode()
        refused = path != "/robots.txt" and self._refuses(path, now)
        status = 503 if refused else 200
        if refused is not True and isinstance(refused, int) and refused:
            status = refused
        self.statuses[status] += 1
        if path not in {"/robots.txt", NOTICE} and not refused:
            self._served += 1
            self.times.append(now - self._began)
        elif refused:
            self.refusals.append(now - self._began)
        request.setResponseCode(status)
        request.setHeader("Content-Type", "text/html")
        if isinstance(refused, str):
            request.setHeader("Retry-After", refused)
        if status == FOUND:
            request.setHeader("Location", NOTICE)
        return self._index if path == "/" else b"<html><body>page</body></html>"

    def _limit(self, _path, now):
        rate, burst = self._numbers
        excess = max(0.0, self._excess - (now - self._last) * rate + 1)
        if self._last < 0:
            excess = 0.0
        if excess > burst:
            return True
        self._excess, self._last = excess, now
        return False

    def _odd(self, path, now):
        return next(self._statuses) if self._limit(path, now) else False

    def _maintained(self, path, now):
        return FOUND if path != NOTICE and self._down(path, now) else False

    def _distant(self, path, now):
        return "1" if self._limit(path, now) else False

    def _halving(self, path, now):
        if now - self._began > 10 and len(self._numbers) == 2:
            self._numbers = [self._numbers[0] / 2, self._numbers[1]]
            self._halving = self._refuses = self._limit
        return self._limit(path, now)

    def _flapping(self, _path, now):
        return (now - self._began) % 3 >= 2

    def _down(self, _path, now):
        if self._served >= 50 and self._closed_at is None:
            self._closed_at = now
        return self._closed_at is not None and now - self._closed_at < self._numbers[0]

    def _closed(self, path, now):
        if not self._down(path, now):
            return False
        return str(max(1, round(self._numbers[0] - (now - self._closed_at))))

    @staticmethod
    def _one_page(path, _now):
        return path == "/7"

    @staticmethod
    def _well(_path, _now):
        return False


class UntilClosed(Protocol):
    def connectionLost(self, _reason) -> None:  # noqa: N802 -- Twisted's name
        reactor.stop()


def main() -> None:
    pages, behaviour, host = int(sys.argv[1]), sys.argv[2], (sys.argv[3:] or ["127.0.0.1"])[0]
    resource = Refusing(pages, behaviour)
    port = reactor.listenTCP(0, Site(resource), interface=host)
    print(f"http://{host}:{port.getHost().port}/", flush=True)
    stdio.StandardIO(UntilClosed())
    reactor.run()
    answered = {
        "statuses": resource.statuses,
        "times": resource.times,
        "refusals": resource.refusals,
    }
    print(json.dumps(answered), flush=True)


if __name__ == "__main__":
    main()
