"""Counts answers that are no plain pages: errors that nobody retries, and 304s."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.retry import RetryMiddleware

from scrapy_mandelbot import events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.tally import End

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.site_state import Site


def count_other(
    crawler: Crawler,
    flight: Flight[Site],
    response: Response,
    *,
    is_handled: bool = False,
) -> None:
    """Count an answer that is handed on to the other middlewares.

    A 304 that the HTTP cache turns into its copy counts as the copy. A 5xx that nobody
    tries again ends its request: as lost if the site was in doubt or out, and otherwise
    as a failed page. `is_handled`: the spider handles the status, so it is an answer.
    """
    request: Request = flight.request
    tally = flight.site.tally
    status = response.status
    copy: Any = request.meta.get("cached_response")  # of HttpCacheMiddleware
    if status == HTTPStatus.NOT_MODIFIED and copy is not None:
        tally.count_unchanged(copy.status)
        return
    tally.count_answer(status, is_cached=False)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR or is_handled:
        return
    if will_retry(crawler, request, status):
        return
    end = End.SITE_FAILED if is_in_doubt(flight.site) else End.PAGE_FAILED
    tally.count(end)
    report_failed(Crawl.of(crawler), flight, end, status)


def report_failed(crawl: Crawl, flight: Flight[Site], end: End, status: int) -> None:
    """Report a request that its last try ends with an error, which is handed on."""
    crawl.events.count(
        events.REQUEST_LOST,
        request=flight.request,
        site=flight.site.name,
        end=end,
        why=f"{status} to the last try",
    )


def will_retry(crawler: Crawler, request: Request, status: int) -> bool:
    """Return whether RetryMiddleware sends the request again after this status."""
    retry: Any = crawler.get_downloader_middleware(RetryMiddleware)
    if retry is None or request.meta.get("dont_retry"):
        return False
    if status not in retry.retry_http_codes:
        return False
    most: int = request.meta.get("max_retry_times", retry.max_retry_times)
    tried: int = request.meta.get("retry_times", 0)
    return tried < most


def is_in_doubt(site: Site) -> bool:
    """Return whether the site, rather than a page of it, may have failed."""
    has_brought = site.tally.pages or site.tally.cached
    if not has_brought or not site.pause.is_open:
        return True
    return site.failures.are_many_in_doubt
