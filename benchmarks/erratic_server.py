"""Sites that answer at random, by a seed: for ``soak.py``.

One process, any number of sites: ``http://HOST:PORT`` for each of ``loopback.hosts``, told apart by
the Host header. What a site answers is drawn from the seed, its name, the path and how often that
path was asked for: the same seed, the same answers. Prints its port, and ends when its standard
input does; then it prints how often it gave which answer, as JSON.

Usage::

    python benchmarks/erratic_server.py [SITES [SEED]] [--everything]

With ``--everything`` each site has a sitemap and a tdmrep.json, answered as its pages are, and its
robots.txt and pages say what they may be used for.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter

import loopback

DRIP = 0.3  # seconds between the parts of a slow body
PAGE = b"<html><head><title>page</title></head><body>" + b"words " * 300 + b"</body></html>"
ROBOTS = b"User-agent: *\nDisallow: /forbidden\nAllow: /forbidden/but\nCrawl-delay: 1\n"

# Kind of answer: how often, of a hundred, on a page of a site that is not down.
PAGES = {
    "page": 80,
    "moved": 5,
    "missing": 3,
    "error": 2,
    "refused": 1,
    "refused-until": 2,
    "reset": 2,
    "slow": 3,
    "cut": 2,
}
ROBOTS_TXT = {
    "robots": 60,
    "missing": 14,
    "moved": 5,
    "error": 3,
    "refused-until": 4,
    "reset": 3,
    "slow": 2,
    "cut": 2,
    "noise": 3,
    "long": 1,
    "not-robots": 3,
}
SAID = b"\r\nX-Robots-Tag: noindex, max-snippet:5\r\nContent-Usage: search=y, train-ai=n"
TDMREP = (
    b'[{"location": "/listed/1*", "tdm-reservation": 1}, {"location": "/", "tdm-reservation": 0}]'
)
LISTED = 20  # pages of a sitemap
DOWN = 0.01  # of the sites refuse everything
GONE = 0.02  # of the sites drop every connection


class Sites:
    """What all sites answer."""

    def __init__(self, seed: int, *, says_more: bool) -> None:
        self._seed = seed
        self._says_more = says_more
        self._asked: Counter[tuple[bytes, bytes]] = Counter()
        self.answered: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, as long as the answers let it stand."""
        try:
            while await self._answer(reader, writer):
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        path = lines[0].split(b" ")[1]
        host = next(line[5:].strip() for line in lines if line[:5].lower() == b"host:")
        chance = self._chance(host, path)
        kind = self._kind(host, path, chance)
        self.answered[kind] += 1
        if kind == "reset":
            writer.transport.abort()
            return False
        head, body = ANSWERS[kind](path, chance)
        if self._says_more and head.startswith(b"200"):
            head, body = _with_more(host, path, head, body)
        length = len(body) + (1_000 if kind == "cut" else 0)
        head = b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n" % (head, length)
        if kind != "slow":
            writer.write(head + body)
            return kind != "cut"
        writer.write(head)
        for start in range(0, len(body), len(body) // 4 + 1):
            writer.write(body[start : start + len(body) // 4 + 1])
            await asyncio.sleep(DRIP)
        return True

    def _chance(self, host: bytes, path: bytes) -> random.Random:
        self._asked[host, path] += 1
        return random.Random(f"{self._seed} {host!r} {path!r} {self._asked[host, path]}")

    def _kind(self, host: bytes, path: bytes, chance: random.Random) -> str:
        state = random.Random(f"{self._seed} {host!r}").random()
        if state < GONE:
            return "reset"
        if path == b"/robots.txt":
            return chance.choices(list(ROBOTS_TXT), list(ROBOTS_TXT.values()))[0]
        if state < GONE + DOWN:
            return "refused"
        return chance.choices(list(PAGES), list(PAGES.values()))[0]


def _moved(path: bytes, chance: random.Random) -> tuple[bytes, bytes]:
    """Return a redirect to a page that none other leads to; a robots.txt moves once."""
    to = b"/moved-robots.txt" if path == b"/robots.txt" else b"/to/%x" % chance.getrandbits(64)
    return b"301 Moved\r\nLocation: " + to, b""


def _refused_until(_path: bytes, chance: random.Random) -> tuple[bytes, bytes]:
    after = chance.choice([b"1", b"2", b"Thu, 01 Jan 1970 00:00:00 GMT", b"soon", b"2.5"])
    return b"503 No\r\nRetry-After: " + after, b"later"


def _with_more(host: bytes, path: bytes, head: bytes, body: bytes) -> tuple[bytes, bytes]:
    """Return an answer with what else a site has to say."""
    if path == b"/sitemap.xml":
        urls = (b"<url><loc>http://%b/listed/%d</loc></url>" % (host, n) for n in range(LISTED))
        return b"200 OK\r\nContent-Type: text/xml", b"<urlset>%b</urlset>" % b"".join(urls)
    if path == b"/.well-known/tdmrep.json":
        return b"200 OK\r\nContent-Type: application/json", TDMREP
    if body == ROBOTS:
        return head, body + b"Content-Signal: ai-train=no\nSitemap: http://%b/sitemap.xml\n" % host
    return head + SAID, body


ANSWERS = {
    "page": lambda _path, _chance: (b"200 OK\r\nContent-Type: text/html", PAGE),
    "moved": _moved,
    "missing": lambda _path, _chance: (b"404 No", b"no such page"),
    "error": lambda _path, _chance: (b"500 Oops", b"oops"),
    "refused": lambda _path, _chance: (b"503 No", PAGE),
    "refused-until": _refused_until,
    "slow": lambda _path, _chance: (b"200 OK\r\nContent-Type: text/html", PAGE),
    "cut": lambda _path, _chance: (b"200 OK\r\nContent-Type: text/html", PAGE),
    "robots": lambda _path, _chance: (b"200 OK\r\nContent-Type: text/plain", ROBOTS),
    "noise": lambda _path, chance: (b"200 OK\r\nContent-Type: text/plain", chance.randbytes(5_000)),
    "long": lambda _path, _chance: (b"200 OK\r\nContent-Type: text/plain", ROBOTS * 20_000),
    "not-robots": lambda _path, _chance: (b"200 OK\r\nContent-Type: text/html", PAGE),
}


async def main(sites: int = 2_000, seed: int = 0, *, says_more: bool = False) -> None:
    """Serve until standard input ends."""
    loopback.open_more_files()
    web = Sites(seed, says_more=says_more)
    listening = loopback.listen(sites)
    servers = [await asyncio.start_server(web.serve, sock=sock) for sock in listening]
    print(servers[0].sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps(web.answered), flush=True)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument != "--everything"]
    asyncio.run(main(*numbers, says_more="--everything" in sys.argv))
