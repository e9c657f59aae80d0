"""Sites that ask for a pace, all on one loopback address and told apart by name: for ``pace.py``.

Prints its port, serves until its standard input is closed, and then prints when each site was
asked, as JSON. ``/`` links to a site's other pages. The robots.txt of ``free.test`` asks for
nothing, it has as many pages as are asked for, and an answer takes it 50 ms; others have twenty
pages at most.

Usage::

    python benchmarks/paced_server.py PAGES ROBOTS [SLOWNESS]

ROBOTS is what the other sites ask for, such as ``Crawl-delay: 1``, lines separated by ``;``. Their
answers take up to SLOWNESS seconds.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import defaultdict

_PAGES_OF_OTHERS = 20
_FREE_TAKES = 0.05  # seconds for an answer, so that what counts are places in the downloader


class Sites:
    """The sites, and when each was asked."""

    def __init__(self, pages: int, robots: str, slowness: float) -> None:
        links = [b'<a href="/%d">%d</a>\n' % (n, n) for n in range(pages)]
        self._index = b"<html><body>" + b"".join(links[:_PAGES_OF_OTHERS]) + b"</body></html>"
        self._free_index = b"<html><body>" + b"".join(links) + b"</body></html>"
        self._page = b"<html><body><p>" + b"words " * 100 + b"</p></body></html>"
        self._robots = b"User-agent: *\n" + robots.replace(";", "\n").encode() + b"\n"
        self._slowness = slowness
        self._chance = random.Random(8)
        self.asked: dict[str, list[float]] = defaultdict(list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        while head := await self._head(reader):
            host = head.lower().partition(b"\r\nhost: ")[2].partition(b"\r\n")[0]
            name = host.decode().partition(":")[0]
            self.asked[name].append(time.monotonic())
            is_free = name == "free.test"
            if is_free:
                await asyncio.sleep(_FREE_TAKES)
            elif self._slowness:
                await asyncio.sleep(self._chance.uniform(0, self._slowness))
            path = head.split(b" ", 2)[1]
            if path == b"/robots.txt":
                body = b"" if is_free else self._robots
            elif path == b"/":
                body = self._free_index if is_free else self._index
            else:
                body = self._page
            kind = b"text/plain" if path == b"/robots.txt" else b"text/html"
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                % (kind, len(body), body)
            )
        writer.close()

    @staticmethod
    async def _head(reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""


async def main(pages: str, robots: str, slowness: str = "0") -> None:
    """Serve until standard input ends."""
    sites = Sites(int(pages), robots, float(slowness))
    server = await asyncio.start_server(sites.serve, "127.0.0.1", backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps(sites.asked))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
