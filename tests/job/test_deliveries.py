"""Which requests go last after a death, and which are set aside; without a crawl."""

from __future__ import annotations

import json

import pytest

from scrapy_mandelbot.job.deliveries import ASIDE, DEATHS, FEW, Deliveries, read_aside
from scrapy_mandelbot.job.job_store import Place
from scrapy_mandelbot.job.sqlite_job import SqliteJob

PLACE = Place(0, 0, is_last_first=False)


@pytest.fixture
def died(tmp_path):
    """Return what a run makes of a job whose last run died with some requests in
    flight.
    """

    def open_again(numbers, limit=3) -> tuple[SqliteJob, Deliveries]:
        job = SqliteJob(tmp_path / "job.sqlite")
        job.states.put("claimed", json.dumps(numbers).encode())
        job.commit()
        job.close()
        job = SqliteJob(tmp_path / "job.sqlite")
        deliveries = Deliveries(job, limit, has_died=True)
        deliveries.keep(set())
        job.commit()
        opened.append(job)
        return job, deliveries

    opened = []
    job = SqliteJob(tmp_path / "job.sqlite")
    for number in range(100):
        job.push(f"http://{number % 2}.example", PLACE, b"%d" % number)
    job.commit()
    job.close()
    yield open_again
    for job in opened:
        job.close()


def test_requests_in_flight_at_a_death_are_sent_last(died):
    """They are in no line, and go out few at a time; alone, when the next death is the
    last.
    """
    job, deliveries = died([*range(1, 21)])
    assert sum(job.lengths().values()) == 80
    assert len(deliveries.waiting) == 20
    taken = deliveries.take()
    assert [number for number, _ in taken] == [*range(1, FEW + 1)]
    assert taken[0][1] == "http://0.example"
    assert len(deliveries.waiting) == 20 - FEW
    job, deliveries = died([1, 2, 3])
    out = []
    while deliveries.waiting:
        out.append([number for number, _ in deliveries.take()])
    assert [*map(len, out)] == [8, 8, 1, 1, 1, 1]
    assert out[-3:] == [[1], [2], [3]]


def test_a_death_counts_only_for_requests_in_flight(died):
    """Not for what waited, nor for what was withheld, and none where the run was
    closed.
    """
    job, deliveries = died([1])
    assert json.loads(job.states.get(DEATHS)) == {"1": 1}
    assert json.loads(job.states.get("claimed")) == []
    claimed = job.claim("http://1.example").number
    assert claimed not in deliveries.sent
    deliveries.keep({claimed})
    assert claimed in deliveries.sent
    assert json.loads(job.states.get("claimed")) == [claimed]
    again = Deliveries(job, 3, has_died=False)
    assert json.loads(job.states.get(DEATHS)) == {"1": 1}
    assert len(again.waiting) == 1


def test_settled_requests_have_no_deaths(died):
    """Their numbers go with the rows."""
    job, deliveries = died([1, 2])
    for number, _ in deliveries.take():
        job.acknowledge(number)
    job.commit()
    job, _ = died([3])
    assert json.loads(job.states.get(DEATHS)) == {"3": 1}


def test_a_higher_limit_brings_back_what_a_lower_one_set_aside(died):
    """And a lower one sets aside what has had as many deaths."""
    died([1])
    _, deliveries = died([1], limit=2)
    assert deliveries.aside == {1: "2 runs have died with it"}
    job, deliveries = died([], limit=3)
    assert (deliveries.aside, len(deliveries.waiting)) == ({}, 1)
    assert job.states.get(ASIDE) is None


def test_a_long_list_of_requests_set_aside_is_not_written_at_each_commit(died):
    """Each time that there are a tenth more, and at the end: there may be a million."""
    job, deliveries = died([])
    written = []
    for number in range(1, 101):
        deliveries.aside[number] = "it cannot be read"
        deliveries.keep(set())
        written.append(len(read_aside(job.states.get(ASIDE))))
    assert written[:4] == [1, 2, 3, 4]
    assert len({*written}) < 40
    deliveries.write_aside()
    assert read_aside(job.states.get(ASIDE)) == dict.fromkeys(
        range(1, 101), "it cannot be read"
    )
