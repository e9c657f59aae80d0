"""Queues on disk are opened when their turn comes, and few are open at a time."""

from __future__ import annotations

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.squeues import FifoMemoryQueue, PickleLifoDiskQueue

from scrapy_mandelbot.scheduling.storage import ParkedRequests, Storage


@pytest.fixture
def crawler() -> Crawler:
    crawler = Crawler(Spider)
    crawler.spider = Spider("storage")
    return crawler


def make_storage(
    crawler: Crawler, directory: str, most_open: int = 3, left=None
) -> Storage:
    queue_class = PickleLifoDiskQueue if directory else FifoMemoryQueue

    def open_queue(path, priorities):
        return ScrapyPriorityQueue(crawler, queue_class, path, priorities)

    return Storage(open_queue, directory, most_open, left)


def fill(storage: Storage, names: int, each: int = 2) -> None:
    for number in range(each):
        for name in range(names):
            storage.push(
                f"site{name}", Request(f"http://site{name}/{number}", priority=number)
            )


def test_few_are_open_and_none_is_lost(crawler, tmp_path):
    """Twenty queues of two priorities, three open at a time: all come back in their
    order.
    """
    storage = make_storage(crawler, str(tmp_path))
    fill(storage, names=20)
    assert len(storage) == 40
    assert len(storage.opened) == 3
    for name in list(storage):
        assert storage.length(name) == 2
        assert storage.peek(name).url == f"http://{name}/1"
        assert [storage.pop(name).url for _ in range(2)] == [
            f"http://{name}/1",
            f"http://{name}/0",
        ]
        assert name not in storage
    assert len(storage) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_restart_finds_all_of_it(crawler, tmp_path):
    """The state that close() returns is what the next one takes, whatever was open."""
    storage = make_storage(crawler, str(tmp_path))
    fill(storage, names=10)
    storage.pop("site4")
    state = storage.close()
    assert set(state) == {f"site{name}" for name in range(10)}

    again = make_storage(crawler, str(tmp_path), left=state)
    assert len(again) == 19
    assert len(again.opened) == 3
    assert again.pop("site4").url == "http://site4/0"
    again.close()


def test_queues_in_memory_stay_open(crawler):
    """They hold no file, and would lose what they hold."""
    storage = make_storage(crawler, "")
    fill(storage, names=20)
    assert len(storage.opened) == 20
    assert sum(1 for name in list(storage) for _ in range(2) if storage.pop(name)) == 40


def test_a_request_that_cannot_be_written_changes_nothing(crawler, tmp_path):
    """The scheduler then keeps it in memory."""
    storage = make_storage(crawler, str(tmp_path))
    with pytest.raises(ValueError, match="is not an instance method"):
        storage.push("site", Request("http://site/", callback=lambda _: None))
    assert "site" not in storage
    assert len(storage) == 0
    assert not storage.opened


def test_a_request_that_is_alone_has_no_queue(crawler):
    """Most sites of a wide crawl have one that waits; its queue would take the most
    memory.
    """

    def open_queue(path, priorities):
        return ScrapyPriorityQueue(crawler, FifoMemoryQueue, path, priorities)

    storage = Storage(open_queue, "", 0, alone=True)
    low, high = (Request(f"http://site/{one}", priority=one) for one in (1, 2))
    storage.push("site", low)
    assert (dict(storage.opened), storage.pop("site"), list(storage)) == ({}, low, [])
    storage.push("site", low)
    storage.push("site", high)
    assert [storage.pop("site"), storage.pop("site"), len(storage)] == [high, low, 0]


def test_requests_that_are_put_down_are_forgotten_at_the_end():
    """The scheduler has them again: put down twice, they would be sent twice."""
    storage = ParkedRequests()
    storage.push("site", Request("http://site/"))
    assert len(storage.put_down()) == 1
    storage.close()
    assert storage.put_down() == []
    assert len(storage) == 0


def test_parked_requests_keep_their_place_when_they_come_back():
    """By priority, then in the order first taken; each sub-queue for itself."""
    storage = ParkedRequests()
    requests = [
        Request(f"http://a/{number}", priority=number // 2) for number in range(3)
    ]
    for request in requests:
        storage.push("a", request)
    other = Request("http://b/")
    storage.push("b", other)
    first = storage.pop("a")
    assert first is requests[2]
    assert storage.pop("a") is requests[0]
    storage.push("a", requests[0])
    storage.push("a", first)
    assert [storage.pop("a") for _ in range(3)] == [first, *requests[:2]]
    assert "a" not in storage
    assert len(storage) == 1
    assert storage.put_down() == [other]
