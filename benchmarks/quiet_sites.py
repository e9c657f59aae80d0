"""What a site that answers well takes in memory: by kind, and beside stock Scrapy.

Sites on loopback answer every request well. A spider asks each for two pages, one
after the other, and each site has a sitemap of four. The variants:

stock  Scrapy as it comes, obeying robots.txt
bare   the add-on's line alone
all    report, metrics, sitemaps, tags and usage too, and a job in a file
one    all of that, and CONCURRENT_REQUESTS_PER_DOMAIN = 1

A crawl is a process, and one server answers them all. The first table has how many KiB
the process has grown by for each site when the crawl is idle: all pages have come, and
all sitemaps are read. That is the sum of the five columns after it: live objects of
Python and what its allocator keeps free, blocks of the C library and what that keeps
free, and the rest. Then the most that it had grown by at any time, and what goes away
when the connections that Scrapy keeps are closed at the end. Then counts for a site:
objects that the collector knows, when each site has answered once, when the spider has
all of its pages, and when the crawl is idle; responses that callbacks are still at work
on when the spider has its pages; open sockets, and Scrapy's slots.

The second table has whose the live bytes are, in KiB for a site, by the code that made
them: what 600 sites take more than 200, in two crawls in which each block is traced.

Exits with 1 if a count for a site is higher by more than 10 % than with fewer sites, or
if a site has more sockets than CONCURRENT_REQUESTS_PER_DOMAIN: then something grows
faster than the sites do.

Usage::

    python benchmarks/quiet_sites.py [tls] [SITES ...]

With 1,250, 2,500 and 5,000 sites, which it takes if no others are named, it needs some
fifteen minutes. With ``tls`` the sites have https.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
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
TRACED = (200, 600)  # sites of the crawls in which each block is traced
PAGES = 2  # of a site, that the spider asks for
LISTED = 4  # of a site, in its sitemap
AT_ONCE = 64
STEADY = 0.1  # by which counts for a site may differ
TRACED_ONE = "traced"
TLS = "tls"
PER_DOMAIN = "CONCURRENT_REQUESTS_PER_DOMAIN"
STOCK = {
    **SETTINGS,
    "CONCURRENT_ITEMS": 1,
    "CONCURRENT_REQUESTS": AT_ONCE,
    PER_DOMAIN: 8,
}
VARIANTS = {
    "stock": STOCK,
    "bare": {**STOCK, **ADDON},
    "all": {
        **soak.SETTINGS,
        "CONCURRENT_REQUESTS": AT_ONCE,
        PER_DOMAIN: 8,
        "DOWNLOAD_TIMEOUT": 180,  # tracing takes its time, and no site is silent
        "LOG_FILE": None,
        "LOG_LEVEL": "CRITICAL",
    },
}
VARIANTS["one"] = {**VARIANTS["all"], PER_DOMAIN: 1}
STEADY_COUNTS = ("known", "sockets", "slots")


class Quiet(scrapy.Spider):
    """Requests the pages of each site, one after the other.

    It looks at the memory before the first, when each site has answered once, when it
    has all pages, when the crawl is idle, and when the connections that are kept are
    closed.
    """

    name = "quiet"
    sites: list[str]
    is_traced = False

    async def start(self):
        self.looks: dict[str, Any] = {}
        self.answered = 0
        self.look("began")
        # After the package's: it feeds what sitemaps list to a crawl that is idle.
        self.crawler.signals.connect(self.idle, signal=scrapy.signals.spider_idle)
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

    def parse(self, _response, site="", number=None):
        if number is None:  # a sitemap lists it
            return
        self.answered += 1
        if self.answered == len(self.sites):
            self.look("met")
        if self.answered == PAGES * len(self.sites):
            self.look("asked")
        if number + 1 < PAGES:
            yield self.request(site, number + 1)

    def idle(self) -> None:
        """Look, if all is done; else wait for the sitemaps."""
        if "idle" not in self.looks and self.has_all():
            self.look("idle")
            self.ending = asyncio.ensure_future(self.end())
        raise scrapy.exceptions.DontCloseSpider

    def has_all(self) -> bool:
        """Return whether no sitemap is to be read, nor an entry of one to be fed."""
        if self.settings["MANDELBOT_SITEMAPS"] != "follow":
            return True
        start = "mandelbot/sitemaps/"
        stats = self.crawler.stats.get_stats()
        dealt_with = stats.get(f"{start}read", 0) + stats.get(f"{start}failed", 0)
        return (
            dealt_with == stats[f"{start}discovered"]
            and stats[f"{start}fed"] == stats[f"{start}entries"]
        )

    async def end(self) -> None:
        """Close the connections that are kept, look again, and stop."""
        handlers = self.crawler.engine.downloader.handlers._handlers  # noqa: SLF001
        for handler in set(handlers.values()):
            if pool := getattr(handler, "_pool", None):
                await maybe_deferred_to_future(pool.closeCachedConnections())
        await asyncio.sleep(0)
        self.look("closed")
        await self.crawler.stop_async()

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
            "active": len(self.crawler.engine.scraper.slot.active),
            "most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "kinds": memory.traced_by_kind() if when == "idle" else {},
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

    def of(self, name: str, when: str = "idle", since: str = "began") -> float:
        """Return a figure's growth for a site."""
        grown = self._looks[when][name] - self._looks[since][name]
        return grown / self._sites

    @property
    def most(self) -> float:
        """Return the most that the process had grown by at any time, for a site."""
        return (self._looks["closed"]["most"] - self._looks["began"]["resident"]) / (
            self._sites
        )


COLUMNS = ("resident", "objects", "objects_free", "blocks", "blocks_free", "rest")
HEADER = """
                                 KiB for a site                           |\
     objects known     | at
variant  sites  grows = objects  free  blocks  free  rest |  most  closed |\
   met  asked    idle | work  sockets  slots
"""


def main(numbers: list[int], how: str) -> None:
    """Print the tables; exit with 1 if something grows faster than the sites."""
    most = max(*numbers, *TRACED)
    wrong: list[str] = []
    with Serving(__file__, "serve", most, how) as port:
        scheme = "https" if how == TLS else "http"
        print(HEADER.strip("\n"), flush=True)
        for variant in VARIANTS:
            before = None
            for sites in numbers:
                looks = printed_by(__file__, "crawl", variant, port, sites, scheme, "-")
                grown = Growth(looks, sites)
                _print_row(variant, sites, grown)
                wrong += _what_is_wrong(variant, sites, grown, before)
                before = grown
        kinds = {variant: _kinds(variant, port, scheme) for variant in VARIANTS}
    _print_kinds(kinds)
    print("\n".join(f"WRONG: {one}" for one in wrong) or "in proportion to the sites")
    sys.exit(1 if wrong else 0)


def _print_row(variant: str, sites: int, grown: Growth) -> None:
    widths = (7, 10, 6, 8, 6, 6)
    sizes = "".join(
        f"{grown.of(name) / 1024:>{width}.1f}"
        for name, width in zip(COLUMNS, widths, strict=True)
    )
    closed = -grown.of("live", "closed", "idle") / 1024
    known = "".join(
        f"{grown.of('known', when):>{width}.1f}"
        for when, width in (("met", 6), ("asked", 7), ("idle", 8))
    )
    print(
        f"{variant:<7}{sites:>7}{sizes} |{grown.most / 1024:>6.1f}{closed:>8.1f} |"
        f"{known} |{grown.of('active', 'asked'):>5.2f}"
        f"{grown.of('sockets'):>9.2f}{grown.of('slots'):>7.2f}",
        flush=True,
    )


def _what_is_wrong(
    variant: str, sites: int, grown: Growth, before: Growth | None
) -> list[str]:
    wrong = []
    sockets = max(grown.of("sockets", when) for when in ("met", "asked", "idle"))
    if sockets * sites > VARIANTS[variant][PER_DOMAIN] * sites + AT_ONCE:
        wrong.append(f"{variant}, {sites} sites: {sockets:.2f} sockets each")
    if before is None:
        return wrong
    wrong.extend(
        f"{variant}, {sites} sites: {name} {grown.of(name):.2f} for a site,"
        f" with fewer sites {before.of(name):.2f}"
        for name in STEADY_COUNTS
        if grown.of(name) > (1 + STEADY) * before.of(name)
    )
    return wrong


def _kinds(variant: str, port: str, scheme: str) -> dict[str, float]:
    """Return the KiB of each kind for a site that a larger crawl has more."""
    few, many = (
        printed_by(__file__, "crawl", variant, port, sites, scheme, TRACED_ONE)
        for sites in TRACED
    )
    before = few["idle"]["kinds"]
    more = TRACED[1] - TRACED[0]
    return {
        kind: (size - before.get(kind, 0)) / more / 1024
        for kind, size in many["idle"]["kinds"].items()
    }


def _print_kinds(kinds: dict[str, dict[str, float]]) -> None:
    few, many = TRACED
    print(f"\n{f'live, KiB for a site ({many} less {few})':<36}", end="")
    print("".join(f"{variant:>8}" for variant in kinds))
    names = sorted(
        set().union(*kinds.values()),
        key=lambda name: kinds["all"].get(name, 0.0),
        reverse=True,
    )
    for name in names:
        row = "".join(f"{of.get(name, 0.0):>8.1f}" for of in kinds.values())
        print(f"  {name:<34}{row}")
    print(
        f"  {'all':<34}" + "".join(f"{sum(of.values()):>8.1f}" for of in kinds.values())
    )


async def serve(sites: int, how: str) -> None:
    """Serve until standard input ends."""
    tls = _tls() if how == TLS else None
    scheme = b"https" if how == TLS else b"http"
    web = soak.Sites(0, are_quiet=True, listed=LISTED, scheme=scheme)
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
