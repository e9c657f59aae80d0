"""What the command does, once it is known to be used rightly."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.job import Job
from scrapy_mandelbot.commands.page import check_for_jinja
from scrapy_mandelbot.commands.sources import CannotBeHadError
from scrapy_mandelbot.commands.terminal import Terminal
from scrapy_mandelbot.commands.verbs import VERBS
from scrapy_mandelbot.config import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

#: The version of what ``--format json`` prints: it grows when a name or a meaning changes.
VERSION = 1

_CANNOT_BE_HAD = 2


def run(
    args: list[str], opts: Namespace, settings: BaseSettings, process: CrawlerProcessBase | None
) -> int:
    """Do what was asked for, print what came of it, and return the exit code."""
    terminal = Terminal(sys.stdout, sys.stderr)
    try:
        if opts.format == "html":
            check_for_jinja()
        result = VERBS[args[0]](Job(args[1:], opts, settings, process, terminal))
        for line in result.remarks:
            terminal.tell(line)
        if opts.format == "json":
            report = {"version": VERSION, "command": args[0], "exit_code": result.exit_code}
            terminal.write(_json({**report, **result.data}))
        elif opts.format == "html" and result.page is not None:
            terminal.write(result.page())
        else:
            terminal.write(result.text, is_file=result.is_file)
    except (CannotBeHadError, SettingsError) as error:
        terminal.tell(str(error))
        return _CANNOT_BE_HAD
    except BrokenPipeError:  # whoever reads has read enough, as `head` does
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        terminal.tell("interrupted")
        return _CANNOT_BE_HAD
    else:
        return result.exit_code
    return 0


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2) + "\n"
