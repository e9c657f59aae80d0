r"""A drop-in for ``protego``: the same class, the rules read by this library.

>>> from mandelbot.protego import Protego
>>> robots = Protego.parse("User-agent: *\nDisallow: /private\nCrawl-delay: 2.5\n")
>>> robots.can_fetch("https://example.com/private/notes", "Examplebot")
False
>>> robots.crawl_delay("Examplebot")
2.5

Misspelt fields and lines without a colon are read as Protego reads them; a missing
colon is written into ``robots.body``. What differs: a name in a User-agent line has to
equal a product token of the agent, and values are compared as RFC 9309 has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import time
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.robotstxt.dialects import DIALECTS
from mandelbot.robotstxt.robots_txt import RobotsTxt

if TYPE_CHECKING:
    from mandelbot.robotstxt.dialects import Dialect
    from mandelbot.robotstxt.times import TimeWindow

__all__ = ["Protego"]

_DIALECT = replace(
    DIALECTS["mandelbot"],
    name="protego",
    full_urls=False,
    spellings=(
        ("user-agent", ("useragent", "user agent")),
        ("disallow", ("dissallow", "dissalow", "disalow", "diasllow", "disallaw")),
        ("sitemap", ("sitemaps", "site-map")),
        ("crawl-delay", ("crawl delay",)),
        ("request-rate", ("request rate",)),
        ("visit-time", ("visit time",)),
    ),
)

_FIELDS = ("allow", "host", *(word for row in _DIALECT.spellings for word in row[1]))
_FIELDS += tuple(field for field, _ in _DIALECT.spellings)
_FIELD = "|".join(sorted(_FIELDS, reverse=True)).replace(" ", "[ \\t]+")
#: A field and the white space after it, where a colon is missing: the line has none, or
#: its first one is part of a word, as in a URL.
_WITHOUT_COLON = re.compile(
    rf"(?:\A|(?<=[\r\n]))[ \t]*({_FIELD})[ \t]+"
    r"(?=[^:#\s])(?=[^:#\r\n]*(?:\Z|[#\r\n]|:[^#\s]))",
    re.IGNORECASE,
)


def _with_colon(line: re.Match[str]) -> str:
    return " ".join(line[1].split()) + ": "


class RequestRate(NamedTuple):
    """So many requests in so many seconds, in a part of the day (UTC) or always."""

    requests: int
    seconds: int
    start_time: time | None
    end_time: time | None


class VisitTime(NamedTuple):
    """A part of the day, UTC."""

    start_time: time
    end_time: time


class Protego:
    """Stands in for ``protego.Protego``."""

    def __init__(self, robots: RobotsTxt | None = None) -> None:
        self.robots = robots or RobotsTxt.parse(b"")
        """The file as this library has read it: verdicts, findings, usage."""

    @classmethod
    def parse(cls, content: str, *, dialect: str | Dialect = _DIALECT) -> Protego:
        """Parse the text of a robots.txt.

        Raises:
            TypeError: `content` is not a text.
        """
        if not isinstance(content, str):
            wrong = type(content).__name__  # type: ignore[unreachable]  # untyped callers
            raise TypeError(f"Protego.parse expects str, got {wrong}")
        text = _WITHOUT_COLON.sub(_with_colon, content)
        body = f"{text}\n".encode("utf-8", "surrogatepass")
        return cls(RobotsTxt.parse(body, dialect=dialect, max_bytes=None))

    def can_fetch(self, url: str, user_agent: str) -> bool:
        """Return whether the agent may fetch the URL."""
        return self.robots.allowed(url or "/", user_agent)

    def crawl_delay(self, user_agent: str) -> float | None:
        """Return the Crawl-delay for the agent in seconds, or None."""
        return self.robots.crawl_delay(user_agent)

    def request_rate(self, user_agent: str) -> RequestRate | None:
        """Return the last Request-rate for the agent, or None."""
        rates = self.robots.request_rates(user_agent)
        if not rates:
            return None
        rate = rates[-1]
        start, end = _times(rate.window) if rate.window else (None, None)
        return RequestRate(rate.documents, rate.seconds, start, end)

    def visit_time(self, user_agent: str) -> VisitTime | None:
        """Return the last Visit-time for the agent, or None."""
        windows = self.robots.visit_times(user_agent)
        return VisitTime(*_times(windows[-1])) if windows else None

    @property
    def sitemaps(self) -> Iterator[str]:
        """The URLs of the Sitemap lines."""
        return iter(self.robots.sitemaps)

    @property
    def preferred_host(self) -> str | None:
        """The last Host line, or None."""
        return self.robots.hosts[-1] if self.robots.hosts else None


def _times(window: TimeWindow) -> tuple[time, time]:
    return time(*divmod(window.start, 60)), time(*divmod(window.end, 60))
