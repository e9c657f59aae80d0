"""The downloader middleware that drops requests above the budget of their site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest, NotConfigured

from scrapy_mandelbot import events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.tally import End

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class BudgetReachedError(IgnoreRequest):
    """Fails a request that is not sent: the budget of its site is reached."""


class SiteBudgetMiddleware:
    """Drops what the queue cannot keep for another run.

    Order 95: nothing is fetched for such a request, neither a robots.txt nor a cached
    page. With a job the queue hands none out.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = Crawl.of(crawler)
        budgets = self._crawl.throttle.budgets
        if not self._crawl.config.enabled or budgets is None:
            raise NotConfigured
        self._budgets = budgets

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SiteBudgetMiddleware:
        """Build the middleware. NotConfigured where no site has a budget."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Drop a request that was handed out after its site had reached its budget.

        Raises:
            BudgetReachedError: as Scrapy's middlewares raise IgnoreRequest; an errback
                gets it.
        """
        in_flight = self._crawl.throttle.in_flight
        flight = in_flight.get(request)
        if flight is None or not self._budgets.is_above(flight):
            return
        in_flight.fates[request] = End.BUDGET
        self._crawl.events.count(events.BUDGET_DROPPED)
        raise BudgetReachedError(f"the budget of {flight.site.name} is reached")
