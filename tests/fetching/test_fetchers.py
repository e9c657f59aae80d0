"""A fetcher of robots.txt for each credentials, without a crawl."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrapy_mandelbot.fetching.credentials import MOST_CREDENTIALS, Fetchers


@pytest.fixture
def fetchers():
    """Return fetchers by whose name is a request here."""
    credentials = SimpleNamespace(of=str.encode)
    return Fetchers(credentials, "without", object)


def test_who_has_none_shares_one(fetchers):
    """It is the one whose files a store keeps."""
    assert fetchers.of("") == "without"
    assert list(fetchers) == ["without"]


def test_each_has_one_for_the_run(fetchers):
    """The next request with the same credentials gets the same."""
    first = fetchers.of("a")
    second = fetchers.of("b")
    assert first is not second
    assert fetchers.of("a") is first
    assert fetchers.of("b") is second
    assert list(fetchers) == ["without", first, second]


def test_of_more_those_remain_that_were_used_last(fetchers):
    """A file that was fetched for one that left is fetched again."""
    made = [fetchers.of(str(number)) for number in range(MOST_CREDENTIALS)]
    assert fetchers.of("0") is made[0]
    latest = fetchers.of("one more")
    assert list(fetchers) == ["without", *made[2:], made[0], latest]
    assert fetchers.of("1") is not made[1]
