"""A crawl whose job has failed ends as a failure, for who asks by its exit status."""

from __future__ import annotations

import pytest

SPIDER = """
import sys
import scrapy
from scrapy_mandelbot import engine
from scrapy_mandelbot.job.job import Job
from scrapy_mandelbot.job.job_store import StorageError

class FailingSpider(scrapy.Spider):
    name = "failing"
    start_urls = ["data:,"]
    custom_settings = {"ADDONS": {"scrapy_mandelbot.Addon": 500}, "JOBDIR": f"{len(sys.argv)}.job"}

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
