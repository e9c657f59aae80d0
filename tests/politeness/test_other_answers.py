"""What an answer that is no page says: of its site, and of its own next try."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from scrapy import Request

from scrapy_mandelbot.downloadermiddlewares.other_answers import (
    is_in_doubt,
    will_retry,
)


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


@pytest.mark.parametrize(
    ("has_retries", "meta", "status", "will"),
    [
        (True, {}, 503, True),
        (False, {}, 503, False),
        (True, {}, 404, False),
        (True, {"dont_retry": True}, 503, False),
        (True, {"retry_times": 1}, 503, True),
        (True, {"retry_times": 2}, 503, False),
        (True, {"retry_times": 2, "max_retry_times": 3}, 503, True),
    ],
)
def test_a_page_is_tried_again_as_retry_middleware_says(
    has_retries, meta, status, will
):
    retry = None
    if has_retries:
        retry = SimpleNamespace(retry_http_codes={503}, max_retry_times=2)
    crawler = SimpleNamespace(get_downloader_middleware=lambda _: retry)
    request = Request("https://a.example/", meta=meta)
    assert will_retry(crawler, request, status) is will
