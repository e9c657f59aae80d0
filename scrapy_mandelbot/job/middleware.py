"""The spider middleware that knows which callback gave a request, and what it gave before.

What start() and callbacks yield with ``dont_filter`` is stopped by no fingerprint. Where a run
ended in the middle of one, the next run would be given all of it again; so it is counted in the
job, and passed over as often.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_mandelbot.fleet.worker import JobWorker
from scrapy_mandelbot.job.job import Job

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.job.job_storage import Unacked

_WITHOUT_A_TURN = 1_000  # requests of start() that are passed over before others have a turn


class JobMiddleware:
    """Stands nearest the engine, so that it sees what the other spider middlewares let pass."""

    def __init__(self, crawler: Crawler) -> None:
        job: Job | JobWorker | None = JobWorker.of(crawler) or Job.of(crawler)
        if job is None:
            raise NotConfigured
        self._job = job

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> JobMiddleware:
        """Build the middleware; none where the crawl is no job of ours."""
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass over what start() gave in a run that did not finish."""
        passed_over = 0
        async for output in start:
            if self._is_new(self._job.start, output):
                yield output
                continue
            passed_over += 1
            if not passed_over % _WITHOUT_A_TURN:
                await _next_turn(self._job.clock)

    def process_spider_input(self, response: Response) -> None:
        """Have it kept that the callback is about to run: it may end the process."""
        self._job.begins(response.request)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Note whose output it is."""
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
