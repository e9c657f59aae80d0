"""Memory is bounded, whatever the number of sites."""

from __future__ import annotations

from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.store.memory import MemoryStore, Recent


def test_the_least_recently_used_is_dropped():
    """Reading counts as using."""
    recent = Recent(30)
    for key in "abc":
        recent.put(key, key.upper(), 10)
    recent.get("a")
    recent.put("d", "D", 10)
    assert dict(recent.items()) == {"c": "C", "a": "A", "d": "D"}
    assert (len(recent), recent.size) == (3, 30)


def test_sizes_add_up():
    """Replacing, discarding and clearing give the room back."""
    recent = Recent(30)
    recent.put("a", 1, 10)
    recent.put("a", 2, 25)
    assert (recent.get("a"), recent.size) == (2, 25)
    recent.discard("a")
    recent.discard("a")
    assert (recent.get("a"), recent.size) == (None, 0)
    recent.put("b", 3, 31)
    assert (recent.get("b"), recent.size, len(recent)) == (None, 0, 0)
    recent.put("c", 4, 30)
    recent.clear()
    assert (len(recent), recent.size) == (0, 0)


def test_a_memory_store_forgets_what_does_not_fit():
    """The sites not asked for longest; they are fetched again."""
    store = MemoryStore(limit=10_000)
    for number in range(100):
        store.put_copy(f"http://{number}.example", CachedRobots(b"x" * 50, 200, 1.0))
    assert 10 < len(store) < 20
    assert store.get_copy("http://0.example") is None
    assert store.get_copy("http://99.example") is not None
