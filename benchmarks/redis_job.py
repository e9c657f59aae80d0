"""What a job on Redis costs: operations a second, bytes a request, a fingerprint and a site.

A job here is what workers do without a crawl: take sites, claim requests, for each one push
children of which some were seen, acknowledge. Beside it is what scrapy-redis does for as many
requests, with its own commands (an ``SADD`` for each link, ``ZADD`` for new ones; ``ZRANGE`` and
``ZREMRANGEBYRANK`` in a transaction to take one; no lease, nothing acknowledged), and what consumer
groups do: a stream and a group for each site, and one script in which what is new is added, what is
done is acknowledged, and more is read. Time is processor time, the least of several runs: of the
client, and of the server, which says how many workers one Redis carries. Commands are those that
the server runs, within scripts too; trips are what it is asked.

cost     microseconds a request, by what is said in one exchange: a page's worth, or several pages'
groups   the same of a job and of consumer groups alone, the renewal of all claims, and bytes
memory   bytes in Redis by request that waits, fingerprint, and site
sites    microseconds a request by the number of sites that wait

Usage::

    python benchmarks/redis_job.py [cost|groups|memory|sites]
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
    """Of a run: seconds of this process, and of the server's; commands, and trips to it."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._began = self._now()

    def _now(self) -> tuple[float, float, int, int]:
        used, stats = self._redis.info("cpu"), self._redis.info("commandstats")
        calls = {name.removeprefix("cmdstat_"): one["calls"] for name, one in stats.items()}
        commands = sum(calls.values()) - calls.get("info", 0)
        trips = sum(calls.get(name, 0) for name in ("eval", "evalsha", "exec"))
        server = used["used_cpu_user"] + used["used_cpu_sys"]
        return time.process_time(), server, commands, trips

    def read(self, requests: int) -> tuple[float, ...]:
        """Return microseconds of both, commands and trips, of a request."""
        client, server, *counts = (
            (now - began) / requests for now, began in zip(self._now(), self._began, strict=True)
        )
        return client * 1e6, server * 1e6, *counts


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
    result = clocks.read(done)
    worker.leave()
    return result


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
    return clocks.read(requests)


GROUPS = """
local told, i = {}, 2
while i <= #ARGV do
  local queue = 'groups:q:' .. ARGV[i + 1]
  if ARGV[i] == 'push' then
    if redis.call('SADD', 'groups:seen:' .. string.sub(ARGV[i + 2], -5), ARGV[i + 2]) == 1 then
      redis.call('XADD', queue, '*', 'r', ARGV[i + 3])
    end
    i = i + 4
  elseif ARGV[i] == 'done' then
    redis.call('XACK', queue, 'workers', ARGV[i + 2])
    redis.call('XDEL', queue, ARGV[i + 2])
    i = i + 3
  elseif ARGV[i] == 'claim' then
    local read = redis.call(
      'XREADGROUP', 'GROUP', 'workers', ARGV[1], 'COUNT', ARGV[i + 2], 'STREAMS', queue, '>')
    for _, entry in ipairs(read and read[1][2] or {}) do
      told[#told + 1] = ARGV[i + 1]
      told[#told + 1] = entry[1]
      told[#told + 1] = entry[2][2]
    end
    i = i + 3
  else  -- renew: an entry is claimed once more by who has it, and its idle time begins anew
    redis.call('XCLAIM', queue, 'workers', ARGV[1], 0, ARGV[i + 2], 'JUSTID')
    i = i + 3
  end
end
return told
"""
HELD = 32  # of a site, at most


def groups(redis: Redis, pages: int, sites: int = 10, requests: int = REQUESTS):
    """Do what :func:`ours` does with a stream and a consumer group for each site."""
    exchange = redis.register_script(GROUPS)
    fingerprints = iter(range(10**12))
    lines = [f"https://site{n}.example" for n in range(sites)]
    words = []
    for line in lines:
        redis.xgroup_create(f"groups:q:{line}", "workers", mkstream=True)
        for _ in range(max(1, 200 // sites)):
            words += ["push", line, next(fingerprints), BODY]
    exchange(args=["w", *words])
    held = {line: [] for line in lines}
    clocks, done = Clocks(redis), 0
    while done < requests:
        words, since = [], 0
        for line, entries in held.items():
            while since < pages and entries:
                for number in range(LINKS):
                    fingerprint = next(fingerprints) if number < NEW else -number
                    words += ["push", line, fingerprint, BODY]
                words += ["done", line, entries.pop()]
                since += 1
            if len(entries) <= HELD // 4:
                words += ["claim", line, HELD - len(entries)]
        done += since
        told = exchange(args=["w", *words])
        for line, entry in zip(told[::3], told[1::3], strict=True):
            held[line.decode()].append(entry)
    return clocks.read(done)


def renewals(redis: Redis, url: str) -> None:
    """Print what it takes to keep all claims, once: a lease for all, or each entry by itself."""
    sites, count = 50, 50 * HELD
    worker = Worker(url)
    for n in range(sites):
        for _ in range(HELD):
            worker.push(f"https://site{n}.example", LIFO, BODY)
        worker.exchange()
    for _ in range(sites):
        worker.exchange(take=16)
        worker.poll_dry(list(worker.sites))
    clocks = Clocks(redis)
    worker.server.exchange(worker.only_renewing())
    told = [("a lease", clocks.read(1))]
    worker.leave()
    exchange, words = redis.register_script(GROUPS), []
    for n in range(sites):
        line = f"https://renewed{n}.example"
        redis.xgroup_create(f"groups:q:{line}", "workers", mkstream=True)
        for number in range(HELD):
            words += ["push", line, 10**14 + n * HELD + number, BODY]
        words += ["claim", line, HELD]
    entries = exchange(args=["w", *words])
    words = [
        word
        for line, entry in zip(entries[::3], entries[1::3], strict=True)
        for word in ("renew", line, entry)
    ]
    clocks = Clocks(redis)
    exchange(args=["w", *words])
    told.append(("an XCLAIM for each", clocks.read(1)))
    for what, (_, server, commands, _) in told:
        print(f"{what}, {count:,} claims: {server:6.0f} µs of the server, {commands:,.0f} commands")


def compare(redis: Redis, rows) -> None:
    """Print microseconds a request, and what was asked."""
    print(f"{LINKS} links a page, {NEW} of them new; bodies of {len(BODY)} bytes; µs a request")
    print(f"{'':40} {'client':>8} {'server':>8} {'commands':>8} {'trips':>8}")
    for what, run in rows:
        times = []
        for _ in range(RUNS):
            redis.flushall()
            times.append(run())
        client, server, commands, trips = map(min, zip(*times, strict=True))
        print(f"{what:40} {client:8.0f} {server:8.0f} {commands:8.1f} {trips:8.2f}", flush=True)


def of_job(redis: Redis, url: str):
    return [
        (f"job, an exchange of {pages} pages", lambda pages=pages: ours(redis, url, pages))
        for pages in (1, 4, 16)
    ]


def cost(redis: Redis, url: str) -> None:
    """Print what a request costs."""
    compare(redis, [("scrapy-redis' commands", lambda: scrapy_redis(redis)), *of_job(redis, url)])


def by_groups(redis: Redis, url: str) -> None:
    """Print what a request costs with consumer groups, beside the job."""
    rows = [
        (f"consumer groups, {pages} pages", lambda pages=pages: groups(redis, pages))
        for pages in (1, 4, 16)
    ]
    compare(redis, [*of_job(redis, url), *rows])
    redis.flushall()
    renewals(redis, url)
    each = {}
    for kind in ("sorted set", "stream"):
        redis.flushall()
        pipe = redis.pipeline(transaction=False)
        for number in range(10_000):
            if kind == "stream":
                pipe.xadd(f"q{number % 100}", {"r": BODY})
            else:
                pipe.zadd(f"q{number % 100}", {b"%017d%d %b" % (number, number, BODY): 0})
        before = redis.info("memory")["used_memory_dataset"]
        pipe.execute()
        each[kind] = (redis.info("memory")["used_memory_dataset"] - before) / 10_000
    print("bytes a request that waits:", {kind: round(size) for kind, size in each.items()})


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
        client, server, *_ = ours(redis, url, 4, count)
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
            {"cost": cost, "groups": by_groups, "sites": sites}[what](redis, server.url)


if __name__ == "__main__":
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__)
    else:
        main(*sys.argv[1:2])
