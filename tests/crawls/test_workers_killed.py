"""Workers of a job that are killed and stopped: the short form of a benchmark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from redis_server import NEEDS_REDIS

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "redis_workers.py"


@NEEDS_REDIS
@pytest.mark.slow
def test_workers_that_die_lose_nothing():
    """One is killed and another stopped past its lease: each page is crawled, no gap is
    short.
    """
    command = [sys.executable, BENCHMARK, "brief", "3", "200", "10", "2", "2"]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "pages lost 0" in run.stdout
