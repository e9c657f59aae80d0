"""What holds for all tests, and fixtures that more than one test module asks for."""

from __future__ import annotations

import gc
import logging
import os
import tempfile

import pytest
from clocks import TurnedClock
from forked import Forked
from jobs import Job
from redis_server import NEEDS_REDIS, RedisServer
from running import (  # noqa: F401 - hooks and fixtures
    browser,
    chromium,
    nothing_is_sent_but_to_loopback,
    put_in_order,
    pytest_collection_finish,
    pytest_make_collect_report,
    pytest_make_parametrize_id,
    pytest_xdist_auto_num_workers,
    pytest_xdist_make_scheduler,
)
from slow_first import Recording
from webs import Web

_SUFFIXES = None
# else it is that of the process that started this one
if "TLDEXTRACT_CACHE" not in os.environ:
    _SUFFIXES = tempfile.TemporaryDirectory()
    # before its first import, by any conftest.py
    os.environ["TLDEXTRACT_CACHE"] = _SUFFIXES.name


def pytest_addoption(parser):
    parser.addoption(
        "--record-seconds",
        action="store_true",
        help="write how long each module takes, by which the slowest begin first",
    )


def pytest_configure(config):
    """Let the list of public suffixes, by which Scrapy's cookies go, be the one that
    is installed.

    Where none is kept tldextract fetches one, in the processes that tests start too.
    """
    # until all is collected: it looks for garbage among what is not garbage
    gc.disable()
    if config.option.record_seconds and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recording(config.rootpath))
    if _SUFFIXES is None:
        return
    config.add_cleanup(_SUFFIXES.cleanup)
    import requests
    import tldextract

    logging.getLogger("tldextract").setLevel(logging.CRITICAL)
    session = requests.Session()
    # it can fetch nothing, and what is installed serves, and is kept
    session.adapters.clear()
    tldextract.TLDExtract(include_psl_private_domains=True)(
        "example.com", session=session
    )


def pytest_report_header(config):
    """Say in one line what README's command does not test."""
    if "not slow" not in config.option.markexpr:
        return None
    return (
        "not tested here, but by `.ci/run slow`: pages in a browser, Redis, nginx,"
        " processes that are killed, what takes long"
    )


PROGRAMS = {"redis_of_session", "redis_server", "chromium"}
"""Fixtures that start what is no part of Python."""


@pytest.hookimpl(tryfirst=True)  # before -m deselects
def pytest_collection_modifyitems(items):
    """Mark as slow each test that needs Redis or a browser; the others say so
    themselves.
    """
    put_in_order(items)
    for item in items:
        needs_redis = NEEDS_REDIS.mark in item.iter_markers("skipif")
        if needs_redis or not PROGRAMS.isdisjoint(item.fixturenames):
            item.add_marker("slow")


@pytest.fixture(scope="session", autouse=True)
def nothing_is_written_to_what_all_sites_share():
    """After all tests of a process, shared empty objects are still empty."""
    yield
    from flights import assert_untouched

    assert_untouched()


@pytest.fixture(scope="module")
def little_to_collect():
    """Let ``gc.collect()`` look at what the tests of a module make, and nothing older.

    At all that is there late in a run it looks for a third of a second each time.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def clock() -> TurnedClock:
    """Time that the test turns."""
    return TurnedClock()


@pytest.fixture
def make_crawler(clock):
    """Make crawlers that send nothing, by a turned clock; they leave no timer."""
    from queueing import queue_crawler  # at its import a reactor has to be there
    from scrapy.signals import spider_closed

    made = []

    def make(**settings):
        made.append(queue_crawler(clock, **settings))
        return made[-1]

    yield make
    for crawler in made:
        crawler.signals.send_catch_log(
            spider_closed, spider=crawler.spider, reason="shutdown"
        )
    clock.assert_nothing_left()


@pytest.fixture
def webs():
    """Start sites on loopback addresses; all are closed in the end."""
    started: list[Web] = []

    def start(host: str = "127.0.0.1") -> Web:
        started.append(Web(host).listen())
        return started[-1]

    yield start
    for web in started:
        web.close()


@pytest.fixture(scope="session")
def forked(tmp_path_factory):
    """Run Scrapy in separate processes without importing it for each."""
    started = Forked(tmp_path_factory.mktemp("forked"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def redis_of_session(tmp_path_factory):
    """A Redis for all tests of this process that need no other; it starts with the
    first.
    """
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis_server(redis_of_session) -> RedisServer:
    """The same, empty."""
    redis_of_session.clear()
    return redis_of_session


@pytest.fixture
def job(tmp_path, forked) -> Job:
    """A spider of its own process, with JOBDIR."""
    return Job(tmp_path, forked)
