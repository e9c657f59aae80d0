"""The spool of a feed, without a crawl: copied in pieces, and kept until all of it is
stored.
"""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from twisted.internet.defer import Deferred

from scrapy_mandelbot.job.spool import Spool

ITEMS = b'{"n": 1}\n' * 100_000  # 900 kB


class Storage:
    """Notes how much it was given, and stores when the test says so."""

    def __init__(self) -> None:
        self.given = io.BytesIO()
        self.stored: Deferred[None] = Deferred()

    def open(self, _spider) -> io.BytesIO:
        return self.given

    def store(self, file):
        assert file is self.given
        return self.stored


@pytest.fixture
def feed(clock, tmp_path):
    """Make a spool of 900 kB, and the storage behind it."""

    def make(*, has_finished=True, **options) -> tuple[Spool, Storage]:
        path = tmp_path / "feed-abc-1.spool"
        path.write_bytes(ITEMS)
        storage = Storage()
        slot = SimpleNamespace(
            storage=storage, feed_options=options, spider=None, batch_id=1
        )
        feeds = SimpleNamespace(
            clock=clock, has_finished=has_finished, put=lambda *_: None
        )
        return Spool(slot, path, feeds), storage

    return make


def test_the_loop_has_turns_while_a_spool_is_copied(feed, clock):
    """At most a quarter of a megabyte goes in one of them; then all is there, and it is
    stored.
    """
    spool, storage = feed()
    with spool.open(None) as file:
        stored = spool.store(file)
    assert len(storage.given.getvalue()) == 262_144
    clock.turn(0)
    assert storage.given.getvalue() == ITEMS
    assert spool.path.exists()
    done = []
    stored.addCallback(done.append)
    assert not done
    storage.stored.callback(None)
    assert done
    assert not spool.path.exists()


def test_a_spool_stays_where_it_cannot_be_copied_or_stored(feed, clock):
    """And who has the feed stored hears why."""
    for breaks in ("write", "store"):
        spool, storage = feed()
        heard = []
        if breaks == "write":
            storage.given.close()
        spool.store(spool.open(None)).addErrback(
            lambda failure, heard=heard: heard.append(failure.type)
        )
        clock.turn(0)
        if breaks == "store":
            storage.stored.errback(OSError())
        assert heard == [ValueError if breaks == "write" else OSError]
        assert spool.path.read_bytes() == ITEMS


def test_a_spool_stays_until_the_job_is_done(feed, clock):
    """The next run goes on in it; a batch that is stored is done."""
    spool, storage = feed(has_finished=False)
    spool.store(spool.open(None))
    clock.turn(0)
    storage.stored.callback(None)
    assert spool.path.exists()
    spool, storage = feed(has_finished=False, batch_item_count=5)
    spool.store(spool.open(None))
    clock.turn(0)
    storage.stored.callback(None)
    assert not spool.path.exists()
    assert spool.path.with_name("feed-abc.stored").read_text() == "1"


def test_the_number_of_the_last_batch_never_falls(feed, clock):
    """They may be stored in any order; a number that was given is not given again."""
    spool, storage = feed(batch_item_count=5)
    mark = spool.path.with_name("feed-abc.stored")
    mark.write_text("7")
    spool.store(spool.open(None))
    clock.turn(0)
    storage.stored.callback(None)
    assert mark.read_text() == "7"
