"""Counts what failed in the project: callbacks, pipelines, and the feeds' writing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import scrapy.signals
from mandelbot.formatting import counted

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure

    from scrapy_mandelbot.report.judgement import Counts


@dataclass
class ProjectRecord:
    """What came of the project's own code, failures by the name of the exception."""

    items: int = 0
    """Items that passed the pipelines."""
    callbacks: Counter[str] = field(default_factory=Counter)
    """Callbacks that raised."""
    failed_items: Counter[str] = field(default_factory=Counter)
    """Items for which a pipeline raised, other than to drop them."""
    unwritten: Counter[str] = field(default_factory=Counter)
    """Items that a feed could not write."""

    def add(self, other: ProjectRecord) -> None:
        """Add what came of another run."""
        self.items += other.items
        self.callbacks += other.callbacks
        self.failed_items += other.failed_items
        self.unwritten += other.unwritten

    def joined_with(self, its: Counts) -> Counts:
        """Return what a crawl is judged by, with the numbers of its project."""
        return its._replace(
            items=self.items,
            callbacks=self.callbacks.total(),
            failed_items=self.failed_items.total(),
            unwritten=self.unwritten.total(),
        )

    def sentences(self) -> Iterator[str]:
        """Yield what failed, for people."""
        if callbacks := self.callbacks.total():
            yield f"{counted(callbacks, 'callback')} failed{_named(self.callbacks)}."
        if failed := self.failed_items.total():
            names = _named(self.failed_items)
            yield f"{counted(failed, 'item')} failed in a pipeline{names}."
        if unwritten := self.unwritten.total():
            names = _named(self.unwritten)
            yield f"{counted(unwritten, 'item')} could not be written{names}."


class ProjectErrors:
    """How many callbacks raised, pipelines raised, and items could not be written.

    They are counted as they fail, so a crawl without errors pays nothing.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        self._record = ProjectRecord()
        connect = crawler.signals.connect
        connect(self._callback_failed, signal=scrapy.signals.spider_error)
        connect(self._item_failed, signal=scrapy.signals.item_error)
        engine.when_feeds_fail(crawler, self._not_written)

    @property
    def record(self) -> ProjectRecord:
        """What is known by now."""
        self._record.items = int(self._stats.get_value("item_scraped_count", 0))
        return self._record

    def _callback_failed(self, failure: Failure) -> None:
        self._record.callbacks[_name(failure.value)] += 1

    def _item_failed(self, failure: Failure) -> None:
        self._record.failed_items[_name(failure.value)] += 1

    def _not_written(self, error: BaseException | None) -> None:
        self._record.unwritten[_name(error)] += 1


def _name(error: BaseException | None) -> str:
    return "" if error is None else type(error).__name__


def _named(errors: Counter[str]) -> str:
    """Return the names of the exceptions in parentheses, the commonest first."""
    names = [name for name, _ in errors.most_common(2) if name]
    if not names:
        return ""
    more = ", …" if len(errors) > len(names) else ""
    return f" ({', '.join(names)}{more})"
