"""After the process dies for any reason, running the same job again loses no data (scrapy#7978).

End to end: each test crawls a server of its own in a process that is killed with SIGKILL at a known
request, and runs the job again. The environment variable ``CRASH_SETTINGS`` has, as JSON, the
settings that opt in.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

SETTINGS = json.loads(os.environ.get("CRASH_SETTINGS", "{}"))
PAGES = 40
SPIDER = """
import resource
from pathlib import Path

import scrapy
from scrapy import Request
from scrapy.http.request import NO_CALLBACK


def told(line):
    with Path("seen.txt").open("a") as file:
        file.write(line + "\\n")


def fill_the_disk():
    if not Path("again").exists():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, -1))


class HandBack:
    def process_response(self, request, response):
        return request.replace(dont_filter=True) if response.status == 503 else response


class CrashSpider(scrapy.Spider):
    name = "crash"

    async def start(self):
        yield Request(self.url + "/first", self.parse)

    def parse(self, response):
        told(response.url.removeprefix(self.url))

    # {body}
"""


class Web:
    """Answers every path; kills the crawl at a request.

    Which one is said by a path and how often it came, or by how many requests there were.
    """

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.kill_at: tuple[str, int] | None = None
        self.kill_after: int | None = None
        self.statuses: dict[tuple[str, int], int] = {}
        self.crawl: subprocess.Popen[str] | None = None
        self.is_held, self.goes_on = threading.Event(), threading.Event()
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.asked[self.path] += 1
                at = self.path, web.asked[self.path]
                if at == web.kill_at or web.asked.total() == web.kill_after:
                    web.crawl.send_signal(signal.SIGKILL)
                    web.crawl.wait()
                    return
                if self.path == "/held":
                    web.is_held.set()
                    web.goes_on.wait(60)
                self.send_response(404 if self.path == "/robots.txt" else web.statuses.get(at, 200))
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"page")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def web():
    one = Web()
    yield one
    one.goes_on.set()
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture
def job(web, tmp_path):
    """Return what runs a spider's job once more, and returns how it ended."""

    def begin(body: str = "", *options: str):
        (tmp_path / "crash.py").write_text(SPIDER.replace("# {body}", body))
        settings = {"JOBDIR": "job", "RETRY_TIMES": 2, "TELNETCONSOLE_ENABLED": False, **SETTINGS}
        pairs = [
            part
            for name, value in settings.items()
            for part in ("-s", f"{name}={value if isinstance(value, str) else json.dumps(value)}")
        ]
        command = [sys.executable, "-m", "scrapy", "runspider", "crash.py", "-a", f"url={web.url}"]
        web.crawl = subprocess.Popen(
            [*command, *pairs, *options],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return web.crawl

    def run(body: str = "", *options: str, limit: float = 60):
        crawl = begin(body, *options)
        try:
            said = crawl.communicate(timeout=limit)[0]
        finally:
            crawl.kill()
        return crawl.returncode, said

    def seen() -> Counter[str]:
        path = tmp_path / "seen.txt"
        return Counter(path.read_text().splitlines() if path.exists() else [])

    run.begin, run.seen, run.folder = begin, seen, tmp_path
    return run


CHILDREN = f"""
    def parse(self, response):
        told("/first")
        for number in range({PAGES}):
            yield Request(f"{{self.url}}/{{number}}", self.page)

    def page(self, response):
        path = response.url.removeprefix(self.url)
        self.state["pages"] = self.state.get("pages", 0) + 1
        told(path)
        yield {{"path": path}}

    def closed(self, reason):
        told(f"state {{self.state.get('pages', 0)}}")
"""
ALL = {f"/{number}" for number in range(PAGES)}


def test_what_waits_and_what_is_in_flight_comes(web, job):
    web.kill_after = PAGES - 4
    assert job(CHILDREN)[0] == -signal.SIGKILL
    job(CHILDREN)
    seen = job.seen()
    assert set(seen) >= ALL
    assert sum(seen[page] > 1 for page in ALL) <= 16, "as many as were in flight"


DISK_FULL = CHILDREN.replace('told("/first")', 'told("/first"); fill_the_disk()')


def test_a_request_that_cannot_be_stored_hangs_nothing_and_is_not_lost(job):
    job(DISK_FULL)
    (job.folder / "again").touch()
    job(DISK_FULL)
    assert set(job.seen()) >= ALL


def test_what_was_stored_before_the_disk_was_full_is_not_lost(web, job):
    web.kill_at = "/20", 1
    job(DISK_FULL)
    (job.folder / "again").touch()
    job(DISK_FULL)
    assert set(job.seen()) >= ALL


def test_the_retry_of_a_start_request_comes(web, job):
    web.statuses["/first", 1] = 500
    web.kill_at = "/first", 2
    job()
    job()
    assert job.seen()["/first"] == 1


HAND_BACK = """
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {HandBack: 960}}

    def parse(self, response):
        told("/first")
        yield Request(self.url + "/back", self.page)

    def page(self, response):
        told("/back")
"""


def test_a_request_that_a_middleware_hands_back_comes(web, job):
    web.statuses["/back", 1] = 503
    web.kill_at = "/back", 2
    job(HAND_BACK)
    job(HAND_BACK)
    assert job.seen()["/back"] == 1


UNFILTERED = CHILDREN.replace("self.page)", "self.page, dont_filter=True)")


def test_unfiltered_children_of_a_callback_do_not_all_come_twice(web, job):
    web.kill_after = PAGES - 4
    job(UNFILTERED)
    job(UNFILTERED)
    seen = job.seen()
    assert set(seen) >= ALL
    assert sum(seen[page] > 1 for page in ALL) <= 16, "as many as were in flight"


INLINE = """
    async def parse(self, response):
        await self.crawler.engine.download_async(response.request)
        await self.crawler.engine.download_async(
            Request(self.url + "/inline", callback=NO_CALLBACK)
        )
        yield Request(self.url + "/last", self.page)

    def page(self, response):
        told("/last")
"""


def test_a_callback_that_sends_its_own_request_again_is_not_done_before_its_end(web, job):
    web.kill_at = "/inline", 1
    job(INLINE)
    job(INLINE)
    assert job.seen()["/last"] == 1


IN_MEMORY = """
    def parse(self, response):
        yield Request(self.url + "/lambda", lambda response: told("/lambda"))
"""


def test_a_child_that_cannot_be_stored_keeps_its_parent(web, job):
    web.kill_at = "/lambda", 1
    job(IN_MEMORY)
    job(IN_MEMORY)
    assert job.seen()["/lambda"] == 1


HELD = """
    def parse(self, response):
        told("/first")
        yield Request(self.url + "/held", self.page)

    def page(self, response):
        told("/held")
"""


def test_a_second_run_of_a_job_that_runs_is_refused(web, job):
    first = job.begin(HELD)
    assert web.is_held.wait(60)
    assert job(HELD)[0] != 0
    assert job.seen() == {"/first": 1}
    web.goes_on.set()
    first.communicate(timeout=60)
    assert job.seen() == {"/first": 1, "/held": 1}


def test_a_job_whose_file_is_damaged_says_so(web, job):
    web.kill_at = "/20", 1
    job(CHILDREN)
    files = [path for path in (job.folder / "job").rglob("*") if path.is_file()]
    largest = max(files, key=lambda path: path.stat().st_size)
    with largest.open("r+b") as file:
        file.write(b"\xff" * largest.stat().st_size)
    code, _ = job(CHILDREN)
    assert code != 0 or set(job.seen()) >= ALL


def test_a_feed_has_each_item_and_no_half_line(web, job):
    web.kill_at = "/20", 1
    job(CHILDREN, "-o", "items.jl")
    job(CHILDREN, "-o", "items.jl")
    lines = (job.folder / "items.jl").read_text().splitlines()
    assert {json.loads(line)["path"] for line in lines} == ALL


def test_the_state_of_the_spider_is_kept(web, job):
    web.kill_at = "/20", 1
    job(CHILDREN)
    job(CHILDREN)
    (state,) = (int(line.split()[1]) for line in job.seen() if line.startswith("state "))
    assert state >= PAGES
