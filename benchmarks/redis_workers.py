"""Workers of one job on Redis, and what becomes of it when they are killed, stopped, or
Redis is.

Starts a web on loopback of so many pages over so many sites, a Redis, and so many
workers, each a process of its own. One site of ten answers 503 with Retry-After for a
while, one of ten asks for a Crawl-delay of one second in its robots.txt and has few
pages. Callbacks note their ends in a file of their worker with one write() each, the
web notes when it was asked for what. Then it is counted: pages that no callback ended
for, callbacks that ended twice, the least gap between two requests to a site with a
delay (over all workers), requests that came to a closed site in its pause, later than
100 ms after a worker had read the refusal (on a busy machine some were under way),
probes for each pause, and how often each robots.txt was asked for. A page that was
under way at three kills is set aside, as it may be their cause: such pages are requeued
in the end, as by ``scrapy robots job ... requeue``, and crawled before it is counted.
Exits with 1 if a page is lost, a gap is short, or more came twice than was in flight.

none     nothing happens to them; also prints what a page cost Redis
brief    SIGKILL for one of them, which then starts again, and SIGSTOP for one, for
         longer than its lease, then SIGCONT
lease    one worker begins alone, another one joins, and SIGKILL for the first when half
         of the pages are done. Printed are how many sites it held, how many requests
         were in flight there, and when the other one had the first site of these, and
         the last. What comes twice may be no more than what was in flight there
faults   KILLS random ones: those of brief, SIGKILL for Redis, a Redis that is full for
         a while, and a worker that starts with a clock up to ten minutes wrong
one      nothing happens to them, and each callback takes half a second: what a second
         worker is worth to a crawl of one site (``one 3 60 1``)
memory   no crawl: how many bytes of Redis' memory a waiting request, a site and a
         fingerprint take
scripts  no crawl: for how many milliseconds one script stops a Redis with very many
         sites (``scripts 200000``)

Usage::

    python benchmarks/redis_workers.py \
        [WHAT [WORKERS [PAGES [SITES [KILLS [LEASE [SEED]]]]]]]
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import job_kill
from loopback import Serving, crawled, serve_answers
from scrapy import signals

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

IN_FLIGHT = 16
FAULTS = "kill", "stop", "crash", "full", "clock"
DELAY = 1.0
LONGEST = 600  # seconds
MOST_RESTARTS = 20  # of workers that could not start
MOST_ENTRIES = 500  # of an exchange
SETTINGS = {
    **job_kill.COMMON,
    "CONCURRENT_REQUESTS": IN_FLIGHT,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
    "LOG_LEVEL": "INFO",
    "MANDELBOT_PACE": "obey",
}


class World(job_kill.World):
    """The sites, of which some ask for a delay."""

    retry_after = 2

    def pages_of(self, site: int) -> int:
        return min(self.each, 8) if is_slow(site) else self.each

    def robots(self, site: int) -> str:
        delay = f"Crawl-delay: {DELAY}\n" if is_slow(site) else ""
        return f"User-agent: *\n{delay}Disallow: /private\n"


def is_slow(site: int) -> bool:
    return site % 10 == 5


async def serve(pages: int, sites: int) -> None:
    """Serve until standard input ends; note each request in a file."""
    world = World(pages, sites)
    asked = os.open("asked.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def answer(host: str, port: int, path: str) -> tuple[int, str, str]:
        status, headers, body = world.answer(host, port, path)
        site = job_kill.site_of(host)
        os.write(asked, f"{time.monotonic():.6f} {site} {path} {status}\n".encode())
        return status, headers, body

    await serve_answers(world.hosts, answer)


class Noting(job_kill.Noting):
    """Notes also when it reads a refusal."""

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        spider.refusals = os.open(f"read{spider.number}.txt", flags)
        crawler.signals.connect(spider.downloaded, signals.response_downloaded)
        return spider

    def downloaded(self, response):
        if response.status == HTTPStatus.SERVICE_UNAVAILABLE:
            site = job_kill.site_of(urlsplit(response.url).hostname)
            os.write(self.refusals, f"{time.monotonic():.6f} {site}\n".encode())


def crawl(url: str, number: str, settings: str) -> None:
    """Run a worker in this process and folder; print how it ended."""
    settings = {**SETTINGS, **json.loads(settings)}
    crawler = crawled(Noting, settings, start_urls=[url], number=number)
    stats = {
        name: value
        for name, value in crawler.stats.get_stats().items()
        if "time" not in name
    }
    print(json.dumps(stats), flush=True)


class Workers:
    """The workers of a job, in one folder."""

    def __init__(self, folder: Path, url: str, settings: dict) -> None:
        self.folder = folder
        self.url = url
        self.settings = settings
        self.all: list[subprocess.Popen] = []
        self.said: list[dict] = []  # the stats of the first of them
        self.restarts = 0
        self.aside: Counter[str] = Counter()  # requests that were requeued, by reason

    def start(self, ahead: float = 0.0) -> None:
        number = f"-{len(self.all)}"
        settings = json.dumps(self.settings)
        arguments = self.url, number, settings
        new = job_kill.start(
            __file__, self.folder, *arguments, number=number, ahead=ahead
        )
        self.all.append(new)

    def running(self) -> list[subprocess.Popen]:
        return [one for one in self.all if one.poll() is None]

    def ended(self) -> Counter[str]:
        """Return how often the callback of each URL has run to its end."""
        return Counter(
            url
            for path in self.folder.glob("ends-*.txt")
            for url in path.read_text().split()
        )

    def by_worker(self) -> list[int]:
        return [
            len(path.read_text().split())
            for path in sorted(
                self.folder.glob("ends-*.txt"), key=lambda one: int(one.stem[5:])
            )
        ]

    def wait_for(self, count: int) -> bool:
        """Wait until so many callbacks have ended; return whether they have.

        Where no worker is left, as none could start while Redis was away, one is
        started, as a service does: `MOST_RESTARTS` times.
        """
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            if sum(self.ended().values()) >= count:
                return True
            if not self.running():
                if self.restarts == MOST_RESTARTS:
                    return False
                self.restarts += 1
                self.start()
            time.sleep(0.02)
        return False

    def wait(self) -> list[dict]:
        """Wait for all to end; return the stats of each, empty if it was killed."""
        deadline = time.monotonic() + LONGEST
        for one in self.all[len(self.said) :]:
            try:
                out, _ = one.communicate(timeout=max(1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                one.kill()
                out, _ = one.communicate()
            self.said.append(json.loads(out) if out.strip() else {})
        return self.said

    def wait_for_all_pages(self, place: str) -> list[dict]:
        """Wait for all to end, and for a worker that crawls what they set aside.

        Returns the stats of each. `place`: that of the job.
        """
        self.wait()
        while aside := job_kill.requeue_set_aside(place):
            self.aside += aside
            self.start()
            self.wait()
        return self.said


def disturb(
    what: str, workers: Workers, redis, chance: random.Random, lease: float
) -> None:
    """Do something to the workers, or to Redis."""
    if not workers.running():
        workers.start()
    if what in {"kill", "clock"}:
        one = chance.choice(workers.running())
        one.kill()
        one.wait()
        workers.start(chance.uniform(-600, 600) if what == "clock" else 0.0)
    elif what == "stop":
        one = chance.choice(workers.running())
        one.send_signal(signal.SIGSTOP)
        time.sleep(2 * lease)
        one.send_signal(signal.SIGCONT)
    elif what == "crash":
        redis.kill()
        time.sleep(chance.uniform(0, lease))
        redis.start()
    elif what == "full":
        redis._ask(b"CONFIG SET maxmemory 1\r\n")  # noqa: SLF001 -- of the tests
        time.sleep(chance.uniform(0, lease))
        redis._ask(b"CONFIG SET maxmemory 0\r\n")  # noqa: SLF001


class LeaseHolder:
    """A worker that is killed while it holds sites, and what becomes of these."""

    def __init__(self, url: str) -> None:
        from redis import Redis  # noqa: PLC0415 -- of the extra

        self._redis = Redis.from_url(url, decode_responses=True)
        self._key = f"mandelbot:{{{job_kill.Noting.name}}}"

    def kill(self, crowd: Workers, pages: int) -> int:
        """Kill the first of two workers when half of the pages are done, and wait until
        the other one has its sites; return how many requests were in flight there.
        """
        crowd.wait_for(pages // 4)
        first = next(iter(self._owners().values()))
        crowd.start()
        crowd.wait_for(pages // 2)
        crowd.all[0].kill()
        crowd.all[0].wait()
        began = time.monotonic()
        held = [site for site, owner in self._owners().items() if owner == first]
        claimed = [self._redis.hlen(f"{self._key}:c:{site}") for site in held]
        print(f"killed: it held {len(held)} sites, {sum(claimed)} requests in flight")
        taken: list[float] = []
        waiting = set(held)
        while waiting and time.monotonic() < began + LONGEST:
            owners = self._owners()
            others = {site for site in waiting if owners.get(site) not in {None, first}}
            taken += [time.monotonic() - began] * len(others)
            waiting -= others
            time.sleep(0.01)
        print(f"another worker had the first after {taken[0]:.1f} s", end="")
        print(f", the last after {taken[-1]:.1f} s")
        return sum(claimed)

    def _owners(self) -> dict[str, str]:
        return self._redis.hgetall(f"{self._key}:owner")


MEMORY = (  # what, how many, sites, and whether they are requests
    (
        "a request of 129 bytes with its fingerprint, of one of 100 sites",
        50_000,
        100,
        True,
    ),
    ("the same, each of a separate site", 20_000, 20_000, True),
    *(
        (f"a fingerprint, one of {count:,}", count, 0, False)
        for count in (10**4, 10**5, 10**6)
    ),
)


def memory() -> int:
    """Print what a job's parts take; return the exit code."""
    from redis import Redis  # noqa: PLC0415 -- of the extra
    from redis_server import RedisServer  # noqa: PLC0415 -- of the tests

    from scrapy_mandelbot.fleet.job_server import JobTerms  # noqa: PLC0415
    from scrapy_mandelbot.fleet.redis_job import RedisJobServer  # noqa: PLC0415
    from scrapy_mandelbot.fleet.shared_job import SharedJob  # noqa: PLC0415
    from scrapy_mandelbot.job.job_store import Place  # noqa: PLC0415

    chance = random.Random(1)
    place = Place(0, 0, is_last_first=False)
    with (
        tempfile.TemporaryDirectory(prefix="redis-workers-") as name,
        RedisServer(Path(name)) as redis,
        Redis.from_url(redis.url) as client,
    ):
        for what, count, sites, are_requests in MEMORY:
            redis.clear()
            server = RedisJobServer(redis.url, JobTerms("memory", 600.0))
            job = SharedJob(server.join(), time.monotonic)
            before = client.info("memory")["used_memory"]
            for number in range(count):
                fingerprint = chance.getrandbits(64) - (1 << 63)
                if are_requests:
                    site = f"https://site{number % sites}.example"
                    job.push_new(site, place, b"x" * 129, fingerprint, None)
                else:
                    job.see(fingerprint)
                while job.uncommitted >= MOST_ENTRIES or (
                    job.uncommitted and number + 1 == count
                ):
                    job.take_answer(server.exchange(job.next_exchange(0, "")))
            took = client.info("memory")["used_memory"] - before
            print(f"{took / count:7,.0f} bytes: {what}", flush=True)
            server.close()
    return 0


SITES_AT_LEAST = 1_000


def scripts(sites: int) -> int:
    """Print how long one script takes at most in a job of many sites."""
    from redis import Redis  # noqa: PLC0415 -- of the extra
    from redis_server import RedisServer  # noqa: PLC0415 -- of the tests

    from scrapy_mandelbot.fleet.job_server import JobTerms  # noqa: PLC0415
    from scrapy_mandelbot.fleet.redis_job import RedisJobServer  # noqa: PLC0415
    from scrapy_mandelbot.fleet.shared_job import SharedJob  # noqa: PLC0415

    with (
        tempfile.TemporaryDirectory(prefix="redis-workers-") as name,
        RedisServer(Path(name)) as redis,
        Redis.from_url(redis.url) as client,
    ):
        client.config_set("slowlog-max-len", 100_000)
        old = RedisJobServer(redis.url, JobTerms("sites", 600.0, "old"))
        new = RedisJobServer(redis.url, JobTerms("sites", 600.0, "new"))
        first = SharedJob(old.join(), time.monotonic)
        old.exchange(first.next_exchange(0, ""))
        put_aside(client, old.key, sites)
        member = SharedJob(new.join(), time.monotonic)

        def exchange(take: int = 0) -> None:
            member.take_answer(new.exchange(member.next_exchange(take, "")))

        def look() -> None:
            while client.exists(f"{old.key}:looking"):
                exchange()

        def push() -> None:
            push_to_new_sites(member)
            exchange()

        view = new.view()
        calls = {
            "a worker joins": new.join,
            "it looks through what is set aside": look,
            "500 requests of 500 new sites": push,
            "16 sites are taken": lambda: exchange(16),
            "a site is requeued": lambda: view.requeue("https://a.example"),
            "an exception is requeued": lambda: view.requeue("KeyError"),
            "all is counted": view.lengths,
            "all is requeued": lambda: view.requeue(""),
        }
        print(f"The longest command, with {sites:,} sites:")
        for what, call in calls.items():
            client.config_set("slowlog-log-slower-than", 0)
            client.slowlog_reset()
            call()
            client.config_set("slowlog-log-slower-than", -1)
            longest = max(one["duration"] for one in client.slowlog_get(100_000))
            print(f"{longest / 1_000:7.1f} ms: {what}", flush=True)
        old.close()
        new.close()
    return 0


def put_aside(client, key: str, sites: int) -> None:
    """Let a job have sites that are paused, each with a page set aside."""
    pipe = client.pipeline(transaction=False)
    for number in range(sites):
        site = f"https://www.site{number}.example"
        pipe.hset(f"{key}:refused", site, "old ")
        pipe.zadd(f"{key}:r:old:{site}", {f"0{1:016}7 0:body": 0})
        pipe.hset(f"{key}:rest", site, 1e15)
        if not number % 5_000:
            pipe.execute()
    pipe.execute()


def push_to_new_sites(job) -> None:
    """Push as many requests as an exchange takes, each of a new site."""
    from scrapy_mandelbot.job.job_store import Place  # noqa: PLC0415

    place = Place(0, 0, is_last_first=False)
    for number in range(MOST_ENTRIES):
        site = f"https://new{number}.example"
        job.push_new(site, place, b"x" * 190, number, None)


def main(  # noqa: PLR0913, PLR0917 -- of the command line
    what="none", workers=3, pages=2_000, sites=50, times=5, lease=5, seed=1
) -> int:
    """Crawl, and print what came of it."""
    from redis_server import RedisServer  # noqa: PLC0415 -- of the tests

    if what == "memory":
        return memory()
    if what == "scripts":
        return scripts(workers if workers > SITES_AT_LEAST else 200_000)
    chance = random.Random(seed)
    faults = chance.choices(FAULTS, k=times)
    plan = {"brief": ["kill", "stop"], "faults": faults}.get(what, [])
    with tempfile.TemporaryDirectory(prefix="redis-workers-") as name:
        folder = Path(name)
        (folder / "redis").mkdir()
        with (
            Serving(__file__, "serve", pages, sites, folder=folder) as port,
            RedisServer(folder / "redis", appendonly=True) as redis,
        ):
            urls = set(World(pages, sites).urls(port))
            settings = {
                "MANDELBOT_JOB": redis.url,
                "MANDELBOT_JOB_OPTIONS": {"lease": lease},
            }
            if what == "one":
                settings["PARSE_SECONDS"] = 0.5
            crowd = Workers(folder, f"http://127.0.0.1:{port}/", settings)
            began = time.monotonic()
            in_flight = len(plan) * 3 * IN_FLIGHT
            for _ in range(1 if what == "lease" else workers):
                crowd.start()
            if what == "lease":
                in_flight = LeaseHolder(redis.url).kill(crowd, len(urls))
            for number, kind in enumerate(plan, start=1):
                if not crowd.wait_for(number * len(urls) // (len(plan) + 1)):
                    break
                print(
                    f"{kind} at {sum(crowd.ended().values()):,} callbacks", flush=True
                )
                disturb(kind, crowd, redis, chance, lease)
            if plan and not crowd.running():
                crowd.start()
            said = crowd.wait_for_all_pages(f"{redis.url}#{job_kill.Noting.name}")
            seconds = time.monotonic() - began
            exit_code = report(what, crowd, urls, said, in_flight, seconds)
            if not plan:  # a Redis that was killed has counted from then on
                print(cost_of(redis.url, sum(crowd.ended().values())))
            return exit_code


def cost_of(url: str, pages: int) -> str:
    """Return what a page has cost a server since it was started, in words."""
    from redis import Redis  # noqa: PLC0415 -- of the extra

    with Redis.from_url(url) as client:
        about = client.info("all")
    calls = {
        name.removeprefix("cmdstat_"): row["calls"]
        for name, row in about.items()
        if name.startswith("cmdstat_")
    }
    scripts = sum(calls.get(name, 0) for name in ("eval", "evalsha"))
    seconds = about["used_cpu_user"] + about["used_cpu_sys"]
    return (
        f"of Redis for a page: {1e6 * seconds / pages:.0f} µs of CPU,"
        f" {scripts / pages:.2f} scripts, {sum(calls.values()) / pages:.1f} commands"
        f" with those in scripts, {about['total_net_input_bytes'] / pages:.0f} bytes"
        f" in, {about['total_net_output_bytes'] / pages:.0f} out,"
        f" {about.get('aof_current_size', 0) / pages:.0f} in the append-only file"
    )


def report(what, crowd, urls, said, in_flight, seconds) -> int:  # noqa: PLR0913, PLR0917
    """Print what came of it; return the exit code.

    At most `in_flight` callbacks may have ended twice.
    """
    ended = crowd.ended()
    twice = sum(ended.values()) - len(ended)
    reasons = Counter(one.get("finish_reason", "killed or not started") for one in said)
    print(
        f"{what}: {len(urls):,} pages in {seconds:.1f} s, {len(urls) / seconds:.0f} a"
        " second"
    )
    print(f"ended as {dict(reasons)}; pages by worker {crowd.by_worker()}")
    lost = urls - ended.keys()
    print(
        f"pages lost {len(lost)}, callbacks ended twice {twice}, most"
        f" {max(ended.values())} times"
    )
    print(f"set aside and requeued {sum(crowd.aside.values())} {dict(crowd.aside)}")
    gap, in_pause, robots, probes = asked_of(crowd.folder)
    print(f"least gap at a site with a delay of {DELAY} s: {gap:.3f} s")
    print(
        f"requests into a pause that was known: {in_pause}; probes by pause"
        f" {dict(probes)}"
    )
    print(f"robots.txt fetches by site {dict(robots)}")
    leases = sum(one.get("mandelbot/job/leases_lost", 0) for one in said)
    print(
        f"leases lost {leases}; errors logged"
        f" {sum(one.get('log_count/ERROR', 0) for one in said)}"
    )
    is_bad = bool(lost) or gap < DELAY - 0.005 or twice > in_flight
    if is_bad:
        keep = tempfile.mkdtemp(prefix="redis-workers-logs-")
        sockets = shutil.ignore_patterns("*.sock")
        shutil.copytree(crowd.folder, keep, ignore=sockets, dirs_exist_ok=True)
        print(f"logs are in {keep}; lost {sorted(lost)[:5]}")
    return int(is_bad)


def asked_of(folder: Path):
    """Return what the web noted: least gap, requests into pauses, robots.txt, probes by
    pause.
    """
    read = defaultdict(list)
    for path in folder.glob("read*.txt"):
        for line in path.read_text().splitlines():
            at, site = line.split()
            read[int(site)].append(float(at))
    by_site = defaultdict(list)
    for line in (folder / "asked.txt").read_text().splitlines():
        at, site, url, status = line.split()
        by_site[int(site)].append((float(at), url, int(status)))
    least = float("inf")
    in_pause = 0
    robots = Counter()
    probes = Counter()
    for site, asked in by_site.items():
        robots[sum(url == "/robots.txt" for _, url, *_ in asked)] += 1
        pages = [(at, status) for at, url, status in asked if url != "/robots.txt"]
        if is_slow(site):
            least = min([least, *(b[0] - a[0] for a, b in pairwise(pages))])
        refused_at = None
        for at, status in pages:
            if refused_at is not None:
                ends_at = refused_at + World.retry_after - 0.05
                known = [one for one in read[site] if refused_at < one < ends_at]
                in_pause += min(known, default=ends_at) + 0.1 < at < ends_at
            if status == 503 and (
                refused_at is None or at > refused_at + World.retry_after - 0.05
            ):
                probes[site] += refused_at is not None
                refused_at = at
    return least, in_pause, robots, Counter(probes.values())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", pages, sites]:
            asyncio.run(serve(int(pages), int(sites)))
        case ["crawl", *arguments]:
            crawl(*arguments)
        case ["-h" | "--help"]:
            print(__doc__)
        case [*what]:
            sys.exit(main(*what[:1], *map(int, what[1:])))
