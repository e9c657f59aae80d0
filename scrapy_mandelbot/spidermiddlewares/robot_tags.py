"""Reads the robot tags of each page, and obeys them if enabled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

from mandelbot import RobotTag, RobotTags, robot_tags
from mandelbot.origins import site_of, without_user
from mandelbot.preferences import TERMS_STATUSES
from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.response import get_base_url
from w3lib.html import strip_html5_whitespace
from w3lib.url import canonicalize_url, safe_url_string

from scrapy_mandelbot import events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.events import Event

_HEADERS = (b"X-Robots-Tag", b"Robots-Tag")  # in Scrapy's spelling
_ANY_HEADER = frozenset(_HEADERS)
_ERRORS = 400  # and above
_REPORTED_LIMIT = 1024 * 1024  # bytes; of some ten thousand sites
_REPORTED_SIZE = 100  # bytes, beside the site's name
_NOFOLLOW_LINK = RobotTag("link", "nofollow")
_NO_TAGS = RobotTags()


class Prohibitions(NamedTuple):
    """The tags that forbid a response's callback to yield requests or items.

    None: allowed.
    """

    requests: RobotTag | None = None
    items: RobotTag | None = None
    links: frozenset[str] = frozenset()
    """Canonical URLs to which every link on the page is ``rel="nofollow"``."""

    def of(self, output: Any, response: Response) -> RobotTag | None:
        """Return the tag that forbids the output, or None."""
        if not isinstance(output, Request):
            return self.items
        if output.meta.get("dont_obey_robot_tags") or _is_same_page(output, response):
            return None
        if self.requests is None and self.links and output.method == "GET":
            return _NOFOLLOW_LINK if _canonical(output.url) in self.links else None
        return self.requests


class RobotTagsMiddleware:
    """Reads ``X-Robots-Tag`` headers and robots meta tags. Order 40.

    It stands before HttpErrorMiddleware (50) and all others that see responses: they
    find ``response.meta["robot_tags"]``, on error pages as well, so that no page has
    another page's tags from copied meta. The tags also apply to what other middlewares
    add to a callback's output.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = Crawl.of(crawler)
        config = self._crawl.config
        if not config.enabled or (
            config.robot_tags == "off" and not config.nofollow_links
        ):
            raise NotConfigured
        self._mode = config.robot_tags
        self._reads = config.robot_tags != "off"
        self._reported: Recent[bool] = Recent(_REPORTED_LIMIT)
        """Sites whose terms were reported."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotTagsMiddleware:
        """Build the middleware; the obeying one only if a setting enables it.

        A middleware that processes the output of callbacks costs time for each request.
        """
        config = Crawl.of(crawler).config
        if cls is RobotTagsMiddleware and (
            config.robot_tags == "obey" or config.nofollow_links
        ):
            return ObeyingRobotTagsMiddleware(crawler)
        return cls(crawler)

    def process_spider_input(self, response: Response) -> None:
        """Put the page's tags into ``response.meta``, in place of copied ones."""
        if response.status >= _ERRORS and _may_state_terms(response):
            self._notice_terms(response)
        if not self._reads:
            return
        tags = self._tags(response)
        response.meta["robot_tags"] = tags
        if tags.sources:
            self._count(tags, response)

    def _notice_terms(self, response: Response) -> None:
        """Count a response that states terms in place of a page; report its site once.

        Every response passes here anyway, so it costs ordinary pages no extra call.
        """
        # Few crawls meet one.
        from mandelbot.answers.meaning import terms_of  # noqa: PLC0415

        terms = terms_of(response.status, response.headers)
        if terms is None:
            return
        site = site_of(urlparse_cached(response))
        is_new = self._reported.get(site) is None
        self._reported.put(site, value=True, size=_REPORTED_SIZE + len(site))
        report = self._crawl.events.emit if is_new else self._crawl.events.count
        report(
            events.TERMS_STATED,
            site=site,
            status=response.status,
            terms=terms,
            url=without_user(response.url),
        )

    def _tags(self, response: Response) -> RobotTags:
        headers: list[tuple[bytes, bytes]] = []
        if not _ANY_HEADER.isdisjoint(response.headers):
            for name in _HEADERS:
                headers += [(name, one) for one in response.headers.getlist(name)]
        if isinstance(response, HtmlResponse):
            body = response.body
        elif headers:
            body = b""
        else:
            return _NO_TAGS
        return robot_tags(headers, body, self._crawl.agents.of(response.request))

    def _count(self, tags: RobotTags, response: Response) -> None:
        has_end = tags.unavailable_after is not None
        is_over = has_end and tags.is_unavailable(self._now())
        self._crawl.events.count(
            events.TAGGED,
            response=response,
            noindex=tags.noindex,
            nofollow=tags.nofollow,
            unavailable=is_over,
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._crawl.now(), tz=timezone.utc)


class ObeyingRobotTagsMiddleware(RobotTagsMiddleware):
    """Drops output that the tags of a page, or of its links, forbid."""

    def process_spider_output(
        self, response: Response, result: Iterable[Any]
    ) -> Iterator[Any]:
        """Drop what the page's tags forbid."""
        prohibitions = self._prohibitions(response)
        for output in result:
            if self._may_pass(output, response, prohibitions):
                yield output

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Drop what the page's tags forbid."""
        prohibitions = self._prohibitions(response)
        async for output in result:
            if self._may_pass(output, response, prohibitions):
                yield output

    def _prohibitions(self, response: Response) -> Prohibitions:
        if response.meta.get("dont_obey_robot_tags"):
            return Prohibitions()
        request = response.request
        if request is not None and self._crawl.is_for_a_person(request):
            return Prohibitions()
        found = Prohibitions()
        if self._mode == "obey":
            found = self._of_tags(response)
        if found.requests is None and self._crawl.config.nofollow_links:
            return found._replace(links=nofollow_links(response))
        return found

    def _of_tags(self, response: Response) -> Prohibitions:
        tags = response.meta.get("robot_tags")
        if not isinstance(tags, RobotTags):  # the spider may have removed it
            tags = self._tags(response)
        items = tags.decided_by("noindex")
        if items is None and tags.is_unavailable(self._now()):
            items = tags.decided_by("unavailable_after")
        return Prohibitions(tags.decided_by("nofollow"), items)

    def _may_pass(
        self, output: Any, response: Response, prohibitions: Prohibitions
    ) -> bool:
        tag = None if output is None else prohibitions.of(output, response)
        if tag is None:
            return True
        what = output if isinstance(output, Request) else "item"
        self._crawl.events.emit(
            _dropped(output, tag),
            what=what,
            response=response,
            output=output,
            tag=tag,
        )
        return False


def _dropped(output: Any, tag: RobotTag) -> Event:
    if tag is _NOFOLLOW_LINK:
        return events.LINK_DROPPED
    if isinstance(output, Request):
        return events.REQUEST_DROPPED
    return events.ITEM_DROPPED


def _may_state_terms(response: Response) -> bool:
    return response.status in TERMS_STATUSES or "cf-mitigated" in response.headers


def _is_same_page(request: Request, response: Response) -> bool:
    """A request for the page itself follows no link."""
    requested = response.request.url if response.request is not None else response.url
    return request.url in {response.url, requested}


def nofollow_links(response: Response) -> frozenset[str]:
    """Return the canonical URLs to which every link on the page is ``rel="nofollow"``.

    Source: HTML (WHATWG), section 4.6.7.10 'Link type "nofollow"'. Requests and links
    are matched by URL, without the fragment.
    """
    if not isinstance(response, HtmlResponse):
        return frozenset()
    if "nofollow" not in response.text.lower():
        return frozenset()
    base = get_base_url(response)
    nofollow: set[str] = set()
    others: set[str] = set()
    for link in response.xpath("//a[@href] | //area[@href]"):
        is_nofollow = "nofollow" in link.attrib.get("rel", "").lower().split()
        links = nofollow if is_nofollow else others
        links.add(link.attrib["href"])
    followed = {_canonical(url, base, response.encoding) for url in others}
    found = {_canonical(url, base, response.encoding) for url in nofollow}
    return frozenset(found - followed - {""})


def _canonical(url: str, base: str = "", encoding: str = "utf-8") -> str:
    try:
        absolute = urljoin(base, strip_html5_whitespace(url))
        return canonicalize_url(safe_url_string(absolute, encoding))
    except ValueError:  # not a URL, so it matches no request
        return ""
