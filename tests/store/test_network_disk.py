"""Disks of the network are recognised, where the system lists what is mounted."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_mandelbot.store.sqlite_file import network_disk

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
def test_the_mount_that_is_nearest_says_what_it_is(tmp_path, path, disk):
    """Of two at one place the later one is seen."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert network_disk(Path(path), mounts) == disk


def test_where_nothing_is_listed_nothing_is_told(tmp_path):
    """As on other systems than Linux."""
    assert network_disk(tmp_path, tmp_path / "none") is None
