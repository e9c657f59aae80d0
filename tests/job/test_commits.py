"""When a job is committed, and what is done where that fails; by a clock that the test
turns.
"""

from __future__ import annotations

import itertools
import pickle
from types import SimpleNamespace

import pytest

from scrapy_mandelbot.job import saves
from scrapy_mandelbot.job.deliveries import read_aside
from scrapy_mandelbot.job.job_file import CorruptError
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.requests import RequestForm
from scrapy_mandelbot.job.saves import AT_ONCE, Saves
from scrapy_mandelbot.job.spider_state import SpiderState


class FakeJob:
    """A job, and the store of it: what is asked of them, and told."""

    def __init__(self, clock) -> None:
        self.clock = clock
        self.store = self
        self.said: list[str] = []
        self.error: Exception | None = None
        self.uncommitted = self.uncommitted_bytes = 0
        self.state: dict[str, bytes] = {}

    def save(self) -> Exception | None:
        if self.error is not None:
            self.said.append("fails")
            return self.saves.failed(self.error)
        self.said.append("commit")
        if self.saves.error is not None:
            self.saves.succeeded()
        return None

    def not_saved(self, error: Exception | None) -> None:
        self.said.append(f"not saved: {error}" if error else "saved again")

    def give_up(self, error: Exception) -> None:
        self.said.append(f"gave up: {error}")

    failed = give_up

    def put(self, name: str, value: bytes) -> None:
        self.state[name] = value

    def kept(self, prefix: str) -> dict[str, bytes]:
        return {
            name: value for name, value in self.state.items() if name.startswith(prefix)
        }

    def count(self, what: str) -> int:
        return self.said.count(what)


@pytest.fixture
def job(clock) -> FakeJob:
    return FakeJob(clock)


@pytest.fixture
def commits(job):
    job.saves = Saves(job, job, job.save)
    yield job.saves
    job.saves.close()


def test_what_is_settled_is_committed_at_the_end_of_the_turn(commits, job, clock):
    """Once, however much is; what was only changed waits for a second, or for a
    thousand others.
    """
    commits.acknowledged()
    commits.acknowledged()
    assert job.said == []
    clock.turn(0)
    assert job.said == ["commit"]
    commits.changed()
    clock.turn(0.9)
    assert job.count("commit") == 1
    clock.turn(0.1)
    assert job.count("commit") == 2
    for _ in range(AT_ONCE - 1):
        commits.changed()
    assert job.count("commit") == 2
    commits.changed()
    assert job.count("commit") == 3
    for _ in range(AT_ONCE - 1):  # it begins to count anew
        commits.changed()
    assert job.count("commit") == 3


def test_pages_share_a_commit_that_waits_for_the_disk(job, clock):
    """For a tenth of a second."""
    job.saves = Saves(job, job, job.save, soon=0.1)
    job.saves.acknowledged()
    clock.turn(0.09)
    assert job.said == []
    clock.turn(0.01)
    assert job.count("commit") == 1


def test_a_failing_commit_is_reported_once_and_retried(commits, job, clock):
    """Each ten seconds, whatever is settled meanwhile."""
    job.error = StorageError("full")
    commits.acknowledged()
    clock.turn(0)
    commits.acknowledged()
    clock.turn(9)
    assert job.said == ["fails", "not saved: full"]
    clock.turn(1)
    assert job.said == ["fails", "not saved: full", "fails"]
    job.error = None
    clock.turn(10)
    assert job.said[-2:] == ["commit", "saved again"]
    commits.now()
    assert job.count("commit") == 2


@pytest.mark.parametrize("much", ["uncommitted", "uncommitted_bytes"])
def test_the_spider_closes_when_too_much_is_uncommitted(
    commits, job, monkeypatch, much
):
    """And not before."""
    monkeypatch.setattr(saves, "MOST_OPERATIONS", 10)
    monkeypatch.setattr(saves, "MOST_BYTES", 10)
    job.error = StorageError("full")
    commits.now()
    setattr(job, much, 10)
    commits.changed()
    assert "gave up: too much of it is in memory (full)" not in job.said
    setattr(job, much, 11)
    commits.changed()
    assert job.count("gave up: too much of it is in memory (full)") == 1


def test_a_corrupt_file_closes_the_spider_at_once(commits, job):
    """Time does not mend it."""
    job.error = CorruptError("malformed")
    assert commits.now() is job.error
    assert job.count("gave up: malformed") == 1
    assert "not saved: malformed" not in job.said


def test_after_close_only_an_explicit_save_commits(commits, job, clock):
    """As at the end of a crawl."""
    commits.acknowledged()
    commits.close()
    clock.turn(5)
    commits.acknowledged()
    commits.changed()
    clock.turn(5)
    assert job.said == []
    assert commits.now() is None
    assert job.said == ["commit"]


def test_spider_state_is_stored_only_if_it_changed(job):
    """What took long to write is not written again before twenty times as long has
    passed.
    """
    seconds, worked = [0.0], [0.0]
    spider = SimpleNamespace(state={})

    def now() -> float:
        return seconds[0]

    def busy() -> float:
        worked[0] += 0.5  # each look at it: so a pickling takes half a second
        return worked[0]

    state = SpiderState(SimpleNamespace(form=RequestForm(spider)), job, now, busy)
    state.save()
    assert job.state == {}
    spider.state["pages"] = 1
    state.save()
    first = job.state["spider.state"]
    spider.state["pages"] = 2
    state.save()
    assert job.state["spider.state"] == first
    seconds[0] += 10
    state.save()
    assert job.state["spider.state"] != first
    spider.state["pages"] = 3
    state.save(is_last=True)
    again = SimpleNamespace(state={"pages": 0})
    SpiderState(SimpleNamespace(form=RequestForm(again)), job, now, busy).restore()
    assert again.state == {"pages": 3}


def test_spider_state_is_stored_after_the_machine_was_suspended(job):
    """What was counted of settled pages is in the commit that has them as settled."""
    # each look at the clock is a minute after the last one
    seconds = itertools.count(step=60)
    spider = SimpleNamespace(state={})
    state = SpiderState(
        SimpleNamespace(form=RequestForm(spider)),
        job,
        lambda: next(seconds),
        lambda: 0.0,
    )
    for pages in range(1, 4):
        spider.state["pages"] = pages
        state.save()
        assert pickle.loads(job.state["spider.state"]) == {"pages": pages}


def test_an_unreadable_or_unpicklable_spider_state_is_reported(job, caplog):
    """Once, though each commit asks for it; the crawl continues."""
    spider = SimpleNamespace(state={"callback": lambda: None})
    state = SpiderState(
        SimpleNamespace(form=RequestForm(spider)), job, lambda: 0.0, lambda: 0.0
    )
    state.save()
    state.save()
    assert caplog.text.count("does not survive a crash") == 1
    job.state["spider.state"] = b"no pickle"
    spider.state = {"pages": 7}
    state.restore()
    assert spider.state == {"pages": 7}
    assert "of the previous run cannot be restored" in caplog.text


def test_requests_set_aside_are_read_by_number():
    """As it is kept by reason."""
    assert read_aside(b'{"deaths": [3, 7]}') == {3: "deaths", 7: "deaths"}
    assert read_aside(None) == {}
