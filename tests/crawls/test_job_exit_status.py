"""A crawl whose job has failed ends as a failure, for who asks by its exit status."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest
from pages import ROOT

from scrapy_mandelbot.job.job_file import APPLICATION
from scrapy_mandelbot.report.judgement import FAILING_REASONS, HOW_RUNS_END

SPIDER = """
import sys
import scrapy
from scrapy_mandelbot import engine
from scrapy_mandelbot.job.job import Job
from scrapy_mandelbot.job.job_store import StorageError

class FailingSpider(scrapy.Spider):
    name = "failing"
    start_urls = ["data:,"]
    custom_settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        "JOBDIR": f"{len(sys.argv)}.job",
    }

    def parse(self, response):
        if FAILS == "job_unreadable":
            Job.of(self.crawler).failed(StorageError("as a test wants it"))
        elif FAILS == "job_not_saved":
            Job.of(self.crawler).store.database.execute("PRAGMA query_only = 1")
"""
PROCESS = """
from scrapy.crawler import CrawlerProcess
process = CrawlerProcess()
process.crawl(FailingSpider)
process.start()
sys.exit(3 if process.bootstrap_failed else 0)
"""


@pytest.mark.parametrize("fails", ["", "job_unreadable", "job_not_saved"])
def test_a_job_that_has_failed_is_told_by_the_exit_status(tmp_path, forked, fails):
    """Of Scrapy's commands, and by ``bootstrap_failed`` of a CrawlerProcess."""
    text = SPIDER.replace("FAILS", repr(fails))
    (tmp_path / "spider.py").write_text(text)
    (tmp_path / "process.py").write_text(text + PROCESS)
    commands = {1: ["scrapy", "runspider", "spider.py"], 3: ["process.py"]}
    for status, command in commands.items():
        run = forked.program(tmp_path, *command)
        assert run.returncode == (status if fails else 0), run.stderr.decode()
        assert f"Spider closed ({fails or 'finished'})" in run.stderr.decode()


ENDS = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import scrapy


class Answers(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        is_rules = self.path == "/robots.txt"
        self.send_response(200 if is_rules or self.path == "/" else 503)
        self.end_headers()
        self.wfile.write(b"User-agent: *\\nDisallow: RULE" if is_rules else b"page")


server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
Thread(target=server.serve_forever, daemon=True).start()


class EndingSpider(scrapy.Spider):
    name = "ending"
    start_urls = [f"http://127.0.0.1:{server.server_port}/"]
    custom_settings = {
        "ADDONS": {"scrapy_mandelbot.Addon": 500},
        "MANDELBOT_STORE": "memory",
        "MANDELBOT_PAUSE_OPTIONS": {"first": 0.1, "total": 0.1},
    }

    def parse(self, response):
        yield response.follow("/down")
"""
ENDING_PROCESS = PROCESS.replace("FailingSpider", "EndingSpider")


@pytest.mark.parametrize(
    ("rule", "named", "fails"),
    [
        ("", "", False),
        ("", "lost", True),
        ("", "forbidden,left", False),
        ("/", "lost", False),
        ("/", "lost,forbidden", True),
    ],
)
def test_a_project_says_which_ends_are_failures(tmp_path, forked, rule, named, fails):
    """By the exit status, and by ``bootstrap_failed``; the last line says why."""
    text = ENDS.replace("RULE", rule)
    setting = f"MANDELBOT_EXIT_STATUS={named}"
    (tmp_path / "spider.py").write_text(text)
    command = ["scrapy", "runspider", "spider.py", "-s", setting]
    run = forked.program(tmp_path, *command)
    assert run.returncode == (1 if fails else 0), run.stderr.decode()
    assert (b"Exit status 1: MANDELBOT_EXIT_STATUS names" in run.stderr) == fails
    process = ENDING_PROCESS.replace(
        "CrawlerProcess()", f"CrawlerProcess({{'MANDELBOT_EXIT_STATUS': {named!r}}})"
    )
    (tmp_path / "process.py").write_text(text + process)
    run = forked.program(tmp_path, "process.py")
    assert run.returncode == (3 if fails else 0), run.stderr.decode()


SEVERAL = """
import asyncio
from scrapy.crawler import CrawlerProcess, CrawlerRunner


class GoodSpider(EndingSpider):
    name = "good"

    def parse(self, response):
        yield {"url": response.url}


settings = {"MANDELBOT_EXIT_STATUS": "lost"}
"""
AT_ONCE = """
process = CrawlerProcess(settings)
for spider in SPIDERS:
    process.crawl(spider)
process.start()
sys.exit(3 if process.bootstrap_failed else 0)
"""
ONE_BY_ONE = """
from scrapy.utils.reactor import install_reactor
install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
from twisted.internet import defer, reactor

runner = CrawlerRunner(settings)


@defer.inlineCallbacks
def crawl():
    for spider in SPIDERS:
        yield runner.crawl(spider)
    reactor.stop()


crawl()
reactor.run()
sys.exit(3 if runner.bootstrap_failed else 0)
"""


@pytest.mark.parametrize("how", [AT_ONCE, ONE_BY_ONE])
@pytest.mark.parametrize(
    ("spiders", "status"),
    [
        ("[GoodSpider, GoodSpider]", 0),
        ("[EndingSpider, GoodSpider]", 3),
        ("[GoodSpider, EndingSpider]", 3),
    ],
)
def test_one_failed_crawl_of_several_fails_the_process(
    tmp_path, forked, how, spiders, status
):
    """Whichever ends last, of a CrawlerProcess and of a CrawlerRunner."""
    text = ENDS.replace("RULE", "") + SEVERAL + how.replace("SPIDERS", spiders)
    (tmp_path / "process.py").write_text(text)
    run = forked.program(tmp_path, "process.py")
    assert run.returncode == status, run.stderr.decode()


def test_a_job_that_cannot_be_used_is_refused_in_one_line(tmp_path, forked):
    """As one of another version: no traceback follows."""
    (tmp_path / "spider.py").write_text(SPIDER.replace("FAILS", "''"))
    (tmp_path / "job").mkdir()
    with closing(sqlite3.connect(tmp_path / "job" / "job.sqlite")) as database:
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute("PRAGMA user_version = 99")
    run = forked.program(
        tmp_path, "scrapy", "runspider", "spider.py", "-s", "JOBDIR=job"
    )
    assert run.returncode == 1
    lines = run.stderr.decode().splitlines()
    (line,) = (one for one in lines if re.search(r" (WARNING|ERROR|CRITICAL): ", one))
    assert line.endswith("was written by another version (format 99)")
    assert not [one for one in lines if one.startswith("Traceback")]


def test_a_page_has_every_reason_and_its_exit_status():
    """All finish reasons that the package gives, and no others."""
    page = (ROOT / "docs" / "went_wrong.rst").read_text(encoding="utf-8")
    listed = dict(re.findall(r"(?m)^``(\w+)`` +(\d) ", page))
    assert set(listed) == HOW_RUNS_END.keys() - {"not finished"}
    failed = {reason for reason, status in listed.items() if status == "1"}
    assert failed == FAILING_REASONS
