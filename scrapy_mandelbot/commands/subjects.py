"""From a file, or the answer of a site, to the rules that reports are about."""

from __future__ import annotations

from datetime import datetime, timezone
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.commands.sources import CannotBeHadError, delivery_of_file, named, read_source
from scrapy_mandelbot.robots.lint import Delivery
from scrapy_mandelbot.robots.outcome import Failure
from scrapy_mandelbot.robots.reports import check_report as findings
from scrapy_mandelbot.robots.reports.rules_in_force import SUCCESS, Rules

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.call import Invocation
    from scrapy_mandelbot.commands.downloads import FetchedFile


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
    job: Invocation,
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
    from scrapy_mandelbot.robots.reports import fix_report as correction  # noqa: PLC0415 - not cheap
    from scrapy_mandelbot.robots.reports.robots_page import (  # noqa: PLC0415 - nor is this
        RobotsPageData,
        render,
    )

    job.terminal.progress(f"making the page of {rules.source}")
    dialect, max_bytes = job.dialect, job.max_bytes
    if corrected is None and rules.read(dialect, max_bytes)[0] is not None:
        corrected = correction.fix(rules.source, rules.body, dialect, max_bytes)
    subject = RobotsPageData(
        rules=rules,
        checked=checked or findings.check_rules(rules, max_bytes),
        corrected=corrected,
        dialect=dialect,
        agents=[job.agent] if isinstance(job.agent, str) else job.agent,
        max_bytes=max_bytes,
        told=told or {},
    )
    return render(subject, datetime.now(timezone.utc))


_NOBODY_WAITS = 10  # seconds (Moderatobot, "Robots.txt timeout")


def rules_on_disk(source: str) -> Rules:
    """Return the rules of a file, or of standard input.

    Raises:
        CannotBeHadError: it cannot be read.
    """
    return Rules(named(source), read_source(source), delivery=delivery_of_file(source))


def rules_from(job: Invocation, fetched: FetchedFile, delivery: Delivery | None) -> Rules:
    """Return the rules that a site's answer means, to a crawl of the project."""
    return Rules(fetched.wanted.url, fetched.body, fetched.answer, delivery, job.law)


def delivery_of(fetched: FetchedFile) -> Delivery:
    """Return how a file came. That it took longer than anyone waits is a finding.

    Raises:
        CannotBeHadError: it did not come.
    """
    seconds = fetched.seconds
    if fetched.failure is Failure.TIMED_OUT and fetched.wanted.timeout >= _NOBODY_WAITS:
        seconds = max(seconds, fetched.wanted.timeout)
        return Delivery(url=fetched.wanted.url, redirects=fetched.redirects, seconds=seconds)
    if fetched.failure is not None and fetched.content_encoding:
        return Delivery(
            url=fetched.wanted.url,
            redirects=fetched.redirects,
            content_encoding=fetched.content_encoding,
            encoded=False,
        )
    if fetched.failure is not None:
        raise CannotBeHadError(fetched.trouble)
    is_success = fetched.status in SUCCESS
    return Delivery(
        url=fetched.wanted.url,
        final_url=fetched.final_url,
        redirects=fetched.redirects,
        status=fetched.status,
        seconds=seconds,
        incomplete=fetched.is_incomplete,
        # Of an error page these say nothing about the file.
        content_type=fetched.content_type if is_success else None,
        content_encoding=fetched.content_encoding if is_success else None,
    )
