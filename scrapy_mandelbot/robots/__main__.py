"""``python -m scrapy_mandelbot.robots check FILE ...``: the checks where Scrapy need not be.

It does what ``scrapy robots check`` does with files, with its options, in a fraction of the time:
for hooks and CI jobs of sites. A pattern stands for the files that it matches, a folder for all in
it, ``-`` for standard input. ``rule`` says what a finding is about. Exit code 0: nothing but notes;
1: warnings; 2: wrong use, or no such file; 3: errors.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, cast

from scrapy_mandelbot.commands import CHOICES, add_options
from scrapy_mandelbot.commands.call import Invocation, Terminal, print_result
from scrapy_mandelbot.commands.check_verb import check, tell_rules
from scrapy_mandelbot.commands.sources import CannotBeHadError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_PROGRAM = "python -m scrapy_mandelbot.robots"
_CANNOT_BE_HAD = 2


def main(arguments: list[str]) -> int:
    """Check files, print what is found, and return the exit code."""
    parser = ArgumentParser(_PROGRAM, description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    does = "what is wrong with files, and to which robots that matters"
    verb = verbs.add_parser(
        *("check",),
        help=does,
        description=does,
        epilog=f"examples:\n  {_PROGRAM} check robots.txt --full\n"
        f"  {_PROGRAM} check sites/ --ignore note --fail-on error",
        formatter_class=RawDescriptionHelpFormatter,
    )
    verb.add_argument("args", nargs="+", metavar="FILE")
    add_options(verb, CHOICES, ("text", "json", "sarif", "github"))
    verb = verbs.add_parser("rule", help="what a finding is about")
    verb.add_argument("args", nargs="*", metavar="CODE")
    add_options(verb, (), ("text", "json"))
    opts = parser.parse_args(arguments)
    terminal = Terminal(sys.stdout, sys.stderr)
    job = Invocation(opts.verb, opts.args, opts, cast("BaseSettings", {}), None, terminal)
    try:
        result = (check if opts.verb == "check" else tell_rules)(job)
        print_result(job, result)
    except CannotBeHadError as error:
        terminal.tell(str(error))
        return _CANNOT_BE_HAD
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
