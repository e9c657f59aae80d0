"""No site slows another down, whatever its robots.txt and its sitemap are. (clock.py)

Each attack of ``benchmarks/hostile.py`` is crawled beside a healthy site, in a process whose time
is that of calls: the figures are the same on any machine, and with any other work on it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HOSTILE = Path(__file__).parents[2] / "benchmarks" / "hostile.py"
PAGES = 150


@cache
def crawl(name: str) -> tuple[float, float, int]:
    """Return the longest gap of the healthy site, when it ends, and how many pages came of it."""
    run = [sys.executable, HOSTILE, "attack", name, str(PAGES)]
    gap, took, _, _, pages = json.loads(subprocess.check_output(run))
    return gap, took, pages


@pytest.mark.parametrize(
    "name",
    [
        "512 KB of /*a*a*a*a*a, long URLs",
        pytest.param("the same, URLs of 200 characters", marks=pytest.mark.thorough),
        pytest.param("512 KB of keys in each URL", marks=pytest.mark.slow),
        "a sitemap of 6 MB",
        pytest.param("a sitemap of 50 MB", marks=pytest.mark.thorough),
        pytest.param("a sitemap of 50 MB, gzipped", marks=pytest.mark.slow),
        pytest.param("a sitemap of 20 MB of tags", marks=pytest.mark.slow),
        pytest.param("a sitemap of alternates, 10 MB", marks=pytest.mark.thorough),
    ],
)
def test_no_file_stops_another_site(name):
    gap, took, pages = crawl(name)
    alone_gap, alone, _ = crawl("another healthy site")
    assert pages == PAGES
    assert gap <= 1.3 * alone_gap
    assert took <= 1.2 * alone
