"""What may be wrong with a file of SQLite: its disk, a lock, its pages."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_mandelbot.job.repair import readable_rows
from scrapy_mandelbot.store.sqlite_file import may_pass, network_disk

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:1 / / rw,relatime - ext4 /dev/root rw
28 27 0:40 / /mnt/jobs rw,relatime shared:7 master:1 - nfs4 10.0.0.5:/jobs rw
29 28 254:2 / /mnt/jobs/local rw,relatime - xfs /dev/vdb rw
30 27 0:41 / /mnt/my\\040share rw,relatime - cifs //nas/share rw
31 27 0:42 / /home/me/bucket rw,relatime - fuse.s3fs s3fs rw
32 27 0:43 / /home/me/stick rw,relatime - fuse.ntfs-3g /dev/sdc1 rw
33 27 0:44 / /mnt/changed rw,relatime - ext4 /dev/vdc rw
34 27 0:45 / /mnt/changed rw,relatime - ceph mon:/ rw
half a line
"""


@pytest.mark.parametrize(
    ("path", "disk"),
    [
        ("/var/crawl/job", None),
        ("/mnt/jobs", "nfs4"),
        ("/mnt/jobs/shop/job", "nfs4"),
        ("/mnt/jobsite/job", None),
        ("/mnt/jobs/local/job", None),
        ("/mnt/my share/job", "cifs"),
        ("/home/me/bucket/job", "fuse.s3fs"),
        ("/home/me/stick/job", None),
        ("/mnt/changed/job", "ceph"),
    ],
)
def test_the_nearest_mount_decides(tmp_path, path, disk):
    """Of two at one place the later one is seen."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert network_disk(Path(path), mounts) == disk


def test_without_a_list_of_mounts_there_is_no_warning(tmp_path):
    """As on other systems than Linux."""
    assert network_disk(tmp_path, tmp_path / "none") is None


@pytest.mark.parametrize(
    ("error", "may"),
    [
        (sqlite3.OperationalError("database is locked"), True),
        (sqlite3.OperationalError("database or disk is full"), True),
        (sqlite3.OperationalError("no such table: copies"), False),
        (sqlite3.OperationalError("no such column: body"), False),
        (sqlite3.DatabaseError("database disk image is malformed"), False),
        (sqlite3.DatabaseError("file is not a database"), False),
    ],
)
def test_some_faults_pass_with_time_and_some_do_not(error, may):
    """What does not is not tried again and again."""
    assert may_pass(error) is may


def test_rows_behind_a_broken_page_are_read_once(tmp_path):
    """Those of the page itself are stepped over."""
    path = tmp_path / "broken.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TABLE rows (key INTEGER PRIMARY KEY, body BLOB)")
        database.executemany(
            "INSERT INTO rows VALUES (?, zeroblob(700))", ((n,) for n in range(99))
        )
        (size,) = database.execute("PRAGMA page_size").fetchone()
    octets = bytearray(path.read_bytes())
    octets[7 * size : 8 * size] = b"x" * size
    path.write_bytes(octets)
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT key, body FROM rows WHERE key >= ? ORDER BY key"
        keys = [key for key, _ in readable_rows(database, query)]
    assert keys == sorted(set(keys))
    assert keys[0] == 0
    assert keys[-1] == 98
    assert 80 < len(keys) < 99
