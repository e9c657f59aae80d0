"""Calls the hook methods of the spider, and warns of mistakes in them.

It also warns of misspelt meta keys of the package, which have no effect.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import scrapy.signals
from scrapy import Request
from scrapy.exceptions import CloseSpider, DontCloseSpider, NotConfigured
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable, maybe_deferred_to_future
from scrapy.utils.spider import iterate_spider_output
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_mandelbot import engine, signals
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.engine import SLOT_KEY
from scrapy_mandelbot.events import EVENTS

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

HOOKS = {
    name: signal for name, signal in vars(signals).items() if not name.startswith("_")
}
"""The methods that a spider may define, and the signals that call them."""
_ARGUMENTS_OF = {one.signal: one.signal_values for one in reversed(EVENTS.values())}
ARGUMENTS = {name: _ARGUMENTS_OF[signal] for name, signal in HOOKS.items()}
"""The names of the arguments of each."""
LONGEST_END = 60
"""Seconds that the end of a crawl waits for the hook ``crawl_ended``."""
MOST_CHECKED = 100
"""Requests whose meta keys are checked: the first of a crawl."""
META_KEYS = (
    "dont_obey_budget",
    "dont_obey_robotstxt",
    "dont_obey_robot_tags",
    "dont_obey_usage",
    "dont_pause",
)
"""Those that a spider sets for the package, of names that no other package has."""
_LIKE_A_HOOK = 0.75
_LIKE_A_KEY = 0.85
_OF_SCRAPY = frozenset({"depth", "download_latency", SLOT_KEY})
_OF_SCRAPY |= {"download_timeout", "redirect_times", "redirect_urls", "retry_times"}
"""Meta keys that Scrapy itself writes on a request's way."""


class SpiderHooks:
    """Calls the hook methods that the spider defines.

    Each may be a plain method, a coroutine, or a generator, sync or async, whose
    requests and items are handled like a callback's. An exception is logged and counted
    like a callback's, and the crawl continues.
    """

    def __init__(self, crawler: Crawler) -> None:
        if not Crawl.of(crawler).config.enabled:
            raise NotConfigured
        self._crawler = crawler
        self._running = 0
        self._last: Deferred[None] | None = None
        """Called when the hook ``crawl_ended`` has ended; None: it was not called."""
        self._checked = 0
        self._seen_keys: set[Any] = set(_OF_SCRAPY)
        """Meta keys of the first requests, each checked once."""
        # Signal handlers are held weakly by Scrapy.
        self._handlers: list[Callable[..., None]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SpiderHooks:
        """Build the extension; it looks for hook methods once the spider is opened."""
        extension = cls(crawler)
        crawler.signals.connect(
            extension.spider_opened, signal=scrapy.signals.spider_opened
        )
        crawler.signals.connect(
            extension.spider_idle, signal=scrapy.signals.spider_idle
        )
        crawler.signals.connect(
            extension.request_scheduled, signal=scrapy.signals.request_scheduled
        )
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Connect each hook method that the spider defines to its signal."""
        for mistake in mistakes_in_hooks(spider, ARGUMENTS):
            self._warn(mistake)
        for name, signal in HOOKS.items():
            hook = getattr(spider, name, None)
            if callable(hook):
                is_last = signal is signals.crawl_ended
                handler = self._last_handler(hook) if is_last else self._handler(hook)
                if is_last:
                    self._crawler.signals.connect(
                        self.spider_closed, signal=scrapy.signals.spider_closed
                    )
                self._handlers.append(handler)
                self._crawler.signals.connect(handler, signal=signal)

    def request_scheduled(self, request: Request) -> None:
        """Check the meta keys of the first requests."""
        self._checked += 1
        if self._checked > MOST_CHECKED:
            return
        if self._checked == MOST_CHECKED:
            # Later: another receiver would miss this signal.
            Crawl.of(self._crawler).clock.call_later(0, self._stop_checking)
        new = request.meta.keys() - self._seen_keys
        if new:
            self._check_keys(new, request)

    def _stop_checking(self) -> None:
        self._crawler.signals.disconnect(
            self.request_scheduled, signal=scrapy.signals.request_scheduled
        )

    def _check_keys(self, keys: set[Any], request: Request) -> None:
        self._seen_keys.update(keys)
        for key in sorted(keys, key=str):
            if meant := meant_key(key):
                where = f"{key!r} in the meta of {request}"
                self._warn(f"{where} is unknown: did you mean {meant!r}?")

    def _warn(self, mistake: str) -> None:
        logger.warning("%s", mistake, extra={"spider": self._crawler.spider})

    def spider_idle(self) -> None:
        """Keep the spider open while a hook method is running."""
        if self._running:
            raise DontCloseSpider

    async def spider_closed(self) -> None:
        """Wait for the hook ``crawl_ended``, but not for ever."""
        call_later = Crawl.of(self._crawler).clock.call_later
        turn: Deferred[None] = Deferred()
        call_later(0, turn.callback, None)
        await maybe_deferred_to_future(turn)  # the verdict may be known only then
        if self._last is None or self._last.called:
            return
        timer = call_later(LONGEST_END, self._stop_waiting)
        await maybe_deferred_to_future(self._last)
        timer.cancel()

    def _stop_waiting(self) -> None:
        if self._last is not None and not self._last.called:
            self._warn(f"The hook crawl_ended took more than {LONGEST_END} s")
            self._last.callback(None)

    def _last_handler(self, hook: Callable[..., Any]) -> Callable[..., None]:
        def handle(verdict: str) -> None:
            self._last = Deferred()
            engine.schedule(self._run_last(hook, verdict))

        return handle

    async def _run_last(self, hook: Callable[..., Any], verdict: str) -> None:
        try:
            output = await ensure_awaitable(
                iterate_spider_output(hook(verdict=verdict))
            )
            async for one in as_async_generator(output):
                if one is not None:
                    self._warn(
                        f"Ignored from the hook crawl_ended, as it is over: {one}"
                    )
        except Exception as error:  # noqa: BLE001 -- the end goes on, whatever a hook raises
            self._count(hook, error)
        finally:
            if self._last is not None and not self._last.called:
                self._last.callback(None)

    def _handler(self, hook: Callable[..., Any]) -> Callable[..., None]:
        def handle(**arguments: Any) -> None:
            wanted = {
                name: value
                for name, value in arguments.items()
                if name not in {"signal", "sender", "spider"}
            }
            engine.schedule(self._run(hook, wanted))

        return handle

    async def _run(self, hook: Callable[..., Any], arguments: dict[str, Any]) -> None:
        self._running += 1
        try:
            output = await ensure_awaitable(iterate_spider_output(hook(**arguments)))
            async for request_or_item in as_async_generator(output):
                await self._use(request_or_item)
        except CloseSpider as closing:
            reason = closing.reason or "cancelled"
            engine.schedule(self._crawler.engine.close_spider_async(reason=reason))
        except Exception as error:  # noqa: BLE001 -- the crawl continues, whatever a hook raises
            self._count(hook, error)
        finally:
            self._running -= 1
            engine.wake(self._crawler)

    async def _use(self, request_or_item: Any) -> None:
        if isinstance(request_or_item, Request):
            self._crawler.engine.crawl(request_or_item)
        elif request_or_item is not None:
            await engine.scrape_item(self._crawler, request_or_item)

    def _count(self, hook: Callable[..., Any], error: Exception) -> None:
        spider = self._crawler.spider
        logger.error(
            "Error in spider hook %(name)s",
            {"name": getattr(hook, "__name__", hook)},
            exc_info=error,
            extra={"spider": spider},
        )
        failure = Failure(error)  # type: ignore[no-untyped-call]
        self._crawler.signals.send_catch_log(
            scrapy.signals.spider_error, failure=failure, response=None, spider=spider
        )
        self._crawler.stats.inc_value("spider_exceptions/count")
        self._crawler.stats.inc_value(f"spider_exceptions/{type(error).__name__}")


def mistakes_in_hooks(
    spider: Spider, arguments: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """Yield a line for each hook that is misspelt, or cannot be called as it is.

    Args:
        spider: what defines them.
        arguments: the names of the arguments of each hook.
    """
    for name in _methods(spider):
        if name in arguments:
            continue
        near = get_close_matches(
            name.removeprefix("on_"), arguments, n=1, cutoff=_LIKE_A_HOOK
        )
        if near:
            yield f"The spider's method {name} is not a hook: did you mean {near[0]}?"
    for name, names in arguments.items():
        hook = getattr(spider, name, None)
        if hook is None:  # not defined, or an inherited one is switched off
            continue
        if not callable(hook):
            kind = type(hook).__name__
            yield (
                f"The spider's hook {name} is no method, but of type {kind}, and is not"
                " called; None switches an inherited hook off."
            )
        elif why := _why_not(hook, names):
            given = ", ".join(names)
            yield f"The spider's hook {name} cannot take its arguments ({given}): {why}"


def _methods(spider: Spider) -> list[str]:
    """Return the public methods of a spider, without those that Scrapy defines."""
    found: dict[str, None] = {}
    for one in type(spider).__mro__:
        if one.__module__.partition(".")[0] in {"scrapy", "builtins"}:
            continue
        for name in vars(one):
            if not name.startswith("_") and callable(getattr(spider, name, None)):
                found[name] = None
    return list(found)


def _why_not(hook: Callable[..., Any], names: Collection[str]) -> str:
    try:
        signature = inspect.signature(hook)
    except (TypeError, ValueError):  # of a callable that has none
        return ""
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        return str(error)
    return ""


def meant_key(key: object) -> str:
    """Return the meta key that a misspelt one means; empty: it is none of these."""
    if not isinstance(key, str) or key in META_KEYS:
        return ""
    near = get_close_matches(key, META_KEYS, n=1, cutoff=_LIKE_A_KEY)
    return near[0] if near else ""
