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
_SECONDS: dict[str, Any] = {"metavar": "SECONDS", "type": float}

OPTIONS: dict[str, dict[str, Any]] = {
    "select": {
        **_MANY,
        "metavar": "CODE",
        "help": "these findings alone; a code, or all of error, warning, note; may be repeated",
    },
    "ignore": {**_MANY, "metavar": "CODE", "help": "all but these findings"},
    "fail-on": {
        "choices": ("error", "warning"),
        "help": "what is no success: warnings too, if not said otherwise",
    },
    "config": {
        **_FILE,
        "help": "the project's choices, else those of the nearest .robots-check.cfg, pyproject.toml"
        " ([tool.robots-check]) or setup.cfg ([robots-check])",
    },
    "full": {**_FLAG, "help": "notes too, and of all findings the line and why it matters to whom"},
    "statistics": {**_FLAG, "help": "how often each finding is there, and in how many files"},
    "dialect": {
        "choices": DIALECTS,
        "help": "how the file is read, else as MANDELBOT_DIALECT says; of explain, as the robot"
        " reads it, where that is known",
    },
    "only": {
        "choices": DIALECTS,
        "metavar": "DIALECT",
        "help": "for robots of this dialect alone, though it may open something to others",
    },
    "unsafe": {
        **_FLAG,
        "help": "in the document's order whatever that opens or closes to whom, which is told",
    },
    "diff": {**_FLAG, "help": "show what changes, not the whole file"},
    "output": {**_FILE, "help": "where the file is written"},
    "agent": {
        "metavar": "NAME",
        "help": "the robot, else the one that the project goes by; of audit, '*' is whoever asks",
    },
    "file": {**_FILE, "help": "a file on disk: a robots.txt instead of the site's, a ledger"},
    "urls": {**_FILE, "help": "URLs from a file, one a line"},
    "robots": {**_FLAG, "help": "for each of the known robots, and those that the file names"},
    "changes": {**_FLAG, "help": "what would change each verdict, of several URLs too"},
    "purpose": {
        **_MANY,
        "choices": PURPOSES,
        "metavar": "USE",
        "help": f"what the page is wanted for: {', '.join(PURPOSES)}; may be repeated",
    },
    "host": {"metavar": "HOST", "help": "of directory: the host that serves it"},
    "read": {**_FLAG, "help": "read the sitemaps, and count their entries"},
    "export": {**_FLAG, "help": "print all requests of the job, as JSON lines"},
    "all": {**_FLAG, "help": "of drop: every copy"},
    "robots-txt": {
        **_MANY,
        "metavar": "[HOST=][SINCE=]FILE|URL",
        "help": "the robots.txt of the sites, or of a host, from a date on; may be repeated",
    },
    "delay": {**_SECONDS, "help": "between requests, else as robots.txt asks"},
    "retry-after": {
        **_SECONDS,
        "help": "that a refusal asked for, where the log does not say",
    },
    "ttl": {
        **_SECONDS,
        "help": "as long a robots.txt may be gone by, else MANDELBOT_CACHE['ttl']",
    },
    "log-format": {
        "metavar": "FORMAT",
        "help": "common, combined, vhost_common, vhost_combined, or as nginx's log_format or"
        " Apache's LogFormat has it; else it is found out",
    },
    "address": {
        **_MANY,
        "metavar": "IP|NETWORK",
        "help": "from where the robot comes; may be repeated",
    },
}
"""What verbs take, by name, as argparse has it; and --format."""


CHOICES = frozenset({"select", "ignore", "fail-on", "config", "full", "statistics"})
"""The options of check."""


def add_options(
    parser: _ActionsContainer,
    names: Iterable[str],
    formats: Iterable[str],
    *,
    is_told: bool = True,
) -> None:
    """Add the options with these names, in the table's order, and --format."""
    from argparse import SUPPRESS  # noqa: PLC0415 - Scrapy has loaded it when this is called

    wanted = set(names)
    table = {
        "format": {"choices": tuple(formats), "help": "text, if not said otherwise"},
        **OPTIONS,
    }
    for name, option in table.items():
        if name in wanted | {"format"}:
            told = option["help"] if is_told else SUPPRESS
            parser.add_argument(f"--{name}", **{**option, "help": told})
