"""``scrapy robots job``: what waits in a job, and why."""

from __future__ import annotations

import json
import os
import pickle
import re
import sqlite3
import time
from collections import Counter
from contextlib import closing

import pytest
from redis_server import NEEDS_REDIS
from scrapy import Request
from shared_jobs import Worker
from test_command_page import EVERY, fields_of, told_of

from scrapy_mandelbot.job.job_folder import JobFolder
from scrapy_mandelbot.job.job_lock import JobLock
from scrapy_mandelbot.job.job_store import Place, StorageError
from scrapy_mandelbot.job.requests import RequestForm
from scrapy_mandelbot.job.sqlite_job import SqliteJob
from scrapy_mandelbot.politeness.pause_policy import LeftPause
from scrapy_mandelbot.store.sqlite import SqliteStore

PLACE = Place(0, 0, is_last_first=True)


@pytest.fixture
def folder(tmp_path):
    """A job: six requests of two sites, one in flight, one of the sites paused."""
    folder = tmp_path / "job"
    folder.mkdir()
    job = SqliteJob(folder / "job.sqlite")
    for number in range(5):
        job.push("https://a.example", PLACE, b"%d" % number)
    job.push("https://b.example mine", PLACE, b"")
    job.states.put(
        "claimed", json.dumps([job.claim("https://a.example").number]).encode()
    )
    job.commit()
    job.close()
    store = SqliteStore(folder / "mandelbot.db")
    store.put_pause(
        "https://b.example", LeftPause(time.time() + 1000, "503 \x1b[2J", 9)
    )
    store.close()
    return folder


def test_a_name_of_a_line_that_is_no_text_is_damage(robots, folder):
    """One line says how to mend the file."""
    with closing(sqlite3.connect(folder / "job.sqlite")) as database:
        database.execute("UPDATE lines SET name = zeroblob(9)")
        database.commit()
    for export in ([], ["--export"]):
        run = robots("job", str(folder), *export)
        assert run.returncode == 2
        (line,) = run.stderr.decode().splitlines()
        assert line.endswith("which is damaged: the name of a line is no text")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["job.sqlite", "mandelbot.db"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(robots, folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    run = robots("job", str(folder))
    assert run.returncode == (2 if name == "job.sqlite" else 0)
    (line,) = run.stderr.decode().splitlines()
    assert line.endswith(f"{name} is not a regular file")


def test_waiting_requests_are_listed_by_site(robots, folder):
    """How much, what was in flight, and until when a site is paused; nothing raw."""
    run = robots("job", str(folder))
    assert run.returncode == 0, run.stderr
    first, _, head, a, b = run.stdout.decode().splitlines()
    assert first == "5 requests of 2 sites wait, 1 were in flight (no run has it)"
    assert head.split() == ["waiting", "in", "flight", "site", "why", "it", "waits"]
    assert a.split() == ["4", "1", "https://a.example"]
    assert b.split()[:4] == ["1", "0", "https://b.example", "paused"]
    assert "9 failed tries: 503" in b
    assert "\x1b" not in b


def with_budgets(folder):
    """Let the sites of the job have budgets: one reached, one not, one complete."""
    job = SqliteJob(folder / "job.sqlite")
    job.states.put("site/https://a.example", b"\n[1000, 52000, 61.5, true]")
    job.states.put("site/https://b.example", b"\n[3, 70, 1.0, false]")
    job.states.put("site/https://c.example", b"\n[12, 700, 5.0, false]")
    job.states.put("budget/https://d.example", b"no JSON")
    job.commit()
    job.close()


def test_sites_with_budgets_are_complete_or_not(robots, folder):
    """What has used its budget up says so; only the unfinished ones if asked."""
    with_budgets(folder)
    run = robots("job", str(folder))
    first, _, _, a, b, c = run.stdout.decode().splitlines()
    assert first.startswith("5 requests of 2 sites wait")
    assert a.endswith("budget reached after 1,000 pages, 52,000 bytes, 62 s")
    assert "paused until" in b
    assert c.split() == ["0", "0", "https://c.example"]

    run = robots("job", str(folder), "--only-unfinished")
    first, _, _, *rows = run.stdout.decode().splitlines()
    assert first.startswith("5 requests of 2 sites wait")
    assert [row.split()[2] for row in rows] == [
        "https://a.example",
        "https://b.example",
    ]


def test_the_states_of_sites_are_data(robots, folder):
    """For the script that starts the next stage."""
    with_budgets(folder)
    run = robots("job", str(folder), "--format", "json")
    sites = json.loads(run.stdout)["sites"]
    assert {one["site"]: one["state"] for one in sites} == {
        "https://a.example": "budget reached",
        "https://b.example": "paused",
        "https://c.example": "complete",
    }
    assert sites[0]["budget"] == {
        "pages": 1000,
        "bytes": 52_000,
        "seconds": 61.5,
        "reached": True,
    }


def test_sections_set_aside_and_sites_given_up_are_listed(robots, folder):
    """A section whose requests wait in a line of their own; a site whose probes have
    all failed.
    """
    job = SqliteJob(folder / "job.sqlite")
    for section in ("/shop/", "/shop/", "/x\x1b"):
        job.push(f"https://a.example a.example {section}", PLACE, b"")
    job.commit()
    job.close()
    store = SqliteStore(folder / "mandelbot.db")
    store.put_pause("https://b.example", LeftPause(time.time() - 1000, "503", 9))
    store.put_pause("https://c.example", LeftPause(time.time() - 1000, "503", 8))
    store.close()
    text = robots("job", str(folder)).stdout.decode()
    _, _, _, a, b = text.splitlines()
    assert "3 requests set aside: /shop/, /x" in a
    assert "given up after 9 failed tries, the next run tries again: 503" in b
    assert "c.example" not in text, "its pause is over, and nothing of it waits"
    assert "\x1b" not in text
    sites = json.loads(robots("job", str(folder), "--format", "json").stdout)["sites"]
    assert [one["given_up"] for one in sites] == [False, True]
    aside = [
        {"section": "/shop/", "waiting": 2, "until": None},
        {"section": "/x\x1b", "waiting": 1, "until": None},
    ]
    assert sites[0]["set_aside"] == aside


def test_pauses_that_only_the_job_stores_are_listed_and_ended(robots, folder):
    """Pauses, where the store is another one, and until when sections are set aside."""
    job = SqliteJob(folder / "job.sqlite")
    job.push("https://a.example a.example /shop/", PLACE, b"")
    later, before = time.time() + 1000, time.time() - 1000
    left = [[before, "503", 0], [later, "503", 1, "/shop/"], [before, "", 1, "/x/"]]
    job.states.put("site/https://a.example", json.dumps(left).encode())
    job.states.put("site/https://ab.example", json.dumps([[later, "429", 2]]).encode())
    job.commit()
    job.close()
    text = robots("job", str(folder)).stdout.decode()
    assert "1 request set aside: /shop/ until 20" in text
    assert "2 failed tries: 429" in text
    run = robots("job", str(folder), "requeue", "https://a.example")
    assert run.stdout == b"the next run requests https://a.example again\n"
    text = robots("job", str(folder)).stdout.decode()
    assert "until 20" in text.split("/shop/")[1]
    assert "/shop/ until" not in text
    run = robots("job", str(folder), "requeue")
    assert run.stdout.count(b"the next run requests") == 2
    assert b"paused" not in robots("job", str(folder)).stdout


def test_requeue_ends_pauses(robots, folder):
    """Of all sites or of one; without any, the exit code is 1."""
    assert robots("job", str(folder), "requeue", "https://c.example").returncode == 1
    run = robots("job", str(folder), "requeue", "https://b.example")
    assert run.stdout == b"the next run requests https://b.example again\n"
    report = json.loads(robots("job", str(folder), "--format", "json").stdout)
    assert [one["paused_until"] for one in report["sites"]] == [None, None]
    assert robots("job", str(folder), "requeue").returncode == 1


def test_a_missing_broken_or_running_job_is_one_line(robots, folder, tmp_path):
    """No job, a broken one, or one that a run has."""
    run = robots("job", str(tmp_path / "nowhere"))
    assert (run.returncode, b"there is no job" in run.stderr) == (2, True)
    lock = JobLock(folder / "job.lock")
    lock.take()
    assert b"(a run has it)" in robots("job", str(folder)).stdout
    run = robots("job", str(folder), "requeue")
    assert (run.returncode, b"a run has this job" in run.stderr) == (2, True)
    lock.release()
    (folder / "job.sqlite").write_bytes(b"\xff" * 5000)
    run = robots("job", str(folder))
    assert (run.returncode, b"not a database" in run.stderr) == (2, True)
    run = robots("job", str(folder), "empty")
    assert (run.returncode, b"usage: scrapy robots job" in run.stderr) == (2, True)


def test_a_run_that_begins_meanwhile_keeps_its_pauses(folder):
    """Requeue has the job to itself, or changes nothing of it."""
    job, lock = JobFolder(str(folder)), JobLock(folder / "job.lock")
    lock.take()
    with pytest.raises(StorageError, match="in use"):
        job.requeue("")
    lock.release()
    assert set(job.contents().pauses) == {"https://b.example"}
    assert job.requeue("") == ["https://b.example"]
    assert not job.contents().pauses


def damage(folder):
    """Overwrite the first page of the job's file."""
    path = folder / "job.sqlite"
    path.write_bytes(b"\xff" * 2048 + path.read_bytes()[2048:])


def test_a_damaged_file_is_repaired_on_request_alone(robots, tmp_path):
    """Each other use names the command; a second repair finds nothing to do."""
    folder = tmp_path / "my job"
    folder.mkdir()
    job = SqliteJob(folder / "job.sqlite")
    body = pickle.dumps({"url": "https://a.example/1"})
    job.push_new("https://a.example", PLACE, body, 7, None)
    job.commit()
    job.close()
    damage(folder)
    before = (folder / "job.sqlite").read_bytes()
    for what in ([], ["requeue"], ["add", "/dev/null"], ["--export"]):
        run = robots("job", "my job", *what)
        assert run.returncode == 2, what
        assert b"`scrapy robots job 'my job' repair`" in run.stderr, what
    assert (folder / "job.sqlite").read_bytes() == before
    run = robots("job", "my job", "repair")
    assert run.returncode == 0, run.stderr
    text = run.stdout.decode()
    assert "kept 1 waiting request and 1 fingerprint; how many" in text
    assert robots("job", "my job").stdout.startswith(b"1 request of 1 site wait")
    run = robots("job", "my job", "repair")
    assert run.stdout == b"my job is not damaged; nothing was changed\n"


@NEEDS_REDIS
def test_the_page_names_all_of_the_json(robots, folder, redis_server):
    """Every field, and no other."""
    worker = Worker(redis_server.url, name="shops")
    job = SqliteJob(folder / "job.sqlite")
    job.push("https://a.example a.example /shop/", PLACE, b"")
    job.states.put("site/https://a.example", b"\n[3, 70, 1.0, false]")
    job.see(7)
    job.commit()
    job.close()
    reports = [
        json.loads(robots("job", str(folder), *what, "--format", "json").stdout)
        for what in ([], ["requeue"], ["--export"], ["add", "/dev/null"])
    ]
    shared = f"{redis_server.url}#shops"
    reports.append(json.loads(robots("job", shared, "--format", "json").stdout))
    worker.leave()
    reports.append(
        json.loads(robots("job", shared, "forget", "--format", "json").stdout)
    )
    damage(folder)
    reports.append(
        json.loads(robots("job", str(folder), "repair", "--format", "json").stdout)
    )
    reports[2]["requests"] = []  # the page tells of these as of lines
    assert set().union(*map(fields_of, reports)) - EVERY == told_of("job")


@NEEDS_REDIS
def test_a_job_on_redis_is_reported_like_one_in_a_file(robots, redis_server):
    """By address and name; a missing name, an unknown job and an unreachable server are
    errors.
    """
    worker = Worker(redis_server.url, name="shops")
    for number in range(3):
        worker.push("https://a.example", PLACE, b"%d" % number)
    worker.push("https://b.example", PLACE, b"")
    worker.exchange(take=1)
    run = robots("job", f"{redis_server.url}#shops")
    assert run.returncode == 0, run.stderr
    first, _, _, a, b, its = run.stdout.decode().splitlines()
    assert first == "1 request of 2 sites wait, 3 are in flight (a run has it)"
    assert a.split() == ["0", "3", "https://a.example"]
    assert b.split() == ["1", "0", "https://b.example"]
    assert its.startswith("worker 1: 1 site, its lease ends in ")
    told = json.loads(
        robots("job", f"{redis_server.url}#shops", "--format", "json").stdout
    )
    ((one,),) = [told["workers"]]
    assert (one["worker"], one["sites"]) == (worker.worker, 1)
    worker.rest("https://a.example", b'[[9e9, "503", 2]]', "1000")
    worker.refuse(worker.claim("https://a.example").number, "no such method")
    worker.exchange()
    told = json.loads(
        robots("job", f"{redis_server.url}#shops", "--format", "json").stdout
    )
    assert told["set_aside"] == {"no such method": 1}
    assert [one["reason"] for one in told["sites"]] == ["503", None]
    run = robots("job", f"{redis_server.url}#shops", "requeue", "https://a.example")
    assert run.stdout == b"the next run requests https://a.example again\n"
    assert robots("job", f"{redis_server.url}#shops", "requeue").returncode == 1
    worker.close()
    run = robots("job", f"{redis_server.url}#other")
    assert (run.returncode, b"there is no job 'other' there" in run.stderr) == (2, True)
    assert b"redis://" in robots("job", redis_server.url).stderr
    assert robots("job", "redis://127.0.0.1:1/0#shops").returncode == 2


@NEEDS_REDIS
def test_a_damaged_request_is_not_exported(robots, tmp_path):
    """A flipped bit would name another host."""
    job = SqliteJob(tmp_path / "job.sqlite")
    job.push(
        "https://a.example",
        PLACE,
        RequestForm(None).write(Request("https://a.example/1")),
    )
    job.commit()
    job.close()
    with closing(
        sqlite3.connect(tmp_path / "job.sqlite", isolation_level=None)
    ) as database:
        (body,) = database.execute("SELECT body FROM requests").fetchone()
        flipped = body.replace(b"a.example", b"c.example")
        database.execute("UPDATE requests SET body = ?", (flipped,))
    run = robots("job", str(tmp_path), "--export")
    assert (run.returncode, run.stdout) == (1, b"")
    assert b"1 request cannot be read" in run.stderr


def test_requests_are_exported_as_json_lines(robots, tmp_path, redis_server):
    """From a file and from Redis; no code in them runs, and unreadable ones are
    counted.
    """
    page = Request(
        "https://a.example/1", priority=3, meta={"depth": 2, "seen": Counter()}
    )
    bodies = [RequestForm(None).write(page), b"no pickle"]
    file, worker = (
        SqliteJob(tmp_path / "job.sqlite"),
        Worker(redis_server.url, name="shops"),
    )
    for job in (file, worker):
        for body in bodies:
            job.push("https://a.example", PLACE, body)
    file.commit()
    file.close()
    worker.exchange()
    worker.leave()
    for where in (str(tmp_path), f"{redis_server.url}#shops"):
        run = robots("job", where, "--export")
        assert (run.returncode, b"1 request cannot be read" in run.stderr) == (1, True)
        assert json.loads(run.stdout) == {
            "site": "https://a.example",
            "url": "https://a.example/1",
            "method": "GET",
            "priority": 3,
            "callback": None,
            "depth": 2,
        }
        assert robots("job", where, "requeue", "--export").returncode == 2


@pytest.mark.parametrize("field", ["url", "method", "callback"])
def test_a_strangers_request_does_not_grow_at_its_export(robots, tmp_path, field):
    """A list of lists of one list is a few octets, and its text without end: strings
    only.
    """
    growing: list = ["x"]
    for _ in range(20):
        growing = [growing, growing]
    body = pickle.dumps({"url": "https://a.example/", field: growing})
    assert len(body) < 300
    with closing(SqliteJob(tmp_path / "job.sqlite")) as job:
        job.push("https://a.example", PLACE, body)
        job.commit()
    run = robots("job", str(tmp_path), "--export")
    assert (run.returncode, run.stdout) == (1, b"")
    assert b"1 request cannot be read" in run.stderr


BAD = """https://a.example/1
ftp://a.example/2
{"url": "https://b.example/3", "method": "POST", "priority": 5, "callback": "page", \
"depth": 2}

{"url": ["https://b.example/4"]}
{not JSON}
{"url": "https://b.example/5", "depth": "deep"}
https://[a.example/6\x1b
nothing
https://a.example/1
{"site": "https://b.example", "url": "https://b.example/7"}
"""


@pytest.fixture(params=["file", pytest.param("redis", marks=NEEDS_REDIS)])
def empty(request, tmp_path):
    """A job without requests, where nobody runs it."""
    if request.param == "file":
        SqliteJob(tmp_path / "job.sqlite").close()
        return str(tmp_path)
    server = request.getfixturevalue("redis_server")
    Worker(server.url, name="shops").leave()
    return f"{server.url}#shops"


def test_requests_are_added_to_a_job(robots, empty, tmp_path):
    """Of each line that has one, once; the others are named, and nothing is raised."""
    (tmp_path / "urls").write_text(BAD)
    run = robots("job", empty, "add", "urls")
    assert (run.returncode, run.stdout) == (1, b"3 requests added\n"), run.stderr
    assert re.findall(rb"line (\d+): ", run.stderr) == [
        b"2",
        b"5",
        b"6",
        b"7",
        b"8",
        b"9",
    ]
    assert b"\x1b" not in run.stderr
    exported = robots("job", empty, "--export").stdout
    requests = sorted(
        map(json.loads, exported.splitlines()), key=lambda one: one["url"]
    )
    plain = {"method": "GET", "priority": 0, "callback": None, "depth": 0}
    told = {"method": "POST", "priority": 5, "callback": "page", "depth": 2}
    a, b = "https://a.example", "https://b.example"
    assert requests == [
        {"site": a, "url": f"{a}/1", **plain},
        {"site": b, "url": f"{b}/3", **told},
        {"site": b, "url": f"{b}/7", **plain},
    ]
    (tmp_path / "urls").write_bytes(exported)
    run = robots("job", empty, "add", "urls", "--format", "json")
    assert (run.returncode, json.loads(run.stdout)["added"]) == (
        0,
        0,
    ), "it has seen them"
    (tmp_path / "urls").write_text(
        "".join(f"{a}/{number}\n" for number in range(1_200))
    )
    assert robots("job", empty, "add", "urls").stdout == b"1,199 requests added\n"


CLASSES = """
from urllib.parse import urlsplit

class OfPath:
    def fingerprint(self, request):
        return urlsplit(request.url).path.encode()

class OfFew(OfPath):
    def fingerprint(self, request):
        return {"b": b"b", "": b""}[urlsplit(request.url).query]

class OfSpider(OfPath):
    @classmethod
    def from_crawler(cls, crawler):
        crawler.spider.name
        return cls()

class AddOn:
    def update_settings(self, settings):
        settings.set("REQUEST_FINGERPRINTER_CLASS", "project.classes.OfPath", "addon")
"""


@pytest.mark.parametrize(
    ("line", "added", "said"),
    [
        ("", 2, b""),
        ("REQUEST_FINGERPRINTER_CLASS = 'project.classes.OfPath'", 1, b""),
        ("ADDONS['project.classes.AddOn'] = 0", 1, b""),
        (
            "REQUEST_FINGERPRINTER_CLASS = 'project.classes.OfSpider'",
            2,
            b"has no attribute 'name'",
        ),
        ("REQUEST_FINGERPRINTER_CLASS = 'project.classes.OfFew'", 1, b"line 1: 'a'"),
        (
            "REQUEST_FINGERPRINTER_CLASS = 'project.Missing'",
            2,
            b"NameError: Module 'project'",
        ),
    ],
)
def test_requests_are_added_as_the_project_tells_them_apart(
    robots, project, line, added, said
):
    """By its fingerprinter, where no spider is needed for it; else a line says so."""
    tmp_path = project.parents[1]
    SqliteJob(tmp_path / "job.sqlite").close()
    project.with_name("classes.py").write_text(CLASSES)
    project.write_text(f"{project.read_text()}{line}\n")
    (tmp_path / "urls").write_text("https://a.example/1?a\nhttps://a.example/1?b\n")
    run = robots("job", ".", "add", "urls", "--format", "json")
    assert (run.returncode, json.loads(run.stdout)["added"]) == (
        bool(said),
        added,
    ), run.stderr
    assert run.stderr.count(b"\n") == bool(said)
    assert said in run.stderr


def test_what_is_wrong_with_requests_to_add_is_one_line(robots, folder, tmp_path):
    """No file, a file that is none, and a job that a run has."""
    run = robots("job", str(folder), "add")
    assert (run.returncode, b"add takes a FILE" in run.stderr) == (2, True)
    run = robots("job", str(folder), "add", "nothing")
    assert (run.returncode, run.stderr.count(b"\n")) == (2, 1)
    (tmp_path / "urls").write_bytes(b"\xff\x00" * 200 + b"\n" + b"x\n" * 60)
    run = robots("job", str(folder), "add", "urls")
    assert (run.returncode, run.stdout) == (1, b"0 requests added\n")
    assert run.stderr.count(b": no request with an http or https URL") == 61
    lock = JobLock(folder / "job.lock")
    lock.take()
    run = robots("job", str(folder), "add", "urls")
    assert (run.returncode, b"is in use by process" in run.stderr) == (2, True)
    lock.release()


@NEEDS_REDIS
def test_a_job_on_redis_is_forgotten(robots, folder, redis_server):
    """Not while a worker has it; a job in a file is a folder."""
    worker = Worker(redis_server.url, name="shops")
    run = robots("job", f"{redis_server.url}#shops", "forget")
    assert (run.returncode, b"a worker has this job" in run.stderr) == (2, True)
    worker.leave()
    assert robots("job", f"{redis_server.url}#shops", "forget").returncode == 0
    assert b"there is no job" in robots("job", f"{redis_server.url}#shops").stderr
    run = robots("job", str(folder), "forget")
    assert (run.returncode, b"delete its folder" in run.stderr) == (2, True)


def test_a_byte_order_mark_before_the_first_line_is_skipped(robots, empty, tmp_path):
    """As editors on Windows write it."""
    (tmp_path / "urls").write_bytes(b"\xef\xbb\xbfhttps://a.example/\n")
    run = robots("job", empty, "add", "urls")
    assert (run.returncode, run.stdout) == (0, b"1 request added\n"), run.stderr


def test_lost_requests_are_added_though_the_job_has_seen_them(robots, empty, tmp_path):
    """Each once for each time that its file is added; a link to them is filtered."""
    url = "https://a.example/1"
    lost = {"url": url, "method": "GET", "end": "no_answer", "reason": "timed out"}
    (tmp_path / "seen").write_text(f"{url}\n")
    many = [json.dumps({**lost, "url": f"{url}/{number}"}) for number in range(499)]
    (tmp_path / "lost").write_text("\n".join([*many, *2 * [json.dumps(lost)]]))
    for _ in range(2):
        run = robots("job", empty, "add", "lost")
        assert run.stdout == b"500 requests added\n", run.stderr
    assert robots("job", empty, "add", "seen").stdout == b"0 requests added\n"
    exported = robots("job", empty, "--export").stdout.splitlines()
    assert [json.loads(one)["url"] for one in exported].count(url) == 2
    assert len(exported) == 1_000


def test_a_job_in_a_folder_has_no_report_of_workers(robots, empty):
    """The line names the setting that makes one; a job without workers has none."""
    run = robots("job", empty, "--report")
    if empty.startswith("redis"):
        assert (run.returncode, b"has left a report" in run.stderr) == (1, True)
    else:
        assert (run.returncode, b"MANDELBOT_REPORT" in run.stderr) == (2, True)
