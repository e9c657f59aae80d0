"""The sample project's workers, which share a job on Redis."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from redis_server import NEEDS_REDIS

PROJECT = Path(__file__).parents[2] / "sample_project"


@NEEDS_REDIS
@pytest.mark.slow
def test_three_workers_crawl_each_page_once(tmp_path):
    """And ask for each robots.txt once each at most, with one probe a pause, at the
    pace of the slow site.
    """
    project = tmp_path / "sample_project"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("*.log", ".scrapy"))
    command = [sys.executable, "-m", "scrapy", "distributed"]
    run = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False, timeout=200
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "All of it is as it should be." in run.stdout
    assert "each once: 106 of 106" in run.stdout
