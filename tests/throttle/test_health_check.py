"""A site is asked again the way that it answered well. (throttle/health_check.py)"""

from __future__ import annotations

import pytest
from scrapy.http.headers import Headers

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.throttle.health_check import HealthCheck

URL = "https://example.com/page"
WAY = {
    "_auth_proxy": "http://proxy.example:8080",
    "bindaddress": ("127.0.0.2", 0),
    "cookiejar": 5,
    "dont_obey_robotstxt": True,
    "download_slot": "example.com",
    "download_timeout": 7.0,
    "proxy": "http://proxy.example:8080",
    "verify_ssl": False,
}


@pytest.fixture
def check(make_crawler):
    return HealthCheck(make_crawler(), lambda *_, **__: None, lambda _: None)


@pytest.fixture
def site(check):
    site = Crawl.of(check._crawler).throttle.sites.of("https://example.com")
    site.well_url = URL
    return site


@pytest.mark.parametrize("key", WAY)
def test_it_takes_the_way_of_the_page_that_came_well(check, site, key):
    """Another way may be refused, or not work, where this one does."""
    site.well_way = ({}, {key: WAY[key]})
    assert check._request_to(site).meta[key] == WAY[key]


def test_what_the_project_noted_on_that_page_is_not_taken_over(check, site):
    site.well_way = ({}, {"item": object(), "depth": 3, "download_latency": 0.1})
    meta = check._request_to(site).meta
    assert not {"item", "depth", "download_latency"} & meta.keys()


def test_it_has_the_headers_of_that_page_but_those_of_its_visit(check, site):
    headers = {"Accept-Language": "fr", "Cookie": "a=b", "If-None-Match": '"x"'}
    site.well_way = (Headers(headers), {})
    assert check._request_to(site).headers.keys() == {b"Accept-Language"}


def test_what_another_download_handler_took_is_not_requested_again(check, site):
    site.well_way = ({}, {"playwright_page": True})
    assert check._request_to(site) is None
