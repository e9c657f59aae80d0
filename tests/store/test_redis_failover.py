"""A store, and a job's server, whose address leads to a replica from some time on."""

from __future__ import annotations

import time

import pytest
from failover import Failover
from live_stores import SITE, Listener
from redis_server import NEEDS_REDIS
from shared_jobs import Worker
from store_logs import Log

from scrapy_mandelbot.job.job_store import Place, StorageError
from scrapy_mandelbot.store.contract import CachedRobots, StoredPause

pytestmark = NEEDS_REDIS

NOW = float(int(time.time()))
PAUSE, LATER = StoredPause(NOW + 9_000, "503", 2), StoredPause(NOW + 8_000, "429", 0)
OTHER = "https://other.example"
LIFO = Place(0, 0, is_last_first=True)


@pytest.fixture
def servers(tmp_path):
    with Failover(tmp_path) as started:
        yield started


@pytest.fixture
def open_store(servers, monkeypatch):
    """Open stores that try again soon."""
    from scrapy_mandelbot.store.redis import channel, wire
    from scrapy_mandelbot.store.redis.redis_store import RedisStore

    monkeypatch.setattr(wire, "_TRY_AGAIN_AFTER", 0.05)
    monkeypatch.setattr(channel, "_LOOKS_UP_AFTER", 0.05)
    opened = []

    def open_one():
        opened.append(RedisStore(servers.url, lambda: lambda call: call()))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def log():
    with Log() as lines:
        yield lines


def until(listener: Listener, heard) -> None:
    """Wait until a listener hears something, whatever it hears before."""
    while listener.heard.next() != heard:
        pass


def told(store) -> None:
    """Wait until the server has all that a store was told."""
    store.get_run("")


def test_a_store_survives_a_failover(servers, open_store, log):
    """While it is none but that, each run goes by its memory; then all is shared again.

    What the replica has not got, who has begun since then is told by those who know it.
    """
    one, listener = open_store(), Listener()
    one.listen(listener)
    until(listener, ("all", {}, {}))
    one.put_pause(OTHER, LATER)
    told(one)
    servers.fall_behind()
    one.put_pause(SITE, PAUSE)
    told(one)
    servers.lose_primary()
    one.put_copy(SITE, CachedRobots(b"", 200, NOW))
    assert "read only" in log.wait_for("is kept in the memory of this run only")
    servers.promote()
    log.wait_for("is shared again")
    until(listener, ("all", {OTHER: LATER}, {}))
    assert open_store().get_pauses() == {OTHER: LATER}
    one.put_pause(SITE, PAUSE)  # as a crawl does that hears of all without it
    told(one)
    assert open_store().get_pauses() == {OTHER: LATER, SITE: PAUSE}
    assert [site for site, _ in open_store().copies()] == [SITE]
    assert len(log.warnings) == 1


def test_messages_are_received_from_the_new_primary(servers, open_store, log):
    """The old primary goes on, as a replica of nobody, and breaks no connection."""
    one, listener = open_store(), Listener()
    one.listen(listener)
    until(listener, ("all", {}, {}))
    servers.promote()
    servers.demote_primary()
    one.put_turn(SITE, NOW + 5_000)
    log.wait_for("is shared again")
    until(listener, ("all", {}, {SITE: NOW + 5_000}))
    open_store().put_pause(SITE, PAUSE)
    while (heard := listener.heard.next()) != ("pause", SITE, PAUSE):
        # told before it was listened to
        if heard[1:] == ({SITE: PAUSE}, {SITE: NOW + 5_000}):
            break


def test_a_job_survives_a_failover(servers):
    """What it has not got is done again; until it is the primary nothing is taken for
    kept.
    """
    one, other = Worker(servers.url), Worker(servers.url)
    page = one.push(SITE, LIFO, b"page")
    one.exchange(take=1)
    one.claim(SITE)
    servers.fall_behind()
    one.push_new(OTHER, LIFO, b"link", 7, page)
    one.acknowledge(page)
    assert not one.exchange(take=1).is_lost
    assert one.claim(OTHER).body == b"link"
    servers.lose_primary()
    for worker in (one, other):
        with pytest.raises(StorageError):
            worker.exchange()
        with pytest.raises(StorageError, match="read only"):
            worker.exchange()
    servers.promote()
    assert not other.exchange().is_lost
    assert one.exchange().is_lost
    one.server.leave(one.worker, one.token)
    one.join(one.server.join())
    one.exchange(take=1)
    assert one.claim(SITE) == (page, b"page")
    one.push_new(OTHER, LIFO, b"link", 7, page)
    one.acknowledge(page)
    one.exchange()
    assert one.view.lengths() == {OTHER: (1, 0), SITE: (0, 0)}
    for worker in (one, other):
        worker.close()


def test_a_job_follows_its_address_to_another_machine(servers):
    """A server that has become a replica answers on the old connection, and is left."""
    one = Worker(servers.url)
    one.push(SITE, LIFO, b"page")
    one.exchange(take=1)
    servers.catch_up()
    servers.promote()
    servers.demote_primary()
    one.acknowledge(one.claim(SITE).number)
    with pytest.raises(StorageError, match="read only"):
        one.exchange()
    assert not one.exchange().is_lost
    assert one.view.lengths() == {SITE: (0, 0)}
    one.close()
