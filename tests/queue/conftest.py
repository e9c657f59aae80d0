"""Fixtures of the queue's tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def make_crawler():
    """Make crawlers whose queue is tested; gates and store of each are closed in the end."""
    from queueing import queue_crawler  # at its import a reactor has to be there

    from scrapy_mandelbot.crawl import Crawl

    made = []

    def make(**settings):
        made.append(queue_crawler(**settings))
        return made[-1]

    yield make
    for crawler in made:
        Crawl.of(crawler)._spider_closed(crawler.spider, "shutdown")
