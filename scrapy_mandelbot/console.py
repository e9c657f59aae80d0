"""Controls of a running crawl, for a project's code and Scrapy's telnet console.

They pause and resume a site, look up its rules, and explain why nothing is sent at the
moment.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from mandelbot.formatting import counted
from mandelbot.origins import site_named
from scrapy.exceptions import NotConfigured
from scrapy.extensions import telnet

from scrapy_mandelbot.crawl import Crawl

if TYPE_CHECKING:
    from mandelbot import RobotsTxt
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.report.status import CrawlStatus

_REASON = "paused manually"


def pause_site(
    crawler: Crawler, url: str, seconds: float, reason: str = _REASON
) -> None:
    """Send nothing to a site for a while; its requests wait in the queue, none is lost.

    Requests that are already in flight get their answers. The pause outlasts a restart.
    A second call replaces the time of the first.

    Args:
        crawler: the running crawler.
        url: the site, or any URL of it.
        seconds: the length of the pause, 0 or more; ``float("inf")``: until
            :func:`resume_site`.
        reason: text for the log and for ``site_paused``.

    Raises:
        ValueError: the URL has no site, or the seconds are negative or NaN.
    """
    if isnan(seconds) or seconds < 0:
        raise ValueError(f"seconds = {seconds!r}: a pause takes a number, 0 or more")
    crawl = Crawl.of(crawler)
    crawl.manual_control.hold(site_named(url), crawl.now() + seconds, reason)


def resume_site(crawler: Crawler, url: str) -> bool:
    """End the pause of a site, whether manual or not.

    After a pause that the site requested, a single probe goes first.

    Args:
        crawler: the running crawler.
        url: the site, or any URL of it.

    Returns:
        Whether the site was paused.

    Raises:
        ValueError: the URL has no site.
    """
    return Crawl.of(crawler).manual_control.end_hold(site_named(url))


def paused_sites(crawler: Crawler) -> dict[str, str]:
    """Return the sites that nothing is sent to now, each with its state as text."""
    return Crawl.of(crawler).manual_control.closed_sites()


def why_idle(crawler: Crawler) -> str:
    """Return as text why a crawl sends nothing now: what it waits for, and how long."""
    return why_idle_text(_status(crawler))


def _status(crawler: Crawler) -> CrawlStatus:
    from scrapy_mandelbot.report.survey import status  # noqa: PLC0415 -- few look

    return status(crawler)


def why_idle_text(found: CrawlStatus) -> str:
    """Return why no request is sent now: a sentence, and the table of sites."""
    if found.under_way:
        under_way = counted(found.under_way, "request is", "requests are")
        return f"It is not idle: {under_way} under way.\n\n{found}"
    if not found.waiting:
        return "No request waits: the spider has yielded none that is left."
    if not found.is_idle:
        return f"It is not idle: requests are about to be sent.\n\n{found}"
    return f"It waits: {found.as_text()}.\n\n{found.table()}"


def site_rules(crawler: Crawler, url: str) -> RobotsTxt | None:
    """Return the robots.txt of a site as a running crawl has it; nothing is fetched.

    Args:
        crawler: the running crawler.
        url: the site, or any URL of it.

    Returns:
        The rules, which allow everything where the site has no file. None: they are
        unknown, because no request has needed them yet or the site did not answer.

    Raises:
        ValueError: the URL has no site.
    """
    rules = Crawl.of(crawler).known_rules(site_named(url))
    if rules is None or rules.parser is None:
        return None
    return rules.robots


class Text(str):
    """Text that the console shows without quotes and escapes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class PauseConsole:
    """The object ``mandelbot`` of the telnet console."""

    def __init__(self, crawler: Crawler) -> None:
        if not Crawl.of(crawler).config.enabled:
            raise NotConfigured
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PauseConsole:
        """Build the extension and connect it to the console."""
        extension = cls(crawler)
        crawler.signals.connect(extension.add_to, signal=telnet.update_telnet_vars)
        return extension

    def add_to(self, telnet_vars: dict[str, Any]) -> None:
        """Add this object to the console's variables."""
        telnet_vars["mandelbot"] = self

    def __repr__(self) -> str:
        names = ".pause(url, seconds), .resume(url), .paused, .status, .why_idle"
        return f"mandelbot: {names}\n\n{self.status}"

    @property
    def paused(self) -> dict[str, str]:
        """The sites that nothing is sent to now, each with its state."""
        return paused_sites(self._crawler)

    @property
    def status(self) -> CrawlStatus:
        """The status of the crawl."""
        return _status(self._crawler)

    @property
    def why_idle(self) -> Text:
        """Why the crawl sends nothing now."""
        return Text(why_idle(self._crawler))

    def pause(self, url: str, seconds: float, reason: str = _REASON) -> None:
        """Send nothing to a site for so many seconds."""
        pause_site(self._crawler, url, seconds, reason)

    def resume(self, url: str) -> bool:
        """End the pause of a site; return whether it was paused."""
        return resume_site(self._crawler, url)
