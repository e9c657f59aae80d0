"""What holds for the tests of all distributions: hooks and fixtures."""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import sys
from functools import cache
from random import Random

import pytest
from examples import load_profile

load_profile()

# In the background of a script Ctrl-C is ignored, also by the programs that the tests
# start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val):
    """Name long bytes by their length, the same in each process that collects them.

    What gzip has packed holds the time at which it did.
    """
    is_long = isinstance(val, bytes) and (len(val) > 50 or val.startswith(b"\x1f\x8b"))
    return f"{len(val)} bytes" if is_long else None


WORKER = os.environ.get("PYTEST_XDIST_WORKER")
"""The name of this process, if several share the tests."""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Collect each folder in a different order in each process.

    To compile the tests of a fresh clone takes 7 s: what one process has compiled, the
    others read.
    """
    report = yield
    if WORKER and report.passed and isinstance(collector, pytest.Directory):
        Random(WORKER).shuffle(report.result)
    return report


def put_in_order(items: list[pytest.Item]) -> None:
    """Sort tests by their files: xdist needs the same order in all processes."""
    if WORKER:
        items.sort(key=lambda item: item.path.parts)


MADE_BETWEEN_LOOKS = 10_000
"""Objects that are made, and not freed, before garbage is looked for (Python: 700)."""


def pytest_collection_finish():
    """Collect garbage again, but never look through modules and tests.

    And seldom: a crawl makes many objects, little of which is garbage.
    """
    gc.freeze()
    gc.set_threshold(MADE_BETWEEN_LOOKS, *gc.get_threshold()[1:])
    gc.enable()


@pytest.hookimpl(optionalhook=True)  # xdist's
def pytest_xdist_auto_num_workers():
    """Start a worker for each core with ``-n auto``; xdist itself counts real ones.

    Three on two cores take a quarter more of the processor's time, and longer.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # as the plugin reads it
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@pytest.hookimpl(optionalhook=True)  # xdist's
def pytest_xdist_make_scheduler(config, log):
    """Give each process a run of neighbouring tests, then what others have left.

    So a module's server, browser or corpus is made ready once, and no process waits at
    the end for one that has several long tests left.
    """
    from slow_first import SlowFirst

    return SlowFirst(config, log)


_SENT_OUT: set[str] = set()


def _watch(event, arguments):
    if event not in {"socket.connect", "socket.sendto", "socket.getaddrinfo"}:
        return
    address = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
    host = address[0] if isinstance(address, tuple) else address
    host = (
        host.decode("latin-1") if isinstance(host, bytes) else str(host or "localhost")
    )
    try:
        is_inside = ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:  # a name, or a socket's path
        is_inside = host.startswith("/") or host.rpartition(".")[2] in {
            "localhost",
            "invalid",
        }
    if not is_inside:
        _SENT_OUT.add(f"{host} by {os.environ.get('PYTEST_CURRENT_TEST')}")


@cache
def watch_this_process() -> None:
    """Call `_watch` with each event of the interpreter.

    Once, though each distribution has the fixture below: a hook costs time with each
    call of ``id()``, and cannot be taken away.
    """
    sys.addaudithook(_watch)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_sent_but_to_loopback():
    """Neither a request nor a question for an address, by a process's tests."""
    watch_this_process()
    yield
    assert not _SENT_OUT, sorted(_SENT_OUT)


@pytest.fixture(scope="session")
def chromium():
    """Start one for all tests of the process."""
    browsers = pytest.importorskip("browser")
    if not browsers.IS_THERE:
        pytest.skip("needs chromium and chromedriver")
    started = browsers.Browser()
    yield started
    started.quit()


@pytest.fixture(
    scope="session", params=["node", pytest.param("browser", marks=pytest.mark.slow)]
)
def javascript(request):
    """Run scripts of a page that touch no document: in Node, and in Chromium."""
    if request.param == "browser":
        yield request.getfixturevalue("chromium")
        return
    node = pytest.importorskip("node")
    if node.NODE is None:
        pytest.skip("the page's scripts are not tested here: needs node, or chromium")
    started = node.Node()
    yield started
    started.quit()


@pytest.fixture
def browser(chromium):
    """Be as wide as a desktop, and light, at first."""
    chromium.be(1440, 1000)
    chromium.prefer("light")
    return chromium
