"""The spider middleware that records what each callback yields.

No fingerprint stops requests with ``dont_filter``. After a run that ended within a
callback, the next run yields all of them again; so the job counts them, and skips as
many.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.extensions.spiderstate import SpiderState
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fleet.worker import JobWorker
from scrapy_mandelbot.job.job import Job

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.job.unacked import Unacked

_WITHOUT_A_TURN = 1_000  # requests of start() skipped before the event loop gets a turn


class JobMiddleware:
    """Runs nearest the engine, after all other spider middlewares."""

    def __init__(self, crawler: Crawler) -> None:
        job: Job | JobWorker | None = JobWorker.of(crawler) or Job.of(crawler)
        if job is None:
            raise NotConfigured
        self._job = job
        for one in crawler.extensions.middlewares:
            if (
                isinstance(one, SpiderState)
                and not Crawl.of(crawler).config.job_pickles
            ):
                one.jobdir = None  # it would unpickle what is in JOBDIR

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> JobMiddleware:
        """Build the middleware.

        NotConfigured where the crawl has no job of this package.
        """
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Skip what start() yielded in a run that did not finish."""
        passed_over = 0
        async for output in start:
            if self._is_new(self._job.start, output):
                yield output
                continue
            passed_over += 1
            if not passed_over % _WITHOUT_A_TURN:
                await _next_turn(self._job.clock)

    def process_spider_input(self, response: Response) -> None:
        """Save that the callback is about to run: it may kill the process."""
        self._job.begins(response.request)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Record the parent of each request."""
        parent = self._job.called(response.request)
        async for output in result:
            if parent is None or self._is_new(parent, output):
                yield output

    def _is_new(self, parent: Unacked, output: Any) -> bool:
        return not isinstance(output, Request) or self._job.gives(parent, output)


async def _next_turn(clock: Clock) -> None:
    turn: Deferred[None] = Deferred()
    clock.call_later(0, turn.callback, None)
    await maybe_deferred_to_future(turn)
