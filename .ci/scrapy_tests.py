"""Run Scrapy's own tests on this package.

Usage: python .ci/scrapy_tests.py [--robots | --few | --all] [SDIST]

The tests come from Scrapy's source archive, of the version that is installed: from the
one given, else pip fetches it. They are unpacked into a temporary folder.

First its robots.txt tests, with our classes in place of Scrapy's, three times: with the
asyncio reactor, with Twisted's default reactor, and without a reactor (Scrapy 2.15 and
newer). None is deselected; what they skip they skip with a reason.

With ``--robots`` that is all. Then its tests of crawls, of the engine, the downloader,
schedulers, queues, spiders, middlewares, HTTP cache, pipelines, feeds, signals, and
commands (two of them only with ``--all``; with ``--few`` those of crawls, the engine,
schedulers and their queues, and the middlewares that the package works beside), with
the add-on in every crawler's settings, and nothing else. What fails is run again with
ROBOTSTXT_OBEY and no add-on: what fails there too is the environment's affair. What is
left has to be in ``DIFFERENCES``, and what is listed there has to fail. For each file
it prints how many tests passed, how many fail in stock Scrapy here too, and how many
differ.

Exits with 0 if all of this holds, else 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
import scrapy

ROBOTS_TESTS = [
    "tests/test_downloadermiddleware_robotstxt.py",
    "tests/test_robotstxt_interface.py",
]
CRAWL_TESTS = [
    f"tests/{name}.py"
    for name in (
        "test_closespider",
        "test_command_crawl",
        "test_command_fetch",
        "test_command_runspider",
        "test_contracts",
        "test_core_*",
        "test_crawl",
        "test_downloadermiddleware_httpcache",
        "test_downloadermiddleware_redirect*",
        "test_downloadermiddleware_retry",
        "test_downloaderslotssettings",
        "test_dupefilters",
        "test_engine*",
        "test_extension_throttle",
        "test_feedexport*",
        "test_middleware",
        "test_pipeline_*",
        "test_pipelines",
        "test_pqueues",
        "test_request_attribute_binding",
        "test_request_left",
        "test_scheduler*",
        "test_signals",
        "test_spider",
        "test_spider_*",
        "test_spidermiddleware*",
        "test_squeues*",
    )
]
FEW_TESTS = [
    f"tests/{name}.py"
    for name in (
        "test_closespider",
        "test_core_*",
        "test_crawl",
        "test_downloadermiddleware_redirect",
        "test_downloadermiddleware_retry",
        "test_downloaderslotssettings",
        "test_engine*",
        "test_pqueues",
        "test_request_left",
        "test_scheduler*",
        "test_signals",
        "test_spidermiddleware_start",
    )
]
SELDOM_TESTS = [
    # Each starts Scrapy for every test, and what the add-on does to these two commands
    # is in this package's tests/crawls/test_commands.py: it waits for nothing, and
    # drops nothing.
    "tests/test_command_parse.py",
    "tests/test_command_shell.py",
]
TOOLS = [
    "pexpect",
    "ptyprocess",
    "pyasyncore",
    "pyftpdlib",
    "pytest-asyncio",
    "robotexclusionrulesparser",
    "testfixtures",
]
ASYNCIO_ONLY = ["-p", "no:twisted", "-o", "asyncio_default_fixture_loop_scope=function"]

DIFFERENCES: dict[str, str] = {
    "tests/test_scheduler.py::test_unserializable_requests": (
        "a job names each request that it cannot write down, in words of its own"
    ),
}
"""Tests that pass in stock Scrapy and not with the add-on, and why."""

WAITS: dict[str, str] = {
    "tests/test_crawl.py::TestCrawl::test_retry_503": (
        "a 503 pauses the site, for an hour and longer in the end, and is no retry"
    ),
    # Scrapy 2.14: the second of its two crawls, of one process, gets a 503.
    "tests/test_crawl.py::TestCrawl::test_crawl_multiple": (
        "a 503 pauses the site, and is no retry; the other crawl ends"
    ),
}
"""The same, of those that would not end in a day: they are run with short pauses."""

FLICKERS = ("tests/test_closespider.py::test_closespider_pagecount_no_item",)
"""Tests that fail in stock Scrapy with ROBOTSTXT_OBEY, too, most of the time but not
always: they count the responses that arrive while the spider closes.
"""

# A pytest plugin: put in place before the tests import what they test.
OUR_CLASSES = """
import scrapy.downloadermiddlewares.robotstxt
import scrapy.robotstxt
import scrapy_mandelbot as ours

scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware = ours.RobotsTxtMiddleware
scrapy.robotstxt.ProtegoRobotParser = ours.MandelbotRobotParser
"""

# Another one: it writes down what passed, and what failed.
OUTCOMES = """
import os
from pathlib import Path

outcomes = {}


def pytest_runtest_logreport(report):
    if report.failed or (report.when == "call" and report.passed):
        outcomes.setdefault(report.nodeid, set()).add(report.outcome)


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        lines = sorted(
            f"{'failed' if 'failed' in one else 'passed'} {name}"
            for name, one in outcomes.items()
        )
        Path(os.environ["OUTCOMES"]).write_text("\\n".join(lines))
"""

# What Python imports at its start, in the processes that tests start as well.
SITE = """
import scrapy.settings.default_settings

vars(scrapy.settings.default_settings).update({defaults})
"""
STOCK = {"ROBOTSTXT_OBEY": True}
WITH_ADDON = {"ADDONS": {"scrapy_mandelbot.Addon": 500}}
SHORT_PAUSES = {
    "MANDELBOT_PAUSE_OPTIONS": {"first": 0.01, "tries": 2},
}


class Outcomes(NamedTuple):
    """What came of tests, by name."""

    passed: set[str]
    failed: set[str]


def pip(command: str, *arguments: str | Path) -> None:
    """Run pip, and end with its error if it fails."""
    subprocess.run(
        [sys.executable, "-m", "pip", command, "--quiet", *arguments], check=True
    )


def fetch(folder: Path) -> Path:
    """Fetch the source archive of the installed Scrapy."""
    wanted = f"scrapy=={scrapy.__version__}"
    pip("download", "--no-deps", "--no-binary", "scrapy", "--dest", folder, wanted)
    return next(folder.glob("*.tar.gz"))


def reactors() -> list[str]:
    """Return what this Scrapy can run on, as its tests name it."""
    version = tuple(map(int, scrapy.__version__.split(".")[:2]))
    return ["asyncio", "default", *(["none"] if version >= (2, 15) else [])]


def run_robots_tests(root: Path) -> bool:
    """Run the robots.txt tests on each reactor; return whether all passed."""
    (root / "our_classes.py").write_text(OUR_CLASSES)
    failed = []
    for reactor in reactors():
        print(
            f"Scrapy {scrapy.__version__}, its robots.txt tests, reactor: {reactor}",
            flush=True,
        )
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-ra",
            "-p",
            "no:cacheprovider",
        ]
        command += ["-p", "our_classes", f"--reactor={reactor}"]
        command += ASYNCIO_ONLY if reactor == "none" else ["-p", "no:asyncio"]
        if subprocess.run([*command, *ROBOTS_TESTS], cwd=root, check=False).returncode:
            failed.append(reactor)
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return not failed


def run(
    root: Path, defaults: dict[str, object], tests: list[str], *options: str
) -> Outcomes:
    """Run tests with other defaults of settings.

    Raises:
        CalledProcessError: pytest could not run them.
    """
    (root / "outcomes.py").write_text(OUTCOMES)
    # One for each run: the files of two may be of one second and one length, and
    # Python would take the bytecode of one for that of the other.
    site = Path(tempfile.mkdtemp(prefix="site", dir=root))
    told = root / "outcomes.txt"
    (site / "sitecustomize.py").write_text(SITE.format(defaults=defaults))
    # No summary: what fails in one of the runs is no failure yet, and is not listed as
    # one.
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "--no-summary"]
    command += ["-p", "no:cacheprovider"]
    command += ["-p", "outcomes", "-p", "no:asyncio", "--reactor=asyncio"]
    # Scrapy's fixtures are of the one before
    if hasattr(pytest, "PytestRemovedIn10Warning"):
        command += ["-W", "ignore::pytest.PytestRemovedIn10Warning"]
    environment = {**os.environ, "OUTCOMES": str(told), "PYTHONPATH": str(site)}
    ended = subprocess.run(
        [*command, *options, *tests], cwd=root, env=environment, check=False
    )
    if ended.returncode not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        ended.check_returncode()
    lines = [line.partition(" ")[::2] for line in told.read_text().splitlines()]
    passed = {test for outcome, test in lines if outcome == "passed"}
    return Outcomes(passed, {test for _, test in lines} - passed)


def is_there(root: Path, test: str) -> bool:
    """Return whether this version of Scrapy has the test."""
    file, _, name = test.partition("::")
    return f"def {name.rpartition('::')[2]}(" in (root / file).read_text()


def print_table(passed: set[str], failed: set[str], differ: set[str]) -> None:
    """Print how many tests of each file passed, fail in stock Scrapy, and differ."""
    columns = [passed - failed, failed - differ, differ]
    files = sorted({test.partition("::")[0] for test in passed | failed})
    print(f"{'file':60} passed  in stock too  differ")
    for file in files:
        counts = [
            sum(test.startswith(f"{file}::") for test in tests) for tests in columns
        ]
        print("{:60} {:6}  {:12}  {:6}".format(file, *counts))
    print("{:60} {:6}  {:12}  {:6}".format("all", *map(len, columns)))


def run_crawl_tests(root: Path, globs: list[str]) -> bool:
    """Run the tests of crawls with the add-on; return whether all is as listed."""
    print(
        f"Scrapy {scrapy.__version__}, its tests of crawls, with the add-on", flush=True
    )
    tests = [str(path.relative_to(root)) for one in globs for path in root.glob(one)]
    later = [f"--deselect={test}" for test in (*WAITS, *FLICKERS)]
    first = run(root, WITH_ADDON, sorted(tests), "-n", "2", *later)
    failed = sorted(first.failed)
    # Beside others, on a busy machine, some do not end in their time.
    print(f"The {len(failed)} that failed side by side with others, alone", flush=True)
    failed = sorted(run(root, WITH_ADDON, failed).failed) if failed else []
    waiting = [test for test in sorted(WAITS) if is_there(root, test)]
    waited = run(root, WITH_ADDON | SHORT_PAUSES, waiting)
    print(
        f"The {len(failed) + len(waited.failed)} that fail still, without the add-on",
        flush=True,
    )
    differ = run(root, STOCK, [*failed, *sorted(waited.failed)]).passed
    listed = DIFFERENCES | WAITS
    for test in sorted(differ & set(listed)):
        print(f"DIFFERS: {test}: {listed[test]}")
    unlisted = sorted(differ - set(listed))
    gone = sorted(set(listed) & ((first.passed - set(failed)) | waited.passed))
    for test in sorted(set(failed) - differ):
        print(f"fails in stock Scrapy with ROBOTSTXT_OBEY too: {test}")
    print_table(first.passed | waited.passed, set(failed) | waited.failed, differ)
    for test in unlisted:
        print(f"FAILED: {test} differs, and is not listed")
    for test in gone:
        print(f"FAILED: {test} is listed, and does not differ")
    return bool(first.passed) and not unlisted and not gone


def main(arguments: list[str]) -> int:
    """Unpack Scrapy's tests and run them."""
    globs = FEW_TESTS if "--few" in arguments else CRAWL_TESTS
    globs = globs + (SELDOM_TESTS if "--all" in arguments else [])
    with_crawls = "--robots" not in arguments
    arguments = [argument for argument in arguments if not argument.startswith("--")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        archive = Path(arguments[0]) if arguments else fetch(folder)
        with tarfile.open(archive) as sources:
            sources.extractall(folder, filter="data")
        root = next(path.parent for path in folder.glob("*/PKG-INFO"))
        # What is tested is the Scrapy that is installed.
        (root / "scrapy").rename(folder / "not-this-scrapy")
        # What these tests need beside pytest: not for this package's own, so not
        # installed. Python compiles the few modules of it that are imported.
        pip("install", "--no-compile", "--no-deps", "--target", root, *TOOLS)
        holds = [run_robots_tests(root)]
        if with_crawls:
            holds.append(run_crawl_tests(root, globs))
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
