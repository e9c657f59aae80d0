"""What a run that followed sitemaps has left in JOBDIR, in a run that does not follow them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_mandelbot.events import SITEMAP_DROPPED
from scrapy_mandelbot.following.own_requests import install, is_own
from scrapy_mandelbot.following.progress import forget_progress

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from scrapy_mandelbot.crawl import Crawl


class UnfollowedRequests:
    """Drops the requests that only following sitemaps has a use for.

    They are dropped as the site queue is about to hand them out, so that no site is asked. Of a
    project's own queue they come out, and it is their answers that are dropped.

    Args:
        crawl: whose queue it is.
        spider: gets their callbacks; without them Scrapy can read no such request from disk.
        folder: JOBDIR. Without its requests, the progress kept there is worth nothing.
    """

    def __init__(self, crawl: Crawl, spider: Spider, folder: str) -> None:
        self._crawl = crawl
        self._events = crawl.events
        self._is_told = False
        self._folder = folder
        install(spider, read=self._drop_answer, missed=self._drop_answer, heard=self._drop_answer)
        crawl.drops = self._drops

    def _drops(self, request: Request) -> bool:
        if not is_own(request):
            return False
        forget_progress(self._folder, self._crawl.job)
        if self._is_told:  # one line will do
            self._events.count(SITEMAP_DROPPED)
        else:
            self._is_told = True
            self._events.tell(SITEMAP_DROPPED, url=request.url)
        return True

    def _drop_answer(self, answer: Response | Failure) -> None:
        self._drops(answer.request)  # type: ignore[union-attr,arg-type]  # both have one
