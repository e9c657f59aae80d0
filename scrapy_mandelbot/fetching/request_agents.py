"""The robot name of a request: decides rules, crawl delay, comments and robot tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mandelbot.robotstxt.agents import header_text

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_mandelbot.settings.config import Config


class Agents:
    """Returns the robot name of each request of a crawl.

    The first of these that is set: ``ROBOTSTXT_USER_AGENT``, the request's User-Agent
    header, and the sources from which Scrapy fills that header:
    ``DEFAULT_REQUEST_HEADERS``, the spider's ``user_agent``, ``USER_AGENT``. So the
    name is the same before and after Scrapy's middlewares process a request. A request
    with an empty User-Agent has the name of the other requests.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._for_all = config.agent
        self._default_header = default_header(crawler.settings)
        self._default: object = crawler.settings["USER_AGENT"]
        # A cache of one: most requests of a crawl have the same header.
        self._header = b""
        self._text = ""
        self._spider: object = self  # differs from any spider
        self._without_header = ""

    def of(self, request: Request | None) -> str | tuple[str, ...]:
        """Return a product token, a whole User-Agent header, or tokens to try in order.

        ``""`` if no source names a robot: the ``*`` group applies. None, for a response
        without a request, counts as a request without headers. Never raises.
        """
        if self._for_all:
            return self._for_all
        sent = () if request is None else dict.get(request.headers, b"User-Agent")
        if sent and sent[-1]:
            if sent[-1] != self._header:
                self._header = sent[-1]
                self._text = header_text(self._header)
            return self._text
        # Scrapy, too, reads its attribute once
        if self._crawler.spider is not self._spider:
            self._spider = self._crawler.spider
            of_the_spider = getattr(self._spider, "user_agent", None)
            self._without_header = first_named(
                self._default_header, of_the_spider, self._default
            )
        return self._without_header


def default_header(settings: BaseSettings) -> object:
    """Return the User-Agent of ``DEFAULT_REQUEST_HEADERS``; Scrapy prefers it."""
    headers = settings.getdict("DEFAULT_REQUEST_HEADERS")
    by_name = {header_text(name).lower(): value for name, value in headers.items()}
    return by_name.get("user-agent")


def first_named(*agents: object) -> str:
    """Return the first valid header value as text, or ``""``."""
    named = (agent for agent in agents if agent and isinstance(agent, (str, bytes)))
    return header_text(next(named, ""))
