"""Runs of a job that die: a copy of JOBDIR, made in the middle, is what a kill would
have left.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from crawling import LinksSpider, crawl

if TYPE_CHECKING:
    import scrapy


def dies(spider: scrapy.Spider) -> None:
    """Keep what is in JOBDIR now: the rest of the run is as if it had not been."""
    folder = Path(spider.settings["JOBDIR"])
    copy = folder.with_name("died")
    if not copy.exists():
        shutil.copytree(folder, copy)
        spider.called_then = list(spider.called)
        # Scrapy to 2.17 has a callback wait for a tenth of a second, and what was
        # settled in this turn of the loop is not committed.
        spider.under_way_then = 1 + len(spider.crawler.engine._slot.inprogress)


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
