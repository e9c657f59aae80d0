"""The verb ``fix``: the corrected file, proved to decide as the original does."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.invocation import Result, body_of
from scrapy_mandelbot.commands.output import fix_report as correction
from scrapy_mandelbot.commands.output.terminal_text import is_url
from scrapy_mandelbot.commands.sources import (
    delivery_of,
    page_of,
    rules_from,
    rules_on_disk,
    url_to_check,
)
from scrapy_mandelbot.commands.terminal import UnavailableError

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.invocation import Invocation


def fix(invocation: Invocation) -> Result:
    """Correct one file."""
    source = invocation.args[0]
    if is_url(source):
        fetched = invocation.fetch(url_to_check(source))
        body_of(fetched)  # an error page is nothing to correct
        rules = rules_from(invocation, fetched, delivery_of(fetched))
    else:
        rules = rules_on_disk(source)
    invocation.terminal.progress(f"correcting {rules.source}")
    report = correction.fix(
        *(rules.source, rules.body, invocation.dialect, invocation.max_bytes),
        alone=bool(invocation.opts.only),
        unsafe=invocation.opts.unsafe,
    )
    code = correction.exit_code(report)
    remarks = correction.remarks(report)
    text = _corrected(invocation, report)
    if invocation.opts.output:
        remarks.append(_write(invocation.opts.output, report["text"], is_proved=not code))
        text = text if invocation.opts.diff else ""
    page = partial(page_of, invocation, rules, corrected=report)
    told = remarks if invocation.opts.format in {None, "text"} else []
    return Result(code, report, text, is_file=True, remarks=told, page=page)


def _corrected(invocation: Invocation, report: dict[str, Any]) -> str:
    """Return the file or the diff: octet by octet for a program, printable for a person."""
    if invocation.terminal.is_screen:
        is_diff, paint = invocation.opts.diff, invocation.terminal.paint
        return correction.diff_shown(report, paint) if is_diff else correction.text_shown(report)
    text: str = report["diff" if invocation.opts.diff else "text"]
    return text


def _write(output: str, text: str, *, is_proved: bool) -> str:
    if not is_proved:
        return f"{output} is not written"
    try:
        Path(output).write_bytes(text.encode())
    except OSError as error:
        raise UnavailableError(f"{output}: {(error.strerror or str(error)).lower()}") from None
    return f"{output} is written"
