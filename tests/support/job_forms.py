"""A job as it is written down: filled with some of everything, dumped, and read back.

``tests/job/forms`` has a dump for each number of a form. Of a job on Redis it is a list
of commands, as RESTORE takes what the same version of Redis has dumped alone.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.fleet import redis_job
from scrapy_mandelbot.job import job_file
from scrapy_mandelbot.job.deliveries import Deliveries
from scrapy_mandelbot.job.feeds import FeedFile
from scrapy_mandelbot.job.job_store import OWN_START, START, Place
from scrapy_mandelbot.job.site_handover import SiteHandover, StoredBudget
from scrapy_mandelbot.job.sqlite_job import SqliteJob
from scrapy_mandelbot.politeness.budget import Spent
from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.store import CachedRobots

if TYPE_CHECKING:
    from shared_jobs import Worker

FORMS = Path(__file__).parents[1] / "job" / "forms"
LUA = Path(redis_job.__file__).with_name("lua")
ON_REDIS = FORMS / f"redis-{redis_job.VERSION}.json"
IN_FILE = FORMS / f"file-{job_file.FORMAT}.sql"

LIFO = Place(0, 0, is_last_first=True)
FIFO = Place(-2, 1, is_last_first=False)
SITE = "https://a.example"
OTHER = "https://b.example"
PAUSED = "https://c.example"
SECTION = f"{SITE} a.example /shop/"
UNTIL = 4_000_000_000.0  # seconds since the epoch: of pauses that are not over
KNOWN = SiteHandover(
    (LeftPause(UNTIL, "503", 2, ""), LeftPause(UNTIL, "429", 1, "/shop/")),
    StoredBudget(Spent(3, 70, 1.5), is_reached=True),
    CachedRobots(b"User-agent: *\nDisallow: /x\n", 200, 1_600_000_000.0, SITE, '"tag"'),
)
MOST_AT_ONCE = 1_000

# As RequestForm of Python 3.11 writes ``Request(URL, callback=spider.parse, meta=…)``.
BODY = (
    b"\x80\x05\x95=\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x03url\x94\x8c\x13"
    b"https://a.example/1\x94\x8c\x08callback\x94\x8c\x05parse\x94\x8c\x04meta\x94}"
    b"\x94\x8c\x05depth\x94K\x01su."
)


def fill_file(path: Path, states: dict[str, bytes]) -> None:
    """Write a job of which a run died: requests that wait, were sent, are set aside."""
    job = SqliteJob(path)
    for number in range(6):
        job.push_new(SITE, LIFO, BODY, number, None)
    job.push(OTHER, FIFO, BODY)
    job.push(SECTION, LIFO, BODY)
    job.push_child(OTHER, LIFO, BODY, 100, START)
    job.push_child(OTHER, LIFO, BODY, 101, OWN_START)
    job.push_child(OTHER, LIFO, BODY, 102, 1)
    job.see(-(1 << 63))
    sent = [job.claim(SITE).number for _ in range(3)]
    job.acknowledge(sent[0])
    deliveries = Deliveries(job, 3, has_died=False)
    deliveries.aside[sent[1]] = "its callback raised KeyError at shop.py:7"
    deliveries.keep(set(sent[2:]))
    deliveries.write_aside()
    for name, value in states.items():
        job.states.put(name, value)
    job.commit()
    job.close()


def feed_state() -> bytes:
    """Return the state of a feed of 12 items in 700 octets, as a commit has it."""
    return json.dumps(FeedFile(700, 12, 99)).encode()


def dump_file(path: Path) -> str:
    """Return a job in a file as SQL."""
    with closing(sqlite3.connect(path)) as database:
        pragmas = [
            f"PRAGMA {name} = {database.execute(f'PRAGMA {name}').fetchone()[0]};"
            for name in ("application_id", "user_version")
        ]
        return "\n".join([*pragmas, *database.iterdump()]) + "\n"


def load_file(path: Path, dump: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(dump)


def fill_redis(one: Worker, state: bytes) -> None:
    """Write a job of which a worker is about to die: as :func:`fill_file`."""
    for number in range(6):
        one.push_new(SITE, LIFO, BODY, number, None)
    one.push(OTHER, FIFO, BODY)
    one.push(SECTION, LIFO, BODY)
    one.push_child(OTHER, LIFO, BODY, 100, START)
    one.push_child(OTHER, LIFO, BODY, 101, OWN_START)
    one.see(-(1 << 63))
    one.push(PAUSED, LIFO, BODY)
    one.exchange(take=3)
    sent = [_claimed(one) for _ in range(5)]
    one.push_child(OTHER, LIFO, BODY, 102, sent[1])
    one.acknowledge(sent[0])
    one.refuse(sent[1], "its callback raised KeyError at shop.py:7", "KeyError")
    one.refuse(sent[2], "AttributeError: no method 'parse_old'")
    one.leave_to_next_run(sent[3])
    one.rest(SITE, state, "0")
    one.rest(PAUSED, state, "inf")
    one.report("writer", one.run, b"report")
    one.exchange()
    one.server.cookies(0, MOST_AT_ONCE, MOST_AT_ONCE, [("jar", b"cookie")])
    one.give_back(PAUSED)
    one.exchange()


def _claimed(one: Worker) -> int:
    kept = one.claim(SITE)
    while kept is None:
        one.poll_dry([SITE])
        one.exchange()
        kept = one.claim(SITE)
    return kept.number


def dump_redis(redis: Any) -> list[list[Any]]:
    """Return all that a server has as commands, in an order of its own."""
    commands = []
    for key in sorted(redis.keys("*")):
        kind = redis.type(key)
        if kind == b"zset":
            pairs = redis.zrange(key, 0, -1, withscores=True)
            values = [part for member, score in pairs for part in (repr(score), member)]
            commands.append(["ZADD", key, *values])
        elif kind == b"hash":
            pairs = sorted(redis.hgetall(key).items())
            commands.append(["HSET", key, *(part for pair in pairs for part in pair)])
        else:
            commands.append(["SADD", key, *sorted(redis.smembers(key))])
    return [[_text(part) for part in command] for command in commands]


def load_redis(redis: Any, commands: list[list[str]]) -> None:
    for command in commands:
        redis.execute_command(*(part.encode("latin-1") for part in command))
    redis.zadd("mandelbot:{job}:workers", {"1": 1})  # its lease ended long ago


def _text(part: bytes | str) -> str:
    return part if isinstance(part, str) else part.decode("latin-1")


_TIME = re.compile(r"^(1[6-9]\d{11})(\.\d+)?$")
_TOKEN = re.compile(r"^[0-9a-f]{8} (\d+)$")
_DEATH = re.compile(r"^(\d+ \S+) 1\d{12}$")


def masked(commands: list[list[str]]) -> list[list[str]]:
    """Return commands without what differs each time: times and tokens."""
    return [[_masked(part) for part in command] for command in commands]


def _masked(part: str) -> str:
    part = _TIME.sub("TIME", part)
    part = _TOKEN.sub(r"TOKEN \1", part)
    return _DEATH.sub(r"\1 TIME", part)


def lua_digest() -> str:
    """Return a digest of all scripts, without comments and indentation."""
    digest = hashlib.sha256()
    for path in sorted(LUA.glob("*.lua")):
        for line in path.read_text().splitlines():
            code = line.partition("--")[0].strip()
            digest.update(f"{code}\n".encode() if code else b"")
    return digest.hexdigest()[:16]
