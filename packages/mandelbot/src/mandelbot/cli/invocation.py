"""One invocation of a verb: its options, the settings of the project, the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mandelbot.answers.inside import leads_inside
from mandelbot.answers.outcome import PAUSE_STATUSES
from mandelbot.cli.output import UnavailableError
from mandelbot.cli.output.rules_in_force import EVERYBODY
from mandelbot.robotstxt import DIALECTS, Dialect
from mandelbot.robotstxt.known_robots import dialect_of

from scrapy_mandelbot._version import __version__

if TYPE_CHECKING:
    from argparse import Namespace

    from mandelbot.cli.fetch import Fetched
    from mandelbot.cli.output import Terminal
    from scrapy.settings import Settings

_MOST_BYTES = 16 * 1024 * 1024  # of a robots.txt that is fetched; robots read 500 KiB
WITHOUT_PROJECT: Mapping[str, Any] = {
    "agent": None,
    "dialect": DIALECTS["mandelbot"],
    "pause_statuses": PAUSE_STATUSES,
    "private_hosts": False,
    "robots_max_bytes": 512_000,
    "robots_timeout": 10.0,
    "sitemap_max_bytes": 52_428_800,
    "sitemap_max_entries": 50_000,
}
"""The defaults of settings, for invocations without Scrapy."""


class Invocation(NamedTuple):
    """A verb with its arguments and options."""

    opts: Namespace
    project: Settings | None
    """The settings of the project; None: Scrapy is not used, and need not be installed.
    """
    terminal: Terminal

    @property
    def settings(self) -> Settings:
        """The settings, for verbs that need a project."""
        if self.project is None:
            raise UnavailableError(
                "this needs the settings of a project: scrapy robots"
            )
        return self.project

    def setting(self, name: str) -> Any:
        """Return a setting by the name of its attribute in ``Config``."""
        if self.project is None:
            return WITHOUT_PROJECT[name]
        from scrapy_mandelbot.settings.config import (
            read_setting,
        )  # noqa: PLC0415 - needs Scrapy

        return read_setting(self.project, name)

    @property
    def dialect(self) -> Dialect:
        """The dialect of the options, or else of the project."""
        named = getattr(self.opts, "only", None) or getattr(self.opts, "dialect", None)
        dialect: Dialect = DIALECTS[named] if named else self.setting("dialect")
        return dialect

    def dialect_for(self, agent: str | Sequence[str]) -> Dialect:
        """Return the robot's own dialect, if it is known and no option names one."""
        is_named = self.opts.dialect or not isinstance(agent, str)
        own = None if is_named else dialect_of(str(agent))
        return DIALECTS[own] if own else self.dialect

    @property
    def fresh_for(self) -> float:
        """For how many seconds a robots.txt is not fetched again."""
        ttl = self.setting("cache_ttl")
        return float(self.dialect.fresh_for if ttl is None else ttl)

    @property
    def agent(self) -> str | Sequence[str]:
        """The robot of the options, or else of the project; without one, any robot."""
        agent: str | Sequence[str] = getattr(self.opts, "agent", None) or self.setting(
            "agent"
        )
        return agent or self.user_agent or EVERYBODY

    @property
    def user_agent(self) -> str:
        """The project's User-Agent, one that names a robot if there is any; empty: no project."""
        if self.project is None:
            return ""
        from scrapy_mandelbot.fetching.request_agents import (  # noqa: PLC0415 - needs Scrapy
            default_header,
            first_named,
        )

        return first_named(default_header(self.project), self.project["USER_AGENT"])

    def may_redirect(self, site: str, url: str) -> bool:
        """Return whether a site may lead to a URL, as in a crawl: see ``Config.may_send``."""
        return bool(self.setting("private_hosts")) or not leads_inside(site, url)

    def fetch(
        self, url: str, max_bytes: int = _MOST_BYTES, timeout: float | None = None
    ) -> Fetched:
        """Fetch a URL; without a timeout within that of a robots.txt."""
        from mandelbot.cli.fetch import TimedDownload  # noqa: PLC0415 - files need none

        self.terminal.progress(f"fetching {url}")
        verify = self.project is None or self.project.getbool(
            "DOWNLOAD_VERIFY_CERTIFICATES"
        )
        agent = self.user_agent or f"scrapy-mandelbot/{__version__}"
        download = TimedDownload(url, agent, self.may_redirect, verify=verify)
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
