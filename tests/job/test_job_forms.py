"""A job that another version wrote: of the last form it goes on, of another it stays.

``forms`` has a job of the present form, in a file and on Redis, as it was recorded.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest
import scrapy
from job_forms import (
    BODY,
    IN_FILE,
    KNOWN,
    LIFO,
    ON_REDIS,
    OTHER,
    PAUSED,
    SECTION,
    SITE,
    dump_file,
    dump_redis,
    feed_state,
    fill_file,
    fill_redis,
    load_file,
    load_redis,
    lua_digest,
    masked,
)
from redis_server import NEEDS_REDIS
from shared_jobs import Worker

from scrapy_mandelbot.fleet.redis_job import VERSION
from scrapy_mandelbot.fleet.server_job import ServerJob
from scrapy_mandelbot.job.deliveries import Deliveries
from scrapy_mandelbot.job.job_file import FORMAT
from scrapy_mandelbot.job.job_folder import JobFolder
from scrapy_mandelbot.job.job_store import OWN_START, START, StorageError
from scrapy_mandelbot.job.opening import open_job
from scrapy_mandelbot.job.requests import RequestForm
from scrapy_mandelbot.job.site_handover import read_handover

CHANGED = (
    "The form of a job has changed. Raise its number (VERSION of fleet/redis_job.py,"
    " FORMAT of job/job_file.py): else a job under way is read wrongly. Where only the"
    " way to it has changed, delete {path} and run this test once: it writes it anew."
)


class Pages(scrapy.Spider):
    """The callbacks of the stored requests."""

    name = "pages"

    def parse(self, response):
        """Named by the stored requests."""


def states() -> dict[str, bytes]:
    return {
        f"site/{PAUSED}": KNOWN.written(),
        'feed/"/items.jsonl"': feed_state(),
        "spider": b"pages",
    }


def test_what_a_file_holds_is_as_recorded(tmp_path):
    """Another schema, or another value in it, needs another number."""
    fill_file(tmp_path / "job.sqlite", states())
    dump = dump_file(tmp_path / "job.sqlite")
    if not IN_FILE.exists():
        IN_FILE.write_text(dump)
        pytest.fail(f"{IN_FILE} was written: add it")
    assert dump == IN_FILE.read_text(), CHANGED.format(path=IN_FILE)


@NEEDS_REDIS
def test_what_redis_holds_is_as_recorded(worker):
    """Another key, another value, or another script needs another number."""
    one = worker()
    fill_redis(one, KNOWN.written())
    has = {"lua": lua_digest(), "commands": dump_redis(one.redis)}
    if not ON_REDIS.exists():
        ON_REDIS.write_text(json.dumps(has, indent=1) + "\n")
        pytest.fail(f"{ON_REDIS} was written: add it")
    recorded = json.loads(ON_REDIS.read_text())
    said = CHANGED.format(path=ON_REDIS)
    assert masked(has["commands"]) == masked(recorded["commands"]), said
    assert has["lua"] == recorded["lua"], said


def test_a_recorded_file_goes_on(tmp_path):
    """Each request waits, or is withheld; what was seen is seen; states are read."""
    load_file(tmp_path / "job.sqlite", IN_FILE.read_text())
    folder = JobFolder(str(tmp_path))
    contents = folder.contents()
    assert contents.requests == Counter({SITE: 5, OTHER: 4})
    assert contents.sections == {SITE: {"/shop/": 1}}
    assert contents.given_up == {"its callback raised KeyError at shop.py:7": 1}
    assert contents.known == {PAUSED: KNOWN}
    job = open_job(tmp_path)
    deliveries = Deliveries(job, 3, has_died=True)
    assert len(deliveries.waiting) == len(deliveries.aside) == 1
    assert job.lengths() == {SITE: 3, SECTION: 1, OTHER: 4}
    assert all(map(job.has_seen, (*range(6), -(1 << 63))))
    assert dict(job.children_left(START)) == {100: 1}
    assert dict(job.children_left(1)) == {102: 1}
    assert job.waiting_start(101) is not None
    assert job.children_left(OWN_START)
    form = RequestForm(Pages())
    found = [form.read(job.claim(SITE).body) for _ in range(3)]
    assert {one.url for one in found} == {"https://a.example/1"}
    assert found[0].meta == {"depth": 1}
    assert found[0].callback.__name__ == "parse"
    job.close()


@NEEDS_REDIS
def test_a_recorded_job_on_redis_goes_on(redis_server, worker):
    """With a worker that finds the last one dead."""
    looker = worker(name="another")
    load_redis(looker.redis, json.loads(ON_REDIS.read_text())["commands"])
    one = worker(version="b")
    arrived: Counter[str] = Counter()
    states = {}
    for _ in range(9):
        answer = one.exchange(take=9)
        states |= answer.sites
        for line in list(one.lengths()):
            while (kept := one.claim(line)) is not None:
                assert kept.body == BODY
                arrived[line] += 1
        one.poll_dry(one.sites)
    assert arrived == {SITE: 3, SECTION: 1, OTHER: 4, PAUSED: 1}
    assert read_handover(states[SITE]) == read_handover(states[PAUSED]) == KNOWN
    for number in (*range(6), -(1 << 63)):
        one.push_new(SITE, LIFO, BODY, number, None)
    one.push_child(OTHER, LIFO, BODY, 100, START)
    answer = one.exchange()
    assert (answer.dropped, answer.passed_over) == (7, 1)
    assert one.server.cookies(0, 9, 9, ()).bodies == [b"cookie"]
    assert one.view.reports()[0] == [b"report"]
    job = ServerJob(f"{redis_server.url}#job")
    told = job.contents().given_up
    assert told == {"its callback raised KeyError at shop.py:7": 1}
    job.close()


@pytest.mark.parametrize("number", [FORMAT - 1, FORMAT + 1])
def test_a_file_of_another_form_is_refused_and_left(tmp_path, number):
    """Forward and back; by a run as by each command."""
    path = tmp_path / "job.sqlite"
    dump = IN_FILE.read_text().replace(
        f"user_version = {FORMAT};", f"user_version = {number or 99};"
    )
    load_file(path, dump)
    before = dump_file(path)
    with pytest.raises(StorageError, match="was written by another version") as error:
        open_job(tmp_path)
    assert not error.value.ends_run, "it is not damaged"
    for use in ("contents", "repair"):
        with pytest.raises(StorageError, match="was written by another version"):
            getattr(JobFolder(str(tmp_path)), use)()
    assert dump_file(path) == before


@NEEDS_REDIS
@pytest.mark.parametrize("number", [VERSION - 1, VERSION + 1])
def test_a_job_on_redis_of_another_form_is_refused_and_left(
    redis_server, worker, number
):
    """By a worker as by each command, but for `forget`, which it does not keep from."""
    looker = worker(name="another")
    redis = looker.redis
    load_redis(redis, json.loads(ON_REDIS.read_text())["commands"])
    redis.hset("mandelbot:{job}:meta", "version", number)
    before = dump_redis(redis)
    with pytest.raises(StorageError, match=rf"another version \(format {number}\)"):
        Worker(redis_server.url)
    job = ServerJob(f"{redis_server.url}#job")
    for use in (job.contents, job.reports, lambda: job.requeue("")):
        with pytest.raises(StorageError, match=rf"another version \(format {number}\)"):
            use()
    assert dump_redis(redis) == before
    job.forget()
    assert not [one for one in redis.keys("*") if b"{job}" in one]
    job.close()
