"""Run Scrapy's own robots.txt tests on this package's classes.

Usage: python .ci/scrapy_tests.py [SDIST]

The tests come from Scrapy's source archive, of the version that is installed: from the one given,
else pip fetches it. They are unpacked into a temporary folder and run there three times: with the
asyncio reactor, with Twisted's default reactor, and without a reactor (Scrapy 2.15 and newer).
None is deselected; what they skip they skip with a reason. Exits with 0 if all passed, else 1.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import scrapy

TESTS = ["tests/test_downloadermiddleware_robotstxt.py", "tests/test_robotstxt_interface.py"]
TOOLS = ["pytest-asyncio", "robotexclusionrulesparser"]
ASYNCIO_ONLY = ["-p", "no:twisted", "-o", "asyncio_default_fixture_loop_scope=function"]

# A pytest plugin: put in place before the tests import what they test.
PLUGIN = """
import scrapy.downloadermiddlewares.robotstxt
import scrapy.robotstxt
import scrapy_mandelbot

scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware = scrapy_mandelbot.RobotsTxtMiddleware
scrapy.robotstxt.ProtegoRobotParser = scrapy_mandelbot.MandelbotRobotParser
"""


def pip(command: str, *arguments: str | Path) -> None:
    """Run pip, and end with its error if it fails."""
    subprocess.run([sys.executable, "-m", "pip", command, "--quiet", *arguments], check=True)


def fetch(folder: Path) -> Path:
    """Fetch the source archive of the installed Scrapy."""
    wanted = f"scrapy=={scrapy.__version__}"
    pip("download", "--no-deps", "--no-binary", "scrapy", "--dest", folder, wanted)
    return next(folder.glob("*.tar.gz"))


def reactors() -> list[str]:
    """Return what this Scrapy can run on, as its tests name it."""
    version = tuple(map(int, scrapy.__version__.split(".")[:2]))
    return ["asyncio", "default", *(["none"] if version >= (2, 15) else [])]


def main(arguments: list[str]) -> int:
    """Run the tests on each reactor."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        archive = Path(arguments[0]) if arguments else fetch(folder)
        with tarfile.open(archive) as sources:
            sources.extractall(folder, filter="data")
        root = next(path.parent for path in folder.glob("*/PKG-INFO"))
        # What is tested is the Scrapy that is installed.
        (root / "scrapy").rename(folder / "not-this-scrapy")
        (root / "this_package.py").write_text(PLUGIN)
        # What these tests need beside pytest: not for this package's own, so not installed.
        pip("install", "--no-deps", "--target", root, *TOOLS)
        failed = []
        for reactor in reactors():
            print(
                f"Scrapy {scrapy.__version__}, its robots.txt tests, reactor: {reactor}", flush=True
            )
            command = [sys.executable, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider"]
            command += ["-p", "this_package", f"--reactor={reactor}"]
            command += ASYNCIO_ONLY if reactor == "none" else ["-p", "no:asyncio"]
            if subprocess.run([*command, *TESTS], cwd=root, check=False).returncode:
                failed.append(reactor)
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
