"""Fixtures of the queue's tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def make_crawler(clock):
    """Make crawlers whose queue is tested, by a turned clock; no timer of theirs is left."""
    from queueing import queue_crawler  # at its import a reactor has to be there

    from scrapy_mandelbot.crawl import Crawl

    made = []

    def make(**settings):
        made.append(queue_crawler(clock, **settings))
        return made[-1]

    yield make
    for crawler in made:
        Crawl.of(crawler)._spider_closed(crawler.spider, "shutdown")
    clock.assert_nothing_left()
