"""What a job needs of its server, and which servers have it.

Each carrier is a class with four calls that a worker makes, and a server that is
started for it here. A worker claims pages, settles each together with its links, and
leaves a site alone that asks for it. The web is simulated: page n of a site links to
2n + 1, 2n + 2 and eight known pages, a page takes two milliseconds, and page 1 of one
site asks for a pause of 1.5 seconds.

kill   three workers, of which six are killed (SIGKILL) in turn, each replaced. Counts
       the pages that were lost, those that came twice, how often two workers requested
       one site at once, and requests that came into the pause. Exits with 1 if this
       package's job loses a page
cost   no kills: the processor time of the server for a page with ten links, two of them
       new, with so many workers that take turns

Carriers:

redis         this package's job on Redis
scrapy-redis  its own queue and filter
streams       one stream of Redis for all, XAUTOCLAIM, and a script that settles a page
postgresql    ``carriers.sql``, by psycopg 3 and Debian's postgresql

Usage::

    pip install -e packages/mandelbot -e ".[test,benchmarks]"
    python benchmarks/carriers.py kill|cost [CARRIER ...]
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

WORKERS = 3
KILLS = 6
SITES = 20
EACH = 60  # pages of a site
RESTING = "s3"  # the site whose page 1 asks for a pause
REST = 1.5  # seconds
PAGE_TAKES = 0.002  # seconds
LEASE = 2.0  # seconds
POLL = 0.05  # seconds between two questions for work
AT_ONCE = 8  # requests that a worker gets with an exchange
SITES_AT_ONCE = 4
BODY = b"x" * 180
LONGEST = 120  # seconds
COSTS = 10_000  # pages
COST_SITES = 1_000


class Link(NamedTuple):
    """A page of a site."""

    site: str
    page: int

    @property
    def fingerprint(self) -> int:
        digest = blake2b(f"{self.site} {self.page}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    @property
    def body(self) -> bytes:
        return f"{self.site} {self.page} ".encode() + BODY


class Claim(NamedTuple):
    """A request that a worker has, and by what the carrier knows it."""

    link: Link
    ticket: Any


class Settled(NamedTuple):
    """What became of a claimed request."""

    claim: Claim
    links: list[Link]
    rest: float = 0.0  # seconds for which its site is left alone
    is_sent: bool = True  # else it waits again, as its site is left alone


def link_of(body: bytes) -> Link:
    site, page, _ = body.split(b" ", 2)
    return Link(site.decode(), int(page))


class Carrier(ABC):
    """A worker's side of a job on some server."""

    @staticmethod
    @abstractmethod
    @contextmanager
    def serving(folder: Path) -> Iterator[tuple[str, int]]:
        """Start a server; yield its address and the number of its process."""

    @abstractmethod
    def __init__(self, address: str) -> None:
        """Join the job."""

    @abstractmethod
    def push(self, links: list[Link]) -> None:
        """Begin with these pages, unless the job has them."""

    @abstractmethod
    def exchange(self, settled: list[Settled]) -> list[Claim]:
        """Settle pages, and claim others."""

    @abstractmethod
    def is_over(self) -> bool:
        """Return whether nothing waits, and nothing is claimed; asked if idle."""

    def may_send(self, site: str) -> bool:  # noqa: ARG002 -- of some only
        """Return whether a site may be requested now."""
        return True

    def leave(self) -> None:  # noqa: B027 -- where nobody knows the workers
        """End as a worker that has not died."""


@contextmanager
def redis_server(folder: Path) -> Iterator[tuple[str, int]]:
    from redis_server import RedisServer  # noqa: PLC0415 -- of the tests

    every_second = "--appendfsync", "everysec"
    with RedisServer(folder, *every_second, appendonly=True) as server:
        yield server.url, server._running().pid  # noqa: SLF001 -- of the tests


class OwnJob(Carrier):
    """This package's job, as its workers use it."""

    serving = staticmethod(redis_server)

    def __init__(self, address: str) -> None:
        from scrapy_mandelbot.fleet.job_server import JobTerms  # noqa: PLC0415
        from scrapy_mandelbot.fleet.redis_job import RedisJobServer  # noqa: PLC0415
        from scrapy_mandelbot.fleet.shared_job import SharedJob  # noqa: PLC0415
        from scrapy_mandelbot.job.job_store import Place  # noqa: PLC0415

        self._server = RedisJobServer(address, JobTerms("carriers", LEASE))
        self._job = SharedJob(self._server.join(), time.monotonic)
        self._place = Place(0, 0, is_last_first=False)
        self._has_ended = False

    def push(self, links: list[Link]) -> None:
        for link in links:
            self._push(link, None)
        while self._job.uncommitted:
            self._exchange(0)

    def exchange(self, settled: list[Settled]) -> list[Claim]:
        job = self._job
        for one in settled:
            if one.is_sent:
                for link in one.links:
                    self._push(link, one.claim.ticket)
                job.acknowledge(one.claim.ticket)
        for site, seconds in rests_of(settled).items():
            if site in job.sites:
                job.rest(site, b"paused", f"{1000 * seconds:.0f}")
                job.give_back(site)
        for site in [name for name, held in job.sites.items() if held.is_exhausted]:
            job.give_back(site)
        self._exchange(SITES_AT_ONCE - len(job.sites))
        job.poll_dry(list(job.sites))
        claims = []
        for line in list(job.lengths()):
            while len(claims) < AT_ONCE and (kept := job.claim(line)):
                claims.append(Claim(link_of(kept.body), kept.number))
        if claims:
            numbers = [one.ticket for one in claims]
            self._server.sends(job.worker, job.token, numbers)
            job.out.update(numbers)
        return claims

    def is_over(self) -> bool:
        return self._has_ended

    def leave(self) -> None:
        self._server.leave(self._job.worker, self._job.token)

    def _push(self, link: Link, parent: int | None) -> None:
        self._job.push_new(link.site, self._place, link.body, link.fingerprint, parent)

    def _exchange(self, take: int) -> None:
        job = self._job
        is_busy = job.sites or job.uncommitted
        reply = self._server.exchange(
            job.next_exchange(take, "" if is_busy else "wait")
        )
        if reply.is_lost:
            job.lose(reply.last)
            self._server.leave(job.worker, job.token)
            job.join(self._server.join())
            return
        self._has_ended = reply.run != job.run
        job.take_answer(reply)


class Streams(Carrier):
    """One stream and one group; a script settles a page and adds its new links."""

    serving = staticmethod(redis_server)
    script = """
        for i = 2, #ARGV, 2 do
          if redis.call('SADD', KEYS[2], ARGV[i]) == 1 then
            redis.call('XADD', KEYS[1], '*', 'body', ARGV[i + 1])
          end
        end
        if ARGV[1] ~= '' then
          redis.call('XACK', KEYS[1], 'workers', ARGV[1])
          redis.call('XDEL', KEYS[1], ARGV[1])
        end
    """

    def __init__(self, address: str) -> None:
        from redis import Redis, ResponseError  # noqa: PLC0415 -- of the extra

        self._redis = Redis.from_url(address)
        self._name = f"{os.getpid()}-{time.monotonic_ns()}"
        self._settle = self._redis.register_script(self.script)
        with suppress(ResponseError):  # another worker has made it
            self._redis.xgroup_create("queue", "workers", "0", mkstream=True)

    def push(self, links: list[Link]) -> None:
        for start in range(0, len(links), 500):
            self._say("", links[start : start + 500])

    def exchange(self, settled: list[Settled]) -> list[Claim]:
        for site, seconds in rests_of(settled).items():
            self._redis.hset("rest", site, time.monotonic() + seconds)
        for one in settled:
            if one.is_sent:
                self._say(one.claim.ticket, one.links)
            else:  # a stream has no delay: it goes behind all others
                pipe = self._redis.pipeline()
                pipe.xadd("queue", {"body": one.claim.link.body})
                pipe.xack("queue", "workers", one.claim.ticket)
                pipe.xdel("queue", one.claim.ticket)
                pipe.execute()
        idle = int(LEASE * 1000)
        take = {"count": AT_ONCE}
        found = self._redis.xautoclaim(
            "queue", "workers", self._name, idle, "0", **take
        )[1]
        if not found:
            read = self._redis.xreadgroup("workers", self._name, {"queue": ">"}, **take)
            found = [one for _, of_stream in read for one in of_stream]
        return [Claim(link_of(fields[b"body"]), ticket) for ticket, fields in found]

    def may_send(self, site: str) -> bool:
        return float(self._redis.hget("rest", site) or 0) <= time.monotonic()

    def is_over(self) -> bool:
        return self._redis.xlen("queue") == 0

    def _say(self, ticket: Any, links: list[Link]) -> None:
        pairs = [part for one in links for part in (one.fingerprint, one.body)]
        self._settle(keys=["queue", "seen"], args=[ticket, *pairs])


class ScrapyRedis(Carrier):
    """scrapy-redis' own queue and filter, one request at a time as its scheduler."""

    serving = staticmethod(redis_server)

    def __init__(self, address: str) -> None:
        import scrapy  # noqa: PLC0415 -- of this carrier
        from redis import Redis  # noqa: PLC0415
        from scrapy.utils.test import get_crawler  # noqa: PLC0415
        from scrapy_redis.dupefilter import RFPDupeFilter  # noqa: PLC0415
        from scrapy_redis.queue import PriorityQueue  # noqa: PLC0415

        spider = scrapy.Spider.from_crawler(get_crawler(), name="carriers")
        redis = Redis.from_url(address)
        self._request = scrapy.Request
        self._queue = PriorityQueue(redis, spider, "queue")
        self._filter = RFPDupeFilter(redis, "filter")

    def push(self, links: list[Link]) -> None:
        for link in links:
            request = self._request(f"https://{link.site}.example/{link.page}")
            if not self._filter.request_seen(request):
                self._queue.push(request)

    def exchange(self, settled: list[Settled]) -> list[Claim]:
        for one in settled:
            self.push(one.links)
        claims = []
        while len(claims) < AT_ONCE and (request := self._queue.pop()) is not None:
            _, _, host, page = request.url.split("/")
            site = host.removesuffix(".example")
            claims.append(Claim(Link(site, int(page)), None))
        return claims

    def is_over(self) -> bool:
        return len(self._queue) == 0


class PostgreSQL(Carrier):
    """The functions of ``carriers.sql``."""

    @staticmethod
    @contextmanager
    def serving(folder: Path) -> Iterator[tuple[str, int]]:
        from redis_server import free_port  # noqa: PLC0415 -- of the tests

        programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
        data = folder / "data"
        # it refuses to be root
        as_user = {"user": "postgres", "cwd": "/"} if os.getuid() == 0 else {}
        if as_user:
            folder.chmod(0o755)
            data.mkdir()
            shutil.chown(data, "postgres")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        begin = [programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres"]
        subprocess.run(begin, check=True, **as_user, **quiet)
        port = free_port()
        command = [programs / "postgres", "-D", data, "-p", str(port), "-k", data]
        server = subprocess.Popen([*command, "-h", "127.0.0.1"], **as_user, **quiet)
        address = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"
        try:
            PostgreSQL.connect(address).execute(
                Path(__file__).with_suffix(".sql").read_text("utf-8"), prepare=False
            )
            yield address, server.pid
        finally:
            server.send_signal(signal.SIGINT)  # without waiting for its clients
            server.wait()

    @staticmethod
    def connect(address: str):
        """Connect, as soon as the server is there."""
        import psycopg  # noqa: PLC0415 -- of this carrier

        deadline = time.monotonic() + LONGEST
        while True:
            try:
                return psycopg.connect(address, autocommit=True)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(POLL)

    def __init__(self, address: str) -> None:
        self._database = self.connect(address)
        self._held: set[str] = set()
        self._join()

    def push(self, links: list[Link]) -> None:
        for start in range(0, len(links), 1_000):
            self._exchange((), links[start : start + 1_000])
        self._database.execute("ANALYZE")  # as it does by itself within a minute

    def exchange(self, settled: list[Settled]) -> list[Claim]:
        done = [one.claim.ticket for one in settled if one.is_sent]
        links = [link for one in settled for link in one.links]
        busy = {one.claim.link.site for one in settled}
        given_back = dict.fromkeys(self._held - busy, 0.0) | rests_of(settled)
        self._held -= given_back.keys()
        claims = self._exchange(
            done, links, given_back, SITES_AT_ONCE - len(self._held), self._held
        )
        if claims:
            self._exchange((), (), sent=[one.ticket for one in claims])
        return claims

    def is_over(self) -> bool:
        query = "SELECT count(*) FROM requests WHERE state <> 'x'"
        return self._database.execute(query).fetchone() == (0,)

    def leave(self) -> None:
        self._database.execute("SELECT free_sites(%s, false)", (self._number,))

    def _join(self) -> None:
        self._token = os.urandom(4).hex()
        self._count = 0
        query = (
            "INSERT INTO workers (token, until, lease) VALUES (%s, now() + %s, %s)"
            " RETURNING number"
        )
        lease = f"{LEASE} seconds"
        row = self._database.execute(query, (self._token, lease, lease)).fetchone()
        self._number = row[0]
        self._held.clear()

    def _exchange(  # noqa: PLR0913, PLR0917 -- as the function has them
        self, done, links, given_back=None, take=0, low=(), sent=()
    ) -> list[Claim]:
        self._count += 1
        given_back = given_back or {}
        rows = self._database.execute(
            "SELECT * FROM exchange(%b, %b, %b, %b::bigint[], %b::bigint[], %b::text[],"
            " %b::bigint[], %b::bytea[], %b::text[], %b::bigint[], %b::int,"
            " %b::text[], %b::int)",
            (
                self._number,
                self._token,
                self._count,
                list(done),
                list(sent),
                [link.site for link in links],
                [link.fingerprint for link in links],
                [link.body for link in links],
                list(given_back),
                [int(1000 * seconds) for seconds in given_back.values()],
                max(0, take),
                list(low),
                AT_ONCE // SITES_AT_ONCE,
            ),
            binary=True,
            prepare=True,
        ).fetchall()
        if rows and rows[0][0] == "lost":
            self._join()
            return []
        self._held.update(site for what, site, *_ in rows if what == "site")
        return [
            Claim(link_of(body), number)
            for what, _, number, body in rows
            if what == "page"
        ]


CARRIERS: dict[str, type[Carrier]] = {
    "redis": OwnJob,
    "scrapy-redis": ScrapyRedis,
    "streams": Streams,
    "postgresql": PostgreSQL,
}


def rests_of(settled: list[Settled]) -> dict[str, float]:
    return {one.claim.link.site: one.rest for one in settled if one.rest}


def links_of(link: Link) -> list[Link]:
    """Return the links of a page: new and known ones, and other sites' first pages."""
    site, page = link
    children = (2 * page + 1, 2 * page + 2)
    found = [Link(site, child) for child in children if child < EACH]
    found += [Link(site, (7 * page + one) % EACH) for one in range(8)]
    if not page:
        number = int(site[1:])
        others = (2 * number + 1, 2 * number + 2)
        found += [Link(f"s{other}", 0) for other in others if other < SITES]
    return found


def work(name: str, address: str, log: str) -> None:
    """Crawl as one worker, and note each page with one write()."""
    notes = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    worker = CARRIERS[name](address)
    worker.push([Link("s0", 0)])
    settled: list[Settled] = []
    has_rested = False
    while True:
        claims = worker.exchange(settled)
        settled = []
        if not claims:
            if worker.is_over():
                break
            time.sleep(POLL)
        resting = set()
        for claim in claims:
            link = claim.link
            if link.site in resting or not worker.may_send(link.site):
                settled.append(Settled(claim, [], is_sent=False))
                continue
            began = time.monotonic()
            time.sleep(PAGE_TAKES)
            ended = time.monotonic()
            rest = 0.0
            if link == (RESTING, 1) and not has_rested:
                has_rested = True
                rest = REST
                resting.add(link.site)
            settled.append(Settled(claim, links_of(link), rest))
            note = f"{link.site} {link.page} {os.getpid()} {began} {ended} {rest}\n"
            os.write(notes, note.encode())
    worker.leave()


class Note(NamedTuple):
    """A page that a worker has got."""

    link: Link
    worker: str
    began: float
    ended: float
    rest: float


def notes_in(log: Path) -> list[Note]:
    found = []
    for line in log.read_text().splitlines() if log.exists() else ():
        site, page, worker, *times = line.split()
        found.append(Note(Link(site, int(page)), worker, *map(float, times)))
    return found


def kill(name: str) -> bool:
    """Crawl, kill workers, and print what came of it; return whether a page is lost."""
    wanted = {Link(f"s{site}", page) for site in range(SITES) for page in range(EACH)}
    chance = random.Random(1)
    with (
        tempfile.TemporaryDirectory(prefix="carriers-") as folder,
        CARRIERS[name].serving(Path(folder)) as (address, _),
    ):
        log = Path(folder) / "notes.txt"
        command = [sys.executable, __file__, "work", name, address, str(log)]
        workers = [subprocess.Popen(command) for _ in range(WORKERS)]
        deadline = time.monotonic() + LONGEST
        kills = 0
        while time.monotonic() < deadline:
            alive = [one for one in workers if one.poll() is None]
            if not alive:
                break
            if kills < KILLS and len(notes_in(log)) > kills * len(wanted) / KILLS:
                victim = chance.choice(alive)
                victim.kill()
                victim.wait()
                kills += 1
                workers.append(subprocess.Popen(command))
            time.sleep(POLL)
        for one in workers:
            one.kill()
            one.wait()
        notes = notes_in(log)
    times = Counter(note.link for note in notes)
    lost = len(wanted - times.keys())
    twice = sum(count > 1 for count in times.values())
    by_site = defaultdict(list)
    for note in sorted(notes, key=lambda one: one.began):
        by_site[note.link.site].append(note)
    overlaps = sum(
        earlier.ended > later.began and earlier.worker != later.worker
        for of_site in by_site.values()
        for earlier, later in pairwise(of_site)
    )
    into_pause = sum(
        asked.ended < note.began < asked.ended + asked.rest
        for asked in notes
        if asked.rest
        for note in by_site[asked.link.site]
    )
    print(
        f"{name}: {len(wanted):,} pages, {kills} kills: {lost} lost, {twice} twice,"
        f" two workers at one site at once {overlaps} times, {into_pause} requests into"
        f" the pause",
        flush=True,
    )
    return bool(lost)


def seconds_of(server: int) -> float:
    """Return the processor time of a process and of those that it has started."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(path.parent.name) == server or int(fields[1]) == server:
            found += int(fields[11]) + int(fields[12])
    return found / os.sysconf("SC_CLK_TCK")


def cost(name: str) -> None:
    """Print what a page costs the server."""
    chance = random.Random(1)
    count = 0

    def new() -> Link:
        nonlocal count
        count += 1
        return Link(f"s{count % COST_SITES}", count)

    with (
        tempfile.TemporaryDirectory(prefix="carriers-") as folder,
        CARRIERS[name].serving(Path(folder)) as (address, server),
    ):
        workers = [CARRIERS[name](address) for _ in range(WORKERS)]
        known = [new() for _ in range(COSTS)]
        workers[0].push(known)
        settled: list[list[Settled]] = [[] for _ in workers]
        before = seconds_of(server)
        pages = 0
        exchanges = 0
        while pages < COSTS:
            for number, worker in enumerate(workers):
                claims = worker.exchange(settled[number])
                settled[number] = [
                    Settled(one, [*chance.choices(known, k=8), new(), new()])
                    for one in claims
                ]
                pages += len(claims)
                exchanges += 1
        took = seconds_of(server) - before
    print(
        f"{name}: {1e6 * took / pages:.0f} µs of the server for a page with ten links,"
        f" {pages / exchanges:.1f} pages an exchange",
        flush=True,
    )


def main(what: str, *names: str) -> int:
    """Run each carrier; return the exit code."""
    is_bad = False
    for name in names or CARRIERS:
        if what == "cost":
            cost(name)
        elif kill(name) and name == "redis":
            is_bad = True
    return int(is_bad)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work", *arguments]:
            work(*arguments)
        case ["kill" | "cost" as what, *names]:
            sys.exit(main(what, *names))
        case _:
            print(__doc__)
