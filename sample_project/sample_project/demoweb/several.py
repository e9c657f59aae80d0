"""Six small sites in one process, for several workers; each request is recorded.

One answers 503 for a while, one asks for a second between two requests. Prints their
URLs as JSON when they listen; when standard input ends, all that they were asked.

Usage::

    python -m sample_project.demoweb.several
"""

import asyncio
import json
import sys
import time

PAGES = 20
SLOW_PAGES = 6
DELAY = 1.0  # seconds, of the site that is asked slowly
OUTAGE = 3.0  # seconds
PAGES_BEFORE_OUTAGE = 5
CLOSED = 1
SLOW = 2
SITES = 6


class Several:
    """The sites, by number, and the requests that came: seconds, site, path, status."""

    def __init__(self):
        self.urls = []
        self.asked = []
        self._back_at = None

    async def listen(self):
        """Listen on free ports of this machine."""
        self.servers = [
            await asyncio.start_server(self._handler(number), "127.0.0.1", 0)
            for number in range(SITES)
        ]
        ports = [server.sockets[0].getsockname()[1] for server in self.servers]
        self.urls = [f"http://127.0.0.1:{port}/" for port in ports]

    def _handler(self, site):
        async def answer(reader, writer):
            try:
                while head := await reader.readuntil(b"\r\n\r\n"):
                    path = head.split(b" ", 2)[1].decode()
                    status, extra, body = self._answer(site, path)
                    self.asked.append((time.monotonic(), site, path, status))
                    await asyncio.sleep(0.02)
                    head = (
                        f"HTTP/1.1 {status} Said\r\n{extra}Content-Length:"
                        f" {len(body)}\r\n\r\n"
                    )
                    writer.write((head + body).encode())
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        return answer

    def _answer(self, site, path):
        if path == "/robots.txt":
            delay = f"Crawl-delay: {DELAY:g}\n" if site == SLOW else ""
            return (
                200,
                "Content-Type: text/plain\r\n",
                f"User-agent: *\n{delay}Disallow: /no\n",
            )
        if site == CLOSED and self._is_closed():
            return 503, f"Retry-After: {OUTAGE:g}\r\n", ""
        number = int(path[1:] or 0)
        most = SLOW_PAGES if site == SLOW else PAGES
        links = [
            f"/{child}" for child in (2 * number + 1, 2 * number + 2) if child < most
        ]
        anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
        return 200, "Content-Type: text/html\r\n", f"<title>{path}</title>{anchors}"

    def _is_closed(self):
        """Whether the site answers 503: from its fifth page on, for a while."""
        pages = [
            path
            for _, site, path, _ in self.asked
            if site == CLOSED and path != "/robots.txt"
        ]
        if len(pages) < PAGES_BEFORE_OUTAGE:
            return False
        self._back_at = self._back_at or time.monotonic() + OUTAGE
        return time.monotonic() < self._back_at


async def main():
    """Serve until standard input ends."""
    several = Several()
    await several.listen()
    print(json.dumps(several.urls), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps(several.asked), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
