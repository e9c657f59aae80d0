"""Runs of a job that die: a copy of JOBDIR, made in the middle, is what a kill would have left."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from crawling import LinksSpider, crawl

if TYPE_CHECKING:
    import scrapy

AGAIN = 4
"""Pages whose callbacks may run twice after a crash, with one request at a time.

What was under way, and what the oldest Scrapy tells a turn of the loop later, so that it was not
committed.
"""


def dies(spider: scrapy.Spider) -> None:
    """Keep what is in JOBDIR now: the rest of the run is as if it had not been."""
    folder = Path(spider.settings["JOBDIR"])
    copy = folder.with_name("died")
    if not copy.exists():
        shutil.copytree(folder, copy)
        spider.called_then = list(spider.called)


async def run(spider, folder, start_urls=(), **settings):
    """Run a spider to its end in a JOBDIR."""
    settings = {"JOBDIR": str(folder), "ROBOTSTXT_OBEY": False, **settings}
    return await crawl(spider, settings, start_urls=list(start_urls))


async def run_after(folder, spider, start_urls=(), **settings):
    """Run a spider in what a run left that died."""
    return await run(spider, folder.with_name("died"), start_urls, **settings)


class Noting(LinksSpider):
    """Notes which callbacks ran to their end."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.called: list[str] = []

    def parse(self, response):
        yield from super().parse(response)
        self.called.append(response.url)
