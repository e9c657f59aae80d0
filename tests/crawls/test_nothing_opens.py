"""Whatever becomes of a robots.txt on its way, no page is asked for that the whole file
closes.

Hundreds of sites in one crawl: the answer of each breaks off at another byte, in
another way.
"""

from __future__ import annotations

import gzip
import random
import zlib
from functools import partial
from itertools import product

import pytest
import scrapy
from crawling import crawl, ensureDeferred
from webs import html
from wildwebs import WildWeb

pytestmark = pytest.mark.usefixtures("loop_is_turned")

RULES = (
    b"# ours\r\nUser-agent: a\nDisallow:\n\nUser-agent: *\nDisallow: /shut\nAllow:"
    b" /shut/but\n"
)
OTHER = (
    b"User-agent: *\nAllow: /\nCrawl-delay: 1\nSitemap: /map.xml\n#"
    + b" of another" * 4
)
STATUS = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
PACKED = {"gzip": partial(gzip.compress, mtime=0), "deflate": zlib.compress}
QUICK = {
    "MANDELBOT_STORE": "memory",
    "MANDELBOT_LIMITS": {"robots_timeout": 2},
    "MANDELBOT_PAUSE_OPTIONS": {"first": 0.05, "tries": 4},
    "CONCURRENT_REQUESTS": 32,
    "RETRY_ENABLED": False,
    "LOG_LEVEL": "INFO",
}


def plain(body: bytes) -> bytes:
    return STATUS + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(body: bytes) -> bytes:
    head = STATUS + b"Transfer-Encoding: chunked\r\n\r\n"
    pieces = [body[:20], body[20:50], body[50:]]
    return (
        head
        + b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces)
        + b"0\r\n\r\n"
    )


def packed(coding: str, body: bytes) -> bytes:
    body = PACKED[coding](body)
    head = b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (
        coding.encode(),
        len(body),
    )
    return STATUS + head + body


FRAMES = {
    "plain": plain,
    "chunked": chunked,
    "gzip": partial(packed, "gzip"),
    "deflate": partial(packed, "deflate"),
}


def cut(whole: bytes, at: int, _frame) -> tuple[bytes, str]:
    return whole[:at], "loseConnection"


def reset(whole: bytes, at: int, _frame) -> tuple[bytes, str]:
    return whole[:at], "abortConnection"


def garbage(whole: bytes, at: int, _frame) -> tuple[bytes, str]:
    """Half of an answer, and what is none: a server dies, and another says why."""
    return whole[:at] + b"\0\xff502 Bad Gateway", "loseConnection"


def mixed(whole: bytes, at: int, frame) -> tuple[bytes, str]:
    """Half of it, and the other half of another file, that would have all open."""
    return whole[:at] + frame(OTHER)[at:], "loseConnection"


WAYS = {"cut": cut, "reset": reset, "garbage": garbage, "mixed": mixed}
# Framed by nothing but lengths, which are those of both, such a file is whole to
# whoever reads it.
NOT_TO_BE_TOLD = {("plain", "garbage"), ("plain", "mixed"), ("chunked", "mixed")}


class ShutSpider(scrapy.Spider):
    """Asks each site for a page that its rules close."""

    name = "shut"

    async def start(self):
        for url in self.urls:
            yield scrapy.Request(f"{url}/shut", errback=lambda _: None)

    def parse(self, response):
        yield {"url": response.url}


def answer(sent: bytes, then: str, request) -> None:
    request.notifyFinish().addErrback(lambda _: None)
    transport = request.channel.transport
    if sent:
        transport.write(sent)
    getattr(transport, then)()


@pytest.mark.parametrize(
    ("frame", "way"),
    [pair for pair in product(FRAMES, WAYS) if pair not in NOT_TO_BE_TOLD],
)
@ensureDeferred
async def test_no_closed_page_is_asked_for(frame, way):
    """At whichever byte it happens, be it the same three times within seconds."""
    whole = FRAMES[frame](RULES)
    begins = whole.index(b"\r\n\r\n") + 4
    every = range(begins, len(whole))
    some = sorted(random.Random(frame + way).sample(every, min(16, len(every))))
    webs = []
    try:
        for at in {begins, *some, len(whole) - 1}:
            web = WildWeb()
            web.listen()
            web.pages["/shut"] = html()
            web.wild = partial(answer, *WAYS[way](whole, at, FRAMES[frame]))
            webs.append(web)
        result = await crawl(ShutSpider, QUICK, urls=[web.url for web in webs])
        opened = [web.wild.args[0] for web in webs if web.asked("/shut")]
    finally:
        for web in webs:
            web.close()
    assert opened == []
    assert result.items == []
    assert all(web.asked("/robots.txt") for web in webs)
