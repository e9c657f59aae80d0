"""Workers of a job that are killed and stopped: the short form of a benchmark."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from redis_server import NEEDS_REDIS

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "redis_workers.py"


def printed(*arguments: str) -> str:
    """Return what the benchmark prints if all that it promises holds."""
    command = [sys.executable, BENCHMARK, *arguments]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@NEEDS_REDIS
@pytest.mark.slow
def test_workers_that_die_lose_nothing():
    """One is killed and another stopped past its lease: each page is crawled, no gap is
    short.
    """
    assert "pages lost 0" in printed("brief", "3", "200", "10", "2", "2")


@NEEDS_REDIS
@pytest.mark.slow
def test_a_worker_killed_while_it_holds_sites_leaves_them_to_another():
    """Each of its sites gets another owner, each page is crawled, and no more comes
    twice than was in flight there.
    """
    out = printed("lease", "2", "400", "20", "1", "2")
    held = re.search(r"it held (\d+) sites, (\d+) requests in flight", out)
    twice = re.search(r"pages lost 0, callbacks ended twice (\d+)", out)
    assert int(held[1]) > 0
    assert int(twice[1]) <= int(held[2])
    assert re.search(r"had the first after .* s, the last after", out)
