"""What the command does, once it is known to be used rightly."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

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
from scrapy_mandelbot.config import settings_in_force
from scrapy_mandelbot.robots.reports.terminal_text import columns, joined
from scrapy_mandelbot.robots.shown import without_credentials
from scrapy_mandelbot.setting_values import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

_ADDON = "scrapy_mandelbot.Addon"


def show_settings(job: Invocation) -> Result:
    """Tell of each setting, as a crawl would have it; a spider's own are not looked at."""
    settings = job.settings.copy()
    addon = load_object(_ADDON)
    if any(load_object(one) is addon for one in settings.getdict("ADDONS")):
        addon().update_settings(settings)
    rows = [
        {**row._asdict(), "value": _told(row.value), "old_name": row.old_name or None}
        for row in settings_in_force(settings)
    ]
    lines = []
    for name, value, source, old in ((*row.values(),) for row in rows):
        told = source if old is None else f"{source}, as {old}: write {name}"
        lines.append((str(name), repr(value), told))
    text = joined("  ".join(line).rstrip() for line in columns(lines))
    return Result(0, {"settings": rows}, text)


def _told(value: object) -> object:
    """Return a value as JSON has it, without passwords."""
    if isinstance(value, str):
        return without_credentials(value)
    return value if isinstance(value, int | float | list | dict | None) else str(value)


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
    "settings": show_settings,
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
