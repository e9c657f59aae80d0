"""The middlewares that hear what pages may be used for: one on either side of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured

from scrapy_mandelbot.events import USAGE_ITEM_DROPPED, USAGE_REQUEST_DROPPED
from scrapy_mandelbot.purposes.crawl_usage import CrawlUsage, is_image
from scrapy_mandelbot.robots.origins import without_user
from scrapy_mandelbot.robots.preferences import TERMS_STATUSES, Usage, stated_terms
from scrapy_mandelbot.sites.flight import End

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_mandelbot.purposes.crawl_usage import UsageRefusal


class _WithUsage:
    def __init__(self, crawler: Crawler) -> None:
        self._usage = CrawlUsage.of(crawler)
        if not self._usage.is_wanted:
            raise NotConfigured

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware."""
        return cls(crawler)


class UsageMiddleware(_WithUsage):
    """Finds out what a page may be used for: before it is asked for, when it is there. Order 105.

    It stands behind RobotsTxtMiddleware, which knows the file, and before all that changes a
    response: what it reads is what spiders get. Without MANDELBOT_PURPOSE and MANDELBOT_LEDGER
    there is none.
    """

    async def process_request(self, request: Request) -> None:
        """Drop a request for a page whose use is refused beforehand.

        Raises:
            IgnoreRequest: robots.txt or tdmrep.json refuses the use.
        """
        usage = self._usage
        known = await usage.find_out(request)
        # The page itself may still say something where nothing is said yet.
        if usage.mode != "obey" or not known.statements or _is_exempt(usage, request):
            return
        refusal = usage.refusal(known)
        if refusal is not None and refusal.statement is not None:
            usage.crawl.events.tell(
                USAGE_REQUEST_DROPPED,
                what=request,
                response=None,
                output=request,
                statement=refusal.statement,
            )
            usage.crawl.fates[request] = End.USE
            usage.not_fetched(request, known)
            raise IgnoreRequest(f"Its use is disallowed: {refusal}")

    async def process_response(self, request: Request, response: Response) -> Response:
        """Put what is said of the page into its meta, and a line into the ledger."""
        self._usage.read(request, response)
        return response


class TermsMiddleware(_WithUsage):
    """Has answers that state terms not retried: there is no use in asking again. Order 560.

    It stands nearer the downloader than RetryMiddleware, and is there only where that would retry
    one of these statuses.
    """

    def __init__(self, crawler: Crawler) -> None:
        statuses = set(map(int, crawler.settings.getlist("RETRY_HTTP_CODES")))
        if not CrawlUsage.of(crawler).crawl.config.enabled or not statuses & TERMS_STATUSES:
            raise NotConfigured

    async def process_response(self, request: Request, response: Response) -> Response:
        """Mark the request of an answer that states terms as one that is not retried."""
        if terms_of(response) is not None:
            request.meta["dont_retry"] = True
        return response


class UsageObeyingMiddleware(_WithUsage):
    """Drops the items of pages whose use is refused, or counts them. Order 39.

    It is a spider middleware, and there only with a purpose or a ledger.
    """

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Drop the items of a page whose use is refused."""
        items = _ItemsOfPage(self._usage, response)
        try:
            for output in result:
                if output is None or isinstance(output, Request) or items.may_pass(output):
                    yield output
        finally:
            items.note()

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Drop the items of a page whose use is refused."""
        items: _ItemsOfPage | None = None  # made by the first
        try:
            async for output in result:
                if not (output is None or isinstance(output, Request)):
                    items = items or _ItemsOfPage(self._usage, response)
                    if not items.may_pass(output):
                        continue
                yield output
        finally:
            if items is not None:
                items.note()


class _ItemsOfPage:
    """The items of one page: which of them pass, and how many did."""

    def __init__(self, usage: CrawlUsage, response: Response) -> None:
        self._usage = usage
        self._response = response
        self._kept = self._dropped = 0
        self._refusal: UsageRefusal | None = None

    def may_pass(self, item: Any) -> bool:
        """Return whether an item is handed on; it is counted either way."""
        usage, response = self._usage, self._response
        if not self._kept and not self._dropped:
            self._refusal = self._why()
        if self._refusal is None or usage.mode != "obey":
            usage.kept_against += self._refusal is not None
            self._kept += 1
            return True
        self._dropped += 1
        usage.crawl.events.tell(
            USAGE_ITEM_DROPPED,
            what="item",
            response=response,
            output=item,
            statement=self._refusal.statement,
            why=self._refusal,
        )
        return False

    def _why(self) -> UsageRefusal | None:
        usage, response = self._usage, self._response
        request = response.request
        if request is None or usage.mode == "off" or _is_exempt(usage, request):
            return None
        # The meta has it too, but the spider may have changed that.
        known = usage.usage_of(request) or response.meta.get("usage")
        if not isinstance(known, Usage):
            return None
        return usage.refusal(known, of_images=is_image(response))

    def note(self) -> None:
        """Have the ledger say how many items there were."""
        ledger = self._usage.ledger
        if ledger is not None and (self._kept or self._dropped):
            url = without_user(self._response.url)
            ledger.note_items(url, self._kept, self._dropped, self._refusal)


def terms_of(response: Response) -> str | None:
    """Return a response's word on terms, if it states any instead of a page."""
    headers = ((name, value) for name, values in response.headers.items() for value in values)
    return stated_terms(response.status, headers)


def _is_exempt(usage: CrawlUsage, request: Request) -> bool:
    return bool(request.meta.get("dont_obey_usage")) or usage.crawl.is_for_a_person(request)
