"""The spider middleware that records what each callback yields.

No fingerprint stops requests with ``dont_filter``. After a run that ended within a
callback, the next run yields all of them again; so the job counts them, and skips as
many.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.extensions.spiderstate import SpiderState
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fleet.worker import JobWorker
from scrapy_mandelbot.job.job import Job
from scrapy_mandelbot.job.spider_state import set_damaged_aside
from scrapy_mandelbot.job.start_requests import ScrapysStart, SkippedStarts

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.clock import Clock

_WITHOUT_A_TURN = 1_000  # requests of start() skipped before the event loop gets a turn


class JobMiddleware:
    """Runs nearest the engine, after all other spider middlewares."""

    def __init__(self, crawler: Crawler) -> None:
        job: Job | JobWorker | None = JobWorker.of(crawler) or Job.of(crawler)
        if job is None:
            raise NotConfigured
        self._job = job
        self._scrapys_start = ScrapysStart(crawler.spider)
        for one in crawler.extensions.middlewares:
            if not isinstance(one, SpiderState) or not one.jobdir:
                continue
            if Crawl.of(crawler).config.job_pickles:
                set_damaged_aside(Path(one.statefn))
            else:
                one.jobdir = None  # it would unpickle what is in JOBDIR

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> JobMiddleware:
        """Build the middleware.

        NotConfigured where the crawl has no job of this package.
        """
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Skip start requests that the job has; see :mod:`~.start_requests`."""
        skipped = SkippedStarts()
        try:
            async for output in start:
                if not isinstance(output, Request) or self._is_to_be_sent(
                    output, skipped
                ):
                    yield output
                elif not skipped.count % _WITHOUT_A_TURN:
                    await _next_turn(self._job.clock)
        finally:
            self._job.skipped(skipped)

    def _is_to_be_sent(self, request: Request, skipped: SkippedStarts) -> bool:
        job = self._job
        parent = job.start if self._scrapys_start.yields(request) else job.own_start
        if not job.gives(parent, request):
            skipped.add(request)
            return False
        if job.will_filter(request, skipped):
            skipped.add(request)
        return True

    def process_spider_input(self, response: Response) -> None:
        """Save that the callback is about to run: it may kill the process."""
        self._job.begins(response.request)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Record the parent of each request."""
        parent = self._job.called(response.request)
        async for output in result:
            is_item = not isinstance(output, Request)
            if is_item or parent is None or self._job.gives(parent, output):
                yield output


async def _next_turn(clock: Clock) -> None:
    turn: Deferred[None] = Deferred()
    clock.call_later(0, turn.callback, None)
    await maybe_deferred_to_future(turn)
