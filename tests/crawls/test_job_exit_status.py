"""A crawl whose job has failed ends as a failure, for who asks by its exit status."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest
from pages import ROOT

from scrapy_mandelbot.job.job_file import APPLICATION
from scrapy_mandelbot.report.account import HOW_RUNS_END

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


def test_the_page_on_services_has_every_reason_and_its_exit_status():
    """All finish reasons that the package gives, and no others."""
    page = (ROOT / "docs" / "services.rst").read_text(encoding="utf-8")
    listed = dict(re.findall(r"(?m)^``(\w+)`` +(\d) ", page))
    assert set(listed) == HOW_RUNS_END.keys() - {"not finished"}
    failed = {reason for reason, status in listed.items() if status == "1"}
    jobs = {
        f"job_{end}" for end in ("salvaged", "not_saved", "unreadable", "forgotten")
    }
    assert failed == jobs
