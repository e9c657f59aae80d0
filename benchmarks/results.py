"""Writes ``RESULTS.rst``: what the benchmarks print.

Runs those that are counted or short, and puts what they print into their sections; the
sections of the others stay as they are. With names it runs those alone, whatever they
take. One that fails ends it, and nothing is written. Pages that quote a figure get it,
too (``quotes.py``).

Usage::

    python benchmarks/results.py [--slow | NAME ...]

``--slow`` runs all, which takes a quarter of an hour; NAME is ``gates``, ``front_door``
and so on.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import quotes

HERE = Path(__file__).parent
PAGE = HERE / "RESULTS.rst"
NOT_RUN = "(not run)"
HEAD = """\
Results
=======

``python benchmarks/results.py`` writes this page; with ``--slow`` it runs the last two
commands too. Calls and instructions are counted and repeat; seconds and megabytes are
those of one machine. The docstring of each program says what it measures. ``laws.py``,
``pauses.py``, ``says_no.py``, ``hostile.py``, ``soak.py``,
``job_kill.py`` and ``redis_workers.py`` print more.
"""


class Section(NamedTuple):
    """A part of the page: a heading, a command, and what it prints."""

    heading: str
    command: str
    meaning: str = ""
    is_slow: bool = False

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.command.partition(".py")[0]


SECTIONS = (
    Section(
        "What is held",
        "gates.py",
        "Calls of functions of the package, and bytecodes in them, for one page or site"
        " more, or from a 503 in the download handler until the scheduler has the"
        " request again; stops are steps into another module on that way. CI fails"
        " above a gate and its room: 1 %, and a tenth of a number of modules.",
    ),
    Section(
        "Beside stock Scrapy, in instructions and bytecodes",
        "instructions.py page site job queue",
        "CI holds the ratio of a page at 1.015, with JOBDIR at 1.02, that of a new site"
        " at 1.03.",
    ),
    Section("The start of a crawl", "start.py"),
    Section(
        "robots.txt: speed",
        "robotstxt_speed.py",
        "Other parsers: how many times as long as ours they take; goals are multiples"
        " of Protego's speed. Then parse and 1 to 30 decisions, how many times as fast"
        " as Protego, beside native parsers and a port of Google's.",
    ),
    Section(
        "Requests at once",
        "requests_at_once.py",
        "The most that a site had at once, counted at its server: 100 pages of 60 ms,"
        " CONCURRENT_REQUESTS 16, CONCURRENT_REQUESTS_PER_DOMAIN as the limit.",
    ),
    Section(
        "The same spider, with and without the package",
        "front_door.py --runs 5",
        "*library*: Scrapy's defaults with ROBOTSTXT_OBEY; *project*: as ``scrapy"
        " startproject`` writes it. Pages are those that reached the spider, refusals"
        " the answers of 503 that the site sent.",
        is_slow=True,
    ),
    Section(
        "Plugins of other projects, set up as their READMEs show",
        "strangers.py",
        "Items of 50, of a healthy site and of one that answers 503 for five seconds.",
        is_slow=True,
    ),
)


def printed(command: str) -> str:
    """Run a benchmark; return what it prints."""
    print(command, flush=True)
    run = subprocess.run(
        [sys.executable, *command.split()],
        cwd=HERE,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode:
        sys.exit(
            f"{run.stdout}\n{command}: exit code {run.returncode}; {PAGE.name} is"
            " unchanged"
        )
    return "\n".join(line.rstrip() for line in run.stdout.strip("\n").splitlines())


def printed_before(page: str) -> dict[str, str]:
    """Return what each command has printed, as the page has it."""
    found = {}
    for one in SECTIONS:
        block = page.partition(f"``python benchmarks/{one.command}``")[2].partition(
            "::\n\n"
        )[2]
        text = re.match("(?: {4}.*\n|\n)*", block)[0]
        found[one.command] = re.sub("^ {4}", "", text, flags=re.MULTILINE).strip("\n")
    return {command: text for command, text in found.items() if text}


def section(one: Section, text: str) -> str:
    """Write a section."""
    said = textwrap.fill(one.meaning, 100)
    parts = [f"{one.heading}\n{'-' * len(one.heading)}", *([said] if said else [])]
    parts += [f"``python benchmarks/{one.command}``::", textwrap.indent(text, "    ")]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--slow", action="store_true", help="run all")
    names = [one.name for one in SECTIONS]
    parser.add_argument("name", nargs="*", help=", ".join(names))
    options = parser.parse_args()
    if unknown := set(options.name) - set(names):
        parser.error(
            f"no such name: {', '.join(unknown)}; there are {', '.join(names)}"
        )
    texts = printed_before(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    for one in SECTIONS:
        is_asked = (
            one.name in options.name
            if options.name
            else options.slow or not one.is_slow
        )
        if is_asked:
            texts[one.command] = printed(one.command)
    sections = (section(one, texts.get(one.command, NOT_RUN)) for one in SECTIONS)
    results = "\n".join([HEAD, *sections])
    quotes.write_pages(results)
    PAGE.write_text(results, "utf-8")


if __name__ == "__main__":
    main()
