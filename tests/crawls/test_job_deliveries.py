"""A page whose callback kills the process: it is asked for a few times, and the others once."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from redis_server import NEEDS_REDIS

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
    **({"MANDELBOT_JOB": sys.argv[4], "MANDELBOT_JOB_LEASE": 2} if sys.argv[4:] else {}),
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
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("at_once", [1, 16])
def test_a_page_that_kills_is_set_aside_after_three_deaths(pages, tmp_path, at_once):
    """The rest is crawled, the log and the command say so, and requeue brings it back."""
    url, asked = pages
    script = tmp_path / "killed.py"
    script.write_text(SPIDER)
    command = [sys.executable, str(script), url, str(PAGES), str(at_once)]

    def run():
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    def robots(*arguments):
        command = [sys.executable, "-m", "scrapy", "robots", "job", "job", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    deaths = 0
    while (last := run()).returncode != 0:
        deaths += 1
        assert deaths <= 3
    assert deaths == 3
    assert asked["/7"] == 3
    done = (tmp_path / "done.txt").read_text().split()
    assert {one.rpartition("/")[2] for one in done} == {*map(str, range(PAGES))} - {"7"}
    assert last.stderr.count("is set aside: 3 runs have died with it") == 1
    assert f"{url}/7" in last.stderr

    told = json.loads(robots("--format", "json").stdout)
    assert told["set_aside"] == {"3 runs have died with it": 1}
    assert (told["waiting"], told["in_flight"]) == (0, 0)
    assert run().returncode == 0
    assert asked["/7"] == 3
    assert robots("requeue").returncode == 0
    assert run().returncode != 0
    assert asked["/7"] == 4


@NEEDS_REDIS
def test_a_page_kills_three_workers_at_most(pages, tmp_path, redis_server):
    """The others have the rest, the log and the command say so, and requeue brings it back."""
    url, asked = pages
    script = tmp_path / "killed.py"
    script.write_text(SPIDER)
    command = [sys.executable, str(script), url, str(PAGES), "4", redis_server.url]

    def start():
        return subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)

    def robots(*arguments):
        job = f"{redis_server.url}#killed"
        command = [sys.executable, "-m", "scrapy", "robots", "job", job, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    workers = [start() for _ in range(5)]
    logs = [worker.communicate(timeout=120)[1] for worker in workers]
    assert sorted(worker.returncode for worker in workers) == [-9, -9, -9, 0, 0]
    assert asked["/7"] == 3
    done = (tmp_path / "done.txt").read_text().split()
    assert {one.rpartition("/")[2] for one in done} == {*map(str, range(PAGES))} - {"7"}
    log = "".join(logs)
    assert log.count("is set aside: 3 workers have died with it") == 1
    assert f"{url}/7" in log

    told = json.loads(robots("--format", "json").stdout)
    assert told["set_aside"] == {"3 workers have died with it": 1}
    assert (told["waiting"], told["in_flight"], told["workers"]) == (0, 0, [])
    assert robots("requeue").returncode == 0
    worker = start()
    worker.communicate(timeout=120)
    assert worker.returncode == -9
    assert asked["/7"] == 4
