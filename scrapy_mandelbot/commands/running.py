"""What the command does, once it is known to be used rightly."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from scrapy_mandelbot.commands.call import Invocation, Result, print_result
from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.commands.subjects import check_for_jinja
from scrapy_mandelbot.commands.terminal import Terminal
from scrapy_mandelbot.setting_values import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

VERBS = {
    "check": "check_verb.check",
    "rule": "check_verb.tell_rules",
    "fix": "fix_verb.fix",
    "explain": "url_verbs.explain",
    "compare": "url_verbs.compare",
    "sitemaps": "sitemap_verb.list_sitemaps",
    "cache": "cache_verb.look_at_copies",
    "job": "job_verb.look_at_job",
    "ledger": "ledger_verb.look_at_ledger",
    "identity": "identity_verb.show_identity",
    "audit": "audit_verb.audit",
    "settings": "settings_verb.show_settings",
}
"""The function of each, by its import path beside this module: the others are not imported."""


_CANNOT_BE_HAD = 2


def run(
    args: list[str], opts: Namespace, settings: BaseSettings, process: CrawlerProcessBase | None
) -> int:
    """Do what was asked for, print what came of it, and return the exit code."""
    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        if opts.format == "html":
            check_for_jinja()
        job = Invocation(args[0], args[1:], opts, settings, process, terminal)
        do: Callable[[Invocation], Result] = load_object(f"{__package__}.{VERBS[job.verb]}")
        result = do(job)
        print_result(job, result)
    except (CannotBeHadError, SettingsError) as error:
        terminal.tell(str(error))
        return _CANNOT_BE_HAD
    except KeyboardInterrupt:
        terminal.tell("interrupted")
        return _CANNOT_BE_HAD
    return result.exit_code
