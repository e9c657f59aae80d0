"""The private names of Scrapy's engine and downloader, or that have been until lately.

The package uses them only here. *Fallback* is what a function does if Scrapy has
changed, or if a custom DOWNLOADER lacks the name: something slower, never something
wrong. ``tests/crawls/test_without_private_names.py`` takes each name away.
"""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import (
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from functools import partial
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakMethod, finalize, ref

import scrapy.pqueues
import scrapy.signals
from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from http.cookiejar import Cookie

    from scrapy.crawler import Crawler
    from scrapy.exceptions import IgnoreRequest
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    Download = Callable[[Request], Coroutine[Any, Any, Response]]
    CookieJars = defaultdict[Any, Any]

logger = logging.getLogger(__name__)

SLOT_KEY = "download_slot"
"""The meta key that names the download slot of a request. Scrapy writes it into each
request on its way, and a spider may choose a slot by it.
"""
AT_ONCE = "CONCURRENT_REQUESTS_PER_DOMAIN"
"""The setting of how many requests a download slot transfers at once."""
_AT_ONCE = 8  # its default in a Scrapy that still has it
_GONE = object()
_FAILED = "_scrapy_mandelbot_failed"
"""The attribute of a crawler that has failed: the handlers of its last signals."""
_PARSE = vars(Spider)["parse"]  # its type is that of a spider's own


def wake(crawler: Crawler) -> None:
    """Let the engine call the scheduler in the next turn of the loop.

    Fallback: at the engine's next heartbeat, within 5 seconds.
    """
    nextcall = getattr(getattr(crawler.engine, "_slot", None), "nextcall", None)
    if nextcall is not None and not is_closing(crawler):
        nextcall.schedule()


def is_closing(crawler: Crawler) -> bool:
    """Return whether the crawl is closing, so that nothing should wait any longer.

    Scrapy sends no signal before all requests under way have ended, those that wait
    included.

    Fallback: whether the engine takes nothing more though there is room; False while
    there is none.
    """
    engine: Any = crawler.engine
    if not getattr(engine, "running", True):
        return True
    slot = getattr(engine, "_slot", _GONE)
    if slot is None:
        return True
    closing = getattr(slot, "closing", _GONE)
    if closing is not _GONE:
        return closing is not None
    scraping = getattr(engine.scraper, "slot", None)
    if engine.spider is None or scraping is None:
        return engine.spider is None
    has_room = not (engine.downloader.needs_backout() or scraping.needs_backout())
    return has_room and bool(engine.needs_backout())


def stays_open(crawler: Crawler) -> bool:
    """Return whether the spider stays open with nothing to do, as the shell's does.

    The shell opens a spider without a crawl.
    """
    return not crawler.crawling


def is_a_command(crawler: Crawler) -> bool:
    """Return whether one of Scrapy's commands that ask for single pages runs this.

    Scrapy does not say which command runs a crawl. But ``fetch``, ``parse`` and
    ``check`` put a ``start()`` of their own into the spider class.
    """
    start = getattr(crawler.spidercls, "start", None)
    return str(getattr(start, "__module__", "")).startswith("scrapy.commands.")


def is_awaited(request: Request) -> bool:
    """Return whether a Deferred gets the answer, as in the shell, never in a crawl."""
    return isinstance(getattr(request.callback, "__self__", None), Deferred)


def is_idle_but_for_the_scheduler(crawler: Crawler) -> bool:
    """Return whether all that is left of the crawl is what the scheduler holds."""
    scheduler: Any = _scheduler(crawler)
    if scheduler is None:
        return False
    # The engine knows whether all of it is idle; while it is asked, its scheduler is
    # said to be.
    scheduler.has_pending_requests = bool
    try:
        return bool(cast("Any", crawler.engine).spider_is_idle())
    finally:
        del scheduler.has_pending_requests


def is_idle_but_for_start(crawler: Crawler) -> bool:
    """Return whether nothing is under way, whatever the scheduler and start() hold.

    Fallback: False.
    """
    engine: Any = crawler.engine
    scraping = getattr(getattr(engine, "scraper", None), "slot", None)
    if scraping is None or getattr(engine.downloader, "active", True):
        return False
    return bool(scraping.is_idle())


def slot_key(crawler: Crawler, request: Request) -> str:
    """Return the download slot that the request will go through."""
    return slot_namer(crawler)(request)


def slot_namer(crawler: Crawler) -> Callable[[Request], str]:
    """Return what names the download slot of a request.

    Fallback: as Scrapy names slots.
    """
    try:
        engine: Any = crawler.engine
        name_slot: Callable[[Request], str] = engine.downloader.get_slot_key
    # RuntimeError: the crawler has no engine yet
    except (AttributeError, RuntimeError):
        return _as_scrapy_names_it
    return name_slot


def _as_scrapy_names_it(request: Request) -> str:
    slot: str | None = request.meta.get(SLOT_KEY)
    if slot is None:
        return urlparse_cached(request).hostname or ""
    return slot


def put_in_slot(request: Request, slot: str) -> None:
    """Choose the download slot of a request."""
    request.meta[SLOT_KEY] = slot


def slot_concurrency(crawler: Crawler, key: str) -> float:
    """Return how many requests the download slot may transfer at once.

    Fallback: as many as the settings say.
    """
    downloader: Any = cast("Any", crawler.engine).downloader
    slot = getattr(downloader, "slots", {}).get(key)
    most: int | None = getattr(slot, "concurrency", None)
    if most is None:  # it is not open
        of_domain = getattr(downloader, "domain_concurrency", None)
        if of_domain is None:
            of_domain = at_once_in_a_slot(crawler.settings)
        of_slots = getattr(downloader, "per_slot_settings", None)
        if of_slots is None:
            of_slots = _slot_settings(crawler.settings)
        most = of_slots.get(key, {}).get("concurrency", of_domain)
    return most or inf


def at_once_in_a_slot(settings: BaseSettings) -> int:
    """Return how many requests a download slot without settings of its own transfers.

    0: any number. Fallback: Scrapy's default.
    """
    if settings.get(AT_ONCE) is None:
        return _AT_ONCE
    return settings.getint(AT_ONCE)


def _slot_settings(settings: BaseSettings) -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of the download slots that have some of their own."""
    return settings.getdict("DOWNLOAD_SLOTS")


def is_under_way(crawler: Crawler, request: Request) -> bool:
    """Return whether the downloader, its middlewares included, still has the request.

    This is what Scrapy itself counts against CONCURRENT_REQUESTS, however a request
    ends. The throttler of scrapy/scrapy#6931 holds requests back before that.

    Fallback: whether its response is not parsed yet; else True, as every end is
    reported except that of a request which a middleware replaces on its way out.
    """
    engine: Any = crawler.engine
    if request in getattr(engine, "_throttler_waiting", ()):
        return True
    try:
        return request in engine.downloader.active
    except TypeError:  # a custom one need only be true or false
        pass
    under_way = getattr(getattr(engine, "_slot", None), "inprogress", None)
    return under_way is None or request in under_way


def give_up_place(crawler: Crawler, request: Request) -> None:
    """Let a request that waits hold no place of CONCURRENT_REQUESTS meanwhile.

    Fallback: it holds one.
    """
    active = cast("Any", crawler.engine).downloader.active
    if isinstance(active, set):
        active.discard(request)


def take_place(crawler: Crawler, request: Request) -> None:
    """Undo :func:`give_up_place`: the downloader expects the request in the end."""
    active = cast("Any", crawler.engine).downloader.active
    if isinstance(active, set):
        active.add(request)


def add_place(crawler: Crawler, request: Request) -> int:
    """Count a request and the one that it waits for as one place.

    Returns how many places were added.

    Fallback: none, and each holds one.
    """
    downloader: Any = cast("Any", crawler.engine).downloader
    most: int = getattr(downloader, "total_concurrency", 0)
    if not most or not is_under_way(crawler, request):
        return 0
    downloader.total_concurrency = most + 1
    return 1


def drop_places(crawler: Crawler, count: int) -> None:
    """Undo :func:`add_place`."""
    cast("Any", crawler.engine).downloader.total_concurrency -= count


def room(crawler: Crawler) -> float:
    """Return how many more requests the downloader takes; ``inf``: any number.

    For a custom downloader that does not say, CONCURRENT_REQUESTS counts, less the
    requests in the engine's slot, if there is one.
    """
    engine = cast("Any", crawler.engine)
    most: int | None = getattr(engine.downloader, "total_concurrency", None)
    if most is None:
        most = crawler.settings.getint("CONCURRENT_REQUESTS")
    try:
        under_way = len(engine.downloader.active)
    except (AttributeError, TypeError):
        under_way = len(getattr(getattr(engine, "_slot", None), "inprogress", ()))
    if most:
        return most - under_way
    return inf


class WaitingInQueue(Protocol):
    """What waits in one of the package's queues."""

    storage: Any
    """Its ``total`` is the number of all that wait."""
    round_robin: Any
    """It ``is_settled`` if none of them may be handed out now."""
    paused: Any
    """Its ``total`` is the number of those whose sites are paused."""
    left: Any
    """Its ``total`` is the number of those that are left to the next run."""


class Waiting(Protocol):
    """What waits in all queues of a crawl."""

    @property
    def counts(self) -> Sequence[WaitingInQueue]:
        """What waits in each."""

    paused_for_free: float
    """Requests of paused sites that take no place."""
    has_more: Callable[[], bool] | None
    """Returns whether another request may be handed out, which is in no queue."""


def count_as_load(crawler: Crawler, load: Waiting) -> Callable[[], bool]:
    """Let requests that wait in the package's queues count for ``needs_backout()``.

    The engine asks it before it takes a request, spiders before they yield one. It is
    true if the downloader has no place left, or if those that wait would take all of
    them, and none may go. To ask changes nothing. Returns the function.

    Fallback: it is true if the downloader has no place left.
    """
    downloader: Any = cast("Any", crawler.engine).downloader
    has_no_place: Callable[[], bool] | None = getattr(downloader, "needs_backout", None)
    if has_no_place is None:
        return bool

    def needs_backout() -> bool:  # all of it here: it is called twice for each page
        for one in load.counts:
            if not one.round_robin.is_settled:
                return has_no_place()
        if has_no_place():
            return True
        waiting: float = 0
        paused = 0
        for one in load.counts:
            waiting += one.storage.total - one.paused.total - one.left.total
            paused += one.paused.total
        if paused > load.paused_for_free:
            waiting += paused - load.paused_for_free
        try:
            most = downloader.total_concurrency or inf
            left = most - len(downloader.active)
        except (AttributeError, TypeError):
            left = room(crawler)
        if waiting < left:
            return False
        return load.has_more is None or not load.has_more()

    with suppress(AttributeError):
        downloader.needs_backout = needs_backout
    return needs_backout


def waits_in_slot(crawler: Crawler, request: Request) -> bool:
    """Return whether its download slot holds the request, and has not sent it.

    DOWNLOAD_DELAY. Fallback: True, so that the next one waits for the answer to this
    one.
    """
    slots = getattr(cast("Any", crawler.engine).downloader, "slots", None)
    if slots is None:
        return True
    slot = slots.get(request.meta.get(SLOT_KEY))
    if slot is None:
        return False
    queue = getattr(slot, "queue", None)
    if queue is not None:
        return any(entry[0] is request for entry in queue)
    # in scrapy/scrapy#6931 a slot has no queue, and says what it transfers
    sent = getattr(slot, "transferring", None)
    return sent is None or request not in sent


def waiting_in_slots(crawler: Crawler, keys: Iterable[str]) -> set[Request]:
    """Return the requests that these download slots hold, and have not sent.

    Fallback: none, as if each was sent when it arrived.
    """
    waiting = chain.from_iterable(_slot_queues(crawler, keys))
    return {entry[0] for entry in waiting}


def evict_waiting(
    crawler: Crawler,
    keys: Iterable[str],
    unwanted: Callable[[Request], bool],
    error: Exception,
) -> int:
    """Fail the requests that wait in these download slots, with an error.

    Returns:
        How many there were. Without slots: none, and those requests are sent.
    """
    evicted = 0
    for queue in _slot_queues(crawler, keys):
        waiting = [entry for entry in queue if unwanted(entry[0])]
        for entry in waiting:
            queue.remove(entry)
        evicted += len(waiting)
        for _, deferred in waiting:
            deferred.errback(Failure(error))  # type: ignore[no-untyped-call]
    return evicted


def _slot_queues(crawler: Crawler, keys: Iterable[str]) -> Iterator[Any]:
    """Yield the queues of these download slots that hold requests."""
    slots: Any = getattr(cast("Any", crawler.engine).downloader, "slots", {})
    for slot in filter(None, map(slots.get, keys)):
        queue: Any = getattr(slot, "queue", None)
        if queue:
            yield queue


def close_idle_connections(crawler: Crawler, request: Request, most: int) -> None:
    """Close the connections to a request's host that are open and not in use.

    So many of them at most, those that were used last. What is sent next uses new
    ones. Only Scrapy's handler for HTTP/1.1 has such connections. Fallback: they are
    kept.
    """
    from twisted.web.client import (  # noqa: PLC0415 -- few
        URI,
        HTTPConnectionPool,
    )

    downloader: Any = cast("Any", crawler.engine).downloader
    handlers = getattr(getattr(downloader, "handlers", None), "_handlers", {})
    uri = URI.fromBytes(request.url.encode())  # type: ignore[no-untyped-call]
    pool: Any = getattr(handlers.get(uri.scheme.decode()), "_pool", None)
    if not isinstance(pool, HTTPConnectionPool):
        return
    host = (uri.scheme, uri.host, uri.port)
    timeouts = getattr(pool, "_timeouts", {})
    for key, connections in getattr(pool, "_connections", {}).items():
        if key[: len(host)] != host:
            continue
        for connection in connections[-most:]:
            if connection in timeouts:
                timeouts.pop(connection).cancel()
                connections.remove(connection)
                connection.transport.loseConnection()


def scheduler_length(crawler: Crawler) -> int:
    """Return how many requests the scheduler holds; 1 for any unknown number."""
    try:
        scheduler = _scheduler(crawler)
    except RuntimeError:  # the crawl has not begun
        return 0
    if scheduler is None:
        return 0
    try:
        return len(scheduler)  # type: ignore[arg-type]  # Scrapy requires it of none
    except TypeError:
        return int(scheduler.has_pending_requests())


def slot_delay(crawler: Crawler, keys: Iterable[str]) -> float:
    """Return the seconds that these download slots leave between two requests.

    Fallback: as the settings say.
    """
    slots: Any = getattr(cast("Any", crawler.engine).downloader, "slots", {})
    delays = [getattr(slots.get(key), "delay", 0.0) for key in keys]
    return max([crawler.settings.getfloat("DOWNLOAD_DELAY"), *delays])


def scheduler_only_waits(crawler: Crawler) -> bool:
    """Return whether the scheduler says that all it cannot look through waits, too."""
    return bool(getattr(_scheduler(crawler), "only_waits", False))


def scheduler_left_over(crawler: Crawler) -> int:
    """Return how many requests the scheduler keeps from this run, beside the queue's.

    Only that of a job does.
    """
    return int(getattr(_scheduler(crawler), "left_over", 0))


def path_safe(name: str) -> str:
    """Return the name of the directory in which Scrapy keeps the queue of this name.

    Fallback: the name in Scrapy 2.19.
    """
    scrapys = getattr(scrapy.pqueues, "_path_safe", None)
    if scrapys is not None:
        return cast("str", scrapys(name))
    readable = "".join(one if one.isalnum() or one in "-._" else "_" for one in name)
    return f"{readable}-{hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()}"


def on_settled(crawler: Crawler, settled: Callable[[Request], None]) -> None:
    """Call a function with each request when nothing is left to do for it.

    Its callback or errback has run to its end, and what that yielded is scheduled, or
    has passed the item pipelines; or it has ended before, replaced by another or sent
    back. Scrapy has no signal for that. scrapy/scrapy#7978 proposes that the engine
    calls ``finish_request()`` of the scheduler; until it does, requests are noted as
    they enter and leave the engine's slot. They are counted, as a callback may send its
    own request once more and wait for the answer.

    Raises:
        RuntimeError: Scrapy has neither. There is no other way to know: the downloader
            and the scraper do not know the requests that wait.
    """
    slot: Any = getattr(crawler.engine, "_slot", None)
    add = getattr(slot, "add_request", None)
    remove = getattr(slot, "remove_request", None)
    if add is None or remove is None:
        if hasattr(BaseScheduler, "finish_request"):
            return
        raise RuntimeError(
            "This version of Scrapy does not say when a request is settled, so that no"
            " job can be kept over a crash: crawl without JOBDIR."
        )
    counts: dict[Request, int] = {}

    def add_request(request: Request) -> None:
        counts[request] = counts.get(request, 0) + 1
        add(request)

    def remove_request(request: Request) -> None:
        left = counts.get(request, 1) - 1
        if left:
            counts[request] = left
        else:
            counts.pop(request, None)
            settled(request)
        remove(request)

    slot.add_request = add_request
    slot.remove_request = remove_request


def download_by(
    crawler: Crawler, way: Callable[[Download, Request], Coroutine[Any, Any, Response]]
) -> bool:
    """Send each request through a coroutine function.

    It gets the download and the request.

    No signal is sent when a request leaves its download slot:
    ``request_reached_downloader`` comes earlier. So a function of ours calls the
    download handlers.

    Returns:
        Whether it does; not if the handlers have no such method.
    """
    handlers: Any = getattr(cast("Any", crawler.engine).downloader, "handlers", None)
    download = getattr(handlers, "download_request_async", None)
    if download is None:
        return False
    handlers.download_request_async = partial(way, download)
    return True


def before_requests_are_left(crawler: Crawler, call: Callable[[], None]) -> None:
    """Call a function when a crawl ends, before its scheduler closes its queues.

    Scrapy has no signal for that. The function is not called if there is no scheduler,
    or if its ``close()`` cannot be replaced.
    """
    scheduler: Any = _scheduler(crawler)
    close = getattr(scheduler, "close", None)
    if close is None:
        return

    def first_call(reason: str) -> Any:
        scheduler.close = close
        try:
            call()
        except Exception:
            logger.exception(
                "The requests that wait at the end of the crawl were not counted"
            )
        return close(reason)

    with suppress(AttributeError):
        scheduler.close = first_call


def close_spider(crawler: Crawler, reason: str) -> None:
    """Close the spider of a crawl that failed: ``scrapy crawl`` exits with status 1.

    Scrapy takes a crawl for failed whose crawler is left without a spider, and a
    ``CrawlerProcess`` has ``bootstrap_failed`` then.
    """
    fail(crawler, "", lambda: None)
    schedule(cast("Any", crawler.engine).close_spider_async(reason=reason))


def fail(crawler: Crawler, reason: str, last_call: Callable[[], None]) -> None:
    """Mark a closing crawl as failed, and call a function after its last log line.

    `reason` replaces its finish reason in the stats; if empty, that stays.
    """

    def closed() -> None:
        if reason:
            crawler.stats.set_value("finish_reason", reason)

    def stopped() -> None:
        last_call()
        crawler.spider = None

    # Not weak=False: what all crawls of the process share would hold this one for ever.
    crawler.signals.connect(closed, signal=scrapy.signals.spider_closed)
    crawler.signals.connect(stopped, signal=scrapy.signals.engine_stopped)
    handlers = [*getattr(crawler, _FAILED, ()), closed, stopped]
    setattr(crawler, _FAILED, handlers)


class _OfFeeds(logging.Filter):
    """Notices the items of a crawl that a feed could not write.

    It holds the crawl weakly: a logger is that of all crawls of the process.
    """

    def __init__(
        self, crawler: Crawler, failed: Callable[[BaseException | None], None]
    ) -> None:
        super().__init__()
        self.crawler = ref(crawler)
        self.failed = WeakMethod(failed)

    def filter(self, record: logging.LogRecord) -> bool:
        its = record.args if isinstance(record.args, dict) else {}
        handler: Any = its.get("receiver")
        feeds = getattr(handler, "__self__", None)
        is_item = getattr(handler, "__name__", "") == "item_scraped"
        if not is_item or not isinstance(feeds, FeedExporter):
            return True
        failed = self.failed()
        if failed is not None and feeds.crawler is self.crawler():
            error = None
            if record.exc_info:
                error = record.exc_info[1]
            failed(error)
        return True


def when_feeds_fail(
    crawler: Crawler, failed: Callable[[BaseException | None], None]
) -> None:
    """Call a method with the exception of each item that a feed could not write.

    FeedExporter has no signal for it: Scrapy logs that a handler of ``item_scraped``
    raised, and the record of that line names the handler. The method's object is held
    weakly.

    Fallback: none; such items are not counted.
    """
    of_feeds = _OfFeeds(crawler, failed)
    logger = logging.getLogger("scrapy.utils.signal")
    logger.addFilter(of_feeds)
    crawler.signals.connect(
        lambda: logger.removeFilter(of_feeds),
        signal=scrapy.signals.engine_stopped,
        weak=False,
    )
    # of a crawl that never began
    finalize(crawler, logger.removeFilter, of_feeds).atexit = False


_KNOWN = frozenset({"scrapy", "scrapy_mandelbot"})


def is_forbidden(error: IgnoreRequest) -> bool:
    """Return whether Scrapy's own middleware for robots.txt forbids the request.

    Its message is all that says so. Without it: the request was dropped.
    """
    return str(error) == "Forbidden by robots.txt"


def has_failed(crawler: Crawler) -> bool:
    """Return whether `fail` has marked the crawl, which exits with status 1."""
    return bool(vars(crawler).get(_FAILED))


def cookie_jars(crawler: Crawler) -> CookieJars | None:
    """Return the crawl's cookie jars by their meta key ``cookiejar``.

    They are those of Scrapy's ``CookiesMiddleware``, or of another middleware that
    keeps them as it does: in a ``defaultdict`` of Scrapy's jars, named ``jars``.

    Fallback: None, and no cookies are stored.
    """
    downloader = getattr(crawler.engine, "downloader", None)
    manager = getattr(downloader, "middleware", None)
    found = [one for one in getattr(manager, "middlewares", ()) if _keeps_jars(one)]
    found.sort(key=lambda one: not isinstance(one, CookiesMiddleware))
    return found[0].jars if found else None


def handles_failures(crawler: Crawler) -> bool:
    """Return whether a downloader middleware of the project sees failed requests.

    Fallback: True: it may have an answer to them.
    """
    downloader = getattr(crawler.engine, "downloader", None)
    manager = getattr(downloader, "middleware", None)
    middlewares = getattr(manager, "middlewares", None)
    if middlewares is None:
        return True
    for one in middlewares:
        package = type(one).__module__.partition(".")[0]
        if package not in _KNOWN and hasattr(one, "process_exception"):
            return True
    return False


def _keeps_jars(middleware: Any) -> bool:
    jars = getattr(middleware, "jars", None)
    if not isinstance(jars, defaultdict) or jars.default_factory is None:
        return False
    return hasattr(jars.default_factory(), "set_cookie")


def cookies_of(jar: Any, domains: Iterable[str]) -> Mapping[str, list[Cookie]]:
    """Return the cookies of some domains in one of Scrapy's jars, by domain.

    Fallback: the whole jar is looked through.
    """
    found: dict[str, list[Cookie]] = {}
    by_domain = getattr(jar, "_cookies", None)
    if isinstance(by_domain, dict):
        for domain in domains:
            paths = by_domain.get(domain, {}).values()
            found[domain] = list(chain.from_iterable(map(dict.values, paths)))
        return found
    wanted = set(domains)
    for cookie in jar:
        if cookie.domain in wanted:
            found.setdefault(cookie.domain, []).append(cookie)
    return found


def is_undefined(spider: Spider | None, callback: Any) -> bool:
    """Return whether a callback is Scrapy's ``parse``, which raises an error.

    Of None it is: responses go to the spider's ``parse``, which it does not define.
    Without ``_parse``, which spiders as CrawlSpider replace: a spider needs a
    ``parse``.
    """
    if callback is None:
        default = getattr(spider, "_parse", None)
        if getattr(default, "__func__", None) is not getattr(Spider, "_parse", None):
            return False
        callback = getattr(spider, "parse", None)
    return getattr(callback, "__func__", None) is _PARSE


def has_delays(crawler: Crawler) -> bool:
    """Return whether download slots hold requests for a while before they send them."""
    settings = crawler.settings
    if settings.getfloat("DOWNLOAD_DELAY") or settings.getbool("AUTOTHROTTLE_ENABLED"):
        return True
    if getattr(crawler.spider, "download_delay", None):
        return True
    return any(slot.get("delay") for slot in _slot_settings(settings).values())


async def scrape_item(crawler: Crawler, item: Any) -> None:
    """Send an item through the pipelines that came from no response."""
    await cast("Any", crawler.engine).scraper.start_itemproc_async(item, response=None)


def schedule(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine for which no caller waits, on Scrapy's loop or reactor."""
    deferred_from_coro(coroutine)


def _scheduler(crawler: Crawler) -> BaseScheduler | None:
    """None: the spider is not open."""
    engine = cast("Any", crawler.engine)
    if hasattr(engine, "scheduler"):  # Scrapy 2.19 and newer
        return cast("BaseScheduler | None", engine.scheduler)
    return getattr(getattr(engine, "_slot", None), "scheduler", None)
