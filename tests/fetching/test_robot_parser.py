"""The parser that Scrapy's own middleware may use: ROBOTSTXT_PARSER."""

from __future__ import annotations

import pytest
from crawlers import get_crawler

from scrapy_mandelbot import MandelbotRobotParser

BODY = b"User-agent: *\nDisallow: /a\nRobot-version: 2.0\nDisallow: /*.gif\n"


@pytest.mark.parametrize(
    ("settings", "allows"),
    [
        ({}, False),
        ({"MANDELBOT_LIMITS": {"robots_bytes": 30}}, True),
    ],
)
def test_the_settings_of_the_crawler_count(settings, allows):
    """Only so many bytes are read: whole lines of them."""
    parser = MandelbotRobotParser.from_crawler(
        get_crawler(settings_dict=settings), BODY
    )
    assert not parser.allowed("https://example.com/a", "bot")
    assert parser.allowed("https://example.com/x.gif", "bot") == allows


def test_it_parses_without_a_crawler():
    """As Scrapy's own parsers do."""
    parser = MandelbotRobotParser.from_crawler(None, BODY)
    assert not parser.allowed("https://example.com/x.gif", "bot")
