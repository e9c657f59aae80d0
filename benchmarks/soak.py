"""A long crawl of sites that answer at random: memory, the account of requests, what
stays open.

Usage::

    python benchmarks/soak.py SECONDS [SITES [SEED [quiet]]]

For so many seconds a spider asks 2,000 sites on loopback that answer at random, one
request a site at a time and the next when that has ended, however it ended. Then it
asks for no more, and the crawl has to end by itself, within five minutes. Printed are
the memory of the crawling process by and by, what became of the requests, and what was
left open. Exits with 1 unless all of it holds; in much less than ten minutes memory
cannot, as what is kept of each site, and the report of that, are bounded and fill up
first:

- memory is flat: its median in the last third is at most 5 % above the one in the third
  before, and so is the number of objects that the collector knows, which no allocator
  can raise;
- no more sockets are open than sites times CONCURRENT_REQUESTS_PER_DOMAIN;
- each request that was scheduled came back once: crawled + forbidden + given up +
  failed;
- no file, socket, task or timer is left when the crawl has ended;
- the account closes: of the requests that were taken in, each ended in one of its
  cases, or the job keeps it for its next run, as those of sites that are given up;
- nothing was logged as an error, but for what Scrapy's connection pool says of a
  machine that held it up for a second;
- the package's lines in the log, from INFO on, are at most one for ten requests, and
  two a site.

What the memory has grown by is printed by who holds it: live objects of Python, blocks
of the C library, what their allocators keep free, and the rest. These add up to it.
``quiet_sites.py`` has whose the live ones are.

With ``quiet`` all sites answer well, always: what is kept of each is not bounded by
what becomes of it.

Tags, sitemaps, usage, the report, metrics and a job are on.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import NamedTuple

import scrapy
from loopback import Serving, hosts, open_more_files, until_input_ends
from mandelbot.answers.outcome import PAUSE_STATUSES
from memory import Memory
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.reactor import install_reactor
from twisted.internet.defer import AlreadyCalledError

install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
from twisted.internet import reactor  # noqa: E402 -- its first import installs it

HERE = Path(__file__).parent
SAMPLES = 10
MOST_BETWEEN = 60.0  # seconds between two samples of the memory
DRAIN = 300.0  # seconds in which the crawl has to end
GROWTH = 1.05
# in the log, for each request, and once
LINES = 0.1
LINES_OF_A_SITE = 2
ENDS = ("crawled", "forbidden", "given up", "failed")
SETTINGS = {
    "ADDONS": {"scrapy_mandelbot.Addon": 500},
    "CONCURRENT_ITEMS": 1,
    "CONCURRENT_REQUESTS": 64,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_TIMEOUT": 10,
    "JOBDIR": "job",
    "LOG_FILE": "log.txt",
    "LOG_LEVEL": "INFO",
    "MANDELBOT_LIMITS": {"robots_timeout": 5},
    "MANDELBOT_METRICS": "127.0.0.1:0",
    "MANDELBOT_NOFOLLOW_LINKS": True,
    "MANDELBOT_PAUSE_OPTIONS": {"first": 0.5, "longest": 3, "tries": 3},
    "MANDELBOT_PURPOSE": ["search", "tdm"],
    "MANDELBOT_REPORT": "report.html",
    "MANDELBOT_ROBOT_TAGS": "obey",
    "MANDELBOT_SITEMAPS": "follow",
    "MANDELBOT_USAGE": "obey",
    "RETRY_TIMES": 1,
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
}

DRIP = 0.3  # seconds between the parts of a slow body
PAGE = (
    b"<html><head><title>page</title></head><body>"
    + b"words " * 300
    + b"</body></html>"
)
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
SAID = (
    b"\r\nX-Robots-Tag: noindex, max-snippet:5\r\nContent-Usage: search=y, train-ai=n"
)
TDMREP = (
    b'[{"location": "/listed/1*", "tdm-reservation": 1}, {"location": "/",'
    b' "tdm-reservation": 0}]'
)
LISTED = 20  # pages of a sitemap
QUIET = "quiet"
DOWN = 0.01  # of the sites refuse everything
GONE = 0.02  # of the sites drop every connection


class Sites:
    """What all sites answer at random, by a seed.

    It is drawn from the seed, the site's name, the path and how often that path was
    asked for: the same seed, the same answers. Each site has a sitemap and a
    tdmrep.json, answered as its pages are, and its robots.txt and pages say what they
    may be used for.
    """

    def __init__(
        self,
        seed: int,
        *,
        are_quiet: bool = False,
        listed: int = LISTED,
        scheme: bytes = b"http",
    ) -> None:
        self._seed = seed
        self._are_quiet = are_quiet
        self._listed = listed
        """Pages of a sitemap."""
        self._scheme = scheme
        self._asked: Counter[tuple[bytes, bytes]] = Counter()
        self.answered: Counter[str] = Counter()

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer the requests of one connection until an answer closes it."""
        try:
            while await self._answer(reader, writer):
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        path = lines[0].split(b" ")[1]
        host = next(line[5:].strip() for line in lines if line[:5].lower() == b"host:")
        chance = self._chance(host, path)
        kind = self._kind(host, path, chance)
        self.answered[kind] += 1
        if kind == "reset":
            writer.transport.abort()
            return False
        answer = ANSWERS[kind]
        head, body = answer(path, chance) if callable(answer) else answer
        if head.startswith(b"200"):
            head, body = self._with_more(host, path, head, body)
        length = len(body) + (1_000 if kind == "cut" else 0)
        head = b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n" % (head, length)
        if kind != "slow":
            writer.write(head + body)
            return kind != "cut"
        writer.write(head)
        size = len(body) // 4 + 1
        for start in range(0, len(body), size):
            writer.write(body[start : start + size])
            await asyncio.sleep(DRIP)
        return True

    def _chance(self, host: bytes, path: bytes) -> random.Random:
        self._asked[host, path] += 1
        return random.Random(
            f"{self._seed} {host!r} {path!r} {self._asked[host, path]}"
        )

    def _kind(self, host: bytes, path: bytes, chance: random.Random) -> str:
        if self._are_quiet:
            return "robots" if path == b"/robots.txt" else "page"
        state = random.Random(f"{self._seed} {host!r}").random()
        if state < GONE:
            return "reset"
        if path == b"/robots.txt":
            return chance.choices(list(ROBOTS_TXT), list(ROBOTS_TXT.values()))[0]
        if state < GONE + DOWN:
            return "refused"
        return chance.choices(list(PAGES), list(PAGES.values()))[0]

    def _with_more(
        self, host: bytes, path: bytes, head: bytes, body: bytes
    ) -> tuple[bytes, bytes]:
        """Return an answer with what else a site has to say."""
        site = b"%b://%b" % (self._scheme, host)
        if path == b"/sitemap.xml":
            urls = (
                b"<url><loc>%b/listed/%d</loc></url>" % (site, number)
                for number in range(self._listed)
            )
            sitemap = b"<urlset>%b</urlset>" % b"".join(urls)
            return b"200 OK\r\nContent-Type: text/xml", sitemap
        if path == b"/.well-known/tdmrep.json":
            return b"200 OK\r\nContent-Type: application/json", TDMREP
        if body == ROBOTS:
            more = b"Content-Signal: ai-train=no\nSitemap: %b/sitemap.xml\n" % site
            return head, body + more
        return head + SAID, body


def _moved(path: bytes, chance: random.Random) -> tuple[bytes, bytes]:
    """Return a redirect to a page that none other leads to; a robots.txt moves once."""
    to = (
        b"/moved-robots.txt"
        if path == b"/robots.txt"
        else b"/to/%x" % chance.getrandbits(64)
    )
    return b"301 Moved\r\nLocation: " + to, b""


def _refused_until(_path: bytes, chance: random.Random) -> tuple[bytes, bytes]:
    after = chance.choice(
        [b"1", b"2", b"Thu, 01 Jan 1970 00:00:00 GMT", b"soon", b"2.5"]
    )
    return b"503 No\r\nRetry-After: " + after, b"later"


HTML = b"200 OK\r\nContent-Type: text/html"
TEXT = b"200 OK\r\nContent-Type: text/plain"
ANSWERS = {
    **dict.fromkeys(["page", "slow", "cut", "not-robots"], (HTML, PAGE)),
    "moved": _moved,
    "missing": (b"404 No", b"no such page"),
    "error": (b"500 Oops", b"oops"),
    "refused": (b"503 No", PAGE),
    "refused-until": _refused_until,
    "robots": (TEXT, ROBOTS),
    "noise": lambda _path, chance: (TEXT, chance.randbytes(5_000)),
    "long": (TEXT, ROBOTS * 20_000),
}


async def serve(sites: int, seed: int, how: str = "") -> None:
    """Serve until standard input ends; then print how often which answer was given, as
    JSON.
    """
    web = Sites(seed, are_quiet=how == QUIET)
    await until_input_ends(hosts(sites), web.serve)
    print(json.dumps(web.answered), flush=True)


class Erratic(scrapy.Spider):
    """Asks each site for one page after the other until the time is over; accounts for
    each.
    """

    name = "erratic"
    sites: list[str]
    until: float

    def __init__(self, *arguments, **attributes):
        super().__init__(*arguments, **attributes)
        self.scheduled = 0
        self.open: set[int] = set()
        self.ends: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()

    async def start(self):
        for site in self.sites:
            yield self.request(site)

    def request(self, site: str) -> scrapy.Request:
        self.scheduled += 1
        self.open.add(self.scheduled)
        path = "forbidden" if self.scheduled % 20 == 0 else "page"
        number = {"site": site, "number": self.scheduled}
        url = f"{site}/{path}/{self.scheduled}"
        # Of a URL that comes once no fingerprint is kept.
        return scrapy.Request(
            url, self.parse, errback=self.failed, cb_kwargs=number, dont_filter=True
        )

    def parse(self, response, site="", number=0):
        if not number:
            self.reasons["from a sitemap"] += 1
            return
        yield from self.ended(site, number, "crawled", str(response.status))

    def failed(self, failure):
        reason = type(failure.value).__name__
        end = "failed"
        if failure.check(HttpError):
            reason = str(failure.value.response.status)
            end = "given up" if int(reason) in PAUSE_STATUSES else "failed"
        elif failure.check(IgnoreRequest):
            reason = str(failure.value).partition(":")[0]
            end = "forbidden" if "robots.txt" in reason else "failed"
        yield from self.ended(**failure.request.cb_kwargs, end=end, reason=reason)

    def ended(self, site, number, end, reason):
        twice = number not in self.open
        self.open.discard(number)
        self.ends["came back twice" if twice else end] += 1
        self.reasons[f"{end}: {reason}"] += 1
        if time.monotonic() < self.until:
            yield self.request(site)


class Errors(logging.Handler):
    """Keeps the first errors that are logged, how many there were, and the package's
    lines.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.count = 0
        self.lines: Counter[str] = Counter()
        self.first: list[str] = []

    def emit(self, record):
        if record.name.startswith("scrapy_mandelbot"):
            self.lines[str(record.msg)[:60]] += 1
        if record.levelno < logging.ERROR:
            return
        if record.name == "scrapy.downloadermiddlewares.retry":  # so the sites are
            return
        # of pages without an errback
        if record.getMessage().startswith("Error downloading"):
            return
        if _is_of_the_pool(record):
            return
        self.count += 1
        if len(self.first) < 5:
            self.first.append(self.format(record)[:2_000])


def _is_of_the_pool(record: logging.LogRecord) -> bool:
    """Return whether Scrapy's handler has closed its connections twice.

    It gives them a second, by ``callLater(1, d.callback, ())``. Where a busy machine
    holds the process up for that second, the timer and the last connection fire the
    same Deferred. Stock Scrapy does so, too: a receiver of ``engine_stopped`` that
    sleeps for 1.3 seconds is enough. The crawl is over then, and loses nothing.
    """
    error = record.exc_info[1] if record.exc_info else None
    return record.name == "twisted" and isinstance(error, AlreadyCalledError)


MIB = 2**20
MOST_SOCKETS = 8  # of a site: CONCURRENT_REQUESTS_PER_DOMAIN


def open_files() -> Counter[str]:
    """Return what this process has open, and how often."""
    found: Counter[str] = Counter()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except FileNotFoundError:  # the listing's own
            continue
        kind = target.partition(":[")[0]
        # of the reactor, for signals: Scrapy and we open none
        found[kind] += kind != "pipe"
    return found


def left_open(before: Counter[str]) -> dict[str, object]:
    """Return what the crawl has left: open files, tasks, timers."""
    gc.collect()
    files = open_files() - before
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    timers = reactor.getDelayedCalls()
    return {
        "files": {name: count for name, count in files.items() if count},
        "tasks": [repr(task)[:200] for task in tasks],
        "timers": [str(timer)[:200] for timer in timers],
    }


class Sample(NamedTuple):
    """What the process holds at a time."""

    memory: Memory
    known: int
    """Objects that the collector knows."""
    sockets: int

    @classmethod
    def now(cls) -> Sample:
        """Look, after a full collection."""
        memory = Memory.now()
        return cls(memory, len(gc.get_objects()), open_files()["socket"])


class Soak:
    """One crawl, watched."""

    def __init__(self, seconds: float, sites: list[str]) -> None:
        self.seconds = seconds
        self.every = min(MOST_BETWEEN, seconds / SAMPLES)
        self.errors = Errors()
        self.process = CrawlerProcess(SETTINGS)
        self.crawler = self.process.create_crawler(Erratic)
        self.began = time.monotonic()
        self.arguments = {"sites": sites, "until": self.began + seconds}
        self.samples: list[Sample] = []
        self.overdue = False
        self.left: dict[str, object] = {}
        self.wrong: list[str] = []

    def run(self) -> None:
        """Crawl, and look at what is left when it has ended."""
        logging.getLogger().addHandler(self.errors)
        print(
            f"{'second':>8}{'MiB':>8}{'requests':>10}{'in flight':>11}{'paused':>8}"
            f"{'sockets':>9}",
            flush=True,
        )
        reactor.callWhenRunning(self._begin)
        self.process.start(stop_after_crawl=False)

    def _begin(self) -> None:
        self.before = open_files()
        self.first = Sample.now()
        self._sampling = reactor.callLater(self.every, self._sample)
        self._limit = reactor.callLater(self.seconds + DRAIN, self._stop)
        self.process.crawl(self.crawler, **self.arguments).addBoth(self._ended)

    def _sample(self) -> None:
        now = time.monotonic() - self.began
        sample = Sample.now()
        if now < self.seconds + self.every:
            self.samples.append(sample)
        spider = self.crawler.spider
        stats = self.crawler.stats
        paused = stats.get_value("mandelbot/pause/count", 0) - stats.get_value(
            "mandelbot/pause/resumed", 0
        )
        numbers = f"{spider.scheduled:>10,}{len(spider.open):>11,}{paused:>8,}"
        size = sample.memory.resident / MIB
        print(f"{now:>8.0f}{size:>8.1f}{numbers}{sample.sockets:>9,}", flush=True)
        self._sampling = reactor.callLater(self.every, self._sample)

    def _stop(self) -> None:
        self.overdue = True
        asyncio.ensure_future(self.crawler.stop_async())  # noqa: RUF006 -- the crawl's end is awaited

    def _ended(self, result: object) -> None:
        if result is not None:
            print(result)
        for call in (self._sampling, self._limit):
            if call.active():
                call.cancel()
        self.took = time.monotonic() - self.began
        # A turn or two of the loop, for what ends when the crawl has.
        reactor.callLater(1, self._look)

    def _look(self) -> None:
        self.left = left_open(self.before)
        reactor.stop()

    def report(self) -> list[str]:
        """Print what came of it; return what does not hold."""
        self._account_of_the_memory()
        self._account_of_the_spider()
        self._expect(not self.overdue, f"the crawl did not end within {DRAIN:.0f} s")
        print(f"  the spider closed as {self.crawler.stats.get_value('finish_reason')}")
        for what, found in self.left.items():
            print(f"  left, {what}: {found or 'none'}")
            self._expect(not found, f"{what} are left")
        begun = self._account()
        if begun:
            self._lines_and_files(begun)
        logged = "".join(self.errors.first[:1])
        self._expect(
            not logged, f"{self.errors.count} errors were logged, first:\n{logged}"
        )
        return self.wrong

    def _expect(self, is_so: object, otherwise: str) -> None:
        if not is_so:
            self.wrong.append(otherwise)

    def _account_of_the_memory(self) -> None:
        third = len(self.samples) // 3
        middle = self.samples[third : 2 * third]
        last = self.samples[-third:]
        before = median(one.memory.resident for one in middle) / MIB
        after = median(one.memory.resident for one in last) / MIB
        print(
            f"\nmemory: {before:.1f} MiB in the second third, {after:.1f} in the last"
        )
        self._expect(after <= before * GROWTH, "memory grows")
        known_before = median(one.known for one in middle)
        known_after = median(one.known for one in last)
        print(f"  objects: {known_before:,.0f}, and {known_after:,.0f}")
        self._expect(known_after <= known_before * GROWTH, "objects grow")
        grown = last[-1].memory.since(self.first.memory)
        print(
            f"  grown by {grown.resident / MIB:.1f} MiB since the start ="
            f" {grown.objects / MIB:.1f} live objects + {grown.objects_free / MIB:.1f}"
            f" free + {grown.blocks / MIB:.1f} of the C library"
            f" + {grown.blocks_free / MIB:.1f} free + {grown.rest / MIB:.1f} rest"
        )
        sockets = max(one.sockets for one in self.samples)
        print(f"  sockets: {sockets:,} at most")
        most = MOST_SOCKETS * len(self.arguments["sites"])
        self._expect(sockets <= most + self.first.sockets, "too many sockets")

    def _account_of_the_spider(self) -> None:
        spider = self.crawler.spider
        print(f"requests in {self.took:.0f} s: {spider.scheduled:,} scheduled")
        for end in (*ENDS, "came back twice"):
            print(f"  {end:<16}{spider.ends[end]:>9,}")
        print(
            "  "
            + ", ".join(f"{name} {n:,}" for name, n in spider.reasons.most_common())
        )
        kept = self.crawler.stats.get_value("mandelbot/requests/left", 0)
        left = len(spider.open)
        print(f"  {'left in the job':<16}{left:>9,}")
        ended = sum(spider.ends[end] for end in ENDS)
        self._expect(spider.scheduled == ended + left, "the sum of all ends is another")
        first = sorted(spider.open)[:10]
        self._expect(left <= kept, f"{left} requests never came back: {first}")
        self._expect(not spider.ends["came back twice"], "requests came back twice")

    def _account(self) -> int:
        """Return how many requests the account is about; 0: it does not close."""
        start = "mandelbot/requests/"
        stats = self.crawler.stats.get_stats().items()
        cases = {
            name.removeprefix(start): n for name, n in stats if name.startswith(start)
        }
        begun = cases.pop("taken_in", 0) + cases.pop("from_former_run", 0)
        lost = cases.pop("lost", 0)
        said = " + ".join(f"{count:,} {case}" for case, count in cases.items())
        print(f"account: {begun:,} taken in = {said}")
        print(f"  of these lost, since the sites are as they are: {lost:,}")
        closes = begun == sum(cases.values())
        self._expect(begun and closes, "the account does not close")
        return begun if closes else 0

    def _lines_and_files(self, begun: int) -> None:
        lines = self.errors.lines.total()
        print(
            f"lines of the package in the log: {lines:,}, {lines / begun:.3f} for each"
            " request"
        )
        most = LINES * begun + LINES_OF_A_SITE * len(self.arguments["sites"])
        self._expect(
            lines <= most, f"too many lines: {self.errors.lines.most_common(5)}"
        )
        for name in ("report.html", "report.json", "log.txt"):
            size = Path(name).stat().st_size if Path(name).exists() else 0
            print(f"  {name:<14}{size / 2**10:>9,.0f} KiB")
            self._expect(size, f"{name} was not written")


def main(seconds: float, sites: int = 2_000, seed: int = 0, *, how: str = "") -> None:
    """Crawl and report; exit with 1 if something does not hold."""
    open_more_files()
    web = Serving(__file__, "serve", sites, seed, how)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the store is made here
        soak = Soak(seconds, [f"http://{host}:{web.port}" for host in hosts(sites)])
        soak.run()
        answered = web.stop()
        print(
            "\nthe sites answered: "
            + ", ".join(f"{k} {n:,}" for k, n in answered.items())
        )
        wrong = soak.report()
        os.chdir(HERE)
    print("\n" + ("\n".join(f"WRONG: {one}" for one in wrong) or "all of it holds"))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    first, *numbers = sys.argv[1:]
    if first == "serve":
        sites, seed, *how = numbers
        asyncio.run(serve(int(sites), int(seed), *how))
    else:
        how = QUIET if QUIET in numbers else ""
        main(float(first), *(int(one) for one in numbers if one != QUIET), how=how)
