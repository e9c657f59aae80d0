"""One call of the command: what it is about, and what comes of it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.robots.inside import leads_inside
from scrapy_mandelbot.robots.outcome import OutcomeLaw
from scrapy_mandelbot.robots.reports.rules_in_force import SUCCESS
from scrapy_mandelbot.robots.robotstxt import DIALECTS, Dialect

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Sequence

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.commands.downloads import FetchedFile, FetchPlan
    from scrapy_mandelbot.commands.terminal import Terminal

#: The version of what ``--format json`` prints: it grows when a name or a meaning changes.
VERSION = 1

_DEFAULT_BYTES = 512_000  # MANDELBOT_ROBOTS_MAX_BYTES where there is no project
_MOST_BYTES = 16 * 1024 * 1024  # of a robots.txt that is checked; 500 KiB of it count


class Invocation(NamedTuple):
    """What one call is about."""

    verb: str
    args: list[str]
    opts: Namespace
    settings: BaseSettings
    """Empty where Scrapy is not asked for: then it need not be there."""
    process: CrawlerProcessBase | None
    """Of Scrapy; None where no site is asked."""
    terminal: Terminal

    def _setting(self, name: str) -> Any:
        from scrapy_mandelbot.config import read_setting  # noqa: PLC0415 - Scrapy's

        return read_setting(self.settings, name)

    @property
    def envelope(self) -> dict[str, Any]:
        """What every JSON object begins with."""
        return {"version": VERSION, "command": self.verb}

    @property
    def dialect(self) -> Dialect:
        """The dialect of the call, else of the project."""
        named = self.opts.only or self.opts.dialect
        if named:
            return DIALECTS[named]
        dialect: Dialect = self._setting("dialect")
        return dialect

    @property
    def agent(self) -> str | Sequence[str]:
        """The robot of the call, else of the project."""
        agent: str | Sequence[str] | None = self.opts.agent or self._setting("agent")
        from scrapy_mandelbot.rules.request_agents import default_header, first_named  # noqa: PLC0415 - Scrapy's

        return agent or first_named(default_header(self.settings), self.settings["USER_AGENT"])

    @property
    def max_bytes(self) -> int:
        """As much of a robots.txt is read."""
        return int(self._setting("robots_max_bytes")) if self.settings else _DEFAULT_BYTES

    @property
    def law(self) -> OutcomeLaw:
        """What a crawl of the project makes of a site's answers."""
        return OutcomeLaw(frozenset(self._setting("pause_statuses")))

    def wanted_robots(self, url: str) -> FetchPlan:
        """Return a robots.txt as it is asked for."""
        timeout = float(self._setting("robots_timeout"))
        from scrapy_mandelbot.commands.downloads import FetchPlan  # noqa: PLC0415 - Scrapy's

        return FetchPlan(url, _MOST_BYTES, timeout)

    def may_send(self, site: str, url: str) -> bool:
        """Return whether a site's files may send us to a URL; see ``Config.may_send``."""
        return bool(self._setting("private_hosts")) or not leads_inside(site, url)

    def fetch(
        self,
        wanted: Iterable[FetchPlan],
        visit: Callable[[FetchedFile], Iterable[FetchPlan]],
    ) -> None:
        """Ask for URLs, which can be done once in a call."""
        if self.process is None:  # Scrapy makes one where robots.py asks for it
            raise CannotBeHadError("this takes a URL")
        from scrapy_mandelbot.commands.downloads import fetch  # noqa: PLC0415 - Scrapy's

        fetch(self.process, wanted, visit, self.terminal.progress, self.may_send)

    def fetch_one(self, url: str) -> FetchedFile:
        """Ask for one robots.txt."""
        found: list[FetchedFile] = []

        def visit(fetched: FetchedFile) -> tuple[()]:
            found.append(fetched)
            return ()

        self.fetch([self.wanted_robots(url)], visit)
        return found[0]


@dataclass(frozen=True)
class Result:
    """What came of it."""

    exit_code: int
    data: dict[str, Any]
    """For ``--format json``."""
    text: str
    """For a terminal."""
    remarks: list[str] = field(default_factory=list)
    """For standard error."""
    page: Callable[[], str] | None = None
    """Makes what ``--format html`` prints; None: there is no page of this."""
    is_file: bool = False
    """Whether the text is a file: into a pipe go its very octets."""


def body_of(fetched: FetchedFile) -> bytes:
    """Return the body of a success.

    Raises:
        CannotBeHadError: the answer is another, or none.
    """
    if fetched.failure is not None:
        raise CannotBeHadError(fetched.trouble)
    if fetched.status not in SUCCESS:
        raise CannotBeHadError(f"{fetched.final_url}: the status is {fetched.status}")
    return fetched.body


def print_result(job: Invocation, result: Result) -> None:
    """Print what came of it. Who reads may stop, as `head` does: that changes no exit code."""
    terminal, wanted = job.terminal, job.opts.format
    for line in result.remarks:
        terminal.tell(line)
    is_page = wanted == "html" and result.page is not None
    text = result.page() if is_page and result.page is not None else result.text
    if wanted == "json":
        data = {**job.envelope, "exit_code": result.exit_code, **result.data}
        text = json.dumps(data, indent=2) + "\n"
    try:
        terminal.write(text, is_file=result.is_file and not is_page)
    except BrokenPipeError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
