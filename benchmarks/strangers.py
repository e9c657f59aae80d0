"""Spiders of other people's making, unchanged: as they come, and with the package's one line.

advertools, a library for online marketing, has spiders that it runs with ``scrapy runspider``:
*crawl* follows a site's links and reads its pages, *crawl_headers* asks for a list of URLs by HEAD.
Each crawls a site of 300 pages on loopback in a process of its own, with the settings that
advertools gives it (ROBOTSTXT_OBEY, no delay, 8 requests at once to a domain); the package is
switched on by ``custom_settings={"ADDONS": {"scrapy_mandelbot.Addon": 500}}``, as its users would.
Printed are the items of an answer below 400 that it wrote, and the refusals (503) that the site had
to send.

503    answers 503 for five seconds after 50 pages, with Retry-After
limit  bears 30 requests a second and five more, and answers 503 to what is above

Usage, after ``pip install advertools``::

    python benchmarks/strangers.py [--runs N]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import advertools
from front_door import print_table, told
from pauses import Server

PAGES = 300
QUIET = {"LOG_LEVEL": "CRITICAL", "TELNETCONSOLE_ENABLED": False}
ADDON = {"ADDONS": {"scrapy_mandelbot.Addon": 500}, "MANDELBOT_STORE": "memory"}
VARIANTS = {"as they come": QUIET, "with scrapy-mandelbot": QUIET | ADDON}
CASES = {"a 503 for five seconds": "closed:5", "a limit of 30 a second": "limit:30:5"}


def follow(url: str, output: str, settings: dict) -> int:
    """Crawl a site by its links, and return how many pages it has."""
    domain = urlsplit(url).hostname  # by itself it takes the port with it, which is no domain
    advertools.crawl(
        url, output, follow_links=True, allowed_domains=domain, custom_settings=settings
    )
    return PAGES + 1


def heads(url: str, output: str, settings: dict) -> int:
    """Ask for the headers of each page but the first, and return how many these are."""
    urls = [urljoin(url, str(number)) for number in range(PAGES)]
    advertools.crawl_headers(urls, output, custom_settings=settings)
    return PAGES


SPIDERS = {"crawl": follow, "crawl_headers": heads}


def measure(spider: str, behaviour: str, settings: dict) -> dict:
    """Return what came of a crawl: URLs with an item of a good answer, and the refusals."""
    server = Server(PAGES, behaviour)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "items.jl")
        pages = SPIDERS[spider](server.url, str(output), settings)
        items = map(json.loads, output.read_text().splitlines() if output.exists() else ())
        got = {item["url"] for item in items if int(item["status"]) < 400}
    return {"pages": pages, "got": len(got), **server.stop()}


def main() -> None:
    """Print the table, as reStructuredText has it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    # advertools runs the ``scrapy`` that it finds first.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    rows = [("spider", "trouble", *VARIANTS)]
    for spider in SPIDERS:
        for case, behaviour in CASES.items():
            found = []
            for settings in VARIANTS.values():
                runs = [measure(spider, behaviour, settings) for _ in range(options.runs)]
                found.append(told(runs, runs[0]["pages"]))
            rows.append((spider, case, *found))
    names = ["advertools", "scrapy", "scrapy-mandelbot"]
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    print(f"{versions}, Python {platform.python_version()}; runs: {options.runs}\n")
    print_table(rows)


if __name__ == "__main__":
    main()
