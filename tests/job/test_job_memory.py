"""What a job in a file takes of memory: its sites, not its requests."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from scrapy_mandelbot.job.job_store import Place
from scrapy_mandelbot.job.sqlite_job import SqliteJob

pytestmark = pytest.mark.usefixtures("little_to_collect")

SITES = 2_000
PLACE = Place(0, 0, is_last_first=False)


def bytes_of(path, requests_a_site: int) -> float:
    """Return the bytes that a job takes for each of its sites when it is opened."""
    job = SqliteJob(path)
    for number in range(SITES):
        for request in range(requests_a_site):
            job.push(f"https://www.site{number}.example", PLACE, b"x" * 190 * request)
    job.commit()
    job.close()
    gc.collect()
    tracemalloc.start()
    try:
        job = SqliteJob(path)
        lengths = job.lengths()  # the queue has its own
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(lengths) == SITES
    job.close()
    return taken / SITES


def test_a_site_of_a_job_takes_at_most_400_bytes_of_memory(tmp_path):
    """However many requests of it wait."""
    few = bytes_of(tmp_path / "few.sqlite", 1)
    many = bytes_of(tmp_path / "many.sqlite", 5)
    assert few < 400
    assert many < few + 40
