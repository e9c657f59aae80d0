"""The verbs of ``mandelbot``; frameworks add theirs to its parser and runner."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, HelpFormatter, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from mandelbot._version import __version__
from mandelbot.cli.invocation import Invocation, Result
from mandelbot.cli.output import Terminal, UnavailableError
from mandelbot.preferences.statements import CATEGORIES
from mandelbot.robotstxt.dialects import DIALECTS

if TYPE_CHECKING:
    from argparse import Namespace

USAGE_ERROR = 2
"""The exit code of wrong use, and of what is not available."""
VERSION = 1
"""Of ``--format json``: it grows when a field is removed or changes its meaning."""

_NEEDS_JINJA = "--format html needs Jinja2: pip install 'mandelbot[html]'"

Argument = tuple[str, dict[str, Any]]  # the name, and what `add_argument` takes besides


def argument(name: str, text: str = "", **options: Any) -> Argument:
    """Return an argument of a verb, as ``add_argument`` takes it."""
    how_often = ""
    if options.get("action") == "append":
        how_often = "; may be repeated"
    return name, {**options, "help": f"{text}{how_often}"}


flag = partial(argument, action="store_true")
many = partial(argument, action="append")
file_argument = partial(argument, metavar="FILE")
_SOURCE = argument("source", metavar="FILE|URL|-")
_DIALECT = argument(
    "--dialect",
    "the dialect to read in (default: mandelbot, or the project's; explain: the"
    " robot's own)",
    choices=tuple(DIALECTS),
)
OUTPUT = file_argument("--output", "write to this file")
_OF_FILE = (_SOURCE, flag("--diff", "print only the changes"), OUTPUT)
_OF_URLS = (
    argument("urls", nargs="*", metavar="URL"),
    argument("--agent", "the robot (default: any, or the project's)", metavar="NAME"),
    flag("--robots", "answer for each known robot, and for those that the file names"),
    file_argument("--file", "read this robots.txt instead of the site's"),
    argument(
        "--urls",
        "read URLs from this file, one per line",
        dest="urls_file",
        metavar="FILE",
    ),
)


class Verb(NamedTuple):
    """One verb: which function runs it, what it takes, what it answers."""

    runs: str | Mapping[str, str]
    """Its function, which takes an invocation, as ``package.module:function``; or one
    for each word that may follow the verb.
    """
    does: str
    arguments: tuple[Argument, ...] | Mapping[str, tuple[Argument, ...]]
    """Those of the verb, or by the word that follows it."""
    exits: str
    """The exit codes; 2 is a usage error, or something is not available."""
    examples: tuple[str, str]
    formats: tuple[str, ...] = ("text", "json")
    wrong_use: Callable[[Namespace], str] = lambda _: ""
    """Returns what is wrong with the options together; empty: nothing."""


VERBS = {
    "check": Verb(
        "mandelbot.cli.check_verb:check",
        "find mistakes in robots.txt files, and the robots they affect",
        (
            argument("sources", nargs="+", metavar="FILE|FOLDER|URL|-"),
            many(
                "--select",
                "report only these findings: a code or a severity",
                metavar="CODE",
            ),
            many("--ignore", "leave out these findings", metavar="CODE"),
            argument(
                "--fail-on",
                "the least severe finding that fails the check (default: warning)",
                choices=("error", "warning"),
            ),
            file_argument(
                "--config",
                "the configuration file (default: the nearest .mandelbot.cfg,"
                " pyproject.toml ([tool.mandelbot]) or setup.cfg ([mandelbot]))",
            ),
            flag(
                "--full", "include notes, and the line and the robots of each finding"
            ),
        ),
        "0: only notes; 1: warnings; 3: errors",
        (
            "robots.txt --full",
            "politeness/ https://example.com --ignore note --fail-on error",
        ),
        ("text", "json", "html", "sarif", "github"),
    ),
    "rule": Verb(
        "mandelbot.cli.check_verb:explain_rules",
        "explain findings",
        (argument("codes", nargs="*", metavar="CODE"),),
        "0: done",
        ("star-before-robots", "--format json"),
    ),
    "normalize": Verb(
        "mandelbot.cli.file_verbs:normalize",
        "print the normal form, verified to make the same decisions",
        (
            *_OF_FILE,
            _DIALECT,
            argument(
                "--only",
                "write for robots of this dialect, even if that opens something to"
                " others",
                choices=tuple(DIALECTS),
                metavar="DIALECT",
            ),
        ),
        "0: verified; 3: not verified",
        ("robots.txt --diff", "robots.txt --only google"),
        ("text", "json", "html"),
    ),
    "explain": Verb(
        "mandelbot.cli.url_verbs:explain",
        "show whether URLs may be crawled, and which line decides",
        (
            *_OF_URLS,
            _DIALECT,
            many(
                "--purpose",
                f"a use of the page: {', '.join(CATEGORIES)}",
                metavar="USE",
                choices=CATEGORIES,
            ),
        ),
        "0: all URLs are allowed; 1: a URL is forbidden, or the use is refused",
        (
            "https://example.com/a --agent Googlebot",
            "--urls list.txt --file robots.txt --format json",
        ),
        ("text", "table", "json", "html"),
    ),
    "compare": Verb(
        "mandelbot.cli.url_verbs:compare",
        "compare the decisions of the six dialects",
        _OF_URLS,
        "0: all agree; 1: dialects differ",
        ("https://example.com/a --agent Googlebot", "/a /b --file robots.txt --robots"),
        ("text", "table", "json", "html"),
    ),
    "sitemaps": Verb(
        "mandelbot.cli.file_verbs:list_sitemaps",
        "list the sitemaps that a file cites",
        (_SOURCE, flag("--read", "read the sitemaps, and count their entries")),
        "0: no problems; 1: a sitemap has problems; 3: a sitemap is not available",
        ("robots.txt", "https://example.com --read"),
    ),
}


def _add_verb(verbs: Any, program: str, name: str, verb: Verb) -> None:
    examples = "\n".join(f"  {program} {name} {one}".rstrip() for one in verb.examples)
    exits = f"exit codes:\n  {verb.exits};\n  2: usage error, or not available"
    looks: dict[str, Any] = {
        "description": f"{verb.does[0].upper()}{verb.does[1:]}.",
        "epilog": f"examples:\n{examples}\n\n{exits}",
        "formatter_class": RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }
    parser = verbs.add_parser(name, help=verb.does, **looks)
    if isinstance(verb.arguments, tuple):
        forms = [(parser, verb.arguments)]
    else:
        words = parser.add_subparsers(
            dest="word", metavar="|".join(verb.arguments), required=True
        )
        forms = [
            (words.add_parser(word, **looks), own)
            for word, own in verb.arguments.items()
        ]
    for form, arguments in forms:
        for argument, options in arguments:
            form.add_argument(argument, **options)
        form.add_argument(
            "--format", choices=verb.formats, help="the output format (default: text)"
        )
        form.set_defaults(fail=form.error)


def _wrong_use(opts: Namespace) -> str:
    """Return what is wrong with the options together; empty: nothing."""
    given = vars(opts)
    only = given.get("only")
    robots = given.get("robots")
    inputs = [given.get("file"), given.get("urls_file")]
    inputs += given.get("sources") or given.get("urls") or ()
    wrong = {
        "--only and --dialect name different dialects": (
            only and opts.dialect not in {None, only}
        ),
        "--robots and --agent cannot be used together": robots and opts.agent,
        "it takes a URL, --urls FILE, or --robots --file FILE": (
            "urls" in given
            and not (opts.urls or opts.urls_file or (robots and opts.file))
        ),
        "standard input can be read only once": inputs.count("-") > 1,
    }
    return next((message for message, is_so in wrong.items() if is_so), "")


def parse(
    arguments: Sequence[str],
    program: str,
    verbs: Mapping[str, Verb] = VERBS,
    remark: str = "",
) -> Namespace:
    """Return the options and arguments of a verb.

    Args:
        arguments: what follows the program's name.
        program: its name, for help and usage.
        verbs: those that it has.
        remark: a sentence at the end of the help.

    Raises:
        SystemExit: the help was printed, or a usage error, with exit code 2.
    """
    parser = ArgumentParser(
        program,
        description=("Check and explain robots.txt files. Use - for standard input."),
        epilog=(
            f"{program} VERB --help shows the options, examples and exit codes of a"
            f" verb.{remark}"
        ),
        # a line for each verb
        formatter_class=partial(HelpFormatter, indent_increment=1),
        allow_abbrev=False,
    )
    added = parser.add_subparsers(
        title="verbs", dest="verb", metavar="VERB", required=True
    )
    for name, verb in verbs.items():
        _add_verb(added, program, name, verb)
    if not arguments:
        parser.print_help()
        raise SystemExit(USAGE_ERROR)
    if arguments[0] not in verbs and not arguments[0].startswith("-"):
        meant = get_close_matches(arguments[0], verbs, 1)
        if meant:
            hint = f"did you mean {meant[0]}?"
        else:
            hint = f"it is one of {', '.join(verbs)}"
        parser.error(f"unknown command {arguments[0]!r}: {hint}")
    opts, unknown = parser.parse_known_args(arguments)
    opts.program = program
    wrong = _wrong_use(opts) or verbs[opts.verb].wrong_use(opts)
    if unknown:
        wrong = f"unrecognized arguments: {' '.join(unknown)}"
    if wrong:
        opts.fail(wrong)  # with the usage of the verb
    runs = verbs[opts.verb].runs
    opts.runs = runs if isinstance(runs, str) else runs[opts.word]
    return opts


def run(
    opts: Namespace,
    invocation: Callable[[Namespace, Terminal], Invocation] = Invocation,
) -> int:
    """Run a verb, print its result, and return the exit code.

    If the reader closes the pipe, as `head` does, the exit code stays.
    """
    terminal = Terminal(sys.stdout, sys.stderr, program=opts.program)
    invoked = invocation(opts, terminal)
    try:
        if opts.format == "html" and find_spec("jinja2") is None:
            raise UnavailableError(_NEEDS_JINJA)  # before anything is fetched
        module, _, name = opts.runs.partition(":")
        result: Result = getattr(import_module(module), name)(invoked)
        for line in result.remarks:
            terminal.message(line)
        text = result.text
        if opts.format == "html" and result.page:
            text = result.page()
        elif opts.format == "json":
            head = {
                "version": VERSION,
                "command": opts.verb,
                "exit_code": result.exit_code,
            }
            text = json.dumps({**head, **result.data}, indent=2) + "\n"
        try:
            terminal.write(text, is_file=result.is_file and opts.format != "html")
        except BrokenPipeError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except invoked.errors as error:
        terminal.message(str(error) or "interrupted")
        return USAGE_ERROR
    return result.exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``mandelbot`` and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if list(given) == ["--version"]:
        print(f"mandelbot {__version__}")  # noqa: T201 - it was asked for
        return 0
    return run(parse(given, "mandelbot"))
