"""The items that the spiders scrape."""

from dataclasses import dataclass


@dataclass
class Page:
    """A page that was crawled."""

    url: str
    title: str


@dataclass
class ForbiddenPage:
    """A page that its site's robots.txt keeps us from, and the line that does."""

    url: str
    line: int
    why: str
