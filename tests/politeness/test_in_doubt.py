"""Whether an answer that is no page may be the site's, or is the page's alone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrapy_mandelbot.downloadermiddlewares.other_answers import is_in_doubt


@pytest.mark.parametrize(
    ("pages", "cached", "is_paused", "many", "in_doubt"),
    [
        (0, 0, True, False, True),
        (0, 0, False, False, True),
        (9, 0, False, False, True),
        (9, 0, True, False, False),
        (0, 9, True, False, False),
        (9, 0, True, True, True),
    ],
)
def test_a_site_that_brought_pages_is_in_doubt_only_as_a_whole(
    pages, cached, is_paused, many, in_doubt
):
    site = SimpleNamespace(
        tally=SimpleNamespace(pages=pages, cached=cached),
        pause=SimpleNamespace(is_open=is_paused),
        failures=SimpleNamespace(are_many_in_doubt=many),
    )
    assert is_in_doubt(site) is in_doubt
