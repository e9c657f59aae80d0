"""Requests that ask to be sent later: the meta key ``delay``.

Loaded when needed. They wait in sub-queues of their own, the one that is due first in
front, and so on disk where the others are. A sub-queue takes part again when its first
request is due.
"""

from __future__ import annotations

from math import ceil, inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.scheduling.round_robin import DUE

if TYPE_CHECKING:
    from scrapy import Request


def start_delay(request: Request, now: float) -> bool:
    """Turn the delay that a request asks for into the time when it may be sent.

    As scrapy/scrapy#7873 does: `delay` is consumed, so that no copy of the request is
    delayed again, such as a retry; `delayed` lists all its delays. What is no number is
    the project's own. Returns whether the request waits for such a time.
    """
    meta = request.meta
    delay: Any = meta.get("delay")
    if type(delay) in {int, float} and 0 < delay < inf:
        del meta["delay"]
        meta[DUE] = [now + delay, delay, request.priority]
        meta["delayed"] = [*meta.get("delayed", ()), delay]
    return DUE in meta


def sort_by_due(request: Request, now: float, grain: float = 0.0) -> float:
    """Give a request with a delay the place of its time in its queue; return the time.

    All kinds of queues sort by priority. `grain`: the part of its delay by which times
    in one place may differ; a second at least.
    """
    at = _due(request, now)
    _, delay, _ = request.meta[DUE]
    seconds = max(1.0, grain * delay)
    request.priority = -int(ceil(at / seconds) * seconds)
    return at


def end_delay(request: Request, now: float) -> float:
    """End the delay of a request, if it is over; return when it is, or 0.

    Its priority is its own again.
    """
    meta = request.meta
    if DUE not in meta:
        return 0.0
    at = _due(request, now)
    _, _, request.priority = meta[DUE]
    if at <= now:
        del meta[DUE]
        return 0.0
    return at


def _due(request: Request, now: float) -> float:
    """Return when a request may be sent: no later than after its delay.

    The clock that it was counted from may be ahead, as one of another machine.
    """
    at: float
    delay: float
    at, delay, own_priority = request.meta[DUE]
    at = min(at, now + delay)
    request.meta[DUE] = [at, delay, own_priority]
    return at
