"""What the queue handed out, so that it can come back as it was.

A request goes back by being returned from a middleware. On its way it passes the dupe filter
again, so it is marked ``dont_filter`` until it is back in the queue; left on it, the mark would be
copied by redirects and would switch the off-site filter off. The downloader writes
``download_slot`` into every request that it takes, and redirects copy that too. A middleware may
have given it a proxy, and may have to give it another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy_mandelbot import engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

_CHANGED_ON_THE_WAY = ("download_slot", "proxy")  # meta keys


@dataclass(frozen=True)
class _Looks:
    """What a request looked like when it was handed out, and where to."""

    dont_filter: bool
    meta: dict[str, object]
    """Of the keys that the way out changes, those that it had."""
    slot: str
    """Through which it goes."""
    gate: str
    """Which let it through."""
    sent_at: int
    """In ticks: what happened before what."""


class Handouts:
    """The requests that are outside the queue and may return to it, and how many in which slot.

    The downloader counts a request in its slot a turn or two of the loop after it was handed out,
    by which time the engine has asked for as many again: what is counted here is what the queue
    has to go by.
    """

    def __init__(self, crawler: Crawler, slot_changed: Callable[[str], None]) -> None:
        self._crawler = crawler
        self._slot_changed = slot_changed
        self._ticks = 0
        self._in_slots: dict[str, set[Request]] = {}
        self._outside: WeakKeyDictionary[Request, _Looks] = WeakKeyDictionary()
        self._coming_back: WeakKeyDictionary[Request, tuple[_Looks, float]] = WeakKeyDictionary()

    def __contains__(self, request: Request) -> bool:
        return request in self._outside

    def hand_out(self, request: Request, slot: str, gate: str) -> None:
        """Note what the request looks like as a gate lets it out to a download slot."""
        meta = {key: request.meta[key] for key in _CHANGED_ON_THE_WAY if key in request.meta}
        self._outside[request] = _Looks(request.dont_filter, meta, slot, gate, self.tick())
        self._in_slots.setdefault(slot, set()).add(request)
        self._slot_changed(slot)

    def gate(self, request: Request) -> str | None:
        """Return the gate that let the request out; None: the queue did not hand it out."""
        looks = self._outside.get(request)
        return None if looks is None else looks.gate

    def tick(self) -> int:
        """Return a number that grows with every call."""
        self._ticks += 1
        return self._ticks

    def sent_at(self, request: Request) -> int:
        """Return when the request was handed out, in ticks; now, if the queue did not."""
        looks = self._outside.get(request)
        return self._ticks if looks is None else looks.sent_at

    def in_slot(self, slot: str) -> int:
        """Return how many requests were handed out to the slot and are not back or done."""
        return len(self._in_slots.get(slot, ()))

    def is_full(self, slot: str) -> bool:
        """Return whether the slot has as many requests as it may transfer at once."""
        if slot not in self._in_slots:
            return False
        most = engine.slot_concurrency(self._crawler, slot)
        if self.in_slot(slot) < most:
            return False
        # Some ends are not told to us: a middleware may swallow a request. Then it is no longer
        # the downloader's either.
        for request in list(self._in_slots.get(slot, ())):
            if not engine.is_under_way(self._crawler, request):
                self._leave_slot(slot, request)
        return self.in_slot(slot) >= most

    def send_back(self, request: Request, not_before: float = 0.0) -> Request:
        """Return the request as a middleware returns it to send it back.

        Args:
            request: one that the queue has handed out.
            not_before: seconds since the epoch; the queue sets it aside until then.

        Raises:
            KeyError: the queue did not hand it out. Returned all the same, it would be sent again
                at once by whoever sent it.
        """
        looks = self._outside.pop(request)
        self._coming_back[request] = looks, not_before
        self._leave_slot(looks.slot, request)
        request.dont_filter = True
        return request

    def is_coming_back(self, request: Request) -> bool:
        """Return whether the request was sent back and has not arrived."""
        return request in self._coming_back

    def take_back(self, request: Request) -> float:
        """Make a request that comes back to the queue what it was when it was handed out.

        Returns:
            When it may be handed out again, in seconds since the epoch; 0: at once.
        """
        looks, not_before = self._coming_back.pop(request, (None, 0.0))
        if looks is None:
            return 0.0
        request.dont_filter = looks.dont_filter
        for key in _CHANGED_ON_THE_WAY:
            if key in looks.meta:
                request.meta[key] = looks.meta[key]
            else:
                request.meta.pop(key, None)
        return not_before

    def let_go(self, request: Request) -> None:
        """Forget a request that has its answer, or never gets one."""
        looks = self._outside.pop(request, None)
        if looks is not None:
            self._leave_slot(looks.slot, request)

    def _leave_slot(self, slot: str, request: Request) -> None:
        requests = self._in_slots.get(slot)
        if requests is None:
            return
        requests.discard(request)
        if not requests:
            del self._in_slots[slot]
        self._slot_changed(slot)
