"""``python -m scrapy_mandelbot.robots check FILE ...``: the checks where Scrapy need not be.

It does what ``scrapy robots check`` does with files, with its options, in a fraction of the time:
for hooks and CI jobs of sites. A pattern stands for the files that it matches, ``-`` for standard
input. Exit code 0: nothing but notes; 1: warnings; 2: wrong use, or no such file; 3: errors.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import TYPE_CHECKING, cast

from scrapy_mandelbot.commands import add_choices
from scrapy_mandelbot.commands.call import Invocation, print_result
from scrapy_mandelbot.commands.check_verb import check
from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.commands.terminal import Terminal

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_CANNOT_BE_HAD = 2


def main(arguments: list[str]) -> int:
    """Check files, print what is found, and return the exit code."""
    parser = ArgumentParser("python -m scrapy_mandelbot.robots", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("check", help="what is wrong with files, and to which robots")
    verb.add_argument("files", nargs="+", metavar="FILE")
    verb.add_argument("--format", choices=("text", "csv", "json", "sarif", "github"))
    add_choices(verb.add_argument_group("what counts"))
    opts = parser.parse_args(arguments)
    terminal = Terminal(sys.stdout, sys.stderr)
    job = Invocation(opts.verb, opts.files, opts, cast("BaseSettings", {}), None, terminal)
    try:
        result = check(job)
        print_result(job, result)
    except CannotBeHadError as error:
        terminal.tell(str(error))
        return _CANNOT_BE_HAD
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
