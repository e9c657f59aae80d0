"""``--format html``: the page about one robots.txt, of whatever verb."""

from __future__ import annotations

from datetime import datetime, timezone
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.reports import correction, findings
from scrapy_mandelbot.commands.reports.page import Subject, render
from scrapy_mandelbot.commands.sources import CannotBeHadError

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.job import Job
    from scrapy_mandelbot.commands.reports.rules_in_force import Rules


def check_for_jinja() -> None:
    """Make sure that a page can be made, before anything is asked for.

    Raises:
        CannotBeHadError: Jinja2, which an extra of the package brings, is not installed.
    """
    if find_spec("jinja2") is None:
        raise CannotBeHadError(
            "--format html needs Jinja2: pip install 'scrapy-mandelbot[html]' brings it"
        )


def page_of(
    job: Job,
    rules: Rules,
    *,
    checked: dict[str, Any] | None = None,
    corrected: dict[str, Any] | None = None,
    told: dict[str, list[str]] | None = None,
) -> str:
    """Return the page about a robots.txt.

    Args:
        job: the call.
        rules: the file, or what there is instead.
        checked: the report of ``check``, where it has been made.
        corrected: the report of ``fix``, where it has been made.
        told: the URLs to be tested, each with what there is to say of it besides.
    """
    job.terminal.progress(f"making the page of {rules.source}")
    dialect, max_bytes = job.dialect, job.max_bytes
    if corrected is None and rules.read(dialect, max_bytes)[0] is not None:
        corrected = correction.fix(rules.source, rules.body, dialect, max_bytes)
    subject = Subject(
        rules=rules,
        checked=checked or findings.check_rules(rules, max_bytes),
        corrected=corrected,
        dialect=dialect,
        agents=[job.agent] if isinstance(job.agent, str) else job.agent,
        max_bytes=max_bytes,
        told=told or {},
    )
    return render(subject, datetime.now(timezone.utc))
