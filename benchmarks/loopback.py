"""A web on loopback for benchmarks: one process, any number of sites, one page for
every path.

Its sites are ``http://HOST:PORT`` for each of :func:`hosts`, and it listens on these
addresses and no others. Each page links to the next one, in as many chains as are asked
for, so that a crawl has that many requests at hand. Prints its port, and ends when its
standard input does.

Usage::

    python benchmarks/loopback.py [SITES]
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from pathlib import Path

ROBOTS = b"".join(
    [
        b"# as a shop of middling size has it\nUser-agent: *\n",
        *(b"Disallow: /private/%d/\n" % number for number in range(20)),
        b"Disallow: /*?sort=\nDisallow: /*.pdf$\nAllow: /private/3/open\n",
        b"\nUser-agent: badbot\nDisallow: /\n",
    ]
)
CHAINS = 16
ADDON = {"ADDONS": {"scrapy_mandelbot.Addon": 500}}
SETTINGS = {
    "DOWNLOAD_DELAY": 0,
    "LOG_LEVEL": "CRITICAL",  # stock Scrapy says of each page that it gave up
    "MANDELBOT_STORE": "memory",
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
}


def hosts(sites: int) -> list[str]:
    """Return the loopback addresses of so many sites."""
    return [f"127.0.{number // 250}.{number % 250 + 1}" for number in range(sites)]


class Serving:
    """A program that prints its port, serves until its standard input ends, and may
    print JSON.
    """

    def __init__(
        self, program: str | Path, *arguments: object, folder: str | Path = "."
    ) -> None:
        command = [sys.executable, program, *map(str, arguments)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, cwd=folder, **pipes)
        self.port = self._process.stdout.readline().strip()

    def stop(self) -> Any:
        return json.loads(self._process.communicate()[0] or "null")

    def __enter__(self) -> str:
        return self.port

    def __exit__(self, *_: object) -> None:
        self.stop()


def printed_by(program: str | Path, *arguments: object) -> Any:
    """Run a program; return what it prints, which is JSON."""
    command = [sys.executable, program, *map(str, arguments)]
    return json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    )


def crawled(spider: type, settings: dict, **arguments: object):
    """Crawl in this process, with a clock that is ``AHEAD`` seconds wrong; return the
    crawler.
    """
    return crawled_together([spider], settings, **arguments)[0]


def crawled_together(spiders: list[type], settings: dict, **arguments: object):
    """Do so with several spiders at once; return their crawlers."""
    from scrapy.crawler import CrawlerProcess  # noqa: PLC0415 -- servers need none

    open_more_files()
    now = time.time
    ahead = float(os.environ.get("AHEAD", "0"))
    time.time = lambda: now() + ahead  # before the package is imported
    process = CrawlerProcess(settings)
    crawlers = [process.create_crawler(spider) for spider in spiders]
    for crawler in crawlers:
        process.crawl(crawler, **arguments)
    process.start()
    return crawlers


def open_more_files() -> None:
    """Let this process open as many files as it may: each address and connection is
    one.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def page(path: bytes) -> bytes:
    """Return the page of a path: the front page begins the chains, the others go on."""
    if path == b"/":
        numbers = range(CHAINS)
    else:
        name = path.rpartition(b"/")[2]
        numbers = [int(name) + CHAINS] if name.isdigit() else []
    links = b"".join(b'<a href="/page/%d">next</a>' % number for number in numbers)
    return b"<html><body>" + links + b"<p>" + b"words " * 200 + b"</p></body></html>"


def answer(_host: str, _port: int, path: str) -> tuple[int, str, bytes]:
    if path == "/robots.txt":
        return 200, "text/plain", ROBOTS
    return 200, "text/html", page(path.encode())


class ThreadedSite(ThreadingHTTPServer):
    """A site in threads of this process.

    Args:
        answer: takes the handler of a request, and returns status, headers and body;
            status 0 resets the connection.
        host: where it listens, on a free port.
    """

    daemon_threads = True
    request_queue_size = 200

    def __init__(self, answer: Callable, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), _Handler)
        self.answer = answer
        self.url = f"http://{host}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, body = self.server.answer(self)
        if not status:
            once = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, once)
            self.close_connection = True
            return
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_POST = do_GET  # noqa: N815 -- http.server's names


async def serve_answers(
    names: list[str], answer: Callable[[str, int, str], tuple]
) -> None:
    """Serve these hosts until standard input ends; print their port.

    ``answer`` takes host, port and path, and returns status, content type and body.
    """

    async def serve_one(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while head := await read_head(reader):
                host, port = writer.get_extra_info("sockname")[:2]
                status, kind, body = answer(host, port, head.split(b" ", 2)[1].decode())
                body = body if isinstance(body, bytes) else body.encode()
                head = f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}"
                writer.write(
                    f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
                )
        except ConnectionError:
            pass
        finally:
            writer.close()

    await until_input_ends(names, serve_one)


async def until_input_ends(
    names: list[str], serve_one: Callable, tls: ssl.SSLContext | None = None
) -> None:
    """Listen on these addresses, print their port; stop when standard input ends."""
    open_more_files()
    servers = [
        await asyncio.start_server(serve_one, sock=sock, ssl=tls)
        for sock in listen(names)
    ]
    print(servers[0].sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def listen(names: list[str]) -> list[socket.socket]:
    """Return a listening socket for each address, all on one free port."""
    listening: list[socket.socket] = []
    port = 0
    for host in names:
        listening.append(socket.create_server((host, port), backlog=128))
        port = listening[0].getsockname()[1]
    return listening


if __name__ == "__main__":
    asyncio.run(serve_answers(hosts(int((sys.argv[1:] or ["1"])[0])), answer))
