"""The crawls that ``benchmarks/instructions.py`` counts: repeatable, and of all their
pages.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


CRAWLS = (
    *["package,page,20,code"] * 2,
    *("stock,site,5", "package,site,5"),
    *("measured,site,5,calls", "measured,site,25,calls"),
    *("package,site,5,calls", "package,site,25,calls"),
    "package,refusal,1,trace",
    *("package,queue,10,queue", "package,queue,3000,queue"),
)


def crawl(*crawls):
    """Crawl without a network in a new process; return what each crawl counted."""
    command = [sys.executable, "without_network.py", *crawls]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    run = subprocess.run(
        command,
        cwd=BENCHMARKS,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.fixture(scope="module")
def counted():
    """Make all crawls in forks of one process; return what each counted, by name."""
    counts = {}
    for name, one in zip(CRAWLS, crawl(*CRAWLS), strict=True):
        counts.setdefault(name, []).append(one)
    return counts


def test_a_page_costs_the_same_calls_and_bytecodes_each_time(counted):
    """Not one more: gates hold the figures exactly."""
    one, other = counted["package,page,20,code"]
    (again,) = crawl("package,page,20,code")
    assert sum(one[0].values()) > 20
    assert sum(one[1].values()) > 20 * sum(one[0].values())
    assert one == other == again


def test_a_crawl_of_sites_takes_all_their_pages(counted):
    """Stock and package, three pages each of five sites: the program fails if it had
    others.
    """
    assert len(counted["stock,site,5"] + counted["package,site,5"]) == 2


def test_a_site_of_three_pages_costs_no_call_more_where_requests_at_once_are_measured(
    counted,
):
    """And no byte: no object of the limit is made."""
    few, many, fixed_few, fixed_many = (
        functions for ((functions, _),) in map(counted.get, CRAWLS[4:8])
    )
    calls = sum(many.values()) - sum(few.values())
    assert calls > 20 * 200
    assert calls == sum(fixed_many.values()) - sum(fixed_few.values())
    assert not any("_limit:" in name for name in many)


def test_the_way_of_a_503_ends_at_the_scheduler(counted):
    """It is followed from the download handler to the queue, and no further."""
    (traced,) = counted["package,refusal,1,trace"]
    functions = [name for name, _ in traced]
    # Python 3.10 does not tell of which class a method is.
    functions = [name.replace(":SiteQueue.", ":") for name in functions]
    assert functions.count("scheduling.site_queue:push") == 1
    assert "scheduling.site_queue:pop" not in functions


def test_pushes_and_pops_take_the_same_bytecodes_among_many_sites(counted):
    """Each of the last ten sites to come, and the first ten to go: what it calls counts
    too.
    """
    (few,), (many,) = (counted[f"package,queue,{sites},queue"] for sites in (10, 3000))
    assert len(few["pop"]) >= 400
    assert few["push"][1:20] == many["push"][1:20]  # the first of all loads something
    assert few["pop"][1] > 300
    assert many["pop"][1] < 1.05 * few["pop"][1]
