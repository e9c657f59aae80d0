"""What counts answers where the project has switched ``PauseMiddleware`` off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.downloadermiddlewares.other_answers import count_other
from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.throttle.in_flight import is_of_the_package

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site


class CountingMiddleware:
    """Counts the answers of a crawl that pauses nothing.

    Order 950. The add-on enables it if the project sets ``PauseMiddleware`` to None,
    so that the queue learns which requests have left the downloader, and the report
    how they ended.
    """

    def __init__(self, crawler: Crawler) -> None:
        crawl = Crawl.of(crawler)
        if not crawl.config.enabled:
            raise NotConfigured
        self._crawler = crawler
        self._throttle = crawl.throttle

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CountingMiddleware:
        """Build the middleware."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Count an answer that is handed on."""
        flight = self._flight(request)
        if request.callback is not NO_CALLBACK or not is_of_the_package(request):
            is_cached = "cached" in response.flags
            if is_cached:
                flight.site.tally.count_answer(response.status, is_cached=True)
            else:
                count_other(self._crawler, flight, response)
            if self._throttle.budgets is not None:
                self._throttle.budgets.answered(flight, response)
        self._throttle.release(flight)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002
        """Count a request as tried again; `Account` corrects it if it is not."""
        flight = self._flight(request)
        if not is_of_the_package(request):
            flight.site.tally.count(End.TRIED_AGAIN)
        self._throttle.release(flight)

    def _flight(self, request: Request) -> Flight[Site]:
        return self._throttle.in_flight.get(request) or self._throttle.flight_of(
            request
        )
