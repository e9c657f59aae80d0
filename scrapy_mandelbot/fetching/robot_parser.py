"""The package's parser as a Scrapy ``RobotParser``, for ``ROBOTSTXT_PARSER``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mandelbot import RobotsTxt
from mandelbot.robotstxt.agents import header_text
from scrapy.robotstxt import RobotParser

from scrapy_mandelbot.settings.config import read_setting

if TYPE_CHECKING:
    from mandelbot import Verdict
    from scrapy.crawler import Crawler

    # typing.Self requires Python 3.11
    from typing_extensions import Self

    Agent = str | bytes | Sequence[str]


class MandelbotRobotParser(RobotParser):
    """Decides according to ``MANDELBOT_DIALECT``, and returns the rule that decided."""

    def __init__(self, robots: RobotsTxt) -> None:
        self.robots = robots
        """The parsed file."""

    @classmethod
    def from_crawler(cls, crawler: Crawler | None, robotstxt_body: bytes) -> Self:
        """Parse a robots.txt with the crawler's settings. Never raises."""
        if crawler is None:  # as Scrapy's own parsers allow
            return cls(RobotsTxt.parse(robotstxt_body))
        dialect = read_setting(crawler.settings, "dialect")
        max_bytes = read_setting(crawler.settings, "robots_max_bytes")
        return cls(
            RobotsTxt.parse(robotstxt_body, dialect=dialect, max_bytes=max_bytes)
        )

    def allowed(self, url: str | bytes, user_agent: Agent) -> bool:
        """Return whether the agent may crawl the URL."""
        if isinstance(url, bytes):
            url = header_text(url)
        if isinstance(user_agent, bytes):
            user_agent = header_text(user_agent)
        return self.robots.allowed(url, user_agent)

    def verdict(self, url: str | bytes, user_agent: Agent) -> Verdict:
        """Return whether the agent may crawl the URL, and the rule that decides."""
        return self.robots.verdict(header_text(url), _agent(user_agent))

    def crawl_delay(self, user_agent: Agent) -> float | None:
        """Return the agent's ``Crawl-delay`` in seconds, or None."""
        return self.robots.crawl_delay(_agent(user_agent))


def _agent(value: Agent) -> str | Sequence[str]:
    return header_text(value) if isinstance(value, bytes) else value
