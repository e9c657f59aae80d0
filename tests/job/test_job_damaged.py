"""A damaged file of a job: what can be read of it is kept as it was."""

from __future__ import annotations

import pickle
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_mandelbot.job.job_file import CorruptError
from scrapy_mandelbot.job.job_lock import JobLock
from scrapy_mandelbot.job.job_store import JOB_FILE as FILE
from scrapy_mandelbot.job.job_store import Place, StorageError
from scrapy_mandelbot.job.opening import open_job
from scrapy_mandelbot.job.repair import repair
from scrapy_mandelbot.job.sqlite_job import CLEAN, SqliteJob

PAGES, SITES, SEEN = 600, 12, 900
PLACE = Place(0, 0, is_last_first=False)


def url_of(n: int) -> str:
    return f"https://site{n % SITES}.example/page/{n}"


def body_of(n: int) -> bytes:
    return pickle.dumps(
        {"url": url_of(n), "meta": {"depth": 1, "text": "x" * (n % 200)}}
    )


@pytest.fixture(scope="module")
def left(tmp_path_factory) -> Path:
    """What a kill leaves: a file, and its last commits in a log beside it."""
    folder = tmp_path_factory.mktemp("left")
    job = SqliteJob(folder / "first.sqlite")
    for n in range(PAGES):
        site = f"https://site{n % SITES}.example"
        job.push_new(site, PLACE, body_of(n), n * 1_000_003, None)
        job.push_child(site, PLACE, body_of(PAGES + n), n, 0)
        if n == PAGES // 2:
            job.commit()
            job.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for n in range(PAGES, SEEN):
        job.see(n * 1_000_003)
    for number in [job.claim("https://site0.example").number for _ in range(40)]:
        job.acknowledge(number)
    job.states.put("feeds", b"{}")
    job.states.put("site/https://site3.example", b"paused")
    job.commit()
    for suffix in ("", "-wal"):
        shutil.copy(folder / f"first.sqlite{suffix}", folder / f"{FILE}{suffix}")
    job.close()
    return folder


@pytest.fixture
def damaged(left, tmp_path):
    """Return a copy in which something was done to the octets of the file, or of its
    log.
    """

    def damage(change, suffix: str = "") -> Path:
        for part in ("", "-wal"):
            shutil.copy(left / f"{FILE}{part}", tmp_path / f"{FILE}{part}")
        path = tmp_path / f"{FILE}{suffix}"
        octets = bytearray(path.read_bytes())
        change(octets)
        path.write_bytes(bytes(octets))
        return tmp_path

    return damage


def read_all(folder: Path) -> tuple[dict[int, bytes], set[str]]:
    """Return the bodies by number that a run is given, and the lines that they come
    from, once the file was repaired if it has to be.
    """
    repair(folder)
    job = open_job(folder)
    bodies, lines = {}, set()
    for line in list(job.lengths()):
        while (kept := job.claim(line)) is not None:
            bodies[kept.number] = kept.body
            lines.add(line)
    job.close()
    return bodies, lines


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("seed", range(14))
def test_ten_flipped_bits_cost_few_requests(damaged, seed, suffix):
    """Nothing raises, no request is a wrong one, and few are missing."""
    chance = random.Random(f"{seed}{suffix}")

    def flip(octets):
        for _ in range(10):
            octets[chance.randrange(len(octets))] ^= 1 << chance.randrange(8)

    bodies, lines = read_all(damaged(flip, suffix))
    known = {body_of(n) for n in range(2 * PAGES)}
    whole = [body for body in bodies.values() if body]
    assert {*whole} <= known
    assert lines <= {f"https://site{n}.example" for n in range(SITES)}
    if suffix == "":
        assert len(whole) >= 0.98 * (2 * PAGES - 40)
    # commits behind the first octet that flipped are as if they had not been made
    else:
        assert len(whole) >= PAGES


def test_a_lost_first_page_loses_no_request(damaged):
    """It says where the tables begin, and they begin at the same pages in each file."""

    def overwrite(octets):
        octets[:2048] = b"\xff" * 2048

    folder = damaged(overwrite)
    Path(folder / f"{FILE}-wal").unlink()
    found = repair(folder)
    bodies, lines = read_all(folder)
    assert len(bodies) == found.requests == PAGES + 2
    assert found.lost is None, "nobody knows"
    assert len(lines) == SITES
    assert {one.name for one in folder.glob("job.*")} == {
        FILE,
        "job.lock",
        found.aside.name,
    }


def test_a_file_cut_in_half_does_not_claim_that_no_request_is_lost(damaged):
    """The index that would say which requests there were is gone, too: 0 would be
    wrong.
    """
    folder = damaged(lambda octets: octets.__delitem__(slice(len(octets) // 2, None)))
    Path(folder / f"{FILE}-wal").unlink()
    found = repair(folder)
    assert found.requests < PAGES
    assert found.lost != 0


def test_fingerprints_without_requests_are_salvaged(tmp_path):
    """A finished job has no more; the run that goes on with them is told that the last
    one died.
    """
    job = SqliteJob(tmp_path / FILE)
    for n in range(10):
        job.see(n)
    job.states.put(CLEAN, b"1")
    job.states.put("feeds", b"{}")
    job.commit()
    job.close()
    octets = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(b"\xff" * 2048 + octets[2048:])
    assert repair(tmp_path).fingerprints == 10
    job = open_job(tmp_path)
    assert all(map(job.has_seen, range(10)))
    assert (job.states.get(CLEAN), job.states.get("feeds")) == (None, b"{}")
    job.close()


def test_a_broken_page_costs_only_its_own_requests(damaged):
    """The number of those that are lost is told; fingerprints, children and state are
    kept.
    """

    def overwrite(octets):
        at = octets.index(body_of(100)) // 2048 * 2048
        octets[at : at + 2048] = b"\xff" * 2048

    folder = damaged(overwrite)
    (folder / f"{FILE}-wal").unlink()
    found = repair(folder)
    job = open_job(folder)
    lost = PAGES + 2 - sum(job.lengths().values())
    assert 1 <= lost <= 16
    assert found.lost == lost
    assert all(job.has_seen(n * 1_000_003) for n in range(PAGES // 2))
    assert len(list(job.children_left(0))) == PAGES // 2 + 1
    job.close()


@pytest.fixture
def broken(damaged):
    """Make a damaged file, whose first page is gone and which has no log."""

    def overwrite(octets):
        octets[:2048] = b"\xff" * 2048

    def make() -> Path:
        folder = damaged(overwrite)
        (folder / f"{FILE}-wal").unlink()
        return folder

    return make


def test_only_a_repair_changes_a_damaged_file(broken):
    """A run finds the damage, and leaves all files as they are, however often."""
    folder = broken()
    before = {one.name: one.read_bytes() for one in folder.glob("job.sqlite*")}
    for _ in range(2):
        with pytest.raises(CorruptError):
            open_job(folder)
    assert {one.name: one.read_bytes() for one in folder.glob("job.sqlite*")} == before
    repair(folder)
    open_job(folder).close()


def test_a_whole_file_is_not_repaired(damaged):
    """And a second repair finds nothing to do."""
    folder = damaged(lambda _: None)
    assert repair(folder) is None
    assert len(read_all(folder)[0]) == 2 * PAGES - 40
    assert repair(folder) is None
    assert not list(folder.glob("*.damaged-*"))


def test_a_repair_that_was_killed_is_done_again(broken, monkeypatch):
    """At each of its last steps, at which the files get their names."""
    whole = repair(broken()).requests
    rename = Path.rename
    for steps in range(2):
        folder = broken()
        left = [None] * steps

        def dies(path, to, left=left):
            if not left:
                raise KeyboardInterrupt
            left.pop()
            return rename(path, to)

        monkeypatch.setattr(Path, "rename", dies)
        with pytest.raises(KeyboardInterrupt):
            repair(folder)
        monkeypatch.setattr(Path, "rename", rename)
        with pytest.raises(CorruptError):
            open_job(folder)
        assert repair(folder) is not None
        job = open_job(folder)
        assert sum(job.lengths().values()) == whole
        job.close()
        for one in folder.iterdir():
            one.unlink()


def test_a_file_of_which_nothing_can_be_read_stays(tmp_path):
    """No run begins anew in its place: to delete it is for a person."""
    (tmp_path / FILE).write_bytes(b"\xff" * 9000)
    for _ in range(2):
        with pytest.raises(StorageError, match="nothing can be read of"):
            repair(tmp_path)
        with pytest.raises(CorruptError):
            open_job(tmp_path)
    assert (tmp_path / FILE).read_bytes() == b"\xff" * 9000
    assert {one.name for one in tmp_path.iterdir()} == {FILE, "job.lock"}


def test_a_job_in_use_is_not_repaired(broken):
    """A run has it, and may be writing."""
    folder = broken()
    lock = JobLock(folder / "job.lock")
    lock.take()
    with pytest.raises(StorageError, match="in use"):
        repair(folder)
    lock.release()
    assert repair(folder) is not None


def test_a_damaged_state_is_not_returned(tmp_path):
    """Where feeds were cut at it, they would be cut at the wrong place."""
    job = SqliteJob(tmp_path / FILE)
    job.states.put("feeds", b'{"items": 812}')
    job.states.put("site/a", b"1")
    job.commit()
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as database:
        database.execute("UPDATE state SET value = CAST('{\"items\": 112}' AS BLOB)")
    assert job.states.get("feeds") is None
    assert job.states.with_prefix("site/") == {}
    job.close()
