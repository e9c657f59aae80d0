"""Crawls that are killed in a process of their own, and go on: the short form of a
benchmark.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "job_kill.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "pages", "kills"),
    [("kill", 200, 2), ("pause", 100, 1), ("sitemap", 100, 1)],
)
def test_a_killed_crawl_loses_nothing(what, pages, kills):
    """Every callback runs to its end and every item is there; twice is what was in
    flight.

    The account of the run that goes on closes: the benchmark fails if its sum is
    another.
    """
    command = [sys.executable, BENCHMARK, what, str(pages), "20", str(kills)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "pages lost 0, items lost 0" in run.stdout
    assert "account of the last run: " in run.stdout
