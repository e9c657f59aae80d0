"""The parser of the verbs, for ``scrapy robots`` and ``python -m mandelbot``."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, HelpFormatter, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_interface
from typing import TYPE_CHECKING, Any, NamedTuple

from mandelbot.cli.invocation import Invocation, Result
from mandelbot.cli.output import Terminal, UnavailableError
from mandelbot.preferences.statements import CATEGORIES
from mandelbot.robotstxt import DIALECTS

if TYPE_CHECKING:
    from argparse import Namespace

    from scrapy.settings import Settings

USAGE_ERROR = 2
"""The exit code of wrong use, and of what is not available."""
VERSION = 1
"""Of ``--format json``: it grows when a field is removed or changes its meaning."""

_NEEDS_JINJA = "--format html needs Jinja2: pip install 'scrapy-mandelbot[html]'"

Argument = tuple[str, dict[str, Any]]  # the name, and what `add_argument` takes besides


def _argument(name: str, text: str = "", **options: Any) -> Argument:
    how_often = "; may be repeated" if options.get("action") == "append" else ""
    return name, {**options, "help": f"{text}{how_often}"}


_flag = partial(_argument, action="store_true")
_many = partial(_argument, action="append")
_file = partial(_argument, metavar="FILE")
_SOURCE = _argument("source", metavar="FILE|URL|-")
_DIALECT = _argument(
    "--dialect",
    "the dialect to read the file in (default: MANDELBOT_DIALECT; explain: the robot's"
    " own)",
    choices=tuple(DIALECTS),
)
_OUTPUT = _file("--output", "write to this file")
_OF_FILE = (_SOURCE, _flag("--diff", "print only the changes"), _OUTPUT)
_OF_URLS = (
    _argument("urls", nargs="*", metavar="URL"),
    _argument("--agent", "the robot (default: the project's)", metavar="NAME"),
    _flag("--robots", "answer for each known robot, and for those that the file names"),
    _file("--file", "read this robots.txt instead of the site's"),
    _argument(
        "--urls",
        "read URLs from this file, one per line",
        dest="urls_file",
        metavar="FILE",
    ),
)


class Verb(NamedTuple):
    """One verb: which function runs it, what it takes, what it answers."""

    runs: str
    """A module of this package, and its function, which takes an invocation."""
    does: str
    arguments: tuple[Argument, ...] | Mapping[str, tuple[Argument, ...]]
    """Those of the verb, or by the word that follows it."""
    exits: str
    """The exit codes; 2 is a usage error, or something is not available."""
    examples: tuple[str, str]
    formats: tuple[str, ...] = ("text", "json")
    needs_project: bool = False


VERBS = {
    "check": Verb(
        "check_verb.check",
        "find mistakes in robots.txt files, and the robots they affect",
        (
            _argument("sources", nargs="+", metavar="FILE|FOLDER|URL|-"),
            _many(
                "--select",
                "report only these findings: a code or a severity",
                metavar="CODE",
            ),
            _many("--ignore", "leave out these findings", metavar="CODE"),
            _argument(
                "--fail-on",
                "the least severe finding that fails the check (default: warning)",
                choices=("error", "warning"),
            ),
            _file(
                "--config",
                "the configuration file (default: the nearest .robots-check.cfg,"
                " pyproject.toml ([tool.robots-check]) or setup.cfg ([robots-check]))",
            ),
            _flag(
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
        "check_verb.explain_rules",
        "explain findings",
        (_argument("codes", nargs="*", metavar="CODE"),),
        "0: done",
        ("star-before-robots", "--format json"),
    ),
    "fix": Verb(
        "file_verbs.fix",
        "correct evident mistakes in place, without opening any URL",
        (
            *_OF_FILE,
            _flag(
                "--unsafe", "also make corrections that open URLs, and name the robots"
            ),
        ),
        "0: done",
        ("robots.txt --diff", "robots.txt --output robots.txt"),
        ("text", "json", "html"),
    ),
    "normalize": Verb(
        "file_verbs.normalize",
        "print the normal form, verified to make the same decisions",
        (
            *_OF_FILE,
            _DIALECT,
            _argument(
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
        "url_verbs.explain",
        "show whether URLs may be crawled, and which line decides",
        (
            *_OF_URLS,
            _DIALECT,
            _flag(
                "--changes", "show what would change each verdict, also of several URLs"
            ),
            _many(
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
        "url_verbs.compare",
        "compare the decisions of the six dialects",
        _OF_URLS,
        "0: all agree; 1: dialects differ",
        ("https://example.com/a --agent Googlebot", "/a /b --file robots.txt --robots"),
        ("text", "table", "json", "html"),
    ),
    "sitemaps": Verb(
        "file_verbs.list_sitemaps",
        "list the sitemaps that a file cites",
        (_SOURCE, _flag("--read", "read the sitemaps, and count their entries")),
        "0: no problems; 1: a sitemap has problems; 3: a sitemap is not available",
        ("robots.txt", "https://example.com --read"),
    ),
    "cache": Verb(
        "project_verbs.look_at_copies",
        "list, show or drop the cached robots.txt files of the project",
        {
            "list": (),
            "show": (_argument("url", metavar="URL"),),
            "drop": (
                _argument("url", nargs="?", metavar="URL"),
                _flag("--all", "drop all of them"),
            ),
        },
        "0: done; 1: no such file",
        ("list", "drop https://example.com"),
        needs_project=True,
    ),
    "job": Verb(
        "job_verb.look_at_job",
        "show what waits in a job; requeue, add or forget requests",
        (
            _argument("job", metavar="JOBDIR|URL#NAME"),
            _argument(
                "what",
                nargs="?",
                choices=("requeue", "add", "forget"),
                metavar="requeue|add|forget",
            ),
            _argument("site", nargs="?", metavar="SITE|FILE"),
            _flag("--export", "print all requests of the job, as JSON lines"),
        ),
        "0: done; 1: nothing to requeue, or a request or a line cannot be read",
        ("crawls/shop-1 requeue https://shop.example", "crawls/shop-1 add urls.txt"),
        needs_project=True,
    ),
    "identity": Verb(
        "identity_verb.identity_{word}",
        "make the key, the key directory and the page of a robot",
        {
            "new": (_argument("key", metavar="KEY"),),
            "directory": (
                _argument("keys", nargs="+", metavar="KEY"),
                _argument(
                    "--host",
                    "the host that serves the directory",
                    metavar="HOST",
                    required=True,
                ),
                _OUTPUT,
            ),
            "check": (_argument("url", metavar="URL"),),
            "page": (
                _OUTPUT,
                _many(
                    "--address",
                    "an address of the robot",
                    metavar="IP|NETWORK",
                    type=ip_interface,
                ),
            ),
        },
        "0: done; 1: a directory has warnings; 3: errors",
        ("new robot.pem", "directory robot.pem --host example.com"),
        needs_project=True,
    ),
    "settings": Verb(
        "project_verbs.show_settings",
        "show the settings in force, and where each comes from",
        (),
        "0: done",
        ("", "--format json"),
        needs_project=True,
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
        "drop takes a URL or --all": "all" in given and bool(opts.url) == opts.all,
        f"--export and {given.get('what')} cannot be used together": (
            given.get("export") and opts.what
        ),
        "add takes a FILE": given.get("what") == "add" and not opts.site,
        "standard input can be read only once": inputs.count("-") > 1,
    }
    return next((message for message, is_so in wrong.items() if is_so), "")


def parse(arguments: Sequence[str], program: str, *, has_project: bool) -> Namespace:
    """Return the options and arguments of a verb, without a project of one that needs none.

    Raises:
        SystemExit: the help was printed, or a usage error, with exit code 2.
    """
    verbs = {
        name: one for name, one in VERBS.items() if has_project or not one.needs_project
    }
    of_scrapy = " Scrapy's options, such as -s NAME=VALUE, may stand anywhere."
    parser = ArgumentParser(
        program,
        description=(
            "Check, fix and explain robots.txt files. Use - for standard input."
        ),
        epilog=(
            f"{program} VERB --help shows the options, examples and exit codes of a"
            f" verb.{of_scrapy if has_project else ''}"
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
    if arguments[0] not in VERBS and not arguments[0].startswith("-"):
        meant = get_close_matches(arguments[0], verbs, 1)
        hint = (
            f"did you mean {meant[0]}?" if meant else f"it is one of {', '.join(verbs)}"
        )
        parser.error(f"unknown command {arguments[0]!r}: {hint}")
    opts, unknown = parser.parse_known_args(arguments)
    wrong = (
        f"unrecognized arguments: {' '.join(unknown)}" if unknown else _wrong_use(opts)
    )
    if wrong:
        opts.fail(wrong)  # with the usage of the verb
    return opts


def run(opts: Namespace, settings: Settings | None) -> int:
    """Run a verb, print its result, and return the exit code.

    If the reader closes the pipe, as `head` does, the exit code stays.
    """
    errors: tuple[type[BaseException], ...] = (UnavailableError, KeyboardInterrupt)
    if settings is not None:
        from scrapy_mandelbot.settings.values import (
            SettingsError,
        )  # noqa: PLC0415 - needs Scrapy

        errors = (*errors, SettingsError)
    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        if opts.format == "html" and find_spec("jinja2") is None:
            raise UnavailableError(_NEEDS_JINJA)  # before anything is fetched
        module, name = VERBS[opts.verb].runs.format_map(vars(opts)).split(".")
        verb = getattr(import_module(f"{__package__}.{module}"), name)
        result: Result = verb(Invocation(opts, settings, terminal))
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
    except errors as error:
        terminal.message(str(error) or "interrupted")
        return USAGE_ERROR
    return result.exit_code
