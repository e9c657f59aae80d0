"""How the command is used: its verbs, what each takes, and what is wrong use."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from argparse import Namespace


class Verb(NamedTuple):
    """How one of the things that the command does is called."""

    takes: str
    least: int
    most: int | None
    """Arguments; None: as many as one likes."""
    options: frozenset[str]
    """Those that mean something to it, but --format."""
    formats: tuple[str, ...]


_LIST = ("text", "table", "csv", "json", "jsonl", "html")
_OF_URLS = frozenset({"agent", "file", "urls", "robots"})
_SECONDS = ("delay", "retry-after", "ttl")
_OF_LOGS = frozenset({"address", "log-format", "robots-txt", *_SECONDS})

VERBS = {
    "check": Verb(
        *("FILE|URL|-...", 1, None, frozenset({"select", "ignore", "fail-on", "config"})),
        ("text", "csv", "json", "html", "sarif", "github"),
    ),
    "fix": Verb(
        *("FILE|URL|-", 1, 1, frozenset({"diff", "output", "dialect", "only"})),
        ("text", "json", "html"),
    ),
    "explain": Verb("URL...", 1, None, _OF_URLS | {"dialect", "changes", "purpose"}, _LIST),
    "compare": Verb("URL...", 1, None, _OF_URLS, _LIST),
    "sitemaps": Verb("FILE|URL|-", 1, 1, frozenset({"read"}), ("text", "json")),
    "cache": Verb("list|show URL|drop URL|drop --all", 1, 2, frozenset({"all"}), ("text", "json")),
    "job": Verb("JOBDIR|URL#NAME [requeue [SITE]]", 1, 3, frozenset(), ("text", "json")),
    "ledger": Verb("why URL|verify [HEAD]", 1, 2, frozenset({"file"}), ("text", "json")),
    "identity": Verb(
        *("new KEY|directory KEY... --host HOST|check URL|page", 1, None),
        *(frozenset({"host", "output", "address"}), ("text", "json")),
    ),
    "audit": Verb(
        "ACCESS_LOG|-... --agent NAME",
        *(1, None, _OF_LOGS | {"agent", "dialect", "fail-on"}, ("text", "json", "html")),
    ),
    "settings": Verb("", 0, 0, frozenset(), ("text", "json")),
}
FORMATS = tuple(dict.fromkeys(form for verb in VERBS.values() for form in verb.formats))
OPTIONS = sorted({option for verb in VERBS.values() for option in verb.options})


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
        hint = f"{meant[0]} is meant, most likely" if meant else f"it is one of {', '.join(VERBS)}"
        raise UsageError(f"there is no {args[0]!r}: {hint}")
    verb = VERBS[args[0]]
    unknown = [arg for arg in args if arg.startswith("-") and arg != "-"]
    if unknown:
        raise UsageError(f"there is no option {unknown[0]}")
    _check_options(args[0], verb, opts)
    count = len(args) - 1
    named = count + bool(opts.urls) + bool(opts.robots and opts.file)
    if named < verb.least or (verb.most is not None and count > verb.most):
        raise UsageError(f"it is: scrapy robots {args[0]} {verb.takes}")
    if opts.format and opts.format not in verb.formats:
        raise UsageError(f"{args[0]} takes no --format {opts.format}")
    _check_words(args, count - 1, opts)
    if [*args, opts.file, opts.urls, *(opts.robots_txt or ())].count("-") > 1:
        raise UsageError("standard input can be read once only")


def _check_words(args: list[str], count: int, opts: Namespace) -> None:
    """Check what a verb is told to do, and how many arguments that takes."""
    if args[0] == "cache":
        _check_cache_use(args[1], count, all_of_them=opts.all)
    if args[0] == "identity":
        _check_identity_use(args[1], count, opts)
    if args[0] == "job" and args[2:3] not in ([], ["requeue"]):
        raise UsageError(f"it is: scrapy robots job {VERBS['job'].takes}")
    if args[0] == "ledger" and count not in {"why": {1}, "verify": {0, 1}}.get(args[1], ()):
        raise UsageError(f"it is: scrapy robots ledger {VERBS['ledger'].takes}")


def _check_options(name: str, verb: Verb, opts: Namespace) -> None:
    for option in OPTIONS:
        if getattr(opts, option.replace("-", "_")) and option not in verb.options:
            raise UsageError(f"{name} takes no --{option}")
    for option in _SECONDS:
        value = getattr(opts, option.replace("-", "_"))
        if value is not None and not 0 <= value < inf:
            raise UsageError(f"--{option} takes seconds")
    if opts.only and opts.dialect not in {None, opts.only}:
        raise UsageError("--only and --dialect name two dialects")
    if opts.robots and opts.agent:
        raise UsageError("--robots asks for many robots, --agent for one")


def _check_cache_use(what: str, urls: int, *, all_of_them: bool) -> None:
    wanted = {"list": 0, "show": 1, "drop": 0 if all_of_them else 1}
    if wanted.get(what) != urls or (all_of_them and what != "drop"):
        raise UsageError(f"it is: scrapy robots cache {VERBS['cache'].takes}")


def _check_identity_use(what: str, arguments: int, opts: Namespace) -> None:
    options = {"directory": {"host", "output"}, "page": {"output", "address"}}.get(what, set())
    wrong = [one for one in {"host", "output", "address"} - options if getattr(opts, one)]
    wanted = {"new": 1, "directory": max(1, arguments), "check": 1, "page": 0}
    if wrong or wanted.get(what) != arguments or (what == "directory" and not opts.host):
        raise UsageError(f"it is: scrapy robots identity {VERBS['identity'].takes}")


def asks_a_site(args: list[str], opts: Namespace) -> bool:
    """Whether a site is asked for anything."""
    if args[0] in {"explain", "compare"}:
        return not opts.file
    if args[0] == "audit":
        return any("://" in one for one in opts.robots_txt or ())
    if args[0] in {"cache", "job", "ledger", "settings"}:
        return False
    from scrapy_mandelbot.robots.reports.terminal_text import (  # noqa: PLC0415 - not cheap enough
        is_url,
    )

    return any(map(is_url, args[1:]))
