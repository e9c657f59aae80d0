"""One invocation of a verb: its options, what it reads by, the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mandelbot._version import __version__
from mandelbot.answers.outcome import PAUSE_STATUSES
from mandelbot.cli.output import UnavailableError
from mandelbot.cli.output.rules_in_force import EVERYBODY
from mandelbot.robotstxt.dialects import DIALECTS, Dialect
from mandelbot.robotstxt.known_robots import dialect_of

if TYPE_CHECKING:
    from argparse import Namespace

    from mandelbot.cli.fetch import Fetched
    from mandelbot.cli.output import Terminal

_MOST_BYTES = 16 * 1024 * 1024  # of a robots.txt that is fetched; robots read 500 KiB
DEFAULTS: Mapping[str, Any] = {
    "agent": None,
    "dialect": DIALECTS["mandelbot"],
    "pause_statuses": PAUSE_STATUSES,
    "private_hosts": False,
    "robots_max_bytes": 512_000,
    "robots_timeout": 10.0,
    "sitemap_max_bytes": 52_428_800,
    "sitemap_max_entries": 50_000,
}
"""What verbs read by where no project says otherwise."""


class Invocation:
    """A verb with its options; a framework's own reads the settings of its project."""

    user_agent = ""
    """A User-Agent that names a robot; empty: that of this package is sent, and names
    none.
    """
    verifies = True
    """Whether certificates are checked."""
    page_timeout = 180.0
    """Seconds that a page or a sitemap may take."""
    errors: tuple[type[BaseException], ...] = (UnavailableError, KeyboardInterrupt)
    """They end a verb with their message."""

    def __init__(self, opts: Namespace, terminal: Terminal) -> None:
        self.opts = opts
        self.terminal = terminal

    def setting(self, name: str) -> Any:
        """Return what a verb reads by."""
        return DEFAULTS[name]

    @property
    def dialect(self) -> Dialect:
        """The dialect of the options, or else that which is set."""
        named = getattr(self.opts, "only", None) or getattr(self.opts, "dialect", None)
        dialect: Dialect = DIALECTS[named] if named else self.setting("dialect")
        return dialect

    def dialect_for(self, agent: str | Sequence[str]) -> Dialect:
        """Return the robot's own dialect, if it is known and no option names one."""
        own = None if self.opts.dialect else dialect_of(agent)
        return DIALECTS[own] if own else self.dialect

    @property
    def agent(self) -> str | Sequence[str]:
        """The robot of the options, or else of the settings; without one, any robot."""
        agent: str | Sequence[str] = getattr(self.opts, "agent", None) or self.setting(
            "agent"
        )
        return agent or self.user_agent or EVERYBODY

    def may_redirect(self, site: str, url: str) -> bool:
        """Return whether a site may refer to a URL: not into this machine's network."""
        from mandelbot.answers.inside import leads_inside  # noqa: PLC0415 -- files need none

        return bool(self.setting("private_hosts")) or not leads_inside(site, url)

    def fetch(
        self, url: str, max_bytes: int = _MOST_BYTES, timeout: float | None = None
    ) -> Fetched:
        """Fetch a URL; without a timeout within that of a robots.txt."""
        from mandelbot.cli.fetch import TimedDownload  # noqa: PLC0415 -- files need none

        self.terminal.progress(f"fetching {url}")
        agent = self.user_agent or f"mandelbot/{__version__}"
        download = TimedDownload(url, agent, self.may_redirect, verify=self.verifies)
        return download.fetch(
            max_bytes, timeout or float(self.setting("robots_timeout"))
        )


@dataclass(frozen=True)
class Result:
    """What a verb found."""

    exit_code: int
    data: dict[str, Any]
    """For ``--format json``."""
    text: str
    """For a terminal."""
    remarks: list[str] = field(default_factory=list)
    """For standard error."""
    page: Callable[[], str] | None = None
    """Makes the page of ``--format html``; None: there is none."""
    is_file: bool = False
    """Whether the text is a file, which goes into a pipe octet by octet."""
