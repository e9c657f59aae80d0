"""Metrics: as Prometheus scrapes a running crawl, and as OpenTelemetry's SDK reads them."""

from __future__ import annotations

import builtins
import socket
import urllib.request

import pytest
from crawling import LinksSpider, crawl, ensureDeferred
from scrapy.utils.test import get_crawler
from webs import Closed, site

from scrapy_mandelbot import SettingsError
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report import metrics
from scrapy_mandelbot.report.metrics import CrawlMetrics

pytest.importorskip("opentelemetry.exporter.prometheus")
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.usefixtures("loop_is_turned")


class Scraping(LinksSpider):
    """Scrapes its own metrics some seconds after a site has paused, and at the end."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.scraped = []

    def site_paused(self, site, until, reason):
        Crawl.of(self.crawler).clock.call_later(8, self.scrape)

    def site_resumed(self, site, paused_for):
        Crawl.of(self.crawler).clock.call_later(0, self.scrape)

    def scrape(self):
        (exported,) = metrics.at_addresses.values()
        with urllib.request.urlopen(exported.url, timeout=10) as answer:
            text = answer.read().decode()
        self.scraped.append(
            {
                (sample.name, *sorted(sample.labels.items())): sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            }
        )


@ensureDeferred
async def test_prometheus_scrapes_a_paused_crawl(webs):
    """Over HTTP, from the real exporter: what waits, why, and what was refused."""
    web = site(webs, 20)
    web.refuse = Closed(seconds=30, after=5, retry_after="30", robots_too=False)

    result = await crawl(Scraping, {"MANDELBOT_METRICS": "127.0.0.1:0"}, start_urls=[web.url + "/"])

    paused = result.crawler.spider.scraped[0]
    spider, of_site = ("spider", "links"), ("site", web.url)
    assert paused["mandelbot_sites", spider, ("state", "paused")] == 1
    assert paused["mandelbot_requests_waiting", of_site, spider] == 16
    assert paused["mandelbot_pages_total", of_site, spider] == 5
    refused = sum(hit.status == 503 for hit in web.hits)
    key = "mandelbot_refusals_total", of_site, spider, ("status", "503")
    assert 1 <= paused[key] <= refused
    assert paused["mandelbot_pauses_total", of_site, spider] == 1
    assert 3 <= paused["mandelbot_pause_time_seconds_total", of_site, spider] <= 8
    answers = "mandelbot_robots_txt_answers_total", ("case", "rules"), spider
    assert paused[answers] == 1
    assert paused["mandelbot_gap_seconds", ("quantile", "0"), of_site, spider] >= 0
    assert metrics.at_addresses == {}, "it is served no longer than the crawl takes"
    (line,) = result.logged("Metrics for Prometheus are at http://127.0.0.1:")
    assert line.endswith("/metrics")
    assert len(result.items) == 21


@ensureDeferred
async def test_a_taken_port_costs_the_crawl_nothing(webs):
    """An error in the log; the pages arrive."""
    web = site(webs, 3)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = await crawl(
            LinksSpider, {"MANDELBOT_METRICS": address}, start_urls=[web.url + "/"]
        )
    assert len(result.items) == 4
    assert len(result.logged(f"MANDELBOT_METRICS: nothing is served at {address}")) == 1


@ensureDeferred
async def test_the_projects_own_opentelemetry_reads_them(webs, monkeypatch):
    """With True: by the API, whatever exporter there is; the last counts stay until it has them."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    monkeypatch.setattr("opentelemetry.metrics.get_meter", provider.get_meter)
    monkeypatch.setattr(metrics, "_at_addresses", {})
    web = site(webs, 3)
    for _ in range(2):
        await crawl(LinksSpider, {"MANDELBOT_METRICS": True}, start_urls=[web.url + "/"])

    (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    found = {metric.name: metric for metric in scope.metrics}
    pages = {
        point.attributes["site"]: point.value for point in found["mandelbot.pages"].data.data_points
    }
    assert pages == {web.url: 4, "other": 0}
    assert found["mandelbot.pages"].data.is_monotonic
    provider.shutdown()


def test_without_the_extra_a_message_says_what_is_missing(monkeypatch):
    """At start, naming the setting and the command."""
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    crawler = get_crawler(LinksSpider, {"MANDELBOT_METRICS": True})
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SettingsError, match=r"MANDELBOT_METRICS.*scrapy-mandelbot\[otel\]"):
        CrawlMetrics(crawler)
