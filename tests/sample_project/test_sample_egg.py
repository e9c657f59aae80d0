"""The sample project as scrapyd runs it: from an egg, which nobody unpacks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "sample_project"


@pytest.mark.slow
def test_an_egg_of_the_sample_project_has_all_that_it_reads(tmp_path):
    """The robots.txt files of its demo web are data of a package."""
    folder = tmp_path / "project"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns(".scrapy"))
    setup = [sys.executable, "setup.py", "-q", "bdist_egg"]
    subprocess.run(setup, cwd=folder, check=True, capture_output=True)
    (egg,) = (folder / "dist").glob("*.egg")
    code = (
        "from sample_project.demoweb.sites import demo_sites\n"
        "print(len(demo_sites(1)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(egg)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "3\n"
