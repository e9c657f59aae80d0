"""Following redirects ourselves: they are counted, and lead nowhere that they may not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_mandelbot.fetching.sending import http_url, redirect_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.http import Response

    from scrapy_mandelbot.fetching.download_limits import Download


@dataclass(frozen=True)
class Trail:
    """What came of a URL and of where it redirects to."""

    urls: tuple[str, ...]
    """All that were asked for, in order."""
    response: Response | None = None
    """The last one; None: there was none."""
    download: Download | None = None
    """How the last one was read."""
    error: Exception | None = None
    """Why there was none."""
    leads_nowhere: bool = False
    """Whether the last response redirects to what was not asked for: a loop, a hop too many, what
    is no URL of http or https, or where it may not send us."""

    @property
    def url(self) -> str:
        """Where it ended."""
        return self.urls[-1]


async def follow(
    url: str,
    most: int,
    send: Callable[[str], Awaitable[tuple[Response, Download]]],
    may_send: Callable[[str], bool],
) -> Trail:
    """Ask for a URL, following redirects across sites. Nothing that goes wrong is raised.

    Args:
        url: what is asked for first.
        most: redirects that are followed.
        send: asks for one URL.
        may_send: tells whether a redirect may lead to a URL.
    """
    urls = [url]
    while True:
        try:
            response, download = await send(urls[-1])
        except Exception as error:  # noqa: BLE001 -- whatever it is, there is no answer
            return Trail(tuple(urls), error=error)
        location = redirect_of(response)
        if location is None:
            return Trail(tuple(urls), response, download)
        target = http_url(urls[-1], location)
        if target is None or target in urls or len(urls) > most or not may_send(target):
            return Trail(tuple(urls), response, download, leads_nowhere=True)
        urls.append(target)
