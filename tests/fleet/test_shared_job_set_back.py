"""A job on a Redis that has an older state than its workers knew: as after a failover,
or a crash.

What a server has is a state that it once had: what came later is gone, in the order in
which it was said. No worker may go on as if it were not.
"""

from __future__ import annotations

import pytest
from redis_server import NEEDS_REDIS
from shared_jobs import Past, Worker

from scrapy_mandelbot.fleet import holdings as said_alone
from scrapy_mandelbot.job.job_store import START, Place

pytestmark = NEEDS_REDIS

LIFO = Place(0, 0, is_last_first=True)
SITE, OTHER = "https://example.com", "https://example.org"


@pytest.fixture
def now(worker):
    """Return the state that the server has."""
    redis = worker(name="another").redis
    return lambda: Past(redis)


def begin_anew(one: Worker, left=()) -> None:
    """Do as a worker does that was told that its lease is lost."""
    one.server.leave(one.worker, one.token, left)
    one.join(one.server.join())


def bodies(one: Worker, line: str = SITE) -> list[bytes]:
    """Return what the worker has of a line, and can be given."""
    one.exchange(take=5)
    found = []
    for _ in range(3):
        one.poll_dry(one.sites)
        one.exchange()
        while (kept := one.claim(line)) is not None:
            found.append(kept.body)
    return found


def test_a_page_is_not_acknowledged_if_redis_lost_its_links(worker, now):
    """They were said before it, and would never come: so the page comes again, and
    gives them.
    """
    one = worker()
    page = one.push(SITE, LIFO, b"page")
    one.exchange(take=1)
    one.claim(SITE)
    past = now()
    one.push_new(OTHER, LIFO, b"link", 7, page)
    one.exchange()
    past.come_back()
    one.acknowledge(page)
    assert one.exchange().is_lost
    begin_anew(one)
    assert bodies(one) == [b"page"]
    one.push_new(OTHER, LIFO, b"link", 7, page)
    one.acknowledge(page)
    one.exchange(take=1)
    assert bodies(one, OTHER) == [b"link"]
    assert bodies(one) == []


def test_a_site_granted_after_the_set_back_has_one_owner(worker, now):
    """Another one may have it by then: who had it is told so, and asks it no more."""
    first, second = worker(), worker()
    first.push(SITE, LIFO, b"page")
    first.exchange()
    past = now()
    first.exchange(take=1)
    assert list(first.sites) == [SITE]
    past.come_back()
    second.exchange(take=1)
    assert list(second.sites) == [SITE]
    assert first.server.exchange(first.only_renewing()).is_lost, (
        "nor is the lease renewed"
    )
    assert first.exchange().is_lost
    assert not first.sites


def test_a_site_given_back_after_the_set_back_is_free(worker, now):
    """Its owner of then knows nothing of it: the job would never end."""
    first, second = worker(), worker()
    first.push(SITE, LIFO, b"page")
    first.exchange(take=1)
    past = now()
    first.give_back(SITE)
    first.exchange()
    past.come_back()
    first.see(1)
    assert first.exchange().is_lost
    begin_anew(first)
    assert bodies(second) == [b"page"]


def test_a_reused_worker_number_is_another_worker(worker, now):
    """Redis reuses a number that it has forgotten; neither speaks for the other."""
    one = worker()
    past = now()
    first = worker()
    first.push(SITE, LIFO, b"first")
    first.exchange(take=1)
    past.come_back()
    second = worker()
    assert second.worker == first.worker
    second.push(SITE, LIFO, b"second")
    second.exchange(take=1)
    first.acknowledge(first.claim(SITE).number)
    answer = first.exchange()
    assert (answer.is_lost, answer.last, first.lost.is_whole) == (True, -1, True)
    begin_anew(first)
    assert second.worker < first.worker
    assert not second.exchange().is_lost, "it did not leave in its place"
    first.exchange()
    assert bodies(second) == [b"second", b"first"]
    assert len(set(second.claimed())) == 2
    assert not one.exchange().is_lost


def test_requests_without_a_parent_are_sent_again(worker, now):
    """What start() gave and what was fed; once, as what Redis has kept is not said
    again.
    """
    one = worker()
    one.push_child(SITE, LIFO, b"start 1", 1, START)
    one.push(SITE, LIFO, b"fed 1")
    one.exchange()
    past = now()
    one.push_child(SITE, LIFO, b"start 2", 2, START)
    one.push_new(SITE, LIFO, b"start 3", 3, START)
    one.exchange()
    one.push(SITE, LIFO, b"fed 2")
    one.exchange()
    past.come_back()
    one.push(SITE, LIFO, b"fed 3")
    answer = one.exchange()
    assert (answer.is_lost, answer.last, one.lost.is_whole) == (True, 1, True)
    begin_anew(one)
    one.exchange()
    given = [b"fed 1", b"fed 2", b"fed 3", b"start 1", b"start 2", b"start 3"]
    assert sorted(bodies(one)) == given


def test_an_unanswered_exchange_before_a_set_back_is_applied_once(worker, now):
    """Whether the replica has it or not."""
    for is_kept in (True, False):
        one = worker(name=f"kept {is_kept}")
        one.push(SITE, LIFO, b"1")
        one.exchange()
        past = now()
        one.push(SITE, LIFO, b"2")
        one.server.exchange(one.next_exchange(1, ""))  # and the answer does not arrive
        if not is_kept:
            past.come_back()
        assert one.server.exchange(one.only_renewing()).is_lost is False
        assert one.exchange(take=1).is_again == is_kept
        assert bodies(one) == [b"2", b"1"]


def test_entries_stored_before_a_lost_lease_are_not_sent_again(worker):
    """Though its answer did not arrive."""
    one, other = worker(), worker()
    one.push(SITE, LIFO, b"page")
    one.server.exchange(one.next_exchange(1, ""))  # and the answer does not arrive
    one.redis.zadd(f"{one.server.key}:workers", {one.worker: 1})
    other.exchange()
    answer = one.exchange()
    assert (answer.is_lost, answer.last) == (True, 1)
    assert one.uncommitted == 0
    assert bodies(other) == [b"page"]


def test_a_worker_whose_exchanges_are_all_stored_continues(worker, now):
    """What others have said since is none of its own."""
    first, second = worker(), worker()
    for site in (SITE, OTHER):
        first.push(site, LIFO, b"page")
    first.exchange(take=1)
    past = now()
    second.exchange(take=1)
    first.exchange(take=1)  # gives nothing
    past.come_back()
    assert not first.exchange().is_lost
    assert second.exchange().is_lost


def test_a_leaving_worker_reports_the_pauses_of_its_sites(worker, now):
    """Redis does not know of their pauses any more; who has one of them by now knows
    better.
    """
    first, second = worker(), worker()
    third = "https://example.net"
    for site in (SITE, OTHER, third):
        first.push(site, LIFO, b"page")
    first.exchange()
    past = now()
    first.exchange(take=3)
    past.come_back()
    second.request_site(OTHER)
    second.exchange()
    assert list(second.sites) == [OTHER]
    assert first.exchange(take=1).is_lost is True
    begin_anew(
        first,
        [(SITE, b"paused", "100000"), (OTHER, b"x", "100000"), (third, b"y", "inf")],
    )
    second.give_back(OTHER)
    second.exchange()
    answer = second.exchange(take=5)
    assert second.arrived.sites == {OTHER: b""}
    assert 99 < answer.next_due <= 100


def test_reported_pauses_are_repeated_for_a_minute(worker, now):
    """Of those that were given back since; of those that it held it knows more than
    that.
    """
    one = worker()
    sites = [f"http://{number}" for number in range(5)]
    for site in sites:
        one.push(site, LIFO, b"page")
    one.exchange(take=5)
    one.rest(sites[0], b"kept", "9000")
    one.exchange()
    past = now()
    for site, milliseconds in zip(sites[1:], ("9000", "inf", "1000"), strict=False):
        one.rest(site, b"state", milliseconds)
        one.give_back(site)
    one.exchange()
    past.come_back()
    one.time += 5
    one.rest(sites[4], b"held", "9000")
    one.rest(sites[0], b"unsaid", "8000")
    one.give_back(sites[0])
    assert one.exchange().is_lost
    assert one.lost.left == [
        (sites[1], b"state", "4000"),
        (sites[2], b"state", "inf"),
        (sites[3], b"state", "0"),
        (sites[0], b"unsaid", "8000"),
    ]
    begin_anew(one, one.lost.left)
    one.see(1)
    one.exchange()
    one.time += 61
    one.see(2)
    one.exchange()
    assert one.lose(0).left == []


def test_a_pause_that_redis_knows_to_be_longer_stays(worker):
    """Who comes late has not heard of it."""
    first, second = worker(), worker()
    first.push(SITE, LIFO, b"page")
    first.exchange(take=1)
    first.rest(SITE, b"long", "100000")
    first.give_back(SITE)
    first.exchange()
    begin_anew(second, [(SITE, b"short", "1000")])
    answer = second.exchange(take=1)
    assert 99 < answer.next_due <= 100


def test_a_loss_for_good_is_reported(worker, now, monkeypatch):
    """What no request gave is known for a minute, and there is a bound to how much."""
    monkeypatch.setattr(said_alone, "MOST_KEPT", 3)
    for seconds, count, again in ((0, 1, 1), (61, 1, 0), (0, 4, 2)):
        one = worker(name=f"{seconds} {count}")
        past = now()
        for number in range(count):
            one.push_child(SITE, LIFO, b"start", number, START)
            one.exchange()
        one.time += seconds
        one.see(1)
        one.exchange()
        past.come_back()
        assert one.exchange(take=1).is_lost
        assert one.lost.is_whole == (again == count)
        begin_anew(one)
        one.exchange()
        assert one.view.lengths() == ({SITE: (again, 0)} if again else {})


def test_at_most_a_thousand_dead_workers_are_remembered(worker):
    """However many come and go."""
    redis, key = worker().redis, "mandelbot:{job}"
    redis.hset(f"{key}:meta", "workers", 990)
    for _ in range(30):
        worker().leave()
    known = {int(one) for one in redis.hkeys(f"{key}:exchanges")}
    assert known == {1, *range(991, 1021)}, "the first one lives"
    redis.hset(f"{key}:meta", "workers", 1990)
    for _ in range(30):
        worker().leave()
    assert len(redis.hkeys(f"{key}:exchanges")) == 1 + 30
