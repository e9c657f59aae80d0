"""``scrapy robots``: check, correct and explain robots.txt files.

Usage::

    scrapy robots check FILE|URL|-... [--select CODE] [--ignore CODE] [--fail-on SEVERITY]
    scrapy robots fix FILE|URL|- [--diff] [--output FILE] [--dialect NAME] [--only NAME]
    scrapy robots explain URL... [--urls FILE] [--agent NAME | --robots] [--file FILE] [--changes]
                                   [--purpose USE]...
    scrapy robots compare URL... [--urls FILE] [--agent NAME | --robots] [--file FILE]
    scrapy robots sitemaps FILE|URL|- [--read]
    scrapy robots cache list|show URL|drop URL|drop --all
    scrapy robots job JOBDIR|URL#NAME [requeue [SITE]]
    scrapy robots ledger why URL|verify [HEAD] [--file FILE]
    scrapy robots identity new KEY|directory KEY... --host HOST [--output FILE]|check URL
                                   |page [--address IP]... [--output FILE]
    scrapy robots audit ACCESS_LOG|-... --agent NAME [--robots-txt FILE|URL]... [--delay SECONDS]
                                   [--retry-after SECONDS] [--log-format FORMAT]
    scrapy robots settings

``-`` is standard input: a robots.txt, or URLs, one a line. With ``--format json`` each prints one
JSON object, which ``docs/command.rst`` describes. With ``--format html`` the first four print a
page about one robots.txt: its findings, the corrected version, and a box in which URLs are tested.

Exit codes:
    0: clean: nothing but notes, proved, allowed, alike, read.
    1: warnings: of ``check``; a URL is forbidden, its rules are not known, or the use asked about
       is refused (``explain``); dialects differ (``compare``); something is wrong with a sitemap
       (``sitemaps``); there is no such copy (``cache``) or line (``ledger why``);
       there is nothing to requeue (``job``); a directory has warnings (``identity check``); a log
       has warnings, or nothing of the robot (``audit``).
    2: wrong use, or what was asked for cannot be had: no such file, no such host.
    3: errors: of ``check`` and ``identity check``; not proved to decide alike (``fix``); a sitemap
       cannot be had; a line that does not agree (``ledger verify``); what robots.txt forbids, or a
       request in a pause (``audit``).

This module and `use` import nothing that Scrapy has not imported before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_mandelbot.commands import add_choices
from scrapy_mandelbot.commands.use import FORMATS, VERBS, asks_a_site, check_use

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _ArgumentGroup

_DIALECTS = ("mandelbot", "rfc9309", "google", "rep1994", "rep2008", "extended2")
_PURPOSES = ("search", "ai-input", "train-ai", "tdm")
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
        return "Check, correct and explain robots.txt files"

    def long_desc(self) -> str:
        """Return what the help says; argparse wraps it."""
        return (
            "Check, correct and explain robots.txt files. "
            "check: what is wrong with a file, or with how a site delivers it, and to which robots"
            " that matters. "
            "fix: the corrected file, and the proof that it decides as the original does. "
            "explain: whether URLs may be crawled, by which line, and what would change that. "
            "compare: how the robots of six dialects decide. "
            "sitemaps: which a file cites, and with --read what is in them. "
            "cache: the copies of robots.txt files that the project keeps. "
            "job: what waits in a job, by site and why; requeue: have paused sites asked again. "
            "ledger: why a page was fetched; verify: whether each line is as it was written, and is"
            " decided alike again. "
            "identity: a key to sign requests with, the directory and the page by which sites know"
            " the robot. "
            "audit: whether a robot was polite, as a server's access log has it. "
            "settings: what is in force in the project, and from where. "
            "'-' is standard input. "
            "Exit code 0: clean, proved, allowed, alike; 1: warnings, forbidden, not alike;"
            " 2: wrong use, or it cannot be had; 3: errors, not proved."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the options of all verbs."""
        super().add_options(parser)
        group = parser.add_argument_group(title="Robots Options")
        group.add_argument(
            "--format",
            choices=FORMATS,
            help="text, if not said otherwise, of several URLs table (explain, compare); html is a"
            " page (check, fix, explain, compare, audit), sarif and github are of check",
        )
        group.add_argument(
            "--dialect",
            choices=_DIALECTS,
            help="fix, explain: how the file is read, audit too, else as MANDELBOT_DIALECT says",
        )
        group.add_argument(
            "--only",
            choices=_DIALECTS,
            metavar="DIALECT",
            help="fix: for robots of this dialect alone, though it may open something to others",
        )
        group.add_argument(
            "--agent",
            metavar="NAME",
            help="explain, compare, audit: the robot, else the one that the project goes by;"
            " audit: '*' is whoever asks",
        )
        group.add_argument(
            "--file",
            metavar="FILE",
            help="explain, compare: a robots.txt on disk instead of the site's; ledger: the file",
        )
        group.add_argument(
            "--urls", metavar="FILE", help="explain, compare: URLs from a file, one a line"
        )
        group.add_argument(
            "--robots",
            action="store_true",
            help="explain, compare: for each of the known robots, and those that the file names",
        )
        group.add_argument(
            "--changes",
            action="store_true",
            help="explain: what would change each verdict, of several URLs too",
        )
        group.add_argument(
            "--purpose",
            action="append",
            choices=_PURPOSES,
            metavar="USE",
            help=f"explain: what the page is wanted for: {', '.join(_PURPOSES)}; may be repeated",
        )
        add_choices(group)
        group.add_argument(
            "--diff", action="store_true", help="fix: show what changes, not the whole file"
        )
        group.add_argument(
            "--output", metavar="FILE", help="fix, identity: where the file is written"
        )
        group.add_argument(
            "--host", metavar="HOST", help="identity directory: the host that serves it"
        )
        group.add_argument(
            "--read", action="store_true", help="sitemaps: read them, and count their entries"
        )
        group.add_argument("--all", action="store_true", help="cache drop: every copy")
        _add_audit(group)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Check how the command is used, and set up what it needs.

        Raises:
            UsageError: it is used wrongly.
        """
        super().process_options(args, opts)
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
        from scrapy_mandelbot.commands.running import run  # noqa: PLC0415 - the rest is not cheap

        if self.settings is not None:
            self.exitcode = run(args, opts, self.settings, self.crawler_process)


def _add_audit(group: _ArgumentGroup) -> None:
    """Add the options of audit."""
    group.add_argument(
        "--robots-txt",
        action="append",
        metavar="[HOST=][SINCE=]FILE|URL",
        help="audit: the robots.txt of the sites, or of a host, from a date on; may be repeated",
    )
    group.add_argument(
        "--delay",
        type=float,
        metavar="SECONDS",
        help="audit: between requests, else as robots.txt asks",
    )
    group.add_argument(
        "--retry-after",
        type=float,
        metavar="SECONDS",
        help="audit: that a refusal asked for, where the log does not say",
    )
    group.add_argument(
        "--ttl",
        type=float,
        metavar="SECONDS",
        help="audit: as long a robots.txt may be gone by, else MANDELBOT_CACHE['ttl']",
    )
    group.add_argument(
        "--log-format",
        metavar="FORMAT",
        help="audit: common, combined, vhost_common, vhost_combined, or as nginx's log_format or"
        " Apache's LogFormat has it; else it is found out",
    )
    group.add_argument(
        "--address",
        action="append",
        metavar="IP|NETWORK",
        help="audit, identity page: from where the robot comes; may be repeated",
    )
