"""What the command does, once it is known to be used rightly."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.audit_verb import audit
from scrapy_mandelbot.commands.cache_verb import look_at_copies
from scrapy_mandelbot.commands.call import Invocation, Result
from scrapy_mandelbot.commands.check_verb import check
from scrapy_mandelbot.commands.fix_verb import fix
from scrapy_mandelbot.commands.identity_verb import show_identity
from scrapy_mandelbot.commands.job_verb import look_at_job
from scrapy_mandelbot.commands.ledger_verb import look_at_ledger
from scrapy_mandelbot.commands.sitemap_verb import list_sitemaps
from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.commands.subjects import check_for_jinja
from scrapy_mandelbot.commands.terminal import Terminal
from scrapy_mandelbot.commands.url_verbs import compare, explain
from scrapy_mandelbot.setting_values import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

VERBS: dict[str, Callable[[Invocation], Result]] = {
    "check": check,
    "fix": fix,
    "explain": explain,
    "compare": compare,
    "sitemaps": list_sitemaps,
    "cache": look_at_copies,
    "job": look_at_job,
    "ledger": look_at_ledger,
    "identity": show_identity,
    "audit": audit,
}


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
        result = VERBS[job.verb](job)
        _print(job, result)
    except (CannotBeHadError, SettingsError) as error:
        terminal.tell(str(error))
        return _CANNOT_BE_HAD
    except KeyboardInterrupt:
        terminal.tell("interrupted")
        return _CANNOT_BE_HAD
    return result.exit_code


def _print(job: Invocation, result: Result) -> None:
    """Print what came of it. Who reads may stop, as `head` does: that changes no exit code."""
    terminal, wanted = job.terminal, job.opts.format
    for line in result.remarks:
        terminal.tell(line)
    is_page = wanted == "html" and result.page is not None
    text = result.page() if is_page and result.page is not None else result.text
    if wanted == "json":
        text = _json({**job.envelope, "exit_code": result.exit_code, **result.data})
    try:
        terminal.write(text, is_file=result.is_file and not is_page)
    except BrokenPipeError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2) + "\n"
