"""The crawls that ``benchmarks/instructions.py`` counts: repeatable, and of all their pages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def crawl(*arguments):
    """Crawl without a network in a process of its own; return what it counted."""
    command = [sys.executable, "without_network.py", *map(str, arguments)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    run = subprocess.run(
        command, cwd=BENCHMARKS, env=environment, capture_output=True, text=True, check=True
    )
    assert not run.stderr
    return json.loads(run.stdout or "null")


def test_a_page_costs_the_same_calls_each_time():
    """Two crawls call as many functions of ours, but for what the engine asks as time passes."""
    one, other = (sum(crawl("package", "page", 20, "calls").values()) for _ in range(2))
    assert one > 20
    assert abs(one - other) <= 0.05 * one


def test_a_crawl_of_sites_takes_all_their_pages():
    """Stock and package, three pages each of five sites: the program fails if it had others."""
    assert crawl("stock", "site", 5) is None
    assert crawl("package", "site", 5) is None


def test_the_way_of_a_503_ends_at_the_scheduler():
    """It is followed from the download handler to the queue, and no further."""
    functions = [name for name, _ in crawl("package", "refusal", 1, "trace")]
    # Python 3.10 does not tell of which class a method is.
    functions = [name.replace(":SiteQueue.", ":") for name in functions]
    assert functions.count("scheduling.site_queue:push") == 1
    assert "scheduling.site_queue:pop" not in functions
