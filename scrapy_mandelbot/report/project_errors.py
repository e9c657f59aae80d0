"""Counts what failed in the project: callbacks, pipelines, and the feeds' writing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import scrapy.signals

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure


class ProjectErrors:
    """How many callbacks raised, pipelines raised, and items could not be written.

    Each by the name of the exception. They are counted as they fail, so a crawl without
    errors pays nothing.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        self.callbacks: Counter[str] = Counter()
        self.items: Counter[str] = Counter()
        """Items for which a pipeline raised, other than to drop them."""
        self.unwritten: Counter[str] = Counter()
        connect = crawler.signals.connect
        connect(self._callback_failed, signal=scrapy.signals.spider_error)
        connect(self._item_failed, signal=scrapy.signals.item_error)
        engine.when_feeds_fail(crawler, self._not_written)

    @property
    def items_scraped(self) -> int:
        """Items that passed the pipelines."""
        return int(self._stats.get_value("item_scraped_count", 0))

    def _callback_failed(self, failure: Failure) -> None:
        self.callbacks[_name(failure.value)] += 1

    def _item_failed(self, failure: Failure) -> None:
        self.items[_name(failure.value)] += 1

    def _not_written(self, error: BaseException | None) -> None:
        self.unwritten[_name(error)] += 1


def _name(error: BaseException | None) -> str:
    return "" if error is None else type(error).__name__


def named(errors: Counter[str]) -> str:
    """Return the names of the exceptions in parentheses, the commonest first."""
    names = [name for name, _ in errors.most_common(2) if name]
    if not names:
        return ""
    more = ", …" if len(errors) > len(names) else ""
    return f" ({', '.join(names)}{more})"
