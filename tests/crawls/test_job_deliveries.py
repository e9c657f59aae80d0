"""A page whose callback kills the process: it is asked for a few times, and the others
once.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from redis_server import NEEDS_REDIS

pytestmark = pytest.mark.slow

PAGES = 40
SPIDER = """
import os, signal, sys
import scrapy
from scrapy.crawler import CrawlerProcess

class KilledSpider(scrapy.Spider):
    name = "killed"

    async def start(self):
        for n in range(int(sys.argv[2])):
            yield scrapy.Request(f"{sys.argv[1]}/{n}")

    def parse(self, response):
        if response.url.endswith("/7"):
            os.kill(os.getpid(), signal.SIGKILL)
        with open("done.txt", "a") as file:
            file.write(response.url + "\\n")

process = CrawlerProcess({
    "ADDONS": {"scrapy_mandelbot.Addon": 500}, "JOBDIR": "job", "LOG_LEVEL": "ERROR",
    "ROBOTSTXT_OBEY": False, "MANDELBOT_LIMITS": {"private_hosts": True},
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "Examplebot/1.0 (+https://example.com/bot)", "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": int(sys.argv[3]),
    **({"MANDELBOT_JOB": sys.argv[4]} if sys.argv[4:] else {}),
    "MANDELBOT_JOB_OPTIONS": {"lease": 2},
})
process.crawl(KilledSpider)
process.start()
"""


@pytest.fixture
def pages():
    """Serve pages; tell how often each was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked[self.path] += 1
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_arguments):
            """Say nothing."""

    asked = Counter()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("at_once", [1, 16])
def test_a_page_that_kills_is_set_aside_after_three_deaths(
    pages, tmp_path, forked, at_once
):
    """The rest is crawled, log and command say so, and requeue brings it back."""
    url, asked = pages
    script = tmp_path / "killed.py"
    script.write_text(SPIDER)
    run = partial(forked.program, tmp_path, script, url, PAGES, at_once)
    robots = partial(forked.run, tmp_path, "job", "job")

    deaths = 0
    while (last := run()).returncode != 0:
        deaths += 1
        assert deaths <= 3
    assert deaths == 3
    assert asked["/7"] == 3
    done = (tmp_path / "done.txt").read_text().split()
    assert {one.rpartition("/")[2] for one in done} == {*map(str, range(PAGES))} - {"7"}
    assert last.stderr.count(b"is set aside: 3 runs have died with it") == 1
    assert f"{url}/7" in last.stderr.decode()

    told = json.loads(robots("--format", "json").stdout)
    assert told["set_aside"] == {"3 runs have died with it": 1}
    assert (told["waiting"], told["in_flight"]) == (0, 0)
    assert run().returncode == 0
    assert asked["/7"] == 3
    assert robots("requeue").returncode == 0
    assert run().returncode != 0
    assert asked["/7"] == 4


@NEEDS_REDIS
def test_a_page_kills_three_workers_at_most(pages, tmp_path, forked, redis_server):
    """The others have the rest, the log and the command say so, and requeue brings it
    back.
    """
    url, asked = pages
    script = tmp_path / "killed.py"
    script.write_text(SPIDER)
    start = partial(forked.program, tmp_path, script, url, PAGES, 4, redis_server.url)

    robots = partial(forked.run, tmp_path, "job", f"{redis_server.url}#killed")

    with ThreadPoolExecutor(5) as pool:
        workers = [one.result() for one in [pool.submit(start) for _ in range(5)]]
    assert sorted(worker.returncode for worker in workers) == [-9, -9, -9, 0, 0]
    assert asked["/7"] == 3
    done = (tmp_path / "done.txt").read_text().split()
    assert {one.rpartition("/")[2] for one in done} == {*map(str, range(PAGES))} - {"7"}
    log = b"".join(worker.stderr for worker in workers).decode()
    assert log.count("is set aside: 3 workers have died with it") == 1
    assert f"{url}/7" in log

    told = json.loads(robots("--format", "json").stdout)
    assert told["set_aside"] == {"3 workers have died with it": 1}
    assert (told["waiting"], told["in_flight"], told["workers"]) == (0, 0, [])
    assert robots("requeue").returncode == 0
    assert start().returncode == -9
    assert asked["/7"] == 4
