"""The clock that skips waits: on whatever Scrapy runs on, and no timer is early."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest
from crawling import ensureDeferred
from loop_time import TIME
from no_reactor import NO_REACTOR
from pages import page
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import Deferred

EXAMPLE = textwrap.dedent(
    re.search(r"    # test_shop\.py\n((?:    .*\n|\n)+)", page("testing")).group()
)
CONFTEST = '''
"""A server in a thread that answers later than the loop looks for it."""
import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import scrapy
from scrapy.http.request import NO_CALLBACK


class Server(ThreadingHTTPServer):
    answers = ()
    robots = [(404, {})]
    more = [(503, {"Retry-After": "59"}), (200, {})]

    class RequestHandlerClass(BaseHTTPRequestHandler):
        def do_GET(self):
            threading.Event().wait(0.05)
            answers = getattr(self.server, OF[self.path])
            status, headers = answers.pop(0)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.RequestHandlerClass)
        self.url = f"http://127.0.0.1:{self.server_port}/page"


@pytest.fixture
def server():
    with Server() as one:
        serve = one.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.01}).start()
        yield one
        one.shutdown()


@pytest.fixture
def ShopSpider():
    class Shop(scrapy.Spider):
        name = "shop"
        custom_settings = {"DOWNLOAD_TIMEOUT": 60, "RETRY_ENABLED": False}

        def __init__(self, url):
            self.start_urls = [url]

        async def parse(self, response):
            request = scrapy.Request(response.urljoin("/more"), callback=NO_CALLBACK)
            more = await self.crawler.engine.download_async(request)
            assert more.status == 200
            yield {"url": response.url}

    return Shop


OF = {"/page": "answers", "/more": "more", "/robots.txt": "robots"}
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "options"),
    [
        ("AsyncCrawlerProcess", {}),
        pytest.param(
            "CrawlerProcess",
            {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "CrawlerProcess", {"TWISTED_REACTOR": None}, marks=pytest.mark.thorough
        ),
        pytest.param(
            "AsyncCrawlerProcess", {"TWISTED_REACTOR_ENABLED": False}, marks=NO_REACTOR
        ),
    ],
)
def test_the_example_of_the_documents_takes_no_hour(tmp_path, process, options):
    """Nor do those who wait in a callback, nor has it a site time out that answers
    late.
    """
    example = EXAMPLE.replace("AsyncCrawlerProcess", process)
    options |= {"TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False}
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_shop.py").write_text(
        example.replace('"memory",', f'"memory", **{options!r}')
    )
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:twisted",
            ".",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert "1 passed" in run.stdout


@pytest.mark.usefixtures("loop_is_turned")
@ensureDeferred
async def test_where_time_jumps_no_timer_rings_before_its_time():
    """Seconds since the epoch are told apart by 0.2 microseconds; a site's limit is
    exact.
    """
    if not is_asyncio_reactor_installed():
        pytest.skip("only asyncio's time is turned")
    late = []
    for _ in range(300):
        rings: Deferred[None] = Deferred()
        began, due = TIME.elapsed(), TIME.now() + 1 / 3
        TIME.call_later(due - TIME.now(), rings.callback, None)
        await rings
        late.append(TIME.elapsed() - began - 1 / 3)
    assert 0 <= min(late) <= max(late) < 1e-5


STOCK = """
import pytest
import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from loop_time import autojump


def test_stock(server):
    class Slow(scrapy.Spider):
        name = "slow"
        start_urls = [server.url] * 3

        def parse(self, response):
            self.latency = response.meta["download_latency"]

    server.answers = [(200, {})] * 3
    with autojump() as time:
        began = time.now()
        process = AsyncCrawlerProcess({
            "DOWNLOAD_DELAY": 10, "DOWNLOAD_DELAY_JITTER": 0, "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False,
        })
        crawler = process.create_crawler(Slow)
        process.crawl(crawler)
        process.start()
        assert 30 <= time.now() - began < 45
    assert crawler.stats.get_value("response_received_count") == 4
    assert 30 <= crawler.stats.get_value("elapsed_time_seconds") < 45
    assert crawler.spider.latency < 5
"""


@pytest.mark.slow
def test_the_delays_of_stock_scrapy_take_no_time(tmp_path):
    """DOWNLOAD_DELAY follows the clock that jumps; robots.txt waits for it, too."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_stock.py").write_text(STOCK)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:twisted", "."]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=25,
        check=False,
    )
    assert "1 passed" in run.stdout, run.stdout
