"""No site slows another down, whatever its robots.txt and its sitemap are. (clock.py)

Each attack of ``benchmarks/hostile.py`` is crawled beside a healthy site, in a process
whose time is that of calls: the figures are the same on any machine, and with any other
work on it.
"""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from crawling import LinksSpider, ensureDeferred
from crawling import crawl as crawl_here
from mandelbot import RobotsTxt
from mandelbot.robotstxt.decider import Decider
from mandelbot.robotstxt.index import DecidingRules
from webs import Answer, site

HOSTILE = Path(__file__).parents[2] / "benchmarks" / "hostile.py"
PAGES = 150
ALONE = "another healthy site"
LONG = 0.05  # seconds of a turn that no input decides about


class Beside(NamedTuple):
    """What a crawl of a healthy site was like."""

    gap: float
    """The longest time without a page, in seconds."""
    took: float
    pages: int
    turns: int
    """Of the loop, in the longest gap."""
    longest: float
    """Seconds of the longest turn."""


@cache
def crawl(name: str, package: str = "with") -> Beside:
    """Crawl a healthy site beside another one."""
    run = [sys.executable, HOSTILE, "attack", name, str(PAGES), package]
    gap, took, _, _, *counted = json.loads(subprocess.check_output(run))
    return Beside(gap, took, *counted)


def kinds() -> list[str]:
    """Return the hostile sites that the program knows."""
    program = HOSTILE.read_text("utf-8").partition("ATTACKS = {")[2]
    named = re.findall(r'^    "(.+)": ', program.partition("\n}\n")[0], re.MULTILINE)
    return [name for name in named if name != ALONE]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("512 KB of /*a*a*a*a*a, long URLs", marks=pytest.mark.slow),
        pytest.param("the same, URLs of 200 characters", marks=pytest.mark.thorough),
        pytest.param("512 KB of keys in each URL", marks=pytest.mark.slow),
        pytest.param("a sitemap of 6 MB", marks=pytest.mark.thorough),
        pytest.param("a sitemap of 50 MB", marks=pytest.mark.thorough),
        pytest.param("a sitemap of 50 MB, gzipped", marks=pytest.mark.slow),
        pytest.param("a sitemap of 20 MB of tags", marks=pytest.mark.slow),
        pytest.param("a sitemap of alternates, 10 MB", marks=pytest.mark.thorough),
    ],
)
def test_no_file_stops_another_site(name):
    found = crawl(name)
    alone = crawl(ALONE)
    assert found.pages == PAGES
    assert found.turns <= 1.2 * alone.turns
    assert found.gap <= 1.3 * alone.gap
    assert found.took <= 1.2 * alone.took


@pytest.mark.thorough
@pytest.mark.parametrize("name", kinds())
def test_no_kind_of_hostile_site_stops_another(name):
    """Its longest gap has 1.2 times the turns of the loop at the most.

    And none of these turns is long: what Scrapy does with headers and cookies takes as
    long without the package.
    """
    found = crawl(name)
    assert found.pages == PAGES
    assert found.turns <= 1.2 * crawl(ALONE).turns
    if found.longest > LONG:
        assert found.longest <= 1.2 * crawl(name, "without").longest


def test_there_are_thirty_kinds_of_hostile_sites():
    """Each is in the nightly run."""
    assert len(kinds()) >= 30


@ensureDeferred
async def test_a_large_file_says_in_steps_why_it_forbids(webs, monkeypatch):
    """A search of all of it for each forbidden page would hold up every other site."""
    prepared, built = [], []
    verdict, build = Decider.verdict, DecidingRules.build

    def noted_verdict(self, url):
        prepared.append(self.explaining() is None)
        return verdict(self, url)

    def noted_build(self, *arguments):
        built.append(self)
        return build(self, *arguments)

    monkeypatch.setattr(Decider, "verdict", noted_verdict)
    monkeypatch.setattr(DecidingRules, "build", noted_build)
    web = site(webs, 9)
    rules = b"".join(b"Disallow: /*a*%d\n" % number for number in range(2_500))
    web.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /page\n" + rules)
    result = await crawl_here(LinksSpider, start_urls=[web.url + "/"])
    assert prepared == [True] * 9
    assert len(built) == 1
    assert result.stats["robotstxt/forbidden"] == 9


def test_each_step_to_the_first_verdict_is_short():
    """Counted in calls of functions, as the time of such a step is theirs."""
    rules = b"".join(b"Disallow: /*a*%d\n" % number for number in range(20_000))
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /page\n" + rules)
    calls = [0]

    def count(_frame, event, _what):
        calls[-1] += event == "call"

    steps = robots.decider("Mandelbot").explaining()
    gc.disable()  # what other tests left would be finalized amid a step
    sys.setprofile(count)
    try:
        while next(steps, None) is not None:
            calls.append(0)
        verdict = robots.verdict("https://example.com/page", "Mandelbot")
    finally:
        sys.setprofile(None)
        gc.enable()
    assert str(verdict) == "forbidden by line 2: Disallow: /page (agent *)"
    assert len(calls) > 1_000
    assert max(calls) < 2_000
