"""Metrics that a crawl pushes to a Pushgateway: a good one, none, one that hangs."""

from __future__ import annotations

import base64
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from crawling import LinksSpider, crawl, ensureDeferred

from scrapy_mandelbot.report import exporting
from scrapy_mandelbot.settings.values import SettingsError, metrics

pytest.importorskip("prometheus_client")
from prometheus_client.parser import text_string_to_metric_families

URLS = ["data:,one", "data:,two"]


@pytest.fixture
def gateway():
    """Serve as a Pushgateway does; it remembers what was pushed."""
    pushed = []

    class Gateway(BaseHTTPRequestHandler):
        def do_PUT(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            pushed.append((self.path, self.headers["Authorization"], body.decode()))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    server.pushed = pushed
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def values(text):
    found = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] += sample.value
    return found


@ensureDeferred
async def test_zeros_are_pushed_at_the_start_and_the_last_values_at_the_end(gateway):
    """As one job for each spider; the credentials stay out of the log."""
    url = f"http://robot:s%40fe@127.0.0.1:{gateway.server_port}/"
    result = await crawl(LinksSpider, {"MANDELBOT_METRICS": url}, start_urls=URLS)
    (path, authorization, first), (_, _, last) = gateway.pushed
    assert path == "/metrics/job/links"
    assert base64.b64decode(authorization.split()[1]) == b"robot:s@fe"
    assert values(first)["mandelbot_requests_lost_total"] == 0
    assert "mandelbot_run_ended_seconds" not in values(first)
    assert values(last)["mandelbot_pages_total"] == 2
    assert values(last)["mandelbot_run_ended_seconds"] > 0
    where = f"http://127.0.0.1:{gateway.server_port}"
    assert result.logged("Pushed the metrics of the crawl to ") == [
        f"Pushed the metrics of the crawl to {where}"
    ]
    assert not exporting.at_addresses


@ensureDeferred
async def test_a_gateway_that_hangs_does_not_hold_the_end(monkeypatch):
    """It has the stated time, however slowly it sends; then an error is logged."""
    monkeypatch.setattr(exporting, "LONGEST_PUSH", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as hung:
        url = f"http://127.0.0.1:{hung.getsockname()[1]}"
        result = await crawl(LinksSpider, {"MANDELBOT_METRICS": url}, start_urls=URLS)
    errors = result.logged(f"MANDELBOT_METRICS: cannot push to {url}: ")
    assert f"MANDELBOT_METRICS: cannot push to {url}: no answer within 0.2 s" in errors
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_a_gateway_that_is_not_there_costs_the_crawl_nothing(gateway):
    """Its errors are logged, and the crawl ends as without it."""
    gateway.shutdown()
    gateway.server_close()
    url = f"http://127.0.0.1:{gateway.server_port}"
    result = await crawl(LinksSpider, {"MANDELBOT_METRICS": url}, start_urls=URLS)
    assert result.logged(f"MANDELBOT_METRICS: cannot push to {url}: ")
    assert result.logged("OK: Finished after ")


@pytest.mark.parametrize(
    "value", ["http://", "http://gateway:0", "http://gateway:port", "http://g/?a=b"]
)
def test_a_url_that_is_none_is_refused(value):
    """With what the setting takes."""
    with pytest.raises(SettingsError, match="the URL of a Pushgateway such as"):
        metrics("MANDELBOT_METRICS", value)
