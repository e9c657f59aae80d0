"""A file of a site is fetched once for all requests that need it."""

from __future__ import annotations

import asyncio

import pytest
from crawlers import get_crawler
from crawling import ensureDeferred
from mandelbot import Failure
from scrapy import Request
from scrapy.http import Response
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import DNSLookupError

from scrapy_mandelbot.fetching.download_limits import Download, DownloadLimits
from scrapy_mandelbot.fetching.requesting import SiteFiles
from scrapy_mandelbot.settings.config import Config

SITE = "https://example.com"


class Requests:
    """Requests that need a file, and the fetches for them, which the test ends."""

    def __init__(self, count):
        crawler = get_crawler()
        self.files = SiteFiles(
            DownloadLimits(crawler, float),
            Config.from_settings(crawler.settings),
            float,
            100,
        )
        self.fetches: list[Deferred[str]] = []
        self.tasks = [self.add() for _ in range(count)]

    def add(self) -> asyncio.Task[str]:
        """Add a request; a result counts for all others unless it is "own"."""
        once = self.files.once(SITE, self._fetch, lambda found: found != "own")
        return asyncio.ensure_future(once)

    async def _fetch(self) -> str:
        self.fetches.append(Deferred())
        return await self.fetches[-1].asFuture(asyncio.get_event_loop())

    async def results(self) -> list[object]:
        """Return the results so far: None for a request that waits."""
        for _ in range(10):
            turn: Deferred[None] = Deferred()
            asyncio.get_event_loop().call_soon(turn.callback, None)
            await turn
        return [result_of(task) if task.done() else None for task in self.tasks]


def result_of(task):
    if task.cancelled():
        return asyncio.CancelledError
    return task.result() if task.exception() is None else type(task.exception())


@ensureDeferred
async def test_one_fetch_is_for_all():
    """All that wait receive its result, and a later request fetches anew."""
    requests = Requests(3)
    assert await requests.results() == [None] * 3
    requests.fetches[0].callback("rules")
    assert await requests.results() == ["rules"] * 3
    assert len(requests.fetches) == 1
    requests.tasks = [requests.add()]
    assert await requests.results() == [None]
    requests.fetches[1].callback("other rules")
    assert await requests.results() == ["other rules"]


@ensureDeferred
async def test_a_failure_is_for_all():
    """Each request that waits receives the exception."""
    requests = Requests(2)
    await requests.results()
    requests.fetches[0].errback(OSError())
    assert await requests.results() == [OSError] * 2
    assert len(requests.fetches) == 1


@pytest.mark.parametrize("is_task", [True, False])
@ensureDeferred
async def test_a_cancelled_request_fails_alone(is_task):
    """The next one fetches the file, for all the others."""
    requests = Requests(3)
    await requests.results()
    if is_task:
        requests.tasks[0].cancel()
    else:
        requests.fetches[0].errback(CancelledError())
    cancelled = asyncio.CancelledError if is_task else CancelledError
    assert await requests.results() == [cancelled, None, None]
    assert len(requests.fetches) == 2
    requests.fetches[1].callback("rules")
    assert await requests.results() == [cancelled, "rules", "rules"]


@ensureDeferred
async def test_a_result_may_be_for_one_alone():
    """As after the failure of a proxy: the next request fetches by its own."""
    requests = Requests(2)
    await requests.results()
    requests.fetches[0].callback("own")
    assert await requests.results() == ["own", None]
    requests.fetches[1].callback("rules")
    assert await requests.results() == ["own", "rules"]


@ensureDeferred
async def test_a_waiting_request_may_be_cancelled():
    """The others still receive the result."""
    requests = Requests(3)
    await requests.results()
    requests.tasks[1].cancel()
    requests.fetches[0].callback("rules")
    assert await requests.results() == ["rules", asyncio.CancelledError, "rules"]


@ensureDeferred
async def test_a_redirect_to_a_host_that_does_not_exist_says_nothing_of_the_site():
    """The site is there: only its file cannot be had."""
    crawler = get_crawler()
    limits = DownloadLimits(crawler, float)
    answers = [Response(SITE, 301, {"Location": "https://gone.example/robots.txt"})]

    async def download(request, *_):
        if not answers:
            raise DNSLookupError
        return answers.pop(), Download(100, 10.0, 0.0)

    limits.download = download
    limits.add_place = limits.drop_place = lambda *_: None
    files = SiteFiles(limits, Config.from_settings(crawler.settings), float, 100)
    found = await files.get(SITE, f"{SITE}/robots.txt", Request(SITE), None)
    assert found.answer.failure is Failure.NOWHERE
    assert found.url == "https://gone.example/robots.txt"
    alone = await files.get(SITE, f"{SITE}/robots.txt", Request(SITE), None)
    assert alone.answer.failure is Failure.NO_SUCH_HOST
