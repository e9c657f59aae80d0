"""Reads what each page may be used for, and obeys that if enabled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import scrapy.signals
from mandelbot import Usage, page_usage
from mandelbot.formatting import counted
from mandelbot.preferences.in_pages import HEADERS_READ
from mandelbot.preferences.statements import NOTHING_SAID
from mandelbot.preferences.tdmrep import with_tdm_file
from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import HtmlResponse

from scrapy_mandelbot import events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.spidermiddlewares.preference_files import PreferenceFiles

if TYPE_CHECKING:
    from mandelbot import Statement
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

_ATTRIBUTE = "_scrapy_mandelbot_usage"
_READ = frozenset(name.title().encode() for name in HEADERS_READ)


class UsageRefusal(NamedTuple):
    """Why a page may not be used for its purposes."""

    statement: Statement | None
    """None: no preference is stated, and ``MANDELBOT_USAGE_UNKNOWN`` is ``"drop"``."""

    def __str__(self) -> str:
        return "nothing is said" if self.statement is None else str(self.statement)


class CrawlUsage:
    """The usage preferences of a crawl's pages, shared by its middlewares."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawl = Crawl.of(crawler)
        config = self.crawl.config
        self.purposes = config.purposes
        self.mode = config.usage if self.purposes else "off"
        self.is_wanted = config.enabled and self.mode != "off"
        self.files = PreferenceFiles(self.crawl)
        self.of_request: WeakKeyDictionary[Request, Usage] = WeakKeyDictionary()
        """The preferences of fetched pages."""
        self.kept_against = 0
        """Items that pass although the use of their pages is refused."""
        if self.is_wanted:
            crawler.signals.connect(self._close, signal=scrapy.signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> CrawlUsage:
        """Return the crawler's instance, created on first use."""
        found = vars(crawler).get(_ATTRIBUTE)
        if not isinstance(found, cls):
            found = cls(crawler)
            setattr(crawler, _ATTRIBUTE, found)
        return found

    def drop(self, request: Request, refusal: UsageRefusal) -> None:
        """Report a page that is not requested because its use is refused."""
        del self.files.contexts[request]
        self.crawl.events.emit(
            events.USAGE_REQUEST_DROPPED,
            what=request,
            response=None,
            output=request,
            statement=refusal.statement,
        )
        self.crawl.throttle.in_flight.fates[request] = End.USE

    def refusal(self, usage: Usage, *, of_images: bool = False) -> UsageRefusal | None:
        """Return why a page may not be used for all purposes of the crawl.

        None: it may. ``MANDELBOT_USAGE_UNKNOWN`` decides on unknown preferences.
        """
        is_unknown = False
        for purpose in self.purposes:
            answer = usage.answer(purpose, of_images=of_images)
            if answer == "disallowed":
                return UsageRefusal(usage.decided_by(purpose, of_images=of_images))
            if answer == "unknown":
                is_unknown = True
        if is_unknown and self.crawl.config.usage_unknown == "drop":
            return UsageRefusal(None)
        return None

    def read(self, request: Request, response: Response) -> None:
        """Read the preferences of a response, put them into its meta, report them."""
        context = self.files.contexts.pop(request, None)
        if context is None:
            return
        body = response.body if isinstance(response, HtmlResponse) else b""
        headers: list[tuple[bytes, bytes]] = []
        if not _READ.isdisjoint(response.headers):
            for name, given in response.headers.items():
                if name in _READ:
                    headers += [(name, value) for value in given]
        page = page_usage(headers, body, context.agent)
        if context.of_tdm is not NOTHING_SAID:
            page = with_tdm_file(page, context.of_tdm)
        usage = context.file
        if page is not NOTHING_SAID:
            usage = usage.combined_with(page)
        request.meta["usage"] = usage
        self.of_request[request] = usage
        answers = {"unknown"}
        of_images = False
        if usage.statements:
            of_images = is_image(response)
            answers = {
                usage.answer(purpose, of_images=of_images) for purpose in self.purposes
            }
        self.crawl.events.count(
            events.USAGE_READ,
            site=context.site,
            usage=usage,
            disallowed="disallowed" in answers,
            allowed=answers == {"allowed"},
            unknown="unknown" in answers and "disallowed" not in answers,
            terms=bool(usage.terms),
        )

    def is_exempt(self, request: Request) -> bool:
        """Return whether preferences are not obeyed for a request."""
        if request.meta.get("dont_obey_usage"):
            return True
        return self.crawl.is_for_a_person(request)

    def _close(self) -> None:
        if count := self.kept_against:
            self.crawl.events.emit(
                events.USAGE_ITEMS_KEPT, items=counted(count, "item"), count=count
            )


def is_image(response: Response) -> bool:
    """Return whether a response is an image, to which ``noimageai`` applies."""
    kind = response.headers.get("Content-Type") or b""
    return bool(kind.strip().lower().startswith(b"image/"))


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
    """Reads usage preferences before a request, and from its response. Order 105.

    It stands behind RobotsTxtMiddleware, which knows the file, and before all
    middlewares that change a response, so it reads what spiders receive. It is enabled
    only with MANDELBOT_PURPOSE.
    """

    async def process_request(self, request: Request) -> None:
        """Drop a request for a page whose use robots.txt or tdmrep.json refuses.

        Raises:
            IgnoreRequest: robots.txt or tdmrep.json refuses the use.
        """
        usage = self._usage
        known = await usage.files.find_out(request)
        # Where nothing is stated yet, the page itself may still state a preference.
        if usage.mode != "obey" or not known.statements or usage.is_exempt(request):
            return
        refusal = usage.refusal(known)
        if refusal is not None and refusal.statement is not None:
            usage.drop(request, refusal)
            raise IgnoreRequest(f"Its use is disallowed: {refusal}")

    async def process_response(self, request: Request, response: Response) -> Response:
        """Put the page's preferences into its meta."""
        self._usage.read(request, response)
        return response


class UsageObeyingMiddleware(_WithUsage):
    """Drops or counts the items of pages whose use is refused. Order 39.

    A spider middleware, enabled only with MANDELBOT_PURPOSE.
    """

    def process_spider_output(
        self, response: Response, result: Iterable[Any]
    ) -> Iterator[Any]:
        """Drop the items of a page whose use is refused."""
        items: _ItemsOfPage | None = None  # created for the first item
        for output in result:
            if output is None or isinstance(output, Request):
                yield output
                continue
            if items is None:
                items = _ItemsOfPage(self._usage, response)
            if items.may_pass(output):
                yield output

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Drop the items of a page whose use is refused."""
        items: _ItemsOfPage | None = None  # created for the first item
        async for output in result:
            if output is None or isinstance(output, Request):
                yield output
                continue
            if items is None:
                items = _ItemsOfPage(self._usage, response)
            if items.may_pass(output):
                yield output


class _ItemsOfPage:
    """Decides on the items of one page."""

    def __init__(self, usage: CrawlUsage, response: Response) -> None:
        self._usage = usage
        self._response = response

    def may_pass(self, item: Any) -> bool:
        """Return whether an item goes on to the pipelines; report one that does not."""
        usage = self._usage
        refusal = self._refusal
        if refusal is None:
            return True
        if usage.mode != "obey":
            usage.kept_against += 1
            return True
        usage.crawl.events.emit(
            events.USAGE_ITEM_DROPPED,
            what="item",
            response=self._response,
            output=item,
            statement=refusal.statement,
            why=refusal,
        )
        return False

    @cached_property
    def _refusal(self) -> UsageRefusal | None:
        usage = self._usage
        response = self._response
        request = response.request
        if request is None or usage.is_exempt(request):
            return None
        # Not the meta first: the spider may have changed that.
        known = usage.of_request.get(request) or response.meta.get("usage")
        if not isinstance(known, Usage):
            return None
        return usage.refusal(known, of_images=is_image(response))
