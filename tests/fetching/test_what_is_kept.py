"""What is kept of the sites of a crawl, however many there are and however long their
names.
"""

from __future__ import annotations

import gc
import operator
import shlex
import time
import tracemalloc

import pytest
from crawlers import get_crawler
from crawling import SETTINGS, ensureDeferred
from mandelbot import RobotsTxt
from mandelbot.answers.outcome import Answer
from scrapy import Request

from scrapy_mandelbot.clock import Clock
from scrapy_mandelbot.events.emitter import Events
from scrapy_mandelbot.fetching.fetcher import (
    _KNOWN_LIMIT,
    _KNOWN_SIZE,
    MOST_CITED,
    RobotsFetcher,
    cited_sitemaps,
)
from scrapy_mandelbot.fetching.requesting import (
    _TROUBLES_LIMIT,
    FetchedFile,
    RobotsRequester,
)
from scrapy_mandelbot.settings.config import Config
from scrapy_mandelbot.store import CachedRobots
from scrapy_mandelbot.store.memory import MemoryStore

pytestmark = pytest.mark.usefixtures("little_to_collect")

SITE = "https://example.com"


def names():
    """Yield the names of many sites; together they take 100 MB."""
    for length in (1, 5_000):
        for number in range(20_000):
            yield f"https://{number}.{'a' * length}"


@pytest.fixture
def crawler():
    return get_crawler(
        settings_dict={"ROBOTSTXT_PARSER": "scrapy_mandelbot.MandelbotRobotParser"}
    )


def test_the_sites_that_fail_are_bounded(crawler):
    """How often a site has answered so is known of those that answered last."""
    config = Config.from_settings(crawler.settings)
    requester = RobotsRequester(
        crawler, config, lambda: 0.0, MemoryStore(), Events(crawler)
    )
    count = requester.count_trouble
    for name in names():
        count(name, FetchedFile(Answer(500), name))
    assert count(name, FetchedFile(Answer(500), "")).times == 2
    assert count(next(names()), FetchedFile(Answer(500), "")).times == 1
    assert requester.troubles.size <= _TROUBLES_LIMIT


def parsed(crawler, body: bytes, sites: int) -> tuple[RobotsFetcher, list[str]]:
    """Return a fetcher whose store has this robots.txt of so many sites, and their
    names.
    """
    config, store = Config.from_settings(crawler.settings), MemoryStore()
    names = [f"https://{number}.example" for number in range(sites)]
    for name in names:
        store.put_copy(name, CachedRobots(body, 200, time.time(), f"{name}/robots.txt"))
    return RobotsFetcher(crawler, config, store, Clock(), Events(crawler)), names


def test_the_rules_of_five_thousand_sites_stay_parsed(crawler):
    """Sites take turns: the rules of one are needed again after those of all others."""
    fetcher, names = parsed(
        crawler, b"User-agent: *\n" + 30 * b"Disallow: /private\n", 5_000
    )
    before = [fetcher.known(name) for name in names]
    assert all(map(operator.is_, before, map(fetcher.known, names)))


@pytest.mark.parametrize("lines", [0, 3, 15, 30, 100])
def test_parsed_rules_take_as_much_as_they_are_counted_for(crawler, lines):
    """Roughly: with the rules for an agent, which the first decision adds."""
    rules = "".join(f"Disallow: /private/{number}/\n" for number in range(lines))
    fetcher, names = parsed(crawler, f"User-agent: *\n{rules}".encode(), 200)
    gc.collect()
    tracemalloc.start()
    for name in names:
        assert fetcher.known(name).robots.allowed(f"{name}/page", "Mandelbot")
    gc.collect()
    took = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert fetcher._parsed.size == pytest.approx(took, rel=0.4)


def test_half_files_count_half_an_hour_after_the_last_that_did(crawler):
    """However often a site sends the same bytes in between; other bytes begin anew."""
    now = [0.0]
    config = Config.from_settings(crawler.settings)
    requester = RobotsRequester(
        crawler, config, lambda: now[0], MemoryStore(), Events(crawler)
    )
    count = requester.count_trouble
    half, other = (FetchedFile(Answer(200, broken_off=one), "") for one in (b"1", b"2"))
    counted = []
    for now[0] in (0.0, 4.5, 1_799.0, 1_800.0, 3_599.0, 3_600.0):
        counted.append(count(SITE, half).times_apart)
    assert counted == [1, 1, 1, 2, 2, 3]
    assert count(SITE, other).times_apart == 1
    assert count(SITE, half).times_apart == 1


def test_the_sites_told_of_are_bounded(crawler):
    """A site that was forgotten is reported once more, and no other is."""
    config = Config.from_settings(crawler.settings)
    announced = RobotsFetcher(
        crawler, config, MemoryStore(), Clock(), Events(crawler)
    ).announced
    for name in names():
        announced.put(name, value=True, size=_KNOWN_SIZE + len(name))
    assert announced.get(name)
    assert announced.get(next(names())) is None
    assert announced.size <= _KNOWN_LIMIT


@pytest.mark.parametrize(
    "site", ["http://a.example;reboot", "http://[::1]:80", "http://$(x).b"]
)
@ensureDeferred
async def test_the_command_that_drops_a_cached_file_is_harmless_in_a_shell(
    caplog, site, tmp_path, monkeypatch
):
    """Of hosts as links may name them, and of a folder with a space."""
    caplog.set_level("INFO", "scrapy_mandelbot.events")
    monkeypatch.chdir(tmp_path)
    crawler = get_crawler(settings_dict={**SETTINGS, "JOBDIR": "a job"})
    config, store = Config.from_settings(crawler.settings), MemoryStore()
    store.put_copy(site, CachedRobots(b"", 200, time.time(), f"{site}/robots.txt"))
    fetcher = RobotsFetcher(crawler, config, store, Clock(), Events(crawler))
    for _ in range(2):
        await fetcher.rules(site, Request(site))
    (line,) = (
        line for line in caplog.messages if line.startswith("The robots.txt of ")
    )
    command = line.partition("(to drop it: ")[2].removesuffix(")")
    words = ["scrapy", "robots", "cache", "drop", site, "-s", "JOBDIR=a job"]
    assert shlex.join(words) == command


def test_as_many_sitemaps_are_read_as_any_file_cites():
    """Beyond that they do not count, and cost nothing."""
    lines = "".join(f"Sitemap: /{number}.xml\n" for number in range(MOST_CITED + 1))
    urls = cited_sitemaps(
        RobotsTxt.parse(lines.encode()), "https://example.com", inside=False
    )
    assert len(urls) == MOST_CITED
    assert urls[-1] == f"https://example.com/{MOST_CITED - 1}.xml"


def test_as_many_foreign_names_are_read_as_any_file_cites():
    """Names that are not ASCII take long: a hundred of them, and all others."""
    lines = "".join(
        f"Sitemap: https://é{n}.example/\nSitemap: /{n}\n" for n in range(200)
    )
    urls = cited_sitemaps(
        RobotsTxt.parse(lines.encode()), "https://example.com", inside=False
    )
    assert len(urls) == 300
