"""What every store does."""

from __future__ import annotations

import time

import pytest

from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.store.memory import MemoryStore
from scrapy_mandelbot.store.sqlite import SqliteStore

SOON = float(int(time.time())) + 10_000
"""What was over long ago a server forgets by itself."""
SITE = "https://example.com"
COPY = CachedRobots(
    b"User-agent: *\nDisallow: /x\n" * 20,
    200,
    1_763_625_600.5,
    "https://www.example.com/robots.txt",
    'W/"ab"',
    "Fri, 20 Nov 2026 08:00:00 GMT",
)


def sqlite(request, tmp_path):
    store = SqliteStore(tmp_path / "copies.db")
    if request.param == "sqlite, saved":
        put_copy, put_pause, put_run = store.put_copy, store.put_pause, store.put_run
        put_turn = store.put_turn
        store.put_copy = lambda site, copy: (put_copy(site, copy), store.save())
        store.put_pause = lambda site, pause: (put_pause(site, pause), store.save())
        store.put_run = lambda spider, began_at: (
            put_run(spider, began_at),
            store.save(),
        )
        store.put_turn = lambda site, due: (put_turn(site, due), store.save())
    return store


@pytest.fixture(params=["memory", "sqlite, unsaved", "sqlite, saved"])
def store(request, tmp_path):
    is_in_memory = request.param == "memory"
    store = MemoryStore() if is_in_memory else sqlite(request, tmp_path)
    yield store
    store.close()


def test_a_new_site_has_no_state(store):
    """None, and no exception."""
    assert store.get_copy(SITE) is None


def test_a_copy_comes_back_as_it_was_put(store):
    """All of it, to the byte."""
    store.put_copy(SITE, COPY)
    assert store.get_copy(SITE) == COPY


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00",
        b"\x01",
        b"\xff\xfe\x00",
        b"x" * 99,
        b"x" * 100,
        bytes(range(256)) * 2_000,
    ],
)
def test_any_bytes_are_a_body(store, body):
    """Empty, binary, and as long as a robots.txt may be."""
    copy = CachedRobots(body, 200, 1.0)
    store.put_copy(SITE, copy)
    assert store.get_copy(SITE) == copy


def test_the_newer_copy_takes_the_place_of_the_older(store):
    """One copy a site."""
    newer = COPY._replace(
        body=b"", status=404, fetched_at=COPY.fetched_at + 1, etag=None
    )
    store.put_copy(SITE, COPY)
    store.put_copy(SITE, newer)
    assert store.get_copy(SITE) == newer


@pytest.mark.parametrize(
    "site",
    [
        "http://example.com",
        "https://example.com:8443",
        "http://[::1]",
        "http://\udc80",
        "",
    ],
)
def test_sites_are_kept_apart(store, site):
    """By scheme, host and port; whatever a URL held."""
    store.put_copy(SITE, COPY)
    assert store.get_copy(site) is None
    store.put_copy(site, COPY._replace(body=b"other"))
    assert store.get_copy(site).body == b"other"
    assert store.get_copy(SITE) == COPY


def test_copies_are_listed_in_the_order_of_their_sites(store):
    """All of them, whole, and those that were put last too."""
    assert list(store.copies()) == []
    newer = COPY._replace(status=404, body=b"")
    for site, copy in (("http://b", COPY), ("http://c", COPY), ("http://a", COPY)):
        store.put_copy(site, copy)
    store.put_copy("http://b", newer)
    assert list(store.copies()) == [
        ("http://a", COPY),
        ("http://b", newer),
        ("http://c", COPY),
    ]


def test_a_copy_that_is_dropped_is_gone(store):
    """It alone; dropping what is not there does nothing, and a new copy is kept."""
    store.put_copy(SITE, COPY)
    store.put_copy("http://other", COPY)
    store.drop_copy(SITE)
    store.drop_copy("http://nowhere")
    assert store.get_copy(SITE) is None
    assert list(store.copies()) == [("http://other", COPY)]
    store.put_copy(SITE, COPY)
    assert store.get_copy(SITE) == COPY


def test_closing_twice_is_closing(store):
    """And what is asked of a closed store finds nothing, and raises nothing."""
    store.put_copy(SITE, COPY)
    store.close()
    store.close()
    assert store.get_copy(SITE) is None


def test_a_pause_is_kept_until_it_is_over(store):
    """The newer in place of the older; None ends it."""
    assert store.get_pauses() == {}
    store.put_pause(SITE, LeftPause(SOON + 100.0, "503", 1))
    store.put_pause("http://other.example", LeftPause(SOON + 50.0, "429"))
    store.put_pause(SITE, LeftPause(SOON + 200.5, "503 again", 2))
    assert store.get_pauses() == {
        SITE: LeftPause(SOON + 200.5, "503 again", 2),
        "http://other.example": LeftPause(SOON + 50.0, "429", 0),
    }
    store.put_pause(SITE, None)
    assert set(store.get_pauses()) == {"http://other.example"}


def test_turns_are_kept_until_they_are_past(store):
    """The newer in place of the older; what is due by then is not told."""
    assert store.get_turns(0) == {}
    store.put_turn(SITE, SOON + 100.5)
    store.put_turn("http://other.example", SOON + 300.5)
    store.put_turn(SITE, SOON + 200.5)
    assert store.get_turns(SOON + 100) == {
        SITE: SOON + 200.5,
        "http://other.example": SOON + 300.5,
    }
    assert store.get_turns(SOON + 200.5) == {"http://other.example": SOON + 300.5}
    assert store.get_turns(SOON + 300.5) == {}


def test_the_last_run_of_each_spider_is_kept(store):
    """When it began; the later in place of the earlier."""
    assert store.get_run("links") is None
    store.put_run("links", 100.5)
    store.put_run("links", 200.5)
    store.put_run("other \udc80", 50.0)
    assert store.get_run("links") == 200.5
    assert store.get_run("other \udc80") == 50


def test_pauses_that_are_over_may_be_left_out(store):
    """Who asks while it crawls wants those that hold."""
    store.put_pause(SITE, LeftPause(SOON + 100.0, "503"))
    store.put_pause("http://other.example", LeftPause(SOON + 50.0, "429"))
    assert store.get_pauses(SOON + 50.0) == {SITE: LeftPause(SOON + 100.0, "503")}
