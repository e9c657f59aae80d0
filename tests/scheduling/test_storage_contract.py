"""What every place does where a site queue keeps its requests.

Scrapy's queues, and a job's.
"""

from __future__ import annotations

import pytest
from memory_job import MemoryJob
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.squeues import (
    FifoMemoryQueue,
    LifoMemoryQueue,
    PickleFifoDiskQueue,
    PickleLifoDiskQueue,
)

from scrapy_mandelbot.job.job_storage import JobStorage
from scrapy_mandelbot.job.job_store import LineOrder
from scrapy_mandelbot.job.requests import RequestForm
from scrapy_mandelbot.job.sqlite_job import SqliteJob
from scrapy_mandelbot.scheduling.storage import Storage

NAME = "https://example.com"


class NoComplaints:
    """Fails whatever is complained of; nobody knows who gave a request."""

    def given_by(self, request):
        return None

    def unwritable(self, request, error):
        raise AssertionError(f"{request}: {error}")

    def unreadable(self, line, number, error):
        raise AssertionError(f"{line}: {error}")

    def failed(self, error):
        raise error


class PagesSpider(Spider):
    name = "pages"

    def parse(self, response):
        """Be the callback of requests that name none."""

    def parse_page(self, response):
        """Be a callback that can be written down."""


@pytest.fixture
def crawler() -> Crawler:
    crawler = Crawler(PagesSpider)
    crawler.spider = PagesSpider()
    return crawler


def in_scrapys_queues(crawler: Crawler, directory: str) -> Storage:
    last_first, first_first = (
        (PickleLifoDiskQueue, PickleFifoDiskQueue)
        if directory
        else (LifoMemoryQueue, FifoMemoryQueue)
    )

    def open_queue(path, priorities):
        return ScrapyPriorityQueue(
            crawler, last_first, path, priorities, start_queue_cls=first_first
        )

    return Storage(open_queue, directory, most_open=2)


def in_job(crawler: Crawler, store) -> JobStorage:
    order = LineOrder(is_last_first=True, start_is_last_first=False)
    form = RequestForm(crawler.spider)
    return JobStorage(
        store, form, order, lambda request: request.url.encode(), NoComplaints()
    )


@pytest.fixture(
    params=[
        "Scrapy's memory",
        "Scrapy's disk",
        "a job in memory",
        "a job in a file",
        "committed",
    ]
)
def storage(request, crawler, tmp_path):
    if request.param.startswith("Scrapy's"):
        yield in_scrapys_queues(
            crawler, str(tmp_path) if "disk" in request.param else ""
        )
        return
    store = (
        MemoryJob() if "memory" in request.param else SqliteJob(tmp_path / "job.sqlite")
    )
    storage = in_job(crawler, store)
    if request.param == "committed":
        push = storage.push
        storage.push = lambda name, request: (push(name, request), store.commit())
    yield storage
    store.close()


def drain(storage, name=NAME) -> list[str]:
    urls = []
    while name in storage:
        urls.append(storage.pop(name).url)
    return urls


def test_what_was_pushed_comes_back_whole(storage, crawler):
    """Callback, errback, meta, headers, body, cookies, priority; and then the line is
    empty.
    """
    spider = crawler.spider
    request = Request(
        f"{NAME}/a?b=c#d",
        callback=spider.parse_page,
        errback=spider.parse,
        method="POST",
        headers={"A": ["b", "c"]},
        body=b"\x00\xff",
        cookies={"k": "v"},
        meta={"depth": 3, "nested": {"a": [1]}},
        priority=-7,
        dont_filter=True,
        flags=["x"],
        cb_kwargs={"n": 1},
        encoding="latin-1",
    )
    storage.push(NAME, request)
    assert (len(storage), storage.length(NAME), list(storage)) == (1, 1, [NAME])
    back = storage.pop(NAME)
    assert back.to_dict(spider=spider) == request.to_dict(spider=spider)
    assert (len(storage), storage.length(NAME), list(storage)) == (0, 0, [])
    assert NAME not in storage


def test_a_request_class_of_its_own_comes_back(storage, crawler):
    """With what it has beyond others."""
    from scrapy.http import FormRequest, JsonRequest

    for request in (
        JsonRequest(NAME, data={"a": 1}),
        FormRequest(NAME, formdata={"a": "1"}, method="GET"),
    ):
        storage.push(NAME, request)
        back = storage.pop(NAME)
        assert type(back) is type(request)
        assert back.to_dict() == request.to_dict()


def test_priorities_then_the_last_first_then_start_requests_in_order(storage):
    """As ScrapyPriorityQueue has it, with its default queues."""
    for name, priority, is_start in (
        ("s1", 0, True),
        ("s2", 0, True),
        ("p1", 0, False),
        ("p2", 0, False),
        ("low", -5, False),
        ("high", 5, False),
        ("soon", 5, True),
    ):
        meta = {"is_start_request": True} if is_start else {}
        storage.push(NAME, Request(f"{NAME}/{name}", priority=priority, meta=meta))
    assert drain(storage) == [
        f"{NAME}/{name}" for name in ("high", "soon", "p2", "p1", "s1", "s2", "low")
    ]


# the oldest Scrapy leaves files of a queue open that it opens again
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)
def test_lines_do_not_mix(storage):
    """Each gives its own, in any order; few of Scrapy's are open at a time."""
    names = [f"http://site{n}" for n in range(8)]
    for number in range(3):
        for name in names:
            storage.push(name, Request(f"{name}/{number}"))
    assert len(storage) == 24
    assert sorted(storage) == names
    for name in reversed(names):
        assert drain(storage, name) == [f"{name}/{number}" for number in (2, 1, 0)]


def test_what_is_at_hand_is_the_next(storage):
    """The first that came is at hand, and is the very object that was put there."""
    storage.push(NAME, Request(f"{NAME}/1"))
    storage.push(NAME, Request(f"{NAME}/2"))
    taken = storage.pop(NAME)
    storage.put_at_hand(NAME, taken)
    assert storage.length(NAME) == 2
    assert storage.pop(NAME) is taken
    assert drain(storage) == [f"{NAME}/1"]


def test_a_request_that_it_never_had_can_be_put_at_hand(storage):
    """As one that was delayed when it came, since another like it was refused; a job
    keeps it.
    """
    storage.put_at_hand(NAME, Request(f"{NAME}/1"))
    assert storage.length(NAME) == len(storage) == 1
    request = storage.pop(NAME)
    assert request.url == f"{NAME}/1"
    assert len(storage) == 0
    if isinstance(storage, JobStorage):
        assert storage.unacked[request].number is not None
        assert storage.acknowledged(request)


def test_what_is_put_back_stands_in_front_in_its_order(storage):
    """Before what is at hand; peeking takes nothing."""
    for number in range(4):
        storage.push(NAME, Request(f"{NAME}/{number}"))
    taken = [storage.pop(NAME) for _ in range(3)]
    storage.put_at_hand(NAME, taken.pop())
    storage.put_back(NAME, taken)
    storage.put_back("http://nothing", [])
    assert storage.length(NAME) == len(storage) == 4
    assert storage.peek(NAME).url == f"{NAME}/3"
    assert drain(storage) == [f"{NAME}/{number}" for number in (3, 2, 1, 0)]


def test_a_request_that_was_taken_can_be_pushed_again(storage):
    """As it is now: the newest of its line."""
    storage.push(NAME, Request(f"{NAME}/1"))
    storage.push(NAME, Request(f"{NAME}/2"))
    second, first = storage.pop(NAME), storage.pop(NAME)
    storage.push(NAME, second)
    first.meta["tried"] = 1
    storage.push(NAME, first)
    assert storage.pop(NAME).meta["tried"] == 1
    assert drain(storage) == [f"{NAME}/2"]


def test_what_is_dropped_is_gone(storage):
    """It was taken, and will not be sent."""
    storage.push(NAME, Request(f"{NAME}/1"))
    storage.drop(storage.pop(NAME))
    assert len(storage) == 0


def test_what_is_put_down_and_closed_is_empty(storage):
    """What was at hand can be found by the next run, so that none is named as lost."""
    storage.push(NAME, Request(f"{NAME}/1"))
    storage.put_at_hand(NAME, storage.pop(NAME))
    assert storage.put_down() == []
    storage.close()
    assert len(storage) == 0


def test_a_job_goes_on_where_it_was_committed(crawler, tmp_path):
    """What was taken and not settled comes back with what waited; what was settled does
    not.
    """
    store = SqliteJob(tmp_path / "job.sqlite")
    storage = in_job(crawler, store)
    for number in range(6):
        storage.push(NAME, Request(f"{NAME}/{number}"))
    taken = [storage.pop(NAME) for _ in range(3)]
    assert storage.acknowledged(taken[0])
    assert not storage.acknowledged(taken[0])
    storage.put_at_hand(NAME, taken[1])
    store.commit()
    store.close()
    store = SqliteJob(tmp_path / "job.sqlite")
    storage = in_job(crawler, store)
    assert storage.length(NAME) == len(storage) == 5
    assert drain(storage) == [f"{NAME}/{number}" for number in (4, 3, 2, 1, 0)]
    store.close()
