"""``scrapy robots``: check, fix and explain robots.txt files.

Scrapy imports this module on every call of ``scrapy``: it imports nothing that Scrapy
has not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class Command(ScrapyCommand):
    """The command as Scrapy runs it: ``verbs`` has what it takes."""

    requires_crawler_process = False

    def syntax(self) -> str:
        """Return what follows the command's name."""
        return "VERB <argument>... [options]"

    def short_desc(self) -> str:
        """Return the line in Scrapy's list of commands."""
        return "Check, fix and explain robots.txt files"

    def add_options(self, parser: ArgumentParser) -> None:
        """Add Scrapy's options; they leave the verb with its own to ``mandelbot``."""
        super().add_options(parser)
        parser.add_argument("-h", "--help", action="store_true")

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Parse the verb, and print a help or a usage error."""
        from mandelbot.cli.verbs import parse  # noqa: PLC0415 - it is not cheap

        from scrapy_mandelbot.commands.verbs import VERBS  # noqa: PLC0415

        super().process_options(args, opts)
        help_wanted = ["--help"] if opts.help else []
        remark = " Scrapy's options, such as -s NAME=VALUE, may stand anywhere."
        self._parsed = parse([*args, *help_wanted], "scrapy robots", VERBS, remark)

    def run(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002 - Scrapy's interface
        """Run the verb."""
        from mandelbot.cli.verbs import run  # noqa: PLC0415 - it is not cheap

        from scrapy_mandelbot.commands.project import ProjectInvocation  # noqa: PLC0415

        settings: Any = self.settings  # Scrapy has set them by now
        self.exitcode = run(self._parsed, partial(ProjectInvocation, settings=settings))
