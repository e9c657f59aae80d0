"""The verb ``fix``: the corrected file, proved to decide as the original does."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.call import Result, body_of
from scrapy_mandelbot.commands.sources import (
    CannotBeHadError,
    delivery_of,
    page_of,
    rules_from,
    rules_on_disk,
    url_to_check,
)
from scrapy_mandelbot.robots.reports import fix_report as correction
from scrapy_mandelbot.robots.reports.terminal_text import is_url

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.call import Invocation


def fix(job: Invocation) -> Result:
    """Correct one file, and write it where that was asked for."""
    source = job.args[0]
    if is_url(source):
        fetched = job.fetch_one(url_to_check(source))
        body_of(fetched)  # an error page is nothing to correct
        rules = rules_from(job, fetched, delivery_of(fetched))
    else:
        rules = rules_on_disk(source)
    job.terminal.progress(f"correcting {rules.source}")
    report = correction.fix(
        *(rules.source, rules.body, job.dialect, job.max_bytes),
        alone=bool(job.opts.only),
        unsafe=job.opts.unsafe,
    )
    code = correction.exit_code(report)
    remarks = correction.remarks(report)
    text = _corrected(job, report)
    if job.opts.output:
        remarks.append(_write(job.opts.output, report["text"], is_proved=not code))
        text = text if job.opts.diff else ""
    page = partial(page_of, job, rules, corrected=report)
    told = remarks if job.opts.format in {None, "text"} else []
    return Result(code, report, text, is_file=True, remarks=told, page=page)


def _corrected(job: Invocation, report: dict[str, Any]) -> str:
    """Return the file or the diff: for a program as it is, for a person as it can be shown."""
    if job.terminal.is_screen:
        is_diff, paint = job.opts.diff, job.terminal.paint
        return correction.diff_shown(report, paint) if is_diff else correction.text_shown(report)
    text: str = report["diff" if job.opts.diff else "text"]
    return text


def _write(output: str, text: str, *, is_proved: bool) -> str:
    if not is_proved:
        return f"{output} is not written"
    try:
        Path(output).write_bytes(text.encode())
    except OSError as error:
        raise CannotBeHadError(f"{output}: {(error.strerror or str(error)).lower()}") from None
    return f"{output} is written"
