"""A server that refuses, in one of several ways: for ``pauses.py``.

Prints its port, serves until its standard input is closed, and then prints what it answered, as
JSON. Pages are ``/0`` to ``/N``; ``/`` links to all of them.

Usage::

    python benchmarks/refusing_server.py PAGES BEHAVIOUR [HOST]

A behaviour is ``limit:RATE:BURST``, ``distant:RATE:BURST`` (the same 50 ms away in either
direction, with ``Retry-After: 1``), ``halving:RATE:BURST`` (after ten seconds), ``flapping`` (up
two seconds, down one), ``down:SECONDS`` (after 50 pages), ``closed:SECONDS`` (the same, with
Retry-After), ``odd:RATE:BURST`` (a limit whose refusals are 429, 430, 509 and 529 in turn),
``maintained:SECONDS`` (after 50 pages, redirects each page to a notice), ``noticed:SECONDS`` (sends
the notice in place of each page), ``one-page`` (page 7 answers 503), or ``well``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from itertools import cycle
from time import monotonic

from loopback import serve_answers

OK, FOUND = 200, 302
NOTICE = "/notice.html"
ONE_WAY = 0.05  # seconds to a distant server, and from it


class Refusing:
    """Pages, and when they are refused."""

    def __init__(self, pages: int, behaviour: str) -> None:
        kind, *numbers = behaviour.split(":")
        self._refuses = getattr(self, "_" + kind.replace("-", "_"))
        self.one_way = ONE_WAY if kind == "distant" else 0.0
        self._numbers = [float(number) for number in numbers]
        self._index = "".join(f'<a href="/{n}">{n}</a>' for n in range(pages))
        self._statuses = cycle([429, 430, 509, 529])
        self._excess = 0.0
        self._last = -1e9
        self._began: float | None = None
        self._closed_at: float | None = None
        self._served = 0
        self.answered = {"statuses": Counter(), "refusals": 0}

    def answer(self, _host: str, _port: int, path: str) -> tuple[int, str, str]:
        """Return status, content type with further headers, and body."""
        now = monotonic()
        self._began = self._began or now
        refused = path != "/robots.txt" and self._refuses(path, now)
        status = 503 if refused is True or isinstance(refused, str) else refused or 200
        self.answered["statuses"][status] += 1
        if path not in {"/robots.txt", NOTICE} and not refused:
            self._served += 1
        elif refused:
            self.answered["refusals"] += 1
        headers = "text/html"
        if isinstance(refused, str):
            headers += f"\r\nRetry-After: {refused}"
        if status == FOUND:
            headers += f"\r\nLocation: {NOTICE}"
        if refused == OK:
            return status, headers, "<html><body>notice</body></html>"
        page = f"<html><body>page {path}</body></html>"
        return status, headers, self._index if path == "/" else page

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

    def _noticed(self, path, now):
        return OK if self._down(path, now) else False

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


def main(pages: str, behaviour: str, host: str = "127.0.0.1") -> None:
    site = Refusing(int(pages), behaviour)
    asyncio.run(serve_answers([host], site.answer, site.one_way))
    print(json.dumps(site.answered), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
