"""The verbs that need no Scrapy: ``python -m scrapy_mandelbot.robots VERB``."""

from __future__ import annotations

import sys

from scrapy_mandelbot.commands.cli import parse, run


def main(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    return run(
        parse(arguments, "python -m scrapy_mandelbot.robots", has_project=False), None
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
