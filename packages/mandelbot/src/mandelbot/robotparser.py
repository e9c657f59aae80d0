"""A drop-in for ``urllib.robotparser``: its methods, this library's verdicts.

>>> from mandelbot.robotparser import RobotFileParser
>>> parser = RobotFileParser("https://example.com/robots.txt")
>>> parser.parse(["User-agent: *", "Disallow: /*.pdf$", "Crawl-delay: 5"])
>>> parser.can_fetch("Examplebot/1.0", "https://example.com/paper.pdf")
False
>>> parser.crawl_delay("Examplebot/1.0")
5

What differs: wildcards, the longest rule, merged groups and escapes count as RFC 9309
has them, agents are compared by their product tokens, and bytes of any encoding are
read. What an HTTP status means is left as ``urllib`` has it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen
from urllib.robotparser import RequestRate

from mandelbot.robotstxt.robots_txt import RobotsTxt
from mandelbot.robotstxt.times import rate_at

if TYPE_CHECKING:
    from mandelbot.robotstxt.dialects import Dialect

__all__ = ["RobotFileParser"]

_MOST_BYTES = 512_000  # of a file; more is not read
_FORBIDDING = (401, 403)  # as urllib has it
_FIRST_REFUSAL = 400
_FIRST_ERROR = 500


class RobotFileParser:
    """Stands in for ``urllib.robotparser.RobotFileParser``."""

    def __init__(self, url: str = "", *, dialect: str | Dialect = "rfc9309") -> None:
        self.disallow_all = False
        """Whether nothing may be fetched; callers may set it."""
        self.allow_all = False
        """Whether all may be fetched; callers may set it."""
        self.last_checked = 0.0
        """Unix time of the last `parse` or `modified`; 0: none yet."""
        self.robots = RobotsTxt.parse(b"", dialect=dialect)
        """The file as this library has read it: verdicts, findings, usage."""
        self.set_url(url)

    def set_url(self, url: str) -> None:
        """Set the URL of the robots.txt."""
        parts = urlsplit(url)
        self.url = url
        self.host = parts.netloc
        self.path = parts.path

    def read(self) -> None:
        """Fetch the file and parse it, with the meaning of statuses as in ``urllib``.

        401 and 403 forbid all, another 4xx allows all; after a 5xx nothing may be
        fetched until a later `read` succeeds.

        Raises:
            OSError: the host did not answer (``urllib.error.URLError``).
        """
        try:
            with urlopen(self.url) as answer:  # noqa: S310 -- the caller's URL
                body = answer.read(_MOST_BYTES + 1)
        except HTTPError as error:
            error.close()
            if error.code in _FORBIDDING:
                self.disallow_all = True
            elif _FIRST_REFUSAL <= error.code < _FIRST_ERROR:
                self.allow_all = True
        else:
            self._read(body, _MOST_BYTES)

    def parse(self, lines: Iterable[str]) -> None:
        """Parse the lines of a robots.txt, with or without their ends."""
        text = "\n".join(line.rstrip("\r\n") for line in lines)
        self._read(f"{text}\n".encode("utf-8", "surrogatepass"), None)

    def _read(self, body: bytes, max_bytes: int | None) -> None:
        dialect = self.robots.dialect
        self.robots = RobotsTxt.parse(body, dialect=dialect, max_bytes=max_bytes)
        self.modified()

    def mtime(self) -> float:
        """Return the Unix time at which the file was last parsed; 0: never."""
        return self.last_checked

    def modified(self) -> None:
        """Take now for the time at which the file was last parsed."""
        self.last_checked = time.time()

    def can_fetch(self, useragent: str, url: str) -> bool:
        """Return whether the agent may fetch the URL; before `parse`, none."""
        if self.disallow_all:
            return False
        if self.allow_all:
            return True
        if not self.last_checked:
            return False
        return self.robots.allowed(url or "/", useragent)

    def crawl_delay(self, useragent: str) -> float | None:
        """Return the Crawl-delay for the agent in seconds, or None."""
        if not self.last_checked:
            return None
        delay = self.robots.crawl_delay(useragent)
        if delay is not None and delay.is_integer():
            return int(delay)
        return delay

    def request_rate(self, useragent: str) -> RequestRate | None:
        """Return the Request-rate that the agent has to keep now, or None."""
        if not self.last_checked:
            return None
        minute = int(time.time() // 60 % 1440)  # of the day, UTC
        rate = rate_at(self.robots.request_rates(useragent), minute)
        return None if rate is None else RequestRate(rate.documents, rate.seconds)

    def site_maps(self) -> list[str] | None:
        """Return the URLs of the Sitemap lines, or None if there is none."""
        return self.sitemaps or None

    @property
    def sitemaps(self) -> list[str]:
        """The URLs of the Sitemap lines."""
        return list(self.robots.sitemaps)

    def __str__(self) -> str:
        return self.robots.body.decode("utf-8", "replace").strip()
