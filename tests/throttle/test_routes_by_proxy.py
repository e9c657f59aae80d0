"""What a route is called, with MANDELBOT_PAUSE_OPTIONS["per_proxy"]."""

from __future__ import annotations

import pytest
from scrapy import Request

from scrapy_mandelbot.throttle.site_map import in_words, key_of, route_by_proxy, split_key

SITE = "https://example.com"
CASES = [
    (None, ""),
    ("", ""),
    ("http://proxy.test:3128", "http://proxy.test:3128"),
    ("proxy.test:3128", "http://proxy.test:3128"),
    ("http://user:secret@proxy.test:3128", "http://proxy.test:3128"),
    ("socks5://[::1]:1080", "socks5://[::1]:1080"),
    ("http://proxy test:3128", "http://proxy%20test:3128"),
    ("http://[broken", "unreadable"),
]


@pytest.mark.parametrize(("proxy", "route"), CASES)
def test_the_name_has_the_proxy_and_no_secrets(proxy, route):
    """It is in logs and in the store; a key is a site and a route, and can be read again."""
    request = Request(f"{SITE}/page", meta={} if proxy is None else {"proxy": proxy})
    assert route_by_proxy(request) == route
    key = key_of(SITE, route)
    assert key == (f"{SITE}|{route}" if route else SITE)
    assert split_key(key) == (SITE, route)
    assert in_words(SITE, route) == key.replace("|", " via ")
