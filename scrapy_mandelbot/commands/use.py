"""How the command is used: its verbs, what each takes, and what is wrong use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy.exceptions import UsageError

from scrapy_mandelbot.commands import CHOICES, OPTIONS, add_options

if TYPE_CHECKING:
    from argparse import Namespace


class Verb(NamedTuple):
    """How one of the things that the command does is called."""

    does: str
    takes: str
    least: int
    most: int | None
    """Arguments; None: as many as one likes."""
    options: frozenset[str]
    """Those that mean something to it, but --format."""
    formats: tuple[str, ...]
    exits: str
    """What exit codes mean; 2 is always a usage error, or what is not available."""
    examples: tuple[str, str]
    """What may follow the verb."""


_LIST = ("text", "table", "json", "html")
_PLAIN = ("text", "json")
_OF_URLS = frozenset({"agent", "file", "urls", "robots"})
_DONE = "0: done"

VERBS = {
    "check": Verb(
        "report what is wrong with a file, or with how a site serves it, and which robots it"
        " affects",
        *("FILE|FOLDER|URL|-...", 1, None, CHOICES),
        ("text", "json", "html", "sarif", "github"),
        "0: only notes; 1: warnings; 3: errors",
        ("robots.txt --full", "sites/ https://example.com --ignore note --fail-on error"),
    ),
    "rule": Verb(
        "explain a finding, and which robots it affects",
        *("[CODE...]", 0, None, frozenset(), _PLAIN, _DONE),
        ("star-before-robots", "--format json"),
    ),
    "fix": Verb(
        "print the corrected file, proved to allow and forbid what the original does",
        *("FILE|URL|-", 1, 1, frozenset({"diff", "output", "dialect", "only", "unsafe"})),
        ("text", "json", "html"),
        "0: proved; 3: not proved",
        ("robots.txt --diff", "robots.txt --output robots.txt"),
    ),
    "explain": Verb(
        "say whether URLs may be crawled, by which line, and what would change that",
        *("URL...", 1, None, _OF_URLS | {"dialect", "changes", "purpose"}, _LIST),
        "0: all URLs are allowed; 1: a URL is forbidden, or the use is refused",
        (
            "https://example.com/a --agent Googlebot",
            "--urls list.txt --file robots.txt --format json",
        ),
    ),
    "compare": Verb(
        "compare how robots of the six dialects decide",
        *("URL...", 1, None, _OF_URLS, _LIST, "0: all alike; 1: dialects differ"),
        ("https://example.com/a --agent Googlebot", "/a /b --file robots.txt --robots"),
    ),
    "sitemaps": Verb(
        "list the sitemaps that a file cites and, with --read, what is in them",
        *("FILE|URL|-", 1, 1, frozenset({"read"}), _PLAIN),
        "0: no problems; 1: a sitemap has problems; 3: a sitemap is not available",
        ("robots.txt", "https://example.com --read"),
    ),
    "cache": Verb(
        "list, show or drop the copies of robots.txt files that the project keeps",
        *("list|show URL|drop URL|drop --all", 1, 2, frozenset({"all"}), _PLAIN),
        "0: done; 1: no such copy",
        ("list", "drop https://example.com"),
    ),
    "job": Verb(
        "show what waits in a job, by site and why; requeue: resume paused sites",
        *("JOBDIR|URL#NAME [requeue [SITE]|--export]", 1, 3, frozenset({"export"}), _PLAIN),
        "0: done; 1: nothing to requeue, or a request cannot be read",
        ("crawls/shop-1", "crawls/shop-1 requeue https://shop.example"),
    ),
    "ledger": Verb(
        "say why a page was fetched; verify: check that each line is as it was written, and that"
        " the same is decided again",
        *("why URL|verify [HEAD]", 1, 2, frozenset({"file"}), _PLAIN),
        "0: all lines agree; 1: no such line; 3: a line does not agree",
        ("why https://example.com/a", "verify --file ledger.jsonl"),
    ),
    "identity": Verb(
        "create the key that signs requests, and the directory and page that identify the robot",
        *("new KEY|directory KEY... --host HOST|check URL|page", 1, None),
        *(frozenset({"host", "output", "address"}), _PLAIN),
        "0: done; 1: a directory has warnings; 3: errors",
        ("new robot.pem", "directory robot.pem --host example.com"),
    ),
    "settings": Verb(
        "show the settings in force in the project, and where each comes from",
        *("", 0, 0, frozenset(), _PLAIN, _DONE, ("", "--format json")),
    ),
}
FORMATS = tuple(dict.fromkeys(form for verb in VERBS.values() for form in verb.formats))


def help_of(name: str) -> str:
    """Return what a verb does, its own options, two examples, and its exit codes."""
    from argparse import ArgumentParser, RawDescriptionHelpFormatter  # noqa: PLC0415 - when asked
    from textwrap import fill  # noqa: PLC0415

    verb = VERBS[name]
    call = f"scrapy robots {name}"
    examples = "\n".join(f"  {call} {one}".rstrip() for one in verb.examples)
    exits = f"exit codes:\n  {verb.exits};\n  2: usage error, or not available"
    parser = ArgumentParser(
        usage=f"{call} {verb.takes} [options]".replace("  ", " "),
        description=fill(f"{verb.does[0].upper()}{verb.does[1:]}. Use - for standard input."),
        epilog=f"examples:\n{examples}\n\n{exits}",
        formatter_class=RawDescriptionHelpFormatter,
        add_help=False,
    )
    add_options(parser, verb.options, verb.formats)
    return parser.format_help()


def check_use(args: list[str], opts: Namespace) -> None:
    """Make sure that the verb is there, with its arguments and options.

    Raises:
        UsageError: it is used wrongly; without a message where only the help is wanted.
    """
    if not args:
        raise UsageError
    if args[0] not in VERBS:
        from difflib import get_close_matches  # noqa: PLC0415 - not loaded where all is right

        meant = get_close_matches(args[0], VERBS, 1)
        hint = f"did you mean {meant[0]}?" if meant else f"it is one of {', '.join(VERBS)}"
        raise UsageError(f"unknown command {args[0]!r}: {hint}")
    verb = VERBS[args[0]]
    unknown = [arg for arg in args if arg.startswith("-") and arg != "-"]
    if unknown:
        raise UsageError(f"unknown option {unknown[0]}")
    _check_options(args[0], verb, opts)
    count = len(args) - 1
    named = count + bool(opts.urls) + bool(opts.robots and opts.file)
    if named < verb.least or (verb.most is not None and count > verb.most):
        raise UsageError(f"usage: scrapy robots {args[0]} {verb.takes}")
    if opts.format and opts.format not in verb.formats:
        raise UsageError(f"{args[0]} does not take --format {opts.format}")
    _check_words(args, count - 1, opts)
    if [*args, opts.file, opts.urls].count("-") > 1:
        raise UsageError("standard input can be read only once")


def _check_words(args: list[str], count: int, opts: Namespace) -> None:
    """Check what a verb is told to do, and how many arguments that takes."""
    if args[0] == "cache":
        _check_cache_use(args[1], count, all_of_them=opts.all)
    if args[0] == "identity":
        _check_identity_use(args[1], count, opts)
    if args[0] == "job" and args[2:3] not in ([], [] if opts.export else ["requeue"]):
        raise UsageError(f"usage: scrapy robots job {VERBS['job'].takes}")
    if args[0] == "ledger" and count not in {"why": {1}, "verify": {0, 1}}.get(args[1], ()):
        raise UsageError(f"usage: scrapy robots ledger {VERBS['ledger'].takes}")


def _check_options(name: str, verb: Verb, opts: Namespace) -> None:
    for option in OPTIONS:
        if getattr(opts, option.replace("-", "_")) and option not in verb.options:
            raise UsageError(f"{name} does not take --{option}")
    if opts.only and opts.unsafe:
        raise UsageError("--only and --unsafe cannot be used together")
    if opts.only and opts.dialect not in {None, opts.only}:
        raise UsageError("--only and --dialect name different dialects")
    if opts.robots and opts.agent:
        raise UsageError("--robots and --agent cannot be used together")


def _check_cache_use(what: str, urls: int, *, all_of_them: bool) -> None:
    wanted = {"list": 0, "show": 1, "drop": 0 if all_of_them else 1}
    if wanted.get(what) != urls or (all_of_them and what != "drop"):
        raise UsageError(f"usage: scrapy robots cache {VERBS['cache'].takes}")


def _check_identity_use(what: str, arguments: int, opts: Namespace) -> None:
    options = {"directory": {"host", "output"}, "page": {"output", "address"}}.get(what, set())
    wrong = [one for one in {"host", "output", "address"} - options if getattr(opts, one)]
    wanted = {"new": 1, "directory": max(1, arguments), "check": 1, "page": 0}
    if wrong or wanted.get(what) != arguments or (what == "directory" and not opts.host):
        raise UsageError(f"usage: scrapy robots identity {VERBS['identity'].takes}")


def asks_a_site(args: list[str], opts: Namespace) -> bool:
    """Whether a site is asked for anything."""
    if args[0] in {"explain", "compare"}:
        return not opts.file
    if args[0] in {"cache", "job", "ledger", "rule", "settings"}:
        return False
    from scrapy_mandelbot.robots.reports.terminal_text import (  # noqa: PLC0415 - not cheap enough
        is_url,
    )

    return any(map(is_url, args[1:]))
