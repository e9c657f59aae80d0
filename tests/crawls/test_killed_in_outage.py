"""A crawl that is killed while its site is out: the next run gives the tries back that
its pages spent before the pause.
"""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytestmark = pytest.mark.slow

PAGES = 60
WELL_BEFORE = 20
SPIDER = """
import asyncio, os, signal, sys
import scrapy
from scrapy.crawler import CrawlerProcess

class OutageSpider(scrapy.Spider):
    name = "outage"

    async def start(self):
        if sys.argv[3] == "kill":
            self.killer = asyncio.create_task(self.die_in_outage())
        for n in range(int(sys.argv[2])):
            yield scrapy.Request(f"{sys.argv[1]}/{n}", errback=self.failed)

    async def die_in_outage(self):
        while not self.crawler.stats.get_value("mandelbot/pause/count"):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)

    def parse(self, response):
        self.note(f"done {response.url}")

    def failed(self, failure):
        self.note(f"failed {failure.request.url}")

    def note(self, line):
        with open("ends.txt", "a") as file:
            file.write(line + "\\n")

process = CrawlerProcess({
    "ADDONS": {"scrapy_mandelbot.Addon": 500}, "JOBDIR": "job", "LOG_LEVEL": "ERROR",
    "ROBOTSTXT_OBEY": False, "MANDELBOT_LIMITS": {"private_hosts": True},
    "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0,
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)",
    "MANDELBOT_JOB_OPTIONS": {"lease": 2},
})
process.crawl(OutageSpider)
process.start()
"""


class Backend:
    """Answers so many pages well, then none until it `is_back`.

    Of those that failed each one fails twice more then: no try of it may be lost.
    """

    def __init__(self):
        self.failed_while_out = set()
        self.failed_again = Counter()
        self.well = 0
        self.is_back = False
        self._lock = threading.Lock()

    def status_of(self, path):
        """Return the status of the answer to a request."""
        with self._lock:
            if self.well >= WELL_BEFORE and not self.is_back:
                self.failed_while_out.add(path)
                return 502
            is_well_again = self.well > WELL_BEFORE + 5
            may_fail = path in self.failed_while_out and self.failed_again[path] < 2
            if is_well_again and may_fail:
                self.failed_again[path] += 1
                return 502
            self.well += 1
            return 200


@pytest.fixture
def backend():
    backend = Backend()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(backend.status_of(self.path))
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_arguments):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    backend.url = f"http://127.0.0.1:{server.server_port}"
    yield backend
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_kill_in_an_outage_costs_no_page_a_try(backend, tmp_path, forked):
    script = tmp_path / "outage.py"
    script.write_text(SPIDER)
    run = partial(forked.program, tmp_path, script, backend.url, PAGES)
    assert run("kill").returncode != 0
    backend.is_back = True
    assert run("run on").returncode == 0
    ends = (tmp_path / "ends.txt").read_text().splitlines()
    done = {line.split()[1] for line in ends if line.startswith("done")}
    failed = {line.split()[1] for line in ends if line.startswith("failed")}
    assert sum(times == 2 for times in backend.failed_again.values()) >= 3
    assert len(failed) <= 1, "the page that failed first may be why"
    assert len(done) >= PAGES - 1
