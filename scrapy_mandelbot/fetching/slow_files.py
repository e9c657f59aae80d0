"""Keeps a robots.txt that is slow to come from holding up the pages of other sites.

Scrapy's own middleware waits for a robots.txt as long as for a page, and so does the
package. Its pages wait: the one that asked in the downloader, the others in the queue.
After some seconds of silence the site counts as slow. Then the request for its file no
longer holds one of the places that CONCURRENT_REQUESTS gives; as many of these requests
as that at most. The request itself goes on, and no second one is sent beside it.

All are given the same time, so they become slow in the order in which they began: one
timer serves all, where one for each would be set and cancelled for each new site.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.clock import LATE

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_mandelbot.clock import Clock
    from scrapy_mandelbot.events.emitter import Events


class SlowFiles:
    """Watches requests for robots.txt, and reports those that are slow."""

    def __init__(
        self, crawler: Crawler, clock: Clock, emitter: Events, silence: float
    ) -> None:
        self._crawler = crawler
        self._events = emitter
        self.clock = clock
        self.silence = silence
        """Seconds after which a request is slow."""
        self.watches: dict[_Watch, None] = {}
        """Of requests on their way that are not slow, the oldest first."""
        self.is_timed = False
        """Whether a timer is set, which looks at them."""
        self._most = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._places = 0  # that slow requests hold now
        self.note: Callable[[Request], None] = lambda _: None
        """Notes that the site of a request is slow; the request waits for its file."""

    def watched(
        self, site: str, request: Request, deadline: float
    ) -> AbstractContextManager[object]:
        """Watch inside the block, in which a request waits for its site's robots.txt.

        `deadline`: the seconds that the robots.txt may take.
        """
        if deadline <= self.silence:
            return nullcontext()
        return _Watch(self, site, request, deadline)

    def look_after(self, seconds: float) -> None:
        """Look after so many seconds which are slow."""
        self.is_timed = True
        self.clock.call_later(seconds, self._look, self.clock.now() + seconds)

    def _look(self, due: float) -> None:
        self.is_timed = False
        now = self.clock.now()
        if now - due > LATE:  # answers may have come meanwhile, and could not be read
            self.look_after(now - due)
            return
        for watch in list(self.watches):
            if watch.due > now:
                self.look_after(watch.due - now)
                return
            del self.watches[watch]
            watch.places = self._found_slow(watch)

    def _found_slow(self, watch: _Watch) -> int:
        """Report a slow site; return how many places its request got."""
        self._events.emit(
            events.ROBOTS_AWAITED,
            site=watch.site,
            seconds=self.silence,
            most=watch.deadline,
        )
        if self._places >= self._most:
            return 0
        added = engine.add_place(self._crawler, watch.request)
        self._places += added
        if added:
            self.note(watch.request)
        return added

    def drop_places(self, count: int) -> None:
        """Take back the places of a request that has ended."""
        self._places -= count
        engine.drop_places(self._crawler, count)


class _Watch:
    """One request for a robots.txt, on its way inside the block."""

    def __init__(
        self, files: SlowFiles, site: str, request: Request, deadline: float
    ) -> None:
        self._files = files
        self.site = site
        self.request = request
        self.deadline = deadline
        self.places = 0
        """How many places it got, as it is slow."""
        self.due = 0.0
        """When it is slow."""

    def __enter__(self) -> None:
        files = self._files
        self.due = files.clock.now() + files.silence
        files.watches[self] = None
        if not files.is_timed:
            files.look_after(files.silence)

    def __exit__(self, *_: object) -> None:
        self._files.watches.pop(self, None)
        if self.places:
            self._files.drop_places(self.places)
