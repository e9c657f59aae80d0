"""What a site that answers well takes in memory: by kind, and beside stock Scrapy.

Sites on loopback answer every request well. A spider asks each for two pages, one
after the other. The variants:

stock  Scrapy as it comes, obeying robots.txt
bare   the add-on's line alone
all    report, metrics, sitemaps, tags and usage too, and a job in a file
one    all of that, and CONCURRENT_REQUESTS_PER_DOMAIN = 1

A crawl is a process, and one server answers them all. The first table has how many KiB
the process grows by for each site, which is the sum of the five columns after it: live
objects of Python and what its allocator keeps free, blocks of the C library and what
that keeps free, and the rest. Then what goes away, for a site, when the connections
that Scrapy keeps are closed at the end. Then counts for a site: objects that the
collector knows, when each site has answered once and at the end, open sockets, and
Scrapy's slots.

The second table has whose the live bytes are, in KiB for a site, by the code that made
them: from a smaller crawl in which each block is traced.

Exits with 1 if a count for a site differs by more than 10 % from one number of sites to
the next, or if a site has more sockets than CONCURRENT_REQUESTS_PER_DOMAIN: then
something grows faster than the sites do.

Usage::

    python benchmarks/quiet_sites.py [tls] [SITES ...]

With 1,250, 2,500 and 5,000 sites, which it takes if no others are named, it needs some
fifteen minutes. With ``tls`` the sites have https.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any

import memory
import scrapy
import soak
from loopback import (
    ADDON,
    SETTINGS,
    Serving,
    crawled,
    hosts,
    printed_by,
    until_input_ends,
)
from scrapy.utils.defer import maybe_deferred_to_future

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from self_signed import self_signed

SITES = (1_250, 2_500, 5_000)
TRACED = 400  # sites of the crawl in which each block is traced
PAGES = 2  # of a site
AT_ONCE = 64
MOST_SOCKETS = 8  # of a site: CONCURRENT_REQUESTS_PER_DOMAIN
STEADY = 0.1  # by which counts for a site may differ
TRACED_ONE = "traced"
TLS = "tls"
STOCK = {**SETTINGS, "CONCURRENT_ITEMS": 1, "CONCURRENT_REQUESTS": AT_ONCE}
VARIANTS = {
    "stock": STOCK,
    "bare": {**STOCK, **ADDON},
    "all": {
        **soak.SETTINGS,
        "CONCURRENT_REQUESTS": AT_ONCE,
        "LOG_FILE": None,
        "LOG_LEVEL": "CRITICAL",
    },
}
VARIANTS["one"] = {**VARIANTS["all"], "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
STEADY_COUNTS = ("known", "sockets", "slots")


class Quiet(scrapy.Spider):
    """Requests the pages of each site, one after the other.

    It looks at the memory before the first, when each site has answered once, after the
    last, and when the connections that are kept are closed.
    """

    name = "quiet"
    sites: list[str]
    is_traced = False

    async def start(self):
        self.looks: dict[str, Any] = {}
        self.answered = 0
        self.look("began")
        if self.is_traced:
            memory.begin_tracing()
        for site in self.sites:
            yield self.request(site, 0)

    def request(self, site: str, number: int) -> scrapy.Request:
        return scrapy.Request(
            f"{site}/page/{number}",
            cb_kwargs={"site": site, "number": number},
            dont_filter=True,
        )

    async def parse(self, _response, site="", number=None):
        if number is None:  # a sitemap lists it
            return
        self.answered += 1
        if self.answered == len(self.sites):
            self.look("met")
        if self.answered == PAGES * len(self.sites):
            await self.end()
        if number + 1 < PAGES:
            yield self.request(site, number + 1)

    async def end(self) -> None:
        """Look, close the connections that are kept, and look again."""
        self.look("ended")
        handlers = self.crawler.engine.downloader.handlers._handlers  # noqa: SLF001
        for handler in set(handlers.values()):
            if pool := getattr(handler, "_pool", None):
                await maybe_deferred_to_future(pool.closeCachedConnections())
        await asyncio.sleep(0)
        self.look("closed")
        raise scrapy.exceptions.CloseSpider("looked at")

    def look(self, when: str) -> None:
        found = memory.Memory.now()
        files = soak.open_files().items()
        self.looks[when] = {
            **found._asdict(),
            "rest": found.rest,
            "live": found.objects + found.blocks,
            "known": memory.types().total(),
            "sockets": sum(count for name, count in files if name == "socket"),
            "slots": len(self.crawler.engine.downloader.slots),
            "kinds": memory.traced_by_kind() if when == "ended" else {},
        }


def crawl(variant: str, port: str, sites: str, scheme: str, how: str) -> None:
    """Crawl in this process; print what was seen at each look, as JSON."""
    settings = {**VARIANTS[variant], "ROBOTSTXT_OBEY": True}
    Quiet.is_traced = how == TRACED_ONE
    urls = [f"{scheme}://{host}:{port}" for host in hosts(int(sites))]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # for the job
        spider = crawled(Quiet, settings, sites=urls).spider
        os.chdir("/")
    print(json.dumps(spider.looks))


class Growth:
    """What a crawl grew by."""

    def __init__(self, looks: dict[str, dict[str, Any]], sites: int) -> None:
        self._looks = looks
        self._sites = sites

    def of(self, name: str, when: str = "ended", since: str = "began") -> float:
        """Return a figure's growth for a site."""
        grown = self._looks[when][name] - self._looks[since][name]
        return grown / self._sites

    def kinds(self) -> dict[str, float]:
        """Return the KiB of each kind for a site."""
        sizes = self._looks["ended"]["kinds"].items()
        return {kind: size / self._sites / 1024 for kind, size in sizes}


COLUMNS = ("resident", "objects", "objects_free", "blocks", "blocks_free", "rest")


def main(numbers: list[int], how: str) -> None:
    """Print the tables; exit with 1 if something grows faster than the sites."""
    most = max(*numbers, TRACED)
    wrong: list[str] = []
    with Serving(__file__, "serve", most, how) as port:
        scheme = "https" if how == TLS else "http"
        print("                                 KiB for a site                    |")
        print(
            "variant  sites  grows = objects  free  blocks  free  rest | closed |"
            "  known: met  ended  sockets  slots"
        )
        for variant in VARIANTS:
            before = None
            for sites in numbers:
                looks = printed_by(__file__, "crawl", variant, port, sites, scheme, "-")
                grown = Growth(looks, sites)
                _print_row(variant, sites, grown)
                wrong += _what_is_wrong(variant, sites, grown, before)
                before = grown
        kinds = {
            variant: Growth(
                printed_by(__file__, "crawl", variant, port, TRACED, scheme, "traced"),
                TRACED,
            ).kinds()
            for variant in VARIANTS
        }
    _print_kinds(kinds)
    print("\n".join(f"WRONG: {one}" for one in wrong) or "in proportion to the sites")
    sys.exit(1 if wrong else 0)


def _print_row(variant: str, sites: int, grown: Growth) -> None:
    widths = (7, 10, 6, 8, 6, 6)
    sizes = "".join(
        f"{grown.of(name) / 1024:>{width}.1f}"
        for name, width in zip(COLUMNS, widths, strict=True)
    )
    closed = -grown.of("live", "closed", "ended") / 1024
    met = grown.of("known", "met")
    print(
        f"{variant:<7}{sites:>7}{sizes} |{closed:>7.1f} |{met:>12.1f}"
        f"{grown.of('known'):>7.1f}{grown.of('sockets'):>9.2f}{grown.of('slots'):>7.2f}",
        flush=True,
    )


def _what_is_wrong(
    variant: str, sites: int, grown: Growth, before: Growth | None
) -> list[str]:
    wrong = []
    if grown.of("sockets") * sites > sites + AT_ONCE:
        wrong.append(
            f"{variant}, {sites} sites: {grown.of('sockets'):.2f} sockets each"
        )
    if before is None:
        return wrong
    wrong.extend(
        f"{variant}, {sites} sites: {name} {grown.of(name):.2f} for a site,"
        f" with fewer sites {before.of(name):.2f}"
        for name in STEADY_COUNTS
        if grown.of(name) > (1 + STEADY) * before.of(name)
    )
    return wrong


def _print_kinds(kinds: dict[str, dict[str, float]]) -> None:
    print(f"\n{f'live, KiB for a site ({TRACED} sites)':<36}", end="")
    print("".join(f"{variant:>8}" for variant in kinds))
    names = sorted(set().union(*kinds.values()), key=kinds["all"].get, reverse=True)
    for name in names:
        row = "".join(f"{of.get(name, 0.0):>8.1f}" for of in kinds.values())
        print(f"  {name:<34}{row}")
    print(
        f"  {'all':<34}" + "".join(f"{sum(of.values()):>8.1f}" for of in kinds.values())
    )


async def serve(sites: int, how: str) -> None:
    """Serve until standard input ends."""
    web = soak.Sites(0, are_quiet=True)
    tls = _tls() if how == TLS else None
    await until_input_ends(hosts(sites), web.serve, tls)


def _tls() -> ssl.SSLContext:
    """Return the TLS context of a server whose certificate nobody else has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(self_signed())
        file.flush()
        context.load_cert_chain(file.name)
    return context


if __name__ == "__main__":
    first, *others = sys.argv[1:] or [""]
    if first == "crawl":
        crawl(*others)
    elif first == "serve":
        asyncio.run(serve(int(others[0]), others[1]))
    else:
        given = sys.argv[1:]
        named = [int(one) for one in given if one != TLS] or [*SITES]
        main(named, TLS if TLS in given else "plain")
