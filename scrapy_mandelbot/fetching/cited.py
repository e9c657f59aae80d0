"""The sitemaps that a robots.txt cites, as URLs that can be asked for."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from scrapy_mandelbot.fetching.sending import http_url
from scrapy_mandelbot.politeness import leads_inside, robots_url

if TYPE_CHECKING:
    from scrapy_mandelbot.robotstxt import RobotsTxt

MOST_CITED = 5_000
"""Sitemap lines of a file that are read; each may cite an index of 50,000."""
_MOST_NOT_ASCII = 100  # of those; to make ASCII of a name takes up to a millisecond


def cited_sitemaps(robots: RobotsTxt, site: str, *, inside: bool) -> tuple[str, ...]:
    """Return the URLs of a site's Sitemap lines, absolute, each once.

    What cannot be a URL is left out.

    Args:
        robots: the site's file.
        site: the site.
        inside: whether a site of the public internet may cite what is on this machine or in its
            network.
    """
    written = dict.fromkeys(islice(robots.sitemaps, MOST_CITED))
    plain = [url for url in written if url.isascii()]
    others = islice((url for url in written if not url.isascii()), _MOST_NOT_ASCII)
    kept = {*plain, *others}
    absolute = (http_url(robots_url(site), url) for url in written if url in kept)
    urls = dict.fromkeys(url for url in absolute if url is not None)
    return tuple(url for url in urls if inside or not leads_inside(site, url))
