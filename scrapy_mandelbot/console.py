"""What a project's code and Scrapy's telnet console can do with a running crawl.

They pause and resume a site: its owner writes "please leave us alone until tomorrow", and the
crawl need not stop. They look up the rules of a site, and why nothing is sent now.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.extensions import telnet

from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.report.survey import status
from scrapy_mandelbot.robots.formatting import counted
from scrapy_mandelbot.robots.origins import site_named

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.report.status import CrawlStatus
    from scrapy_mandelbot.robots.robotstxt import RobotsTxt

_REASON = "paused by hand"


def pause_site(crawler: Crawler, url: str, seconds: float, reason: str = _REASON) -> None:
    """Leave a site alone for a while: its requests wait in the queue, none is lost.

    Requests that the site has already been sent are answered as ever. The pause is kept over
    restarts, and is over by itself. Said again, the new time counts.

    Args:
        crawler: whose requests wait.
        url: the site, or any URL of it.
        seconds: how long; ``float("inf")``: until :func:`resume_site`.
        reason: why, in words for the log and for ``site_paused``.

    Raises:
        ValueError: the URL has no site, or the seconds are no number from 0 up.
    """
    if isnan(seconds) or seconds < 0:
        raise ValueError(f"seconds = {seconds!r}: a pause takes a number, 0 or more")
    crawl = Crawl.of(crawler)
    crawl.manual_control.hold(site_named(url), crawl.now() + seconds, reason)


def resume_site(crawler: Crawler, url: str) -> bool:
    """End the pause of a site, whoever began it.

    After a pause that the site asked for, a single request goes first, as ever.

    Args:
        crawler: whose requests wait.
        url: the site, or any URL of it.

    Returns:
        Whether the site was paused.

    Raises:
        ValueError: the URL has no site.
    """
    return Crawl.of(crawler).manual_control.end_hold(site_named(url))


def paused_sites(crawler: Crawler) -> dict[str, str]:
    """Return the sites that are asked nothing now, and how they stand, in words."""
    return Crawl.of(crawler).manual_control.shut_in_words()


def why_idle(crawler: Crawler) -> str:
    """Return why a crawl sends nothing now, in words: what it waits for, and for how long."""
    return why_idle_text(status(crawler))


def why_idle_text(status: CrawlStatus) -> str:
    """Return why no request is sent now, as text: a sentence, and the sites that hold it up."""
    if status.under_way:
        is_one = status.under_way == 1
        under_way = f"{counted(status.under_way, 'request')} {'is' if is_one else 'are'} under way"
        return f"It is not idle: {under_way}.\n\n{status}"
    if not status.waiting:
        return "No request waits: the spider has given none that is left."
    if not status.is_idle:
        return f"It is not idle: what may be sent is sent next.\n\n{status}"
    return f"It waits: {status.in_words()}.\n\n{status.table()}"


def site_rules(crawler: Crawler, url: str) -> RobotsTxt | None:
    """Return the robots.txt of a site as it is known in a running crawl; nothing is fetched.

    Args:
        crawler: whose crawl it is.
        url: the site, or any URL of it.

    Returns:
        Its rules, which allow all where the site has no such file. None: they are not known, as no
        request to the site had to find them out yet, or as the site could not say.

    Raises:
        ValueError: the URL has no site.
    """
    rules = Crawl.of(crawler).fetcher.known(site_named(url))
    return None if rules is None or rules.parser is None else rules.robots


class Text(str):
    """Text that the console shows as it is, and not as a literal."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class PauseConsole:
    """What the telnet console knows as ``mandelbot``."""

    def __init__(self, crawler: Crawler) -> None:
        if not Crawl.of(crawler).config.enabled:
            raise NotConfigured
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PauseConsole:
        """Build the extension, which is there when the console asks."""
        extension = cls(crawler)
        crawler.signals.connect(extension.add_to, signal=telnet.update_telnet_vars)
        return extension

    def add_to(self, telnet_vars: dict[str, Any]) -> None:
        """Add ourselves to what the console's user can name."""
        telnet_vars["mandelbot"] = self

    def __repr__(self) -> str:
        can = "mandelbot: .pause(url, seconds), .resume(url), .paused, .status, .why_idle"
        return f"{can}\n\n{status(self._crawler)}"

    @property
    def paused(self) -> dict[str, str]:
        """The sites that are asked nothing now, and how they stand."""
        return paused_sites(self._crawler)

    @property
    def status(self) -> CrawlStatus:
        """How the crawl stands."""
        return status(self._crawler)

    @property
    def why_idle(self) -> Text:
        """Why the crawl sends nothing now."""
        return Text(why_idle(self._crawler))

    def pause(self, url: str, seconds: float, reason: str = _REASON) -> None:
        """Leave a site alone for so many seconds."""
        pause_site(self._crawler, url, seconds, reason)

    def resume(self, url: str) -> bool:
        """End the pause of a site; return whether it was paused."""
        return resume_site(self._crawler, url)
