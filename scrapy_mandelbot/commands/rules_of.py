"""From a file, or the answer of a site, to the rules that reports are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.commands.reports.rules_in_force import SUCCESS, Rules
from scrapy_mandelbot.commands.sources import (
    CannotBeHadError,
    delivery_of_file,
    named,
    read_source,
)
from scrapy_mandelbot.politeness import Failure
from scrapy_mandelbot.robotstxt.lint import Delivery

if TYPE_CHECKING:
    from scrapy_mandelbot.commands.fetching import Fetched

_NOBODY_WAITS = 10  # seconds (Moderatobot, "Robots.txt timeout")


def rules_on_disk(source: str) -> Rules:
    """Return the rules of a file, or of standard input.

    Raises:
        CannotBeHadError: it cannot be read.
    """
    return Rules(named(source), read_source(source), delivery=delivery_of_file(source))


def rules_from(fetched: Fetched, delivery: Delivery | None) -> Rules:
    """Return the rules that a site's answer means."""
    return Rules(fetched.wanted.url, fetched.body, fetched.answer, delivery)


def delivery_of(fetched: Fetched) -> Delivery:
    """Return how a file came. That it took longer than anyone waits is a finding.

    Raises:
        CannotBeHadError: it did not come.
    """
    seconds = fetched.seconds
    if fetched.failure is Failure.TIMED_OUT and fetched.wanted.timeout >= _NOBODY_WAITS:
        seconds = max(seconds, fetched.wanted.timeout)
        return Delivery(url=fetched.wanted.url, redirects=fetched.redirects, seconds=seconds)
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
