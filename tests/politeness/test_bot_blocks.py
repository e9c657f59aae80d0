"""Which pages show that a site refuses robots."""

from __future__ import annotations

import pytest

from scrapy_mandelbot.politeness.bot_blocks import BotBlockDetector, place_of


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://example.com/shop/shoes/1", "shop"),
        ("https://example.com/shop", "shop"),
        ("https://example.com/", ""),
        ("https://example.com", ""),
        ("https://example.com/go/https://other.example/shop", "go"),
    ],
)
def test_the_place_of_a_page_is_the_first_part_of_its_path(url, place):
    assert place_of(url) == place


@pytest.mark.parametrize(
    ("pages", "places", "suggests_block"),
    [(10, 3, True), (9, 3, False), (10, 2, False), (40, 3, True)],
)
def test_many_pages_of_several_places(pages, places, suggests_block):
    """Ten of three places; a good page ends it."""
    detector = BotBlockDetector()
    for number in range(pages):
        url = f"https://example.com/{number % places}/{number}"
        assert detector.note(url, b"%d" % number, is_marked=False) is None
    assert detector.suggests_block == suggests_block
    detector.well("https://example.com/good")
    assert not detector.suggests_block
