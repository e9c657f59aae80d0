"""Checks of what the fields but Allow, Disallow and User-agent say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_mandelbot.robotstxt.lint.source import ABSOLUTE_URL, Found, quoted
from scrapy_mandelbot.robotstxt.lint.usage import VALUES_OF_USE
from scrapy_mandelbot.robotstxt.records import RecordProblem
from scrapy_mandelbot.robotstxt.times import read_delay

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_mandelbot.robotstxt.lint.source import Check
    from scrapy_mandelbot.robotstxt.records import Record

_LONGEST_DELAY = 30  # Moderatobot, "Crawl-delay directive"
_LONGEST_CLEAN_PARAM = 500  # Moderatobot, "Clean-param directive"
_HOST = re.compile(r"(?:[\w\-]+\.)*[\w\-]+(?::[0-9]+)?|\[[0-9A-Fa-f:.]+\](?::[0-9]+)?")
_VERSION = re.compile(r"(?:1\.0|2\.[0-9]*[02468])(?:\.[0-9]+)*")


def _check_delay(record: Record) -> Check:
    seconds = read_delay(record.value)
    if seconds is None:
        message = f"{quoted(record.value)} is no number of seconds."
        yield Found("bad-crawl-delay", record.number, message)
    elif seconds > _LONGEST_DELAY:
        message = f"{quoted(record.value)} is longer than {_LONGEST_DELAY} seconds."
        yield Found("long-crawl-delay", record.number, message)
    elif not record.value.isdigit() or not seconds:
        message = f"{quoted(record.value)} is not a positive whole number."
        yield Found("crawl-delay-not-whole", record.number, message)


def _check_sitemap(record: Record) -> Check:
    value, number = record.value, record.number
    if not ABSOLUTE_URL.fullmatch(value):
        yield Found("relative-sitemap", number, f"{quoted(value)} is not an absolute URL.")
        return
    path = re.split("[?#]", value, maxsplit=1)[0].lower()
    if path.endswith("/"):
        yield Found("sitemap-is-directory", number, f"{quoted(value)} ends with a slash.")
    elif not path.endswith((".xml", ".xml.gz")):
        message = f"{quoted(value)} ends neither with .xml nor with .xml.gz."
        yield Found("sitemap-extension", number, message)


def _check_host(record: Record) -> Check:
    if not _HOST.fullmatch(record.value):
        message = f"{quoted(record.value)} is more than a host name."
        yield Found("host-not-a-name", record.number, message)


def _check_clean_param(record: Record) -> Check:
    length = len(record.value)
    if length > _LONGEST_CLEAN_PARAM:
        message = f"The Clean-param has {length} characters."
        yield Found("long-clean-param", record.number, message)


def _check_version(record: Record) -> Check:
    if not _VERSION.fullmatch(record.value):
        message = f"{quoted(record.value)} is neither 1.0 nor 2.0."
        yield Found("bad-robot-version", record.number, message)


def _check_rate(record: Record) -> Check:
    if RecordProblem.BAD_VALUE in record.problems:
        message = f"{quoted(record.value)} is no rate of documents."
        yield Found("bad-request-rate", record.number, message)


def _check_time(record: Record) -> Check:
    if RecordProblem.BAD_VALUE in record.problems:
        message = f"{quoted(record.value)} is no time of the day."
        yield Found("bad-visit-time", record.number, message)


_CHECKS: dict[str, Callable[[Record], Check]] = {
    "crawl-delay": _check_delay,
    "sitemap": _check_sitemap,
    "host": _check_host,
    "clean-param": _check_clean_param,
    "robot-version": _check_version,
    "request-rate": _check_rate,
    "visit-time": _check_time,
    **VALUES_OF_USE,
}


def check_value(record: Record) -> Check:
    """What is wrong with the value of a line that has one."""
    if record.value and record.field in _CHECKS:
        yield from _CHECKS[record.field](record)
