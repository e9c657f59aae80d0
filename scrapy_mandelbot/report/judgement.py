"""The first word of a crawl: OK, INCOMPLETE or FAILED, and why.

`judge` is the one definition. It knows numbers alone: neither Scrapy, a clock nor the
network. The log, the report, the page, the exit status and the metrics read what it
returns; ``docs/report.rst`` has the table, which a test compares with `RULES`.

Two things are the project's own wish, and no fault of a crawl: a page that is 404 or
410, and a rule of robots.txt for some of the pages. One page that fails for ever is no
alarm of each night, either: below a third, failures are named and the word stays.
``MANDELBOT_EXPECT`` is stricter, where a project wishes so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from scrapy_mandelbot.throttle.manual_control import BUDGET_REACHED

SHARE = 3
"""One of so many answers, callbacks or items is the share that makes a crawl incomplete
if it fails.
"""
HOW_RUNS_END = {
    "finished": ("Finished", ""),
    "not finished": ("Running", ""),
    "shutdown": ("Stopped", "Ctrl-C or SIGTERM"),
    "sites_paused": ("Stopped", "only what is paused or given up is left"),
    BUDGET_REACHED: ("Finished", "within MANDELBOT_SITE_BUDGET"),
    "job_set_aside": (
        "Finished",
        "but for requests set aside, which `scrapy robots job` lists",
    ),
    "job_idle": ("Stopped", "other workers go on"),
    "job_not_saved": ("Stopped", "the job could not be saved"),
    "job_unreadable": ("Stopped", "the job could not be read"),
    "job_forgotten": ("Stopped", "Redis has lost the job"),
}
"""Of finish reasons, the first word of the verdict, and why; of all others, they are
the why.
"""
FAILING_REASONS = frozenset({"job_not_saved", "job_unreadable", "job_forgotten"})
"""Finish reasons with which a run exits with status 1, whatever the settings."""


class Result(Enum):
    """How a crawl went, in the word that begins its last log line and its report."""

    OK = "OK"
    """It brought pages, and nothing that it was to bring is known to be missing."""
    INCOMPLETE = "INCOMPLETE"
    """Something is missing, or the crawl was stopped."""
    FAILED = "FAILED"
    """The exit status is 1, nothing was requested, or nothing answered."""

    def __str__(self) -> str:
        return str(self.value)


class Counts(NamedTuple):
    """What is known of a crawl when it is judged."""

    requested: int = 0
    """Requests accepted, and those that the previous run left."""
    answers: int = 0
    """All answers that were handed on, those of a cache included."""
    pages: int = 0
    """Of these, those of 2xx, those of a cache, and those that are unchanged."""
    lost: int = 0
    """Requests that failed though a patient visitor could have had their pages."""
    left: int = 0
    """Requests that were not sent, those above the project's own budget excepted."""
    unknown_hosts: int = 0
    """Requests to hosts without an address."""
    forbidden_sites: int = 0
    """Sites whose robots.txt forbade all requests."""
    denied_sites: int = 0
    """Sites that answered a third of the requests or more with 401, 403 or 407."""
    callbacks: int = 0
    """Callbacks that raised."""
    items: int = 0
    """Items that passed the pipelines."""
    failed_items: int = 0
    """Items for which a pipeline raised."""
    unwritten: int = 0
    """Items that a feed could not write."""
    unmet: int = 0
    """Expectations of the project that are not met."""
    exits_with_1: bool = False
    """Whether the exit status is 1, whatever else is known."""
    is_running: bool = False
    is_stopped: bool = False
    """Whether it was ended before its own end."""
    is_by_hand: bool = False
    """Whether a person or a supervisor stopped it."""
    is_part: bool = False
    """Whether other runs or workers have a part of its pages."""


class Rule(NamedTuple):
    """What makes a crawl INCOMPLETE or FAILED."""

    name: str
    result: Result
    holds: Callable[[Counts], bool]


class Found(NamedTuple):
    """What of the expectations is not met, and what cannot be judged, as text."""

    unmet: list[str]
    unknown: list[str]

    def sentences(self) -> Iterator[str]:
        """Yield both, for people."""
        if self.unmet:
            yield f"Not as expected: {'; '.join(self.unmet)}."
        if self.unknown:
            yield f"Not compared: {'; '.join(self.unknown)}."


class Judgement(NamedTuple):
    """The word of a crawl, and the names of the rules that say so."""

    result: Result
    reasons: tuple[str, ...]


class Verdict(NamedTuple):
    """What is said of a crawl after its word; each part is whole sentences."""

    came: str
    """How it ended, and what came."""
    missing: tuple[str, ...] = ()
    """What did not, and why."""
    to_do: tuple[str, ...] = ()
    """What to do about it."""

    @property
    def line(self) -> str:
        """All of it, as the last log line has it."""
        return " ".join((self.came, *self.missing, *self.to_do))


def _nothing_requested(its: Counts) -> bool:
    if its.is_running or its.is_part or its.is_by_hand:
        return False
    return not (its.requested or its.items)


def _nothing_answered(its: Counts) -> bool:
    return not its.answers and bool(its.lost)


def _no_host_found(its: Counts) -> bool:
    if its.is_running or its.is_part:
        return False
    return not its.answers and bool(its.unknown_hosts)


def _no_page(its: Counts) -> bool:
    if its.is_running or its.is_part:
        return False
    return not its.pages and bool(its.requested)


def _callbacks_fail(its: Counts) -> bool:
    return bool(its.callbacks) and its.callbacks * SHARE >= its.pages


def _items_fail(its: Counts) -> bool:
    items = its.items + its.failed_items
    return bool(its.failed_items) and its.failed_items * SHARE >= items


def _is_open(its: Counts) -> bool:
    return its.is_running or its.is_stopped


RULES = (
    Rule("exit status", Result.FAILED, lambda its: its.exits_with_1),
    Rule("nothing requested", Result.FAILED, _nothing_requested),
    Rule("no answer", Result.FAILED, _nothing_answered),
    Rule("no such host", Result.FAILED, _no_host_found),
    Rule("no page", Result.INCOMPLETE, _no_page),
    Rule("lost", Result.INCOMPLETE, lambda its: its.lost > 0),
    Rule("left", Result.INCOMPLETE, lambda its: its.left > 0),
    Rule("forbidden", Result.INCOMPLETE, lambda its: its.forbidden_sites > 0),
    Rule("denied", Result.INCOMPLETE, lambda its: its.denied_sites > 0),
    Rule("callbacks", Result.INCOMPLETE, _callbacks_fail),
    Rule("items", Result.INCOMPLETE, _items_fail),
    Rule("unwritten", Result.INCOMPLETE, lambda its: its.unwritten > 0),
    Rule("expectations", Result.INCOMPLETE, lambda its: its.unmet > 0),
    Rule("stopped", Result.INCOMPLETE, _is_open),
)
"""All rules, in the order of the table. A crawl for which none holds is OK."""


def judge(its: Counts) -> Judgement:
    """Return the word of a crawl: the worst of all rules that hold, which it names."""
    held = [rule for rule in RULES if rule.holds(its)]
    reasons = tuple(rule.name for rule in held)
    results = {rule.result for rule in held}
    for result in (Result.FAILED, Result.INCOMPLETE):
        if result in results:
            return Judgement(result, reasons)
    return Judgement(Result.OK, reasons)
