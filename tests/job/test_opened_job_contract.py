"""What ``scrapy robots job`` is told of a job, wherever it is kept, and does to it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from job_forms import (
    BODY,
    IN_FILE,
    KNOWN,
    LIFO,
    ON_REDIS,
    OTHER,
    PAUSED,
    SITE,
    load_file,
    load_redis,
)
from redis import Redis
from redis_server import NEEDS_REDIS

from scrapy_mandelbot.fleet.server_job import open_job_at
from scrapy_mandelbot.job.job_store import JOB_FILE
from scrapy_mandelbot.job.opened_job import NewRequest

NEW = "https://new.example"


@pytest.fixture(params=["folder", pytest.param("redis", marks=NEEDS_REDIS)])
def job(request, tmp_path):
    """The recorded job: of eleven requests one is done, and one is set aside."""
    place = str(tmp_path)
    if request.param == "folder":
        load_file(tmp_path / JOB_FILE, IN_FILE.read_text())
    else:
        server = request.getfixturevalue("redis_server")
        place = f"{server.url}#job"
        with Redis.from_url(server.url) as redis:
            load_redis(redis, json.loads(ON_REDIS.read_text())["commands"])
    job = open_job_at(place)
    yield job
    job.close()


def test_what_waits_is_counted_by_site(job):
    """What is set aside for good is counted by its reason, and what is known told."""
    contents = job.contents()
    assert contents.requests[OTHER] == 4
    assert contents.requests[SITE] + contents.given_up.total() == 6
    assert contents.given_up["its callback raised KeyError at shop.py:7"] == 1
    assert contents.known[PAUSED] == KNOWN
    assert not contents.is_running
    assert not contents.pauses.keys() & {SITE, OTHER}


def test_every_request_is_outlined(job):
    """Those that are set aside, too."""
    outlines = [*job.outlines()]
    contents = job.contents()
    count = contents.requests.total() + contents.given_up.total()
    assert len(outlines) == count
    assert {one.about["url"] for one in outlines} == {"https://a.example/1"}
    sites = Counter(one.site for one in outlines)
    assert sites[OTHER] == contents.requests[OTHER]


def new(fingerprint: int, *, is_lost: bool = False) -> NewRequest:
    return NewRequest(NEW, LIFO, BODY, fingerprint, is_lost)


def test_a_request_is_added_once(job):
    """Unless a crawl has lost it; 0 to 5 are seen."""
    assert job.add([[new(5), new(50)], [new(50), new(51)]]) == 2
    assert job.contents().requests[NEW] == 2
    assert job.add([[new(50), new(50, is_lost=True)]]) == 1
    assert job.contents().requests[NEW] == 3
    assert job.add([]) == 0


def test_requeue_ends_pauses_and_brings_back_what_is_set_aside(job):
    """Of the site that is named; what else is known of it stays."""
    before = job.contents()
    assert job.requeue("https://c.example.invalid") == []
    assert job.requeue(PAUSED) == [PAUSED]
    known = job.contents().known[PAUSED]
    assert known == KNOWN._replace(pauses=())
    assert job.contents().given_up == before.given_up
    assert job.requeue("KeyError") == [SITE]
    after = job.contents()
    assert after.given_up["its callback raised KeyError at shop.py:7"] == 0
    assert after.requests[SITE] == before.requests[SITE] + 1
    assert job.requeue("KeyError") == []
