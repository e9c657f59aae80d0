"""Metrics: as Prometheus scrapes a running crawl."""

from __future__ import annotations

import builtins
import socket
import urllib.request
from collections import Counter
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import pytest
from crawlers import get_crawler
from crawling import LinksSpider, crawl, ensureDeferred
from twisted.internet.defer import Deferred, DeferredList
from webs import Closed, site

from scrapy_mandelbot import SettingsError
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report import exporting
from scrapy_mandelbot.report.metrics import CrawlMetrics

pytest.importorskip("prometheus_client")
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
        (exported,) = exporting.at_addresses.values()
        with urllib.request.urlopen(exported.url, timeout=10) as answer:
            text = answer.read().decode()
        self.scraped.append(
            {
                (sample.name, frozenset(sample.labels.items())): sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            }
        )


@ensureDeferred
async def test_prometheus_scrapes_a_paused_crawl(webs):
    """Over HTTP, from the real exporter: what waits, why, and what was refused."""
    web = site(webs, 20)
    web.refuse = Closed(seconds=30, after=5, retry_after="30", robots_too=False)

    result = await crawl(
        Scraping, {"MANDELBOT_METRICS": "127.0.0.1:0"}, start_urls=[web.url + "/"]
    )

    paused, resumed = (
        result.crawler.spider.scraped[0],
        result.crawler.spider.scraped[-1],
    )
    address, port = web.url.removeprefix("http://").split(":")
    of_site = {"server_address": address, "server_port": port, "url_scheme": "http"}

    def value(name, scraped=paused, **labels):
        key = f"mandelbot_{name}", frozenset({"spider": "links", **labels}.items())
        return scraped.get(key)

    assert value("sites", state="paused") == 1
    assert value("requests_waiting", **of_site) == 16
    assert value("pages_total", **of_site) == 5
    refused = sum(hit.status == 503 for hit in web.hits)
    status = {"http_response_status_code": "503"}
    assert 1 <= value("refusals_total", **of_site, **status) <= refused
    assert value("pauses_total", **of_site) == 1
    assert 3 <= value("pause_time_seconds_total", **of_site) <= 8
    assert value("robots_txt_answers_total", case="rules") == 1
    assert value("job_not_saved_total") == 0
    before_its_label = {"server_address": "_OTHER", "server_port": "", "url_scheme": ""}
    assert value("request_interval_seconds_count", resumed, **before_its_label) >= 4
    assert value("pause_duration_seconds_count", **of_site) is None
    assert value("pause_duration_seconds_bucket", resumed, le="10.0", **of_site) == 0
    assert value("pause_duration_seconds_bucket", resumed, le="60.0", **of_site) == 1
    assert value("pause_duration_seconds_bucket", resumed, le="900.0", **of_site) == 1
    assert exporting.at_addresses == {}, "it is served no longer than the crawl takes"
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
    assert len(result.logged(f"MANDELBOT_METRICS: cannot serve at {address}")) == 1


def in_file(path):
    """Return the samples of a file by name, added up over their labels."""
    found = Counter()
    for family in text_string_to_metric_families(path.read_text()):
        for sample in family.samples:
            found[sample.name] += sample.value
    return found


@ensureDeferred
async def test_a_file_has_the_values_of_the_last_run(webs, tmp_path):
    """Zeros from the start, and the losses after the end, until the next run begins."""
    web = site(webs, 5)
    web.refuse = Closed(seconds=10**6, after=1, robots_too=False)
    path = tmp_path / "made" / "links.prom"
    at_first = []

    class Looking(LinksSpider):
        async def start(self):
            at_first.append(in_file(path))
            async for request in super().start():
                yield request

    settings = {
        "MANDELBOT_METRICS": str(tmp_path / "made" / "%(name)s.prom"),
        "MANDELBOT_PAUSE_OPTIONS": {"total": 30},
    }
    result = await crawl(Looking, settings, start_urls=[web.url + "/"])
    for name in ("requests_lost", "refusals", "pauses"):
        assert at_first[0][f"mandelbot_{name}_total"] == 0
        assert f"mandelbot_{name}_total" in at_first[0], "there from the start"
    assert "mandelbot_run_ended_seconds" not in at_first[0]
    ended = in_file(path)
    assert ended["mandelbot_requests_lost_total"] == 5
    assert ended["mandelbot_pages_total"] == 1
    assert ended["mandelbot_run_ended_seconds"] > 10**9
    assert 'mandelbot_sites{spider="links",state="given up"} 1.0' in path.read_text()
    assert result.logged(f"Wrote the metrics of the crawl: {path}")
    assert exporting.at_addresses == {}

    web.refuse = lambda _path: None
    await crawl(Looking, settings, start_urls=[web.url + "/"])
    assert in_file(path)["mandelbot_requests_lost_total"] == 0


def values_in(path):
    """Return the values of each metric in a file, over all its labels."""
    found = Counter()
    for family in text_string_to_metric_families(path.read_text()):
        for sample in family.samples:
            assert sample.labels["spider"] == "links"
            found[sample.name] += sample.value
    return found


@ensureDeferred
async def test_crawls_of_one_spider_in_one_process_share_a_file(webs, tmp_path):
    """Beside each other they are added up: none hides what another has lost."""
    path = tmp_path / "links.prom"
    settings = {
        "MANDELBOT_METRICS": str(path),
        "MANDELBOT_STORE": "memory",
        "MANDELBOT_PAUSE_OPTIONS": {"first": 1, "total": 2},
    }
    down = site(webs, 10)
    down.refuse = Closed(seconds=10**6, after=3)
    slow = site(webs, 20, "127.0.0.2", delay=5.0)
    starts = [down.url + "/", slow.url + "/page/1"], [slow.url + "/"]
    both = [
        Deferred.fromCoroutine(crawl(LinksSpider, settings, start_urls=urls))
        for urls in starts
    ]
    lossy, good = [result for _, result in await DeferredList(both)]
    lost = lossy.stats["mandelbot/requests/lost"]
    assert lost
    assert good.seconds > lossy.seconds  # it has written the file last
    found = values_in(path)
    assert found["mandelbot_requests_lost_total"] == lost
    assert found["mandelbot_pages_total"] == len(lossy.items) + len(good.items)
    given_up = 'mandelbot_sites{spider="links",state="given up"} 1.0'
    assert given_up in path.read_text()
    ended = found["mandelbot_run_ended_seconds"]
    assert ended <= Crawl.of(good.crawler).now()

    await crawl(LinksSpider, settings, start_urls=[slow.url + "/"])
    assert values_in(path)["mandelbot_requests_lost_total"] == 0


@ensureDeferred
async def test_a_file_that_cannot_be_written_costs_the_crawl_nothing(webs, tmp_path):
    """An error in the log at the start, and another at the end; the pages arrive."""
    web = site(webs, 3)
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "links.prom"
    settings = {"MANDELBOT_METRICS": str(path)}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert len(result.items) == 4
    assert len(result.logged(f"MANDELBOT_METRICS: cannot write {path}: ")) == 2
    assert exporting.at_addresses == {}


@pytest.fixture
def serve(monkeypatch):
    """Return what serves metrics at an address, and gives the port."""
    served = []
    monkeypatch.setattr(exporting, "at_addresses", {})

    def start(address):
        served.append(exporting.exported_at(address))
        return urlsplit(served[-1].url).port

    yield start
    for one in served:
        one.close()


def connected(port):
    return closing(socket.create_connection(("127.0.0.1", port), timeout=10))


def status_for(port, host):
    """Return the status of an answer, or None if the connection just closes."""
    sent = "" if host is None else f"Host: {host}\r\n"
    try:
        with connected(port) as connection:
            connection.sendall(f"GET /metrics HTTP/1.1\r\n{sent}\r\n".encode())
            answer = connection.makefile("rb").read()
    except ConnectionError:
        return None
    return int(answer.split()[1]) if answer else None


@pytest.mark.parametrize(
    ("given", "host", "status"),
    [
        ("127.0.0.1", "127.0.0.1:{port}", 200),
        ("127.0.0.1", "localhost:9464", 200),  # a forwarded port
        ("127.0.0.1", "LocalHost", 200),
        ("127.0.0.1", "[::1]:{port}", 200),
        ("127.0.0.1", "rebound.example:{port}", 421),
        ("127.0.0.1", "localhost.rebound.example", 421),
        ("127.0.0.1", "127.0.0.1.rebound.example", 421),
        ("127.0.0.1", "localhost@rebound.example", 421),
        ("127.0.0.1", "[", 421),
        ("127.0.0.1", "", 421),
        ("127.0.0.1", None, 421),
        ("Crawls.example", "crawls.example:{port}", 200),
        ("Crawls.example", "rebound.example:{port}", 421),
        ("0.0.0.0", "crawls.service:9464", 200),
        ("0.0.0.0", None, 200),
    ],
)
def test_a_web_page_cannot_read_them_by_dns_rebinding(
    serve, monkeypatch, given, host, status
):
    """At a loopback address the Host header must name it; elsewhere it is free."""
    bound = given if given == "0.0.0.0" else "127.0.0.1"
    monkeypatch.setattr(
        "prometheus_client.exposition._get_best_family",
        lambda *_: (socket.AF_INET, bound),
    )
    port = serve(f"{given}:0")
    assert status_for(port, host and host.format(port=port)) == status


def test_an_idle_connection_ends(serve, monkeypatch, capfd):
    """Whether it sends nothing, or part of a request; without a traceback."""
    monkeypatch.setattr(exporting, "_LONGEST_IDLE", 0.05)
    port = serve("127.0.0.1:0")
    for sent in b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n":
        with connected(port) as connection:
            connection.sendall(sent)
            assert connection.recv(100) == b""
    assert capfd.readouterr().err == ""


def test_only_so_many_connections_are_open(serve, monkeypatch):
    """Further ones are closed at once, until one of them ends."""
    monkeypatch.setattr(exporting, "_MOST_CONNECTIONS", 3)
    port = serve("127.0.0.1:0")
    with ExitStack() as stack:
        first, *_ = [stack.enter_context(connected(port)) for _ in range(3)]
        assert status_for(port, "localhost") is None
        assert status_for(port, "localhost") is None
        first.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert first.makefile("rb").read().startswith(b"HTTP/1.0 200")
        answers = (status_for(port, "localhost") for _ in range(1_000))
        assert next(filter(None, answers)) == 200


def test_without_the_extra_a_message_says_what_is_missing(monkeypatch):
    """At start, naming the setting and the command."""
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("prometheus_client"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    crawler = get_crawler(LinksSpider, {"MANDELBOT_METRICS": "127.0.0.1:0"})
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        SettingsError, match=r"MANDELBOT_METRICS.*scrapy-mandelbot\[metrics\]"
    ):
        CrawlMetrics(crawler)
