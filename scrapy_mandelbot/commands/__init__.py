"""What the package adds to the command ``scrapy``.

Scrapy loads ``robots`` on every call, whatever the call is for: importing it costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import _ActionsContainer
    from collections.abc import Iterable

DIALECTS = ("mandelbot", "rfc9309", "google", "rep1994", "rep2008", "extended2")
PURPOSES = ("search", "ai-input", "train-ai", "tdm")
_MANY: dict[str, Any] = {"action": "append"}
_FLAG: dict[str, Any] = {"action": "store_true"}
_FILE: dict[str, Any] = {"metavar": "FILE"}

OPTIONS: dict[str, dict[str, Any]] = {
    "select": {
        **_MANY,
        "metavar": "CODE",
        "help": "only these findings: a code, error, warning or note; may be repeated",
    },
    "ignore": {**_MANY, "metavar": "CODE", "help": "leave out these findings; may be repeated"},
    "fail-on": {
        "choices": ("error", "warning"),
        "help": "the least severe finding that fails the check (default: warning)",
    },
    "config": {
        **_FILE,
        "help": "the configuration file (default: the nearest .robots-check.cfg, pyproject.toml"
        " ([tool.robots-check]) or setup.cfg ([robots-check]))",
    },
    "full": {
        **_FLAG,
        "help": "include notes, and show for each finding the line and whom it affects",
    },
    "dialect": {
        "choices": DIALECTS,
        "help": "the dialect to read the file in (default: MANDELBOT_DIALECT; for explain, the"
        " robot's own, if known)",
    },
    "only": {
        "choices": DIALECTS,
        "metavar": "DIALECT",
        "help": "fix for robots of this dialect only, even if that opens something to others",
    },
    "unsafe": {
        **_FLAG,
        "help": "use the order of the specification, and report what that opens or closes",
    },
    "diff": {**_FLAG, "help": "show only what changes"},
    "output": {**_FILE, "help": "write to this file"},
    "agent": {"metavar": "NAME", "help": "the robot (default: the project's)"},
    "file": {**_FILE, "help": "read this file: a robots.txt instead of the site's, or a ledger"},
    "urls": {**_FILE, "help": "read URLs from this file, one per line"},
    "robots": {**_FLAG, "help": "answer for each known robot, and for those that the file names"},
    "changes": {**_FLAG, "help": "show what would change each verdict, for several URLs, too"},
    "purpose": {
        **_MANY,
        "choices": PURPOSES,
        "metavar": "USE",
        "help": f"the intended use of the page: {', '.join(PURPOSES)}; may be repeated",
    },
    "host": {"metavar": "HOST", "help": "the host that serves the directory"},
    "read": {**_FLAG, "help": "read the sitemaps, and count their entries"},
    "export": {**_FLAG, "help": "print all requests of the job, as JSON lines"},
    "all": {**_FLAG, "help": "drop all copies"},
    "address": {
        **_MANY,
        "metavar": "IP|NETWORK",
        "help": "an address of the robot; may be repeated",
    },
}
"""What verbs take, by name, as argparse has it; and --format."""


CHOICES = frozenset({"select", "ignore", "fail-on", "config", "full"})
"""The options of check."""


def add_options(
    parser: _ActionsContainer, names: Iterable[str], formats: Iterable[str], *, is_told: bool = True
) -> None:
    """Add the options with these names, in the table's order, and --format."""
    from argparse import SUPPRESS  # noqa: PLC0415 - Scrapy has loaded it when this is called

    wanted = set(names)
    table = {
        "format": {"choices": tuple(formats), "help": "the output format (default: text)"},
        **OPTIONS,
    }
    for name, option in table.items():
        if name in wanted | {"format"}:
            told = option["help"] if is_told else SUPPRESS
            parser.add_argument(f"--{name}", **{**option, "help": told})
