"""A fetcher of robots.txt for each credentials.

A site may show its robots.txt, or another one, only to those who log in. A file that
was fetched with credentials says nothing to those without, nor may they learn it. So
each of several credentials has a fetcher of its own, whose files stay in the memory of
the run: no store gets them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_mandelbot.fetching.credentials import Credentials
    from scrapy_mandelbot.fetching.fetcher import RobotsFetcher

MOST_CREDENTIALS = 20
"""Credentials whose files are remembered; of more, those that were used last."""


class Fetchers:
    """A fetcher for requests without credentials, and one for each credentials."""

    def __init__(
        self,
        credentials: Credentials,
        plain: RobotsFetcher,
        build: Callable[[], RobotsFetcher],
    ) -> None:
        self._credentials = credentials
        self._plain = plain
        self._build = build
        self._private: OrderedDict[bytes, RobotsFetcher] = OrderedDict()

    def __iter__(self) -> Iterator[RobotsFetcher]:
        yield self._plain
        yield from self._private.values()

    def of(self, request: Request) -> RobotsFetcher:
        """Return the fetcher of the rules that apply to a request."""
        credentials = self._credentials.of(request)
        if not credentials:
            return self._plain
        found = self._private.get(credentials)
        if found is None:
            found = self._build()
            self._private[credentials] = found
            if len(self._private) > MOST_CREDENTIALS:
                self._private.popitem(last=False)
        else:
            self._private.move_to_end(credentials)
        return found
