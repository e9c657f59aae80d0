"""No script stops the server for long, however many sites a job has.

What a script looks at is counted, not timed: the values that Redis returns to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from redis_server import NEEDS_REDIS

from scrapy_mandelbot.fleet import redis_connection
from scrapy_mandelbot.fleet.redis_view import AT_ONCE
from scrapy_mandelbot.job.job_store import Place

if TYPE_CHECKING:
    from shared_jobs import Worker

pytestmark = NEEDS_REDIS

SITES = 5_000
# in a call of a script; a row of a hash or of a sorted set has two
MOST_VALUES = 2_000
FIRST_IN = Place(0, 0, is_last_first=False)

COUNTS = """
local counted = redis
local values = 0
local redis = setmetatable({call = function(command, ...)
  local reply = counted.call(command, ...)
  if type(reply) == 'table' then
    local is_scanned = type(reply[2]) == 'table'
    values = values + #(is_scanned and reply[2] or reply)
  end
  if values > tonumber(counted.call('GET', 'values') or 0) then
    counted.call('SET', 'values', values)
  end
  return reply
end}, {__index = counted})
"""


@pytest.fixture
def counted(monkeypatch, redis_server):
    """Return a function that returns the most values of a script's call since then."""
    from redis import Redis

    read = redis_connection.read_script

    def read_and_count(*names):
        return COUNTS + read(*names)

    monkeypatch.setattr(redis_connection, "read_script", read_and_count)
    with Redis.from_url(redis_server.url) as client:

        def most() -> int:
            return int(client.getdel("values") or 0)

        yield most


def fill(worker: Worker, *kinds: str) -> None:
    """Let a job have very many sites of some kinds, as after days."""
    pipe = worker.redis.pipeline(transaction=False)
    key = worker.server.key
    for number in range(SITES):
        site = f"https://{number}.example"
        if "aside" in kinds:
            pipe.hset(f"{key}:refused", site, "other ")
            pipe.hset(f"{key}:why", f"other:{site}", "it cannot be read")
            pipe.zadd(f"{key}:r:other:{site}", {f"0{1:016}7 0:body": 0})
        if "rest" in kinds:
            pipe.hset(f"{key}:rest", site, 1e15)
        if "given up" in kinds:
            pipe.hset(f"{key}:rest", site, "inf")
            pipe.zadd(f"{key}:due", {site: "inf"})
        if "over" in kinds:
            pipe.hset(f"{key}:rest", site, 1)
            pipe.zadd(f"{key}:quiet", {site: 1})
        if "owned" in kinds:
            pipe.hset(f"{key}:owner", site, worker.worker)
            pipe.sadd(f"{key}:of:{worker.worker}", site)
            for request in range(8):
                member = f"0{request:016}{request} 0:body"
                pipe.hset(f"{key}:c:{site}", request, f"0 {member}")
    pipe.execute()


def test_a_worker_joins_whatever_is_set_aside(counted, worker):
    """Its exchanges look through that a part at a time, and find all of it."""
    old = worker(version="old")
    old.exchange()
    fill(old, "aside")
    counted()
    new = worker(version="new")
    found = 0
    for _ in range(2 * SITES // 400):
        new.exchange(take=1)
        found += len(new.arrived.sites)
        new.exchange()
    assert counted() <= MOST_VALUES
    assert not new.redis.exists(f"{new.server.key}:looking")
    assert found + new.redis.zcard(f"{new.server.key}:last") == SITES


def test_workers_of_one_version_share_the_looking_through(worker):
    """Ten that join look through it once."""
    old = worker(version="old")
    old.exchange()
    fill(old, "aside")
    workers = [worker(version="new") for _ in range(10)]
    rounds = 0
    while workers[0].redis.exists(f"{workers[0].server.key}:looking"):
        rounds += 1
        for one in workers:
            one.exchange()
    assert rounds <= 3


def test_a_worker_that_joins_later_looks_through_nothing(worker):
    """Another one of its version has done so."""
    first = worker(version="new")
    first.exchange()
    later = worker(version="new")
    assert not later.redis.exists(f"{later.server.key}:looking")


def test_a_new_run_finds_all_sites_that_were_given_up(counted, worker):
    """A part in each exchange of its first worker."""
    fill(worker(), "given up")
    key = worker().server.key
    worker().redis.delete(f"{key}:workers")
    counted()
    first = worker()
    for _ in range(2 * SITES // 400):
        first.exchange()
    assert counted() <= MOST_VALUES
    assert first.redis.zcount(f"{key}:due", 0, "+inf") == SITES
    assert first.redis.zcount(f"{key}:due", "inf", "inf") == 0


@pytest.mark.parametrize("wanted", ["", "KeyError", "https://7.example"])
def test_requeueing_is_done_a_part_at_a_time(counted, worker, wanted):
    """Of all, of an exception, and of a site, for which nothing else is looked at."""
    one = worker()
    fill(one, "aside", "rest")
    counted()
    found = one.view.requeue(wanted)
    assert counted() <= (10 if "://" in wanted else MOST_VALUES)
    assert len(found) == {"": SITES, "KeyError": 0}.get(wanted, 1)


def test_many_pages_of_one_site_are_requeued_a_part_at_a_time(counted, worker):
    """All of them, in their order."""
    one = worker()
    key = f"{one.server.key}:r:old:https://a.example"
    one.redis.hset(f"{one.server.key}:refused", "https://a.example", "old ")
    for start in range(0, SITES, 1_000):
        members = {f"0{n:016}{n} 0:body": n for n in range(start, start + 1_000)}
        one.redis.zadd(key, members)
    counted()
    assert one.view.requeue("https://a.example") == ["https://a.example"]
    assert counted() <= MOST_VALUES
    assert one.view.lengths() == {"https://a.example": (SITES, 0)}


@pytest.mark.parametrize("how", ["leaves", "dies"])
def test_the_sites_of_a_worker_are_set_free_a_part_at_a_time(counted, worker, how):
    """When it leaves, and when its lease has ended."""
    gone, other = worker(), worker()
    fill(gone, "owned")
    counted()
    if how == "leaves":
        gone.server.leave(gone.worker, gone.token)
    else:
        gone.redis.zadd(f"{gone.server.key}:workers", {gone.worker: 1})
        while other.redis.hlen(f"{other.server.key}:owner"):
            other.exchange()
    assert counted() <= MOST_VALUES
    assert other.redis.zcard(f"{other.server.key}:due") == SITES


def test_a_finished_site_with_a_delay_leaves_nothing(counted, worker):
    """Its row goes once the delay is over, some rows in each exchange."""
    one = worker()
    fill(one, "over")
    for _ in range(SITES // 50):
        one.exchange()
    assert counted() <= MOST_VALUES
    assert not one.redis.exists(f"{one.server.key}:rest", f"{one.server.key}:quiet")
    one.push("https://a.example", FIRST_IN, b"page")
    one.exchange(take=1)
    one.acknowledge(one.claim("https://a.example").number)
    one.rest("https://a.example", b"", "100000")
    one.give_back("https://a.example")
    one.exchange()
    assert one.redis.hlen(f"{one.server.key}:rest") == 1, "the delay is not over"


def test_a_view_asks_for_a_thousand_sites_at_a_time(worker, monkeypatch):
    """No round trip for each of them."""
    from redis.client import Pipeline

    one = worker()
    for number in range(SITES):
        one.push(f"https://{number}.example", FIRST_IN, b"page")
    while one.uncommitted:
        one.exchange()
    trips = []
    execute = Pipeline.execute

    def count(pipe, *arguments, **options):
        trips.append(len(pipe.command_stack))
        return execute(pipe, *arguments, **options)

    monkeypatch.setattr(Pipeline, "execute", count)
    assert one.view.lengths() == {
        f"https://{number}.example": (1, 0) for number in range(SITES)
    }
    assert len(trips) == SITES // AT_ONCE
