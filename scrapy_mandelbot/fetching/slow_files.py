"""Keeps a robots.txt that is slow to come from holding up the pages of other sites.

Scrapy's own middleware waits for a robots.txt as long as for a page, and so does the
package. Its pages wait: the one that asked in the downloader, the others in the queue.
After some seconds of silence the site counts as slow. Then the request for its file no
longer holds one of the places that CONCURRENT_REQUESTS gives; as many of these requests
as that at most. The request itself goes on, and no second one is sent beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.clock import LATE

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.clock import Call, Clock
    from scrapy_mandelbot.events.emitter import Events


class SlowFiles:
    """Watches requests for robots.txt, and reports those that are slow."""

    def __init__(
        self, crawler: Crawler, clock: Clock, emitter: Events, silence: float
    ) -> None:
        self._crawler = crawler
        self._clock = clock
        self._events = emitter
        self._silence = silence
        self._most = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._places = 0  # that slow requests hold now
        self.note: Callable[[Request], None] = lambda _: None
        """Notes that the site of a request is slow; the request waits for its file."""

    @contextmanager
    def watched(self, site: str, request: Request, deadline: float) -> Iterator[None]:
        """Watch inside the block, in which a request waits for its site's robots.txt.

        `deadline`: the seconds that the robots.txt may take.
        """
        if deadline <= self._silence:
            yield
            return
        watch = _Watch(self, site, request, deadline)
        watch.wait(self._silence)
        try:
            yield
        finally:
            watch.end()

    def found_slow(self, site: str, request: Request, deadline: float) -> int:
        """Report a slow site; return how many places its request got."""
        self._events.emit(
            events.ROBOTS_AWAITED, site=site, seconds=self._silence, most=deadline
        )
        if self._places >= self._most:
            return 0
        added = engine.add_place(self._crawler, request)
        self._places += added
        if added:
            self.note(request)
        return added

    def call_later(self, seconds: float, call: Callable[[float], object]) -> Call:
        """Call a function with the time for which it was scheduled."""
        return self._clock.call_later(seconds, call, self._clock.now() + seconds)

    def late(self, due: float) -> float:
        """Return by how many seconds the loop is late, if its work held it up."""
        late = self._clock.now() - due
        if late > LATE:
            return late
        return 0.0

    def drop_places(self, count: int) -> None:
        """Take back the places of a request that has ended."""
        self._places -= count
        engine.drop_places(self._crawler, count)


class _Watch:
    """One request for a robots.txt, on its way."""

    def __init__(
        self, files: SlowFiles, site: str, request: Request, deadline: float
    ) -> None:
        self._files = files
        self._site = site
        self._request = request
        self._deadline = deadline
        self._places = 0
        self._timer: Call | None = None

    def wait(self, seconds: float) -> None:
        """Look at it again after so many seconds."""
        self._timer = self._files.call_later(seconds, self._ring)

    def end(self) -> None:
        """The request has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._places:
            self._files.drop_places(self._places)

    def _ring(self, due: float) -> None:
        self._timer = None
        late = self._files.late(due)
        if late:  # the answer may have come meanwhile, and could not be read
            self.wait(late)
            return
        self._places = self._files.found_slow(self._site, self._request, self._deadline)
