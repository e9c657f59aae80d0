"""A web on loopback for benchmarks: one process, any number of sites, one page for every path.

``http://127.0.0.1:PORT``, ``http://127.0.0.2:PORT`` and so on are sites of it. Each page links to
the next one, in as many chains as are asked for, so that a crawl has that many requests at hand.
Prints its port, and ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import sys

ROBOTS = b"".join(
    [
        b"# as a shop of middling size has it\nUser-agent: *\n",
        *(b"Disallow: /private/%d/\n" % number for number in range(20)),
        b"Disallow: /*?sort=\nDisallow: /*.pdf$\nAllow: /private/3/open\n",
        b"\nUser-agent: badbot\nDisallow: /\n",
    ]
)
CHAINS = 16


def page(path: bytes) -> bytes:
    """Return the page of a path: the front page begins the chains, the others go on."""
    if path == b"/":
        numbers = range(CHAINS)
    else:
        name = path.rpartition(b"/")[2]
        numbers = [int(name) + CHAINS] if name.isdigit() else []
    links = b"".join(b'<a href="/page/%d">next</a>' % number for number in numbers)
    return b"<html><body>" + links + b"<p>" + b"words " * 200 + b"</p></body></html>"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    while head := await _head(reader):
        path = head.split(b" ", 2)[1]
        is_robots = path == b"/robots.txt"
        body = ROBOTS if is_robots else page(path)
        kind = b"text/plain" if is_robots else b"text/html"
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
            % (kind, len(body), body)
        )
    writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


async def main() -> None:
    """Serve until standard input ends."""
    server = await asyncio.start_server(serve, "0.0.0.0")  # all of 127.x.x.x
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
