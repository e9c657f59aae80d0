"""A site is asked again the way that it answered well. (throttle/health_check.py)"""

from __future__ import annotations

from contextlib import suppress

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
def crawler(make_crawler):
    return make_crawler()


@pytest.fixture
def site(crawler):
    site = Crawl.of(crawler).throttle.sites.of("https://example.com")
    site.well_url = URL
    return site


@pytest.fixture
def sent(crawler, site, monkeypatch):
    """Request a page again; return what was sent."""

    def run(coroutine):
        with suppress(StopIteration):
            coroutine.send(None)

    def send():
        requests = []

        async def download_async(request):
            requests.append(request)

        crawler.engine.download_async = download_async
        check = HealthCheck(
            crawler,
            lambda *_, **__: None,
            sites=set(),
            forbids=lambda _: False,
            done=lambda _: None,
        )
        assert check.request(site) is bool(requests)
        return requests

    monkeypatch.setattr("scrapy_mandelbot.engine.schedule", run)
    monkeypatch.setattr("scrapy_mandelbot.engine.is_closing", lambda _: False)
    return send


@pytest.mark.parametrize("key", WAY)
def test_it_takes_the_way_of_the_page_that_came_well(sent, site, key):
    """Another way may be refused, or not work, where this one does."""
    site.well_way = ({}, {key: WAY[key]})
    (request,) = sent()
    assert request.meta[key] == WAY[key]


def test_what_the_project_noted_on_that_page_is_not_taken_over(sent, site):
    site.well_way = ({}, {"item": object(), "depth": 3, "download_latency": 0.1})
    (request,) = sent()
    assert not {"item", "depth", "download_latency"} & request.meta.keys()


def test_it_has_the_headers_of_that_page_but_those_of_its_visit(sent, site):
    headers = {"Accept-Language": "fr", "Cookie": "a=b", "If-None-Match": '"x"'}
    site.well_way = (Headers(headers), {})
    (request,) = sent()
    assert request.headers.keys() == {b"Accept-Language"}


def test_what_another_download_handler_took_is_not_requested_again(sent, site):
    site.well_way = ({}, {"playwright_page": True})
    assert sent() == []
