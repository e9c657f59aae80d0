"""``python -m mandelbot check FILE|URL ...``: the commands that need no Scrapy."""

from __future__ import annotations

import sys

from mandelbot.cli.verbs import parse, run


def main(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    return run(parse(arguments, "python -m mandelbot", has_project=False), None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
