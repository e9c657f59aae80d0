"""What a store on Redis holds, costs and promises, measured on a server of its own.

sizes       bytes of Redis' memory for a copy, a pause, a turn, a lease
operations  commands to Redis for a page, for a new site, for a page at a pace, and what they take
            of the server's time
news        from the moment at which one process tells of a pause to the one at which another has
            heard of it in its loop; and three workers that ask one site as fast as they can when
            it closes: what reaches it after its first 503
workers     three workers, each a process, and sites of another one: one that is closed for a
            while, one with Crawl-delay 1, others that are well. Requests sent into the pause, the
            last of them after the first 503, probes, robots.txt fetches, the least gap
outage      the same while Redis is stopped for four seconds in the middle

Needs ``redis-server`` (Debian: redis-server) and the package ``redis``. Usage::

    python benchmarks/redis_store.py [sizes|operations|news|workers|outage ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from redis import Redis

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from redis_server import RedisServer  # noqa: E402 -- found by the line above

SITES = 20
PAGES = 40
CLOSED_FOR, RETRY_AFTER = 5.0, 2
MANY = 10_000


def main(names: list[str]) -> None:
    for name in names or list(PARTS):
        with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder)) as server:
            print(f"\n{name}\n")
            PARTS[name](server)


# What it holds.


def sizes(server: RedisServer) -> None:
    from scrapy_mandelbot.store.contract import (  # noqa: PLC0415 -- of a process that takes it
        Copy,
        KeptPause,
        Lease,
    )
    from scrapy_mandelbot.store.redis.redis_store import RedisStore  # noqa: PLC0415 -- of a process that takes it

    store, now = RedisStore(server.url, lambda: lambda call: call()), time.time()
    small = b"".join(b"Disallow: /some/path/%d\n" % n for n in range(12))
    large = b"".join(b"Disallow: /some/other/path/%d\n" % (n * n * 7919) for n in range(132))
    print(f"{'':34}{'bytes each':>12}{'MB for a million':>18}")
    with Redis.from_url(server.url) as client:
        for what, put in {
            f"a copy of {len(small)} bytes": lambda s: store.put_copy(s, Copy(small, 200, now, s)),
            f"a copy of {len(large)} bytes": lambda s: store.put_copy(s, Copy(large, 200, now, s)),
            "a pause": lambda s: store.put_pause(s, KeptPause(now + 900, f"503 for <GET {s}/>")),
            "a turn": lambda s: store.put_turn(s, now + 900),
            "a lease": lambda s: store.claim(Lease.PROBE, s, 900, lambda _: None),
        }.items():
            client.flushall()
            before = client.info("memory")["used_memory"]
            for number in range(MANY):
                put(f"https://www.site-{number}.example")
                if number % 1_000 == 999:
                    store.get_run("")  # answered when all before it is there
            each = (client.info("memory")["used_memory"] - before) / MANY
            print(f"{what:34}{each:12,.0f}{each:18,.0f}")
    store.close()


# What it costs.


def operations(server: RedisServer) -> None:
    print(f"{'':40}{'commands':>10}{'us of Redis':>13}{'a second, at half its time':>28}")
    with Redis.from_url(server.url) as client, Sites(SITES) as sites:
        for what, pages, ports, settings in (
            ("a page of a site that is known", 400, sites.ports[:1], {}),
            ("a site that is new, of two pages", 2, sites.ports[2:], {}),
            (
                "a page at a pace (Crawl-delay 0.1)",
                40,
                sites.ports[1:2],
                {"MANDELBOT_PACE": "obey"},
            ),
        ):
            client.flushall()
            known = pages == 400  # then the first page's cost is not of interest
            if known:
                Worker(server, ports, range(1), settings).wait()
            client.config_resetstat()
            Worker(server, ports, range(1, pages + 1), settings).wait()
            calls, spent = commands(client)
            each = len(ports) if pages == 2 else pages
            a_second = each * 500_000 / spent
            print(f"{what:40}{calls / each:10.2f}{spent / each:13.1f}{a_second:28,.0f}")


def commands(client: Redis) -> tuple[int, float]:
    """Return how many commands came, and the microseconds that they took.

    All but a few at start are scripts; what these call is counted as theirs.
    """
    stats = client.info("commandstats").get("cmdstat_evalsha", {"calls": 0, "usec": 0})
    return stats["calls"], stats["usec"]


# What it promises.


def news(server: RedisServer) -> None:
    from scrapy_mandelbot.store.contract import KeptPause  # noqa: PLC0415 -- of a process that takes it
    from scrapy_mandelbot.store.redis.redis_store import RedisStore  # noqa: PLC0415 -- of a process that takes it

    listening = subprocess.Popen(
        [sys.executable, __file__, "listen", server.url], stdout=subprocess.PIPE, text=True
    )
    listening.stdout.readline()  # it listens
    store = RedisStore(server.url, lambda: lambda call: call())
    told = []
    for number in range(TOLD):
        told.append(time.monotonic())
        store.put_pause(f"http://{number}.example", KeptPause(time.time() + 900, "503"))
        time.sleep(0.01)
    heard = json.loads(listening.communicate()[0])
    store.close()
    took = sorted(1000 * (at - since) for since, at in zip(told, heard, strict=True))
    print(
        f"heard of after {took[TOLD // 2]:.1f} ms (median of {TOLD}),"
        f" {took[int(TOLD * 0.99)]:.1f} (99th percentile), {took[-1]:.1f} (longest)"
    )
    with Sites(1, closed=True) as sites:
        settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 4, "DOWNLOAD_DELAY": 0.02}
        started = [Worker(server, sites.ports, range(n, 1_500, 3), settings) for n in range(3)]
        pages = sum(one.wait()["pages"] for one in started)
    refused = [hit["at"] for hit in sites.hits if hit["status"] == 503]
    burst = [1000 * (at - refused[0]) for at in refused if at < refused[0] + RETRY_AFTER / 2]
    before = sum(refused[0] - 1 < hit["at"] < refused[0] for hit in sites.hits)
    print(
        f"asked {before} times in the second before its first 503, a site was asked"
        f" {len(burst) - 1} times more, the last time {burst[-1]:.0f} ms after it;"
        f" {len(refused) - len(burst)} probes while it was closed; {pages} of 1500 pages"
    )


TOLD = 500


def listen(url: str) -> None:
    import asyncio  # noqa: PLC0415 -- of a process that takes it

    from scrapy_mandelbot.store.redis.redis_store import RedisStore  # noqa: PLC0415 -- of a process that takes it

    async def hear() -> None:
        done = asyncio.Event()
        at: list[float] = []

        class Hears:
            def hear_all_stored(self, pauses, turns) -> None:  # noqa: ARG002 -- of a listener
                print("listening", flush=True)

            def hear_stored_pause(self, key, pause) -> None:  # noqa: ARG002 -- of a listener
                at.append(time.monotonic())
                if len(at) == TOLD:
                    done.set()

        loop = asyncio.get_running_loop()
        store = RedisStore(url, lambda: loop.call_soon_threadsafe)
        store.listen(Hears())
        await done.wait()
        store.close()
        print(json.dumps(at))

    asyncio.run(hear())


def workers(server: RedisServer) -> None:
    report(*run(server))


def outage(server: RedisServer) -> None:
    def stop_for_a_while() -> None:
        with Redis.from_url(server.url) as client:
            while client.dbsize() < SITES:  # until the workers are at it
                time.sleep(0.1)
        server.stop()
        time.sleep(4)
        server.start()

    report(*run(server, stop_for_a_while))


def run(server: RedisServer, meanwhile=lambda: None) -> tuple[Sites, list[dict], float]:
    with Sites(SITES, closed=True) as sites:
        began = time.monotonic()
        started = [
            Worker(server, sites.ports, range(n, 3 * PAGES, 3), {"MANDELBOT_PACE": "obey"})
            for n in range(3)
        ]
        meanwhile()
        done = [one.wait() for one in started]
        seconds = time.monotonic() - began
    return sites, done, seconds


def report(sites: Sites, done: list[dict], seconds: float) -> None:
    hits = sites.hits
    pages = sum(one["pages"] for one in done)
    wanted = SITES * 3 * PAGES
    print(f"pages: {pages} of {wanted} in {seconds:.1f} s, {pages / seconds:.0f} a second")
    fetches = [sum(h["path"] == "/robots.txt" for h in hits if h["site"] == n) for n in sites]
    print(f"robots.txt fetches a site: {min(fetches)} to {max(fetches)}")
    closed = [h for h in hits if h["site"] == CLOSED and h["status"] == 503]
    first = closed[0]["at"]
    early = [h["at"] - first for h in closed if h["at"] < first + RETRY_AFTER / 2]
    late = [h["at"] - first for h in closed if h["at"] >= first + RETRY_AFTER / 2]
    print(
        f"requests that the closed site refused at its first 503: {len(early)}, the last of them"
        f" {1000 * max(early):.0f} ms after the first"
    )
    print(f"probes while it was closed: {len(late)}, at {', '.join(f'{at:.2f}' for at in late)} s")
    asked = [h["at"] for h in hits if h["site"] == PACED and h["path"] != "/robots.txt"]
    gap = min(later - earlier for earlier, later in pairwise(asked))
    print(f"least gap at the site with Crawl-delay 0.1: {gap:.3f} s; {len(asked)} requests")
    for key in ("overheard", "count", "resumed"):
        print(f"mandelbot/pause/{key}, by worker: {[one[key] for one in done]}")


CLOSED, PACED = 0, 1


class Sites:
    """Sites of a process of their own, each on a port."""

    def __init__(self, count: int, *, closed: bool = False) -> None:
        command = [sys.executable, __file__, "serve", str(count), str(int(closed))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.ports: list[int] = json.loads(self._process.stdout.readline())
        self.hits: list[dict] = []

    def __iter__(self):
        return iter(range(len(self.ports)))

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        output, _ = self._process.communicate()
        self.hits = json.loads(output)


class Worker:
    """A crawl in a process of its own."""

    def __init__(self, server: RedisServer, ports, numbers, settings) -> None:
        work = {
            "urls": [f"http://127.0.0.1:{port}/{n}" for n in numbers for port in ports],
            "settings": {"MANDELBOT_STORE": server.url, **settings},
        }
        self._process = subprocess.Popen(
            [sys.executable, __file__, "work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._process.stdin.write(json.dumps(work))
        self._process.stdin.close()
        self._process.stdin = None

    def wait(self) -> dict:
        output, _ = self._process.communicate()
        return json.loads(output)


def work() -> None:
    import scrapy  # noqa: PLC0415 -- of a process that takes it
    from scrapy.crawler import CrawlerProcess  # noqa: PLC0415 -- of a process that takes it

    given = json.load(sys.stdin)

    class Pages(scrapy.Spider):
        name = "pages"
        pages = 0

        async def start(self):
            for url in given["urls"]:
                yield scrapy.Request(url)

        def parse(self, response):  # noqa: ARG002 -- Scrapy's
            self.pages += 1

    process = CrawlerProcess(
        {
            "ADDONS": {"scrapy_mandelbot.Addon": 500},
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            **given["settings"],
        }
    )
    crawler = process.create_crawler(Pages)
    process.crawl(crawler)
    process.start()
    stat = crawler.stats.get_value
    told = {"pages": crawler.spider.pages}
    for key in ("overheard", "count", "resumed"):
        told[key] = stat(f"mandelbot/pause/{key}", 0)
    print(json.dumps(told))


def serve(count: int, *, closed: bool) -> None:
    from twisted.internet import reactor, stdio  # noqa: PLC0415 -- of a process that takes it
    from twisted.internet.protocol import Protocol  # noqa: PLC0415 -- of a process that takes it
    from twisted.web.resource import Resource  # noqa: PLC0415 -- of a process that takes it
    from twisted.web.server import Site  # noqa: PLC0415 -- of a process that takes it

    hits: list[dict] = []
    closed_at: list[float] = []

    class Pages(Resource):
        isLeaf = True  # noqa: N815 -- Twisted's name

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number
            self.served = 0

        def render(self, request):
            path, now = request.path.decode(), time.monotonic()
            status, body = 200, b"a page"
            if path == "/robots.txt":
                body = b"User-agent: *\nDisallow: /x\n"
                if self.number == PACED:
                    body += b"Crawl-delay: 0.1\n"
            elif closed and self.number == CLOSED:
                self.served += 1
                if self.served > (30 if count > 1 else 600) and not closed_at:
                    closed_at.append(now)
                if closed_at and now < closed_at[0] + CLOSED_FOR:
                    status, body = 503, b""
                    request.setHeader("Retry-After", str(RETRY_AFTER))
            hits.append({"site": self.number, "path": path, "status": status, "at": now})
            request.setResponseCode(status)
            return body

    class Ended(Protocol):
        def connectionLost(self, reason):  # noqa: ARG002, N802 -- Twisted's
            reactor.stop()

    ports = [reactor.listenTCP(0, Site(Pages(n)), interface="127.0.0.1") for n in range(count)]
    print(json.dumps([port.getHost().port for port in ports]), flush=True)
    stdio.StandardIO(Ended())
    reactor.run()
    sys.stdout = sys.__stdout__
    print(json.dumps(hits))


PARTS = {
    "sizes": sizes,
    "operations": operations,
    "news": news,
    "workers": workers,
    "outage": outage,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(int(sys.argv[2]), closed=bool(int(sys.argv[3])))
    elif sys.argv[1:2] == ["listen"]:
        listen(sys.argv[2])
    elif sys.argv[1:2] == ["work"]:
        work()
    else:
        main(sys.argv[1:])
