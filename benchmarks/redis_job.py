"""What a job on Redis costs: operations a second, bytes a request, a fingerprint and a site.

A job here is what workers do without a crawl: take sites, claim requests, for each one push
children of which some were seen, acknowledge. Beside it is what scrapy-redis does for as many
requests, with its own commands (an ``SADD`` for each link, ``ZADD`` for new ones; ``ZRANGE`` and
``ZREMRANGEBYRANK`` in a transaction to take one; no lease, nothing acknowledged). Time is processor
time, the least of several runs: of the client, and of the server, which says how many workers one
Redis carries.

cost     microseconds a request, by what is said in one exchange: a page's worth, or several pages'
memory   bytes in Redis by request that waits, fingerprint, and site
sites    microseconds a request by the number of sites that wait

Usage::

    python benchmarks/redis_job.py [cost|memory|sites]
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import time
from pathlib import Path

from redis import Redis

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from redis_server import RedisServer
from shared_jobs import Worker

from scrapy_mandelbot.job.job_store import Place

LIFO = Place(0, 0, is_last_first=True)
LINKS, NEW = 20, 1  # of a page
REQUESTS = 2_000
RUNS = 3


def body(number: int) -> bytes:
    """Return a request as it is kept: a URL, a callback and a depth."""
    url = f"https://example.com/some/path/of/middling/length/{number}.html"
    return pickle.dumps({"url": url, "callback": "parse_page", "meta": {"depth": 7}}, 5)


BODY = body(123_456)


class Clocks:
    """Seconds of a run: of this process, and of the server's."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._client, self._server = time.process_time(), self._cpu()

    def _cpu(self) -> float:
        used = self._redis.info("cpu")
        return used["used_cpu_user"] + used["used_cpu_sys"]

    def read(self) -> tuple[float, float]:
        return time.process_time() - self._client, self._cpu() - self._server


def ours(  # noqa: C901 -- a worker's whole loop
    redis: Redis, url: str, pages: int, sites: int = 10, requests: int = REQUESTS
):
    """Go through so many requests, so many pages' worth in each exchange; return both times."""
    worker = Worker(url)
    lines = [f"https://site{n}.example" for n in range(sites)]
    fingerprints = iter(range(10**12))
    for line in lines:
        for _ in range(max(1, 200 // sites)):
            worker.push_new(line, LIFO, BODY, next(fingerprints), None)
        if worker.uncommitted >= 1_000:
            worker.exchange()
    while worker.uncommitted:
        worker.exchange()
    worker.exchange(take=16)
    seen = list(range(LINKS))
    clocks, done = Clocks(redis), 0
    while done < requests:
        since = 0
        for line in list(worker.sites):
            while since < pages and (kept := worker.claim(line)) is not None:
                for number in range(LINKS):
                    is_new = number < NEW
                    fingerprint = next(fingerprints) if is_new else -seen[number]
                    worker.push_new(line, LIFO, BODY, fingerprint, kept.number)
                worker.acknowledge(kept.number)
                since += 1
        done += since
        worker.poll_dry(list(worker.sites))
        worker.time += 0.01
        worker.exchange(take=1 if sites > 16 else 0)
        if sites > 16 and since < pages:
            for name in [name for name, site in worker.sites.items() if site.is_dry]:
                worker.give_back(name)
    result = clocks.read()
    worker.leave()
    return result[0] / done * 1e6, result[1] / done * 1e6


def scrapy_redis(redis: Redis, requests: int = REQUESTS):
    """Do what scrapy-redis' dupe filter and priority queue do for as many requests."""
    fingerprints = iter(range(10**12))
    for _ in range(200):
        redis.execute_command("ZADD", "requests", 0, BODY + str(next(fingerprints)).encode())
    clocks = Clocks(redis)
    for _ in range(requests):
        pipe = redis.pipeline()
        pipe.multi()
        pipe.zrange("requests", 0, 0).zremrangebyrank("requests", 0, 0)
        pipe.execute()
        for number in range(LINKS):
            is_new = number < NEW
            fingerprint = f"{next(fingerprints) if is_new else number:040x}"
            if redis.sadd("dupefilter", fingerprint):
                redis.execute_command("ZADD", "requests", 0, BODY + fingerprint.encode())
    result = clocks.read()
    return result[0] / requests * 1e6, result[1] / requests * 1e6


def cost(redis: Redis, url: str) -> None:
    """Print microseconds a request."""
    print(f"{LINKS} links a page, {NEW} of them new; bodies of {len(BODY)} bytes; µs a request")
    print(f"{'':32} {'client':>8} {'server':>8}")
    rows = [
        ("scrapy-redis' commands", lambda: scrapy_redis(redis)),
        ("job, an exchange a page", lambda: ours(redis, url, 1)),
        ("job, an exchange of 4 pages", lambda: ours(redis, url, 4)),
        ("job, an exchange of 16 pages", lambda: ours(redis, url, 16)),
    ]
    for what, run in rows:
        times = []
        for _ in range(RUNS):
            redis.flushall()
            times.append(run())
        client, server = map(min, zip(*times, strict=True))
        print(f"{what:32} {client:8.0f} {server:8.0f}", flush=True)


def memory(folder: Path) -> None:
    """Print bytes by request, fingerprint and site."""
    for count in (10_000, 100_000, 1_000_000):

        def see(worker: Worker, count=count) -> None:
            for number in range(count):
                worker.see((number * 0x9E3779B97F4A7C15) % 2**64 - 2**63)
                if worker.uncommitted >= 1_000:
                    worker.exchange()

        each = _bytes(folder, see) / count
        print(f"{count:>9,} fingerprints: {each:6.0f} bytes each", flush=True)
    for sites, each in ((10, 10_000), (50_000, 1), (50_000, 4)):

        def push(worker: Worker, sites=sites, each=each) -> None:
            for number in range(sites):
                for _ in range(each):
                    worker.push(f"https://site{number}.example", LIFO, BODY)
                if worker.uncommitted >= 1_000:
                    worker.exchange()

        total = _bytes(folder, push)
        print(
            f"{sites:>9,} sites of {each:>6,} requests of {len(BODY)} bytes: {total / sites:9,.0f}"
            f" bytes a site, {total / sites / each:6,.0f} a request",
            flush=True,
        )


def _bytes(folder: Path, fill) -> int:
    """Return by how much a Redis of its own grows."""
    with RedisServer(folder) as server, Redis(port=server.port) as redis:
        worker = Worker(server.url)
        worker.see(1)
        worker.exchange()
        before = redis.info("memory")["used_memory_dataset"]
        fill(worker)
        while worker.uncommitted:
            worker.exchange()
        worker.close()
        return redis.info("memory")["used_memory_dataset"] - before


def sites(redis: Redis, url: str) -> None:
    """Print microseconds a request by the number of sites that wait."""
    for count in (10, 1_000, 50_000):
        redis.flushall()
        client, server = ours(redis, url, 4, count)
        told = f"client {client:6.0f} µs a request, server {server:6.0f}"
        print(f"{count:>7,} sites: {told}", flush=True)


def main(what: str = "cost") -> None:
    with (
        tempfile.TemporaryDirectory(prefix="redis-job-") as folder,
        RedisServer(Path(folder)) as server,
        Redis(port=server.port) as redis,
    ):
        if what == "memory":
            server.stop()
            memory(Path(folder))
        else:
            {"cost": cost, "sites": sites}[what](redis, server.url)


if __name__ == "__main__":
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
    else:
        main(*sys.argv[1:2])
