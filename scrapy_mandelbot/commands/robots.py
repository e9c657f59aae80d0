"""``scrapy robots``: check, fix and explain robots.txt files.

``docs/command.rst`` describes the verbs, ``use`` says what each takes and how it exits. ``-`` is
standard input: a robots.txt, or URLs, one a line.

This module and `use` import nothing that Scrapy has not imported before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_mandelbot.commands import OPTIONS, add_options
from scrapy_mandelbot.commands.use import FORMATS, VERBS, asks_a_site, check_use, help_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_CMDLINE = 40  # Scrapy's priority of what the command line says

# For the requests of this command: the project's agent, proxies and timeouts, and none of what it
# does with pages. What a robots.txt says is asked for here, not obeyed.
_SETTINGS: dict[str, object] = {
    "AUTOTHROTTLE_ENABLED": False,
    "CLOSESPIDER_TIMEOUT": 0,
    "DEPTH_LIMIT": 0,
    "DOWNLOAD_DELAY": 0,
    "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
    "EXTENSIONS": {},
    "FEEDS": {},
    "HTTPCACHE_ENABLED": False,
    "ITEM_PIPELINES": {},
    "JOBDIR": None,
    "MANDELBOT_ENABLED": False,
    "MEMUSAGE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "SPIDER_MIDDLEWARES": {},
    "SPIDER_MODULES": [],
    "STATS_DUMP": False,
    "TELNETCONSOLE_ENABLED": False,
}


class Command(ScrapyCommand):
    """The command as Scrapy runs it; what it does is in ``verbs``."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """Return what follows the command's name."""
        return f"{'|'.join(VERBS)} <argument>... [options]"

    def short_desc(self) -> str:
        """Return the line in Scrapy's list of commands."""
        return "Check, fix and explain robots.txt files"

    def long_desc(self) -> str:
        """Return what the help says; argparse wraps it."""
        verbs = " ".join(f"{name}: {verb.does}." for name, verb in VERBS.items())
        return (
            f"Check, fix and explain robots.txt files. {verbs} Use '-' for standard input. "
            "Exit code 0: clean, proved, allowed, alike; 1: warnings, forbidden, not alike;"
            " 2: usage error, or not available; 3: errors, not proved. "
            "For the options and examples of one of these: scrapy robots check --help."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the options of all verbs, which the help of each lists."""
        super().add_options(parser)
        parser.add_argument(
            "-h", "--help", action="store_true", help="show this help, or that of a verb"
        )
        self._parser = parser
        add_options(parser, OPTIONS, FORMATS, is_told=False)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Check how the command is used, and set up what it needs.

        Raises:
            UsageError: it is used wrongly.
        """
        super().process_options(args, opts)
        if opts.help:
            is_verb = bool(args) and args[0] in VERBS
            print(help_of(args[0]) if is_verb else self._parser.format_help(), end="")  # noqa: T201
            raise SystemExit(0)
        check_use(args, opts)
        settings = self.settings
        if settings is None:  # Scrapy sets it before
            raise UsageError
        if settings.getpriority("LOG_ENABLED") != _CMDLINE:  # a project's log is for its crawls
            settings.set("LOG_ENABLED", False, "cmdline")  # noqa: FBT003 - Scrapy's interface
        if asks_a_site(args, opts):
            self.requires_crawler_process = True
            settings.setdict(_SETTINGS, _CMDLINE)

    def run(self, args: list[str], opts: Namespace) -> None:
        """Do what was asked for."""
        from scrapy_mandelbot.commands.call import run  # noqa: PLC0415 - the rest is not cheap

        if self.settings is not None:
            self.exitcode = run(args, opts, self.settings, self.crawler_process)
