"""With which credentials a request leaves, as Scrapy's HttpAuthMiddleware has it."""

from __future__ import annotations

import pytest
from crawlers import get_crawler
from scrapy import Request, Spider
from w3lib.http import basic_auth_header

from scrapy_mandelbot.fetching.credentials import Credentials

URL = "https://example.com/page"
OF_SETTINGS = {
    "HTTPAUTH_USER": "settings",
    "HTTPAUTH_PASS": "secret",
    "HTTPAUTH_DOMAIN": "example.com",
}


def credentials(settings=OF_SETTINGS, **of_spider):
    spider = type("ASpider", (Spider,), {"name": "a", **of_spider})
    return Credentials(get_crawler(spider, settings))


@pytest.mark.parametrize(
    "of_spider",
    [{}, {"http_user": ""}, {"http_user": "", "http_pass": ""}, {"http_user": None}],
)
def test_those_of_the_settings(of_spider):
    """A spider that names none leaves them as they are."""
    found = credentials(**of_spider)
    assert found.has_default
    assert found.of(Request(URL)) == basic_auth_header("settings", "secret")
    assert found.of(Request("https://other.example/")) == b""


def test_those_of_the_spider_come_first():
    found = credentials(
        http_user="spider", http_pass="its own", http_auth_domain="other.example"
    )
    assert found.of(Request("https://other.example/")) == basic_auth_header(
        "spider", "its own"
    )
    assert found.of(Request(URL)) == b""


def test_those_of_the_request_come_before():
    """A header before meta keys, and the last of several headers."""
    found = credentials()
    meta = {"http_user": "a", "http_pass": "b", "http_auth_domain": "example.com"}
    assert found.of(Request(URL, meta=meta)) == basic_auth_header("a", "b")
    headers = {"Authorization": [b"Bearer 1", b"Bearer 2"]}
    assert found.of(Request(URL, meta=meta, headers=headers)) == b"Bearer 2"


def test_nobody_has_any():
    found = credentials({})
    assert not found.has_default
    assert found.of(Request(URL)) == b""
