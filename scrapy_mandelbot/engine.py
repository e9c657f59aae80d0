"""What the package needs of Scrapy's engine and downloader that is not public.

All of it is here, each function with what it is for and what happens where Scrapy has changed:
Scrapy means to replace several of these (scrapy/scrapy#6931), and a custom DOWNLOADER may have
none. Everything falls back to something slower, never to something wrong.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, cast

from scrapy.pqueues import _path_safe
from scrapy.utils.defer import _schedule_coro
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler


def wake(crawler: Crawler) -> None:
    """Have the engine ask the scheduler again in the next turn of the loop.

    Without it: at the engine's next heartbeat, within 5 seconds.
    """
    slot = getattr(crawler.engine, "_slot", None)
    if slot is not None and not slot.closing:
        slot.nextcall.schedule()


def is_closing(crawler: Crawler) -> bool:
    """Return whether the crawl is on its way out, so that nothing should wait any longer.

    Scrapy tells nobody before all requests under way have ended, those that wait included.
    """
    slot = getattr(crawler.engine, "_slot", None)
    running = getattr(crawler.engine, "running", True)
    return not running or slot is None or slot.closing is not None


def stays_open(crawler: Crawler) -> bool:
    """Return whether the spider stays open with nothing to do, as the shell's does."""
    return getattr(getattr(crawler.engine, "_slot", None), "close_if_idle", True) is False


def is_idle_but_for_the_scheduler(crawler: Crawler) -> bool:
    """Return whether all that is left of the crawl is what the scheduler holds."""
    engine = cast("Any", crawler.engine)
    return bool(
        getattr(engine, "_start", None) is None
        and not engine.downloader.active
        and engine.scraper.slot is not None
        and engine.scraper.slot.is_idle()
    )


def slot_key(crawler: Crawler, request: Request) -> str:
    """Return the download slot that the request will go through."""
    return cast("str", cast("Any", crawler.engine).downloader.get_slot_key(request))


def slot_concurrency(crawler: Crawler, key: str) -> float:
    """Return how many requests the download slot may transfer at once."""
    downloader = cast("Any", crawler.engine).downloader
    slot = getattr(downloader, "slots", {}).get(key)
    if slot is not None:
        most = slot.concurrency
    else:
        of_the_slot = crawler.settings.getdict("DOWNLOAD_SLOTS").get(key, {})
        most = of_the_slot.get("concurrency", getattr(downloader, "domain_concurrency", 0))
    return most or inf


def is_under_way(crawler: Crawler, request: Request) -> bool:
    """Return whether the downloader, its middlewares included, still has the request.

    This is what Scrapy itself counts against CONCURRENT_REQUESTS, however a request ends.
    """
    return request in cast("Any", crawler.engine).downloader.active


def give_up_place(crawler: Crawler, request: Request) -> None:
    """Let a request that waits hold no place of CONCURRENT_REQUESTS meanwhile."""
    cast("Any", crawler.engine).downloader.active.discard(request)


def take_place(crawler: Crawler, request: Request) -> None:
    """Undo :func:`give_up_place`; the downloader expects the request there in the end."""
    cast("Any", crawler.engine).downloader.active.add(request)


def waits_in_slot(crawler: Crawler, request: Request) -> bool:
    """Return whether its download slot holds the request, and has not sent it: DOWNLOAD_DELAY.

    Without slots: False, so that the request counts as sent.
    """
    slots = getattr(cast("Any", crawler.engine).downloader, "slots", {})
    slot = slots.get(request.meta.get("download_slot"))
    return slot is not None and any(entry[0] is request for entry in slot.queue)


def evict_waiting(
    crawler: Crawler, keys: Iterable[str], unwanted: Callable[[Request], bool], error: Exception
) -> int:
    """End the wait of requests that these download slots hold and have not sent, with an error.

    Returns:
        How many there were. Without slots: none, and those requests are sent.
    """
    evicted = 0
    slots = getattr(cast("Any", crawler.engine).downloader, "slots", {})
    for slot in filter(None, map(slots.get, keys)):
        waiting = [entry for entry in getattr(slot, "queue", ()) if unwanted(entry[0])]
        for entry in waiting:
            slot.queue.remove(entry)
        evicted += len(waiting)
        for _, deferred in waiting:
            deferred.errback(Failure(error))  # type: ignore[no-untyped-call]
    return evicted


def mirror_pause(crawler: Crawler, site: str, seconds: float) -> None:
    """Tell Scrapy's own throttler of a pause, where there is one."""


def scheduler_length(crawler: Crawler) -> int:
    """Return how many requests the scheduler holds; 0 where it cannot tell."""
    slot = getattr(crawler.engine, "_slot", None)
    try:
        return len(slot.scheduler)  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        return 0


def path_safe(name: str) -> str:
    """Return the name of the directory in which Scrapy keeps the queue of this name."""
    return _path_safe(name)


async def scrape_item(crawler: Crawler, item: Any) -> None:
    """Send an item that came from no response through the item pipelines, as from ``start()``."""
    await cast("Any", crawler.engine).scraper.start_itemproc_async(item, response=None)


def schedule(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that nobody waits for, on whichever loop or reactor Scrapy runs."""
    _schedule_coro(coroutine)
