"""A server that hangs for longer than a lease: nobody could renew one meanwhile.

The server carries out first what a worker had sent before the hang. Whether anybody has
renewed a lease lately is therefore its own question, and no word of a worker.
"""

from __future__ import annotations

import time

import pytest
from redis_server import NEEDS_REDIS
from shared_jobs import LEASE, Worker

from scrapy_mandelbot.job.job_store import Place

pytestmark = NEEDS_REDIS

FIRST_IN = Place(0, 0, is_last_first=False)
SITE = "https://example.com"


def leases_ended(seconds_ago: float, one: Worker) -> None:
    """Let the leases of all workers have ended, as by a server that was frozen."""
    key = f"{one.server.key}:workers"
    ended = (time.time() - seconds_ago) * 1_000
    one.redis.zadd(key, dict.fromkeys(one.redis.zrange(key, 0, -1), ended))


def join_first(first: Worker) -> None:
    """A service manager starts a worker anew."""
    first.server.join()


def leave_first(first: Worker) -> None:
    first.server.leave(first.worker, first.token)


def renew_first(first: Worker) -> None:
    first.server.exchange(first.only_renewing())


@pytest.mark.parametrize(
    "comes_first", [Worker.exchange, renew_first, join_first, leave_first]
)
def test_no_lease_is_lost_while_the_server_hangs(worker, comes_first):
    """Three hangs, whoever comes first after each; the page is never set aside."""
    busy = worker()
    busy.push(SITE, FIRST_IN, b"slow page")
    busy.exchange(take=1)
    kept = busy.claim(SITE)
    for _ in range(3):
        other = worker()
        assert not busy.exchange().is_lost  # with the page in flight
        leases_ended(1.0, busy)
        comes_first(other)
        assert not busy.exchange().is_lost
        assert not busy.redis.exists(f"{busy.server.key}:deaths")
    busy.acknowledge(kept.number)
    assert not busy.exchange().is_lost
    assert busy.view.aside() == {}


def test_sites_of_workers_that_all_died_are_free_half_a_lease_later(worker):
    """The server cannot tell their death from a hang of its own."""
    dead = worker()
    dead.push(SITE, FIRST_IN, b"page")
    dead.exchange(take=1)
    leases_ended(1.0, dead)
    late = worker()
    late.exchange(take=1)
    assert not late.sites
    ((left, _),) = [
        held for number, held in late.view.workers().items() if number == dead.worker
    ]
    assert LEASE / 2 - 5 < left <= LEASE / 2
    dead.redis.zadd(f"{dead.server.key}:workers", {dead.worker: 1})  # that is over
    late.exchange(take=1)
    late.exchange(take=1)
    assert [*late.sites] == [SITE]


def test_sites_of_workers_that_died_long_ago_are_free_at_once(worker):
    """No worker tries to renew a lease after ten minutes of silence."""
    dead = worker()
    dead.push(SITE, FIRST_IN, b"page")
    dead.exchange(take=1)
    leases_ended(601.0, dead)
    late = worker()
    late.exchange(take=1)
    assert [*late.sites] == [SITE]


def test_a_run_after_the_death_of_all_workers_tries_given_up_sites(worker):
    """Their leases are spared, and do not hide that a new run begins."""
    dead = worker()
    dead.push(SITE, FIRST_IN, b"page")
    dead.exchange(take=1)
    dead.rest(SITE, b"", "inf")
    dead.give_back(SITE)
    dead.exchange()
    leases_ended(1.0, dead)
    late = worker()
    late.exchange(take=1)
    assert [*late.sites] == [SITE]
