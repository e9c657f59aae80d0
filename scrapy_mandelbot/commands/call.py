"""One call of the command: what it is about, where it writes to, and what comes of it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from scrapy_mandelbot.commands.sources import CannotBeHadError, check_for_jinja
from scrapy_mandelbot.robots.formatting import shown
from scrapy_mandelbot.robots.inside import leads_inside
from scrapy_mandelbot.robots.outcome import OutcomeLaw
from scrapy_mandelbot.robots.reports.rules_in_force import SUCCESS
from scrapy_mandelbot.robots.reports.terminal_text import WIDTH, Paint
from scrapy_mandelbot.robots.robotstxt import DIALECTS, Dialect

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.commands.downloads import FetchedFile, FetchPlan

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
        self, wanted: Iterable[FetchPlan], visit: Callable[[FetchedFile], Iterable[FetchPlan]]
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
    """Return the body of a success."""
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


_CLEAR_LINE = "\r\x1b[K"
_LONGEST = 400  # characters of a line that is no part of a report
_NARROWEST, _WIDEST = 40, 100  # columns of text on a screen
_DIGITS = 4  # of COLUMNS
_WIDTH = 78  # of one that shows what is being done


def _columns(out: TextIO, environ: Mapping[str, str]) -> int:
    """Return what COLUMNS says, else how wide a terminal is, for text that can still be read."""
    told = environ.get("COLUMNS", "")
    if told.isdecimal() and told.isascii() and int(told[:_DIGITS]):
        return max(_NARROWEST, int(told[:_DIGITS]))
    try:
        return min(max(_NARROWEST, os.get_terminal_size(out.fileno()).columns), _WIDEST)
    except (OSError, ValueError):  # no terminal
        return WIDTH


class Terminal:
    """Standard output and standard error."""

    def __init__(self, out: TextIO, err: TextIO, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self._out, self._err = out, err
        self.is_screen = out.isatty()
        colours = self.is_screen and environ.get("TERM") != "dumb"
        if environ.get("FORCE_COLOR", "0") not in {"", "0"}:  # force-color.org
            colours = True
        if environ.get("NO_COLOR"):  # no-color.org
            colours = False
        self.paint = Paint(colours=colours, width=_columns(out, environ))
        self._shows_progress = err.isatty() and environ.get("TERM") != "dumb"
        self._has_progress = False

    def write(self, text: str, *, is_file: bool = False) -> None:
        """Write a report. A file goes into a pipe as UTF-8, whatever the locale: robots read it."""
        self._clear()
        octets = None if self.is_screen or not is_file else getattr(self._out, "buffer", None)
        if octets is not None:
            self._out.flush()
            octets.write(text.encode())
            octets.flush()
            return
        # A terminal or pipe that is not UTF-8 gets escapes for what it cannot show.
        encoding = self._out.encoding or "utf-8"
        self._out.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._out.flush()

    def tell(self, message: str) -> None:
        """Write a line that is no part of the report."""
        self._clear()
        encoding = self._err.encoding or "utf-8"
        line = f"scrapy robots: {shown(message, _LONGEST)}\n"
        self._err.write(line.encode(encoding, "backslashreplace").decode(encoding))
        self._err.flush()

    def progress(self, doing: str) -> None:
        """Show what is being done, in one line, where a person may be watching."""
        if self._shows_progress:
            self._err.write(f"{_CLEAR_LINE}{shown(doing, _WIDTH)}")
            self._err.flush()
            self._has_progress = True

    def _clear(self) -> None:
        if self._has_progress:
            self._err.write(_CLEAR_LINE)
            self._err.flush()
            self._has_progress = False


VERBS = {
    "check": "check_verb.check",
    "rule": "check_verb.tell_rules",
    "fix": "fix_verb.fix",
    "explain": "url_verbs.explain",
    "compare": "url_verbs.compare",
    "sitemaps": "sitemap_verb.list_sitemaps",
    "cache": "project_verbs.look_at_copies",
    "job": "job_verb.look_at_job",
    "ledger": "ledger_verb.look_at_ledger",
    "identity": "identity_verb.show_identity",
    "audit": "audit_verb.audit",
    "settings": "project_verbs.show_settings",
}
"""The function of each, by its import path beside this module: the others are not imported."""


_CANNOT_BE_HAD = 2


def run(
    args: list[str], opts: Namespace, settings: BaseSettings, process: CrawlerProcessBase | None
) -> int:
    """Do what was asked for, print what came of it, and return the exit code."""
    from scrapy_mandelbot.setting_values import SettingsError  # noqa: PLC0415 - Scrapy's

    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        if opts.format == "html":
            check_for_jinja()
        job = Invocation(args[0], args[1:], opts, settings, process, terminal)
        module, name = VERBS[job.verb].split(".")
        result: Result = getattr(import_module(f"{__package__}.{module}"), name)(job)
        print_result(job, result)
    except (CannotBeHadError, SettingsError) as error:
        terminal.tell(str(error))
        return _CANNOT_BE_HAD
    except KeyboardInterrupt:
        terminal.tell("interrupted")
        return _CANNOT_BE_HAD
    return result.exit_code
