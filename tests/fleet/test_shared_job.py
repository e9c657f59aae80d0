"""A job on Redis among several workers: leases, what a dead one leaves, what is said
twice.
"""

from __future__ import annotations

import re
import time
from importlib import resources

import pytest
from redis import Redis
from redis_server import NEEDS_REDIS, RedisServer
from shared_jobs import LEASE, Worker

from scrapy_mandelbot.fleet.job_server import JobTerms
from scrapy_mandelbot.fleet.redis_job import RedisJobServer
from scrapy_mandelbot.job.job_store import START, Place, StorageError

pytestmark = NEEDS_REDIS

LIFO = Place(0, 0, is_last_first=True)
SITE, OTHER = "https://example.com", "https://example.org"


def dies(worker: Worker) -> None:
    """End the lease of a worker, as if it had said nothing for as long."""
    redis = worker.redis
    redis.zadd(f"{worker.server.key}:workers", {worker.worker: 1})


def drain(worker: Worker, line: str = SITE) -> list[bytes]:
    bodies = []
    while (kept := worker.claim(line)) is not None:
        bodies.append(kept.body)
    return bodies


def keys(worker: Worker) -> set[str]:
    prefix = f"{worker.server.key}:"
    names = (key.decode().removeprefix(prefix) for key in worker.redis.keys("*"))
    return {name for name in names if not name.startswith("seen")}


def test_a_site_has_one_owner_at_a_time(worker):
    """The second worker gets none of its requests, not even new ones."""
    first, second = worker(), worker()
    first.push(SITE, LIFO, b"1")
    first.exchange(take=1)
    assert list(first.sites) == [SITE]
    second.push(SITE, LIFO, b"2")
    second.exchange(take=5)
    assert not second.sites
    assert drain(first) == [b"1"]
    first.poll_dry([SITE])
    first.exchange()
    assert drain(first) == [b"2"]


def test_the_sites_of_a_dead_worker_go_to_another(worker):
    """In its old order, and what it had sent comes last; what was acknowledged does
    not.
    """
    first, second = worker(), worker()
    for number in range(6):
        first.push(SITE, LIFO, b"%d" % number)
    first.exchange(take=1)
    done, _ = first.claim(SITE), first.claim(SITE)
    first.acknowledge(done.number)
    first.exchange()
    dies(first)
    second.exchange(take=1)
    second.exchange(take=1)
    assert drain(second) == [b"3", b"2", b"1", b"0"]
    second.exchange()
    assert drain(second) == [b"4"], "with which it died"


def test_a_site_given_back_comes_with_all_its_claimed_requests(worker):
    """A request that was handed out and delayed counts as one that waited."""
    one = worker()
    for number in range(3):
        one.push(SITE, LIFO, b"%d" % number)
    one.exchange(take=1)
    one.claim(SITE)
    one.give_back(SITE)
    assert list(one.claimed()) == []
    one.exchange(take=1)
    assert drain(one) == [b"2", b"1", b"0"]


def test_a_worker_that_was_stopped_acknowledges_nothing(worker):
    """It learns that its lease is lost, and its words on that site have no effect."""
    first, second = worker(), worker()
    first.push(SITE, LIFO, b"page")
    first.exchange(take=1)
    kept = first.claim(SITE)
    dies(first)
    second.exchange(take=1)
    second.exchange(take=1)
    first.push_new(SITE, LIFO, b"child", 7, kept.number)
    first.acknowledge(kept.number)
    assert first.exchange().is_lost
    assert (first.uncommitted, first.sites, list(first.claimed())) == (0, {}, [])
    again = second.claim(SITE)
    assert again.body == b"page"
    second.push_new(SITE, LIFO, b"child", 7, again.number)
    second.acknowledge(again.number)
    second.exchange()
    second.exchange()
    assert drain(second) == [b"child"]


def test_start_requests_outlast_a_lost_lease(worker):
    """No request would give it again."""
    one = worker()
    one.push_child(SITE, LIFO, b"start", 1, START)
    one.push_new(SITE, LIFO, b"fed", 2, None)
    dies(one)
    worker().exchange()
    assert one.exchange().is_lost
    one.join(one.server.join())
    one.exchange(take=1)
    assert drain(one) == [b"fed", b"start"]


def test_a_late_worker_keeps_sites_that_nobody_has_taken(worker):
    """One that comes too late, and alone, has all that it had."""
    one = worker()
    one.push(SITE, LIFO, b"page")
    one.exchange(take=1)
    dies(one)
    assert not one.exchange().is_lost
    assert drain(one) == [b"page"]


def test_an_exchange_without_a_reply_is_applied_once(worker):
    """Made again it changes nothing, and tells what it gave; what was done meanwhile
    counts.
    """
    one = worker()
    for number in range(3):
        one.push(SITE, LIFO, b"%d" % number)
    one.server.exchange(one.next_exchange(1, ""))  # and the answer does not arrive
    one.push(OTHER, LIFO, b"later")
    assert one.exchange(take=1).is_again
    assert drain(one) == [b"2", b"1", b"0"]
    assert one.lengths() == {}
    one.exchange(take=1)
    assert drain(one, OTHER) == [b"later"]


def test_a_repeated_exchange_brings_back_no_settled_request(worker):
    """What was acknowledged, put back or given back since is as it was left."""
    one = worker()
    for number in range(4):
        one.push(SITE, LIFO, b"%d" % number)
    one.push(OTHER, LIFO, b"other")
    one.exchange(take=2)
    done, back = one.claim(SITE), one.claim(SITE)
    one.see(1)
    one.server.exchange(one.next_exchange(0, ""))  # and the answer does not arrive
    one.acknowledge(done.number)
    one.put_back(back.number, SITE, LIFO, b"2, changed")
    one.give_back(OTHER)
    assert one.exchange().is_again
    assert set(one.sites) == {SITE}
    assert drain(one) == [b"2, changed", b"1", b"0"]


def test_all_workers_share_the_fingerprints(worker):
    """Who pushes one that another has pushed is told that it was dropped."""
    first, second = worker(), worker()
    for fingerprint in (1, -1, 2**63 - 1, -(2**63)):
        first.push_new(SITE, LIFO, b"first", fingerprint, None)
        second.push_new(SITE, LIFO, b"second", fingerprint, None)
    second.push_new(SITE, LIFO, b"second", 5, None)
    assert first.exchange(take=1).dropped == 0
    assert second.exchange().dropped == 4
    assert drain(first) == [b"first"] * 4
    first.exchange()
    assert drain(first) == [b"second"]
    assert second.has_seen(5)
    assert not first.has_seen(5)


def test_start_of_several_workers_gives_each_request_once(worker):
    """As often as one of them gives it, whichever is ahead; a new run asks for all of
    it again.
    """
    first, second = worker(), worker()
    for one, count in ((first, 2), (second, 3)):
        for _ in range(count):
            one.push_child(SITE, LIFO, b"front", 7, START)
    assert first.exchange().passed_over == 0
    assert second.exchange(take=1).passed_over == 2
    assert drain(second) == [b"front"] * 3
    for number in list(second.claimed()):
        second.acknowledge(number)
    second.give_back(SITE)
    second.exchange()
    assert (first.exchange(idle="wait").run, second.exchange(idle="wait").run) == (0, 1)
    third = worker()
    third.push_child(SITE, LIFO, b"front", 7, START)
    third.exchange(take=1)
    assert drain(third) == [b"front"]


def test_requests_of_a_callback_interrupted_elsewhere_are_skipped(worker):
    """Without a filter: the next worker yields all again, each request comes once."""
    first, second = worker(), worker()
    parent = first.push(SITE, LIFO, b"parent")
    first.exchange(take=1)
    first.claim(SITE)
    for fingerprint in (1, 2, 1):
        first.push_child(OTHER, LIFO, b"child %d" % fingerprint, fingerprint, parent)
    first.exchange()
    dies(first)
    second.exchange(take=2)
    second.exchange(take=2)
    assert second.claim(SITE) == (parent, b"parent")
    for fingerprint in (1, 2, 1, 3):
        second.push_child(OTHER, LIFO, b"child %d" % fingerprint, fingerprint, parent)
    second.acknowledge(parent)
    assert second.exchange(take=2).passed_over == 3
    assert drain(second, OTHER) == [b"child 1", b"child 2", b"child 1"]
    second.poll_dry([OTHER])
    second.exchange()
    assert drain(second, OTHER) == [b"child 3"]
    assert not any(key.startswith("children") for key in keys(second))


def test_a_site_that_is_left_alone_is_due_when_that_is_over(worker):
    """By the server's clock, also where its owner died; what is to be known of it comes
    along.
    """
    first, second = worker(), worker()
    first.push(SITE, LIFO, b"page")
    first.exchange(take=1)
    first.rest(SITE, b"paused", "60000")
    first.exchange()
    dies(first)
    second.exchange(take=1)
    answer = second.exchange(take=1)
    assert not second.sites
    assert 0 < answer.next_due <= 60
    second.redis.zadd(f"{second.server.key}:due", {SITE: 1})  # that is over
    second.exchange(take=1)
    assert second.arrived.sites == {SITE: b"paused"}


def test_a_site_that_is_given_up_waits_for_the_next_run(worker):
    """The run ends though requests wait for it, and says so; who comes then is given
    it.
    """
    one = worker()
    one.push(SITE, LIFO, b"page")
    one.exchange(take=1)
    one.rest(SITE, b"", "inf")
    one.give_back(SITE)
    one.exchange(take=1)
    assert not one.sites
    answer = one.exchange(take=1, idle="wait")
    assert (answer.run, answer.outcome) == (1, "sites_paused")
    one.leave()
    next_run = worker()
    next_run.exchange(take=1)
    assert drain(next_run) == [b"page"]


def test_a_run_ends_when_all_are_idle_and_nothing_waits(worker):
    """Not while one says or has something; a dead one is not waited for, but what it
    held is.
    """
    first, second, third = worker(), worker(), worker()
    third.push(SITE, LIFO, b"page")
    third.exchange(take=1)
    assert first.exchange(idle="wait").run == 0
    assert second.exchange(idle="wait").run == 0
    dies(third)
    assert first.exchange(idle="wait").run == 0
    first.exchange(take=1, idle="wait")
    first.acknowledge(first.claim(SITE).number)
    first.give_back(SITE)
    assert second.exchange(idle="wait").run == 0
    assert first.exchange(idle="wait").run == 0, "it has said something"
    answer = first.exchange(idle="wait")
    assert (answer.run, answer.outcome) == (1, "finished")
    assert second.exchange(idle="wait").run == 1
    assert keys(first) == {"meta", "workers", "exchanges"}


def test_a_worker_that_does_not_wait_for_pauses_ends_before_them(worker):
    """Only where all say so."""
    first, second = worker(), worker()
    first.push(SITE, LIFO, b"page")
    first.exchange(take=1)
    first.rest(SITE, b"", "1000000")
    first.give_back(SITE)
    first.exchange()
    assert second.exchange(idle="wait").run == 0
    assert first.exchange(idle="close").run == 1
    assert second.exchange(idle="wait").outcome == "sites_paused"


def test_sites_are_shared_out_where_some_have_room_for_more(worker):
    """A worker with more than its share learns how many to return, and gets no more."""
    first, second = worker(), worker()
    for number in range(10):
        first.push(f"http://{number}", LIFO, b"page")
    first.exchange(take=10)
    assert len(first.sites) == 10
    second.exchange(take=4)
    assert first.exchange(take=4).surplus == 5
    for name in list(first.sites)[:5]:
        first.give_back(name)
    first.exchange(take=4)
    second.exchange(take=16)
    second.exchange(take=16)
    assert (len(first.sites), len(second.sites)) == (5, 5)
    assert first.exchange().surplus == 0


def test_a_site_can_be_asked_for(worker):
    """Though nothing of it waits; its owner hears of it, unless who asks is gone."""
    first, second = worker(), worker()
    first.request_site(SITE)
    first.exchange()
    assert list(first.sites) == [SITE]
    second.request_site(SITE)
    second.exchange()
    assert not second.sites
    assert first.exchange().give_back == [SITE]
    first.give_back(SITE)
    first.exchange()
    second.request_site(SITE)
    second.exchange()
    assert list(second.sites) == [SITE]
    first.request_site(SITE)
    first.exchange()
    dies(first)
    assert second.exchange().give_back == []


def test_a_site_without_waiting_requests_is_reported(worker):
    """Once nothing came of what was asked for; not as long as anything waits here."""
    one = worker()
    one.push(SITE, LIFO, b"1")
    one.exchange(take=1)
    assert one.arrived.dry == []
    one.poll_dry([SITE])
    one.exchange()
    assert one.arrived.dry == []
    drain(one)
    one.poll_dry([SITE])
    one.exchange()
    assert one.arrived.dry == [SITE]


def test_requests_come_in_batches_as_they_are_used(worker):
    """Few at first, more where they go fast, and few again where they go slowly."""
    one = worker()
    for number in range(500):
        one.push(SITE, LIFO, b"%d" % number)
    one.exchange(take=1)
    most = []
    for _ in range(6):
        drain(one)
        one.exchange()
        most.append(one.lengths().get(SITE, 0))
    assert most == [8, 16, 32, 32, 32, 32]
    for _ in range(6):
        drain(one)
        one.time += 100
        one.exchange()
    assert one.lengths() == {SITE: 2}


def test_the_server_takes_no_more_where_it_is_full(tmp_path):
    """Nothing of such an exchange is done, leases are renewed, and with room again it
    is done.
    """
    with RedisServer(tmp_path) as server:
        one = Worker(server.url)
        redis = Redis(port=server.port)
        one.push(SITE, LIFO, b"page")
        one.exchange(take=1)
        redis.config_set("maxmemory", 1)
        kept = one.claim(SITE)
        one.push_new(SITE, LIFO, b"child", 1, kept.number)
        one.acknowledge(kept.number)
        before = redis.zscore(f"{one.server.key}:workers", one.worker)
        with pytest.raises(StorageError, match="maxmemory"):
            one.exchange()
        assert redis.hlen(f"{one.server.key}:c:{SITE}") == 1
        assert not one.server.exchange(one.only_renewing()).is_lost
        assert redis.zscore(f"{one.server.key}:workers", one.worker) >= before
        redis.config_set("maxmemory", 0)
        assert not one.exchange().is_again
        assert redis.hlen(f"{one.server.key}:c:{SITE}") == 1
        assert drain(one) == [b"child"]
        redis.close()
        one.close()


def test_committed_requests_outlast_a_kill_of_the_server(tmp_path):
    """With appendonly; leases get half of one more, so that nobody counts as dead."""
    with RedisServer(tmp_path, appendonly=True) as server:
        first, second = Worker(server.url, lease=3), Worker(server.url, lease=3)
        for number in range(3):
            first.push(SITE, LIFO, b"%d" % number)
        first.exchange(take=1)
        server.kill()
        first.acknowledge(first.claim(SITE).number)
        with pytest.raises(StorageError):
            first.exchange()
        server.start()
        redis = Redis(port=server.port)
        now = time.time() * 1_000
        for one in (first, second):  # the server was away for longer than a lease
            redis.zadd(f"{one.server.key}:workers", {one.worker: now - 1_000})
        assert not first.exchange().is_lost
        assert not second.exchange().is_lost
        assert drain(first) == [b"1", b"0"]
        redis.close()
        first.close()
        second.close()


def test_a_job_in_another_format_is_refused(redis_server):
    """As one that a later version wrote."""
    server = RedisJobServer(redis_server.url, JobTerms("job", LEASE))
    with Redis.from_url(redis_server.url) as redis:
        redis.hset(f"{server.key}:meta", "version", "99")
    with pytest.raises(StorageError, match=r"another version \(format 99\)"):
        server.join()
    server.close()


def test_no_message_shows_the_password(redis_server):
    """Neither in the name of the server nor in what goes wrong."""
    server = RedisJobServer("redis://:secret@127.0.0.1:1/0", JobTerms("job", LEASE))
    assert "secret" not in repr(server)
    with pytest.raises(StorageError) as raised:
        server.join()
    assert "secret" not in str(raised.value)
    server.close()


def test_each_job_has_its_own_keys(worker):
    """Two jobs on one server know nothing of each other."""
    first, second = worker(name="a"), worker(name="b")
    first.push(SITE, LIFO, b"page")
    first.exchange()
    second.exchange(take=5)
    assert not second.sites
    assert first.view.lengths() == {SITE: (1, 0)}
    assert second.view.lengths() == {}


def test_a_script_that_lets_keys_expire_gets_them_all(worker):
    """Each that has no site, worker or request behind it: one that it did not get
    would stay for ever.
    """
    one = worker()
    with one.redis.monitor() as monitor:
        one.server.join()
        said = [
            each["command"].split()
            for each in (monitor.next_command() for _ in range(3))
        ]
    call = next(each for each in said if each[0] == "EVALSHA")
    names = {key.rpartition(":")[2] for key in call[4 : 3 + int(call[2])]}
    folder = resources.files("scrapy_mandelbot.fleet") / "lua"
    text = "".join(path.read_text("utf-8") for path in folder.iterdir())
    named = {*re.findall(r"key\('(\w+)'\)", text)}
    for listed in re.findall(r"ipairs\(\{('\w+'(?:, '\w+')*)\}\)", text):
        named |= set(re.findall(r"\w+", listed))
    assert names == named
