"""Fingerprints of a job on Redis are in as many sets as keep each of them compact."""

from __future__ import annotations

import random

import pytest
from redis_server import NEEDS_REDIS

from scrapy_mandelbot.job.job_store import Place

pytestmark = NEEDS_REDIS

FIRST_IN = Place(0, 0, is_last_first=False)
SITE = "https://example.com"


def see_all(worker, fingerprints) -> None:
    for fingerprint in fingerprints:
        worker.see(fingerprint)
    while worker.uncommitted:
        worker.exchange()


def sets_of(worker) -> dict[bytes, int]:
    keys = worker.redis.keys(f"{worker.server.key}:seen:*")
    return {key: worker.redis.scard(key) for key in keys}


def test_sets_of_fingerprints_stay_compact_as_a_job_grows(worker):
    """Redis needs eight times the memory for a set of more than 512 numbers."""
    one = worker()
    chance = random.Random(7)
    fingerprints = [chance.getrandbits(64) - 2**63 for _ in range(30_000)]
    see_all(one, fingerprints)
    sets = sets_of(one)
    assert sum(sets.values()) == len(set(fingerprints))
    assert len(sets) == -(-30_000 // 210)
    assert max(sets.values()) <= 512
    assert {one.redis.object("encoding", key) for key in sets} == {b"intset"}


def test_no_fingerprint_is_lost_as_sets_are_split(worker):
    """Each one that was seen at any size of the job is dropped later."""
    one, other = worker(), worker()
    numbers = [*range(-1_500, 1_500), 2**63 - 1, -(2**63), 10**15, -(10**14)]
    for start in range(0, len(numbers), 500):
        see_all(one, numbers[start : start + 500])
    dropped = 0
    for number in numbers:
        other.push_new(SITE, FIRST_IN, b"", number, None)
    while other.uncommitted:
        dropped += other.exchange().dropped
    assert dropped == len(numbers)


def test_a_small_job_has_one_set(worker):
    """At its end no more keys expire than there are."""
    one = worker()
    see_all(one, range(200))
    assert len(sets_of(one)) == 1
    before = one.redis.info("commandstats").get("cmdstat_expire", {}).get("calls", 0)
    one.server.leave(one.worker, one.token)
    after = one.redis.info("commandstats")["cmdstat_expire"]["calls"]
    assert after - before < 30
    assert all(one.redis.ttl(key) > 0 for key in one.redis.keys("*"))


@pytest.mark.parametrize("count", [150, 3 * 210_000])
def test_all_sets_expire_and_stay_when_a_worker_comes(worker, count):
    """A thousand in a call, from the last to the first."""
    one = worker()
    pipe = one.redis.pipeline(transaction=False)
    sets = max(1, count // 210)
    for number in range(sets):
        pipe.sadd(f"{one.server.key}:seen:{number}", number)
    pipe.hset(f"{one.server.key}:meta", mapping={"sets": sets, "fingerprints": count})
    pipe.execute()
    one.server.leave(one.worker, one.token)
    times = one.redis.pipeline(transaction=False)
    keys = one.redis.keys("*")
    for key in keys:
        times.ttl(key)
    assert min(times.execute()) > 0
    worker()
    for key in keys:
        times.ttl(key)
    assert {left for left in times.execute() if left != -2} == {-1}


def test_a_worker_whose_lease_is_over_records_nothing_as_sent(worker):
    """What others own by now is not counted as this worker's when it dies."""
    late, other = worker(), worker()
    key = f"{late.server.key}:out:{late.worker}"
    assert late.server.sends(late.worker, late.token, [7])
    assert late.redis.smembers(key) == {b"7"}
    late.redis.zadd(f"{late.server.key}:workers", {late.worker: 1})
    other.exchange()
    other.exchange()
    assert not late.server.sends(late.worker, late.token, [8])
    assert not late.server.sends(other.worker, late.token, [8])
    assert not late.redis.exists(key)
