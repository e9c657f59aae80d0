"""The methods that a spider may define to follow the state of its sites."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
import scrapy
from crawlers import get_crawler
from crawling import LinksSpider, crawl, ensureDeferred
from mandelbot import OutcomeKind, RobotsTxt
from scrapy.exceptions import CloseSpider
from webs import Answer, Closed, html

from scrapy_mandelbot.spidermiddlewares.hooks import SpiderHooks


def site(webs):
    web = webs()
    web.chain(5)
    web.pages["/extra"] = html()
    web.pages["/robots.txt"] = Answer(
        b"User-agent: *\nDisallow: /page/2\nSitemap: /map.xml\n"
    )
    return web


@ensureDeferred
async def test_every_hook_gets_its_documented_arguments(webs):
    """The five methods, their arguments and types."""
    web = site(webs)
    web.refuse = Closed(seconds=1, after=2, retry_after="1", robots_too=False)
    received = {}

    class Spider(LinksSpider):
        def site_paused(self, site, until, reason):
            received["paused"] = (site, until, reason)

        def site_resumed(self, site, paused_for):
            received["resumed"] = (site, paused_for)

        def sitemaps_discovered(self, site, urls):
            received["sitemaps"] = (site, urls)

        def robots_fetched(self, site, robots, outcome):
            received["robots"] = (site, robots, outcome)

        def request_forbidden(self, request, verdict):
            received["forbidden"] = (request, verdict)

    await crawl(Spider, start_urls=[web.url + "/"])

    where, until, reason = received["paused"]
    assert where == web.url
    assert abs((until - datetime.now(timezone.utc)).total_seconds()) < 30
    assert reason.startswith("503 for <GET http")
    assert received["resumed"][0] == web.url
    assert 1 <= received["resumed"][1] < 10
    assert received["sitemaps"] == (web.url, (web.url + "/map.xml",))
    assert isinstance(received["robots"][1], RobotsTxt)
    assert received["robots"][2].kind is OutcomeKind.RULES
    assert received["forbidden"][0].url == web.url + "/page/2"
    assert received["forbidden"][1].rule.line == 2


@ensureDeferred
async def test_the_last_hook_receives_the_last_line(webs):
    """A plain method, a coroutine or a generator; what it yields is too late."""
    web = site(webs)
    received = []

    class Spider(LinksSpider):
        def crawl_ended(self, verdict):
            received.append(verdict)

    class Waiting(LinksSpider):
        async def crawl_ended(self, verdict):
            await maybe_deferred_to_future(deferLater(reactor, 0.1, lambda: None))
            received.append(verdict)

    class Yielding(LinksSpider):
        def crawl_ended(self, verdict):
            received.append(verdict)
            yield {"url": "late"}
            yield scrapy.Request(web.url + "/late")

    from scrapy.utils.defer import maybe_deferred_to_future
    from twisted.internet import reactor
    from twisted.internet.task import deferLater

    for spider in (Spider, Waiting, Yielding):
        result = await crawl(spider, start_urls=[web.url + "/"])
        assert result.logged("OK: Finished after ") == [received.pop()]
        assert received == []
    assert len(result.logged("Ignored from the hook crawl_ended")) == 2
    assert "late" not in result.urls()
    assert web.asked("/late") == 0


@ensureDeferred
async def test_a_last_hook_that_raises_or_hangs_does_not_harm_the_end(
    webs, monkeypatch
):
    """It is logged; the stats and the reason are as without it."""
    from scrapy.utils.defer import maybe_deferred_to_future
    from twisted.internet.defer import Deferred

    from scrapy_mandelbot.spidermiddlewares import hooks

    class Raising(LinksSpider):
        def crawl_ended(self, verdict):
            raise RuntimeError("my mistake")

    class Hanging(LinksSpider):
        ends = Deferred()

        async def crawl_ended(self, verdict):
            await maybe_deferred_to_future(self.ends)

    monkeypatch.setattr(hooks, "LONGEST_END", 0.1)
    web = site(webs)
    raising = await crawl(Raising, start_urls=[web.url + "/"])
    assert len(raising.logged("Error in spider hook crawl_ended")) == 1
    hanging = await crawl(Hanging, start_urls=[web.url + "/"])
    assert len(hanging.logged("The hook crawl_ended took more than 0.1 s")) == 1
    Hanging.ends.callback(None)
    for result in (raising, hanging):
        assert result.stats["finish_reason"] == "finished"
        assert result.logged("OK: Finished after ")


@ensureDeferred
async def test_a_last_hook_and_its_time_limit_may_end_in_any_order(caplog):
    """The one that comes later changes nothing; before the end there is none."""
    hooks = LastHook(get_crawler())
    hooks.time_is_up()
    for is_too_late in (True, False):
        caplog.clear()
        hooks.begin()
        if is_too_late:
            hooks.time_is_up()
        await hooks.end()
        hooks.time_is_up()
        assert ("The hook crawl_ended took more than" in caplog.text) == is_too_late


class LastHook(SpiderHooks):
    """One that is ended, and stopped, by hand."""

    def begin(self):
        from twisted.internet.defer import Deferred

        self._last = Deferred()

    async def end(self):
        await self._run_last(lambda verdict: None, "OK")

    def time_is_up(self):
        self._stop_waiting()


@ensureDeferred
async def test_a_crawl_without_requests_has_an_end_too():
    """Its line says that nothing was requested."""
    received = []

    class Spider(LinksSpider):
        def crawl_ended(self, verdict):
            received.append(verdict)

    result = await crawl(Spider, start_urls=[])
    assert received[0].startswith("FAILED: Finished after ")
    assert len(result.logged("FAILED: ")) == 1


def plain(self, site, urls):
    return scrapy.Request(self.extra, self.parse)


def plain_item(self, site, urls):
    return {"url": self.extra}


def generator(self, site, urls):
    yield {"url": "an item"}
    yield scrapy.Request(self.extra, self.parse)


async def coroutine(self, site, urls):
    return [{"url": "an item"}, scrapy.Request(self.extra, self.parse)]


async def async_generator(self, site, urls):
    yield {"url": "an item"}
    yield scrapy.Request(self.extra, self.parse)


@pytest.mark.parametrize(
    ("hook", "items"),
    [(plain, 0), (plain_item, 0), (generator, 1), (coroutine, 1), (async_generator, 1)],
)
@ensureDeferred
async def test_what_a_hook_yields_is_handled_like_a_callbacks_output(webs, hook, items):
    """Requests and items of any kind of method."""
    web = site(webs)

    class Spider(LinksSpider):
        extra = web.url + "/extra"
        sitemaps_discovered = hook

    result = await crawl(Spider, start_urls=[web.url + "/"])

    assert web.url + "/extra" in result.urls()
    assert result.urls().count("an item") == items
    assert result.stats["item_scraped_count"] == 6 + items


@ensureDeferred
async def test_an_exception_in_a_hook_stops_nothing(webs):
    """It is logged and counted as a callback's is."""
    web = site(webs)

    class Spider(LinksSpider):
        def sitemaps_discovered(self, site, urls):
            raise RuntimeError("my mistake")

        async def robots_fetched(self, site, robots, outcome):
            yield {"url": "before"}
            raise LookupError("my other mistake")

    result = await crawl(Spider, start_urls=[web.url + "/"])

    assert len(result.items) == 5 + 1
    assert result.stats["spider_exceptions/count"] == 2
    assert result.stats["spider_exceptions/RuntimeError"] == 1
    assert len(result.logged("Error in spider hook sitemaps_discovered")) == 1


@ensureDeferred
async def test_a_hook_may_close_the_spider(webs):
    """CloseSpider means in a hook what it means in a callback."""
    web = site(webs)

    class Spider(LinksSpider):
        def sitemaps_discovered(self, site, urls):
            raise CloseSpider("enough")

    result = await crawl(Spider, start_urls=[web.url + "/"])
    assert result.stats["finish_reason"] == "enough"


@ensureDeferred
async def test_the_crawl_waits_for_a_hook_that_has_not_ended(webs):
    """A spider with nothing else to do stays open until its hook methods have ended."""
    from scrapy.utils.defer import maybe_deferred_to_future
    from twisted.internet import reactor
    from twisted.internet.task import deferLater

    web = site(webs)

    class Spider(LinksSpider):
        async def request_forbidden(self, request, verdict):
            await maybe_deferred_to_future(deferLater(reactor, 0.5, lambda: None))
            yield {"url": "late"}

    result = await crawl(Spider, start_urls=[web.url + "/"])
    assert "late" in result.urls()


@ensureDeferred
async def test_misspelt_hooks_and_meta_keys_are_logged_at_the_start(webs):
    """With what was meant; so is a hook that cannot take its arguments."""
    web = site(webs)

    class Spider(LinksSpider):
        async def start(self):
            for number in range(3):
                meta = {"dont_obey_robots": True, "dont_pauze": True, "mine": 1}
                url = f"{web.url}/extra?{number}"
                yield scrapy.Request(url, meta=meta, callback=lambda _: None)

        def site_pause(self, site, until, reason):
            """Misspelt."""

        def on_robots_fetched(self, site, robots, outcome):
            """Not the name of a hook."""

        def site_resumed(self, site):
            """It gets another argument."""

        def site_map(self):
            """Of the project."""

    result = await crawl(Spider)
    words = ("did you mean", "cannot take")
    warnings = [one for one in result.messages if any(word in one for word in words)]
    assert warnings == [
        "The spider's method site_pause is not a hook: did you mean site_paused?",
        (
            "The spider's method on_robots_fetched is not a hook: did you mean"
            " robots_fetched?"
        ),
        (
            "The spider's hook site_resumed cannot take its arguments (site,"
            " paused_for): got an unexpected keyword argument 'paused_for'"
        ),
        (
            f"'dont_obey_robots' in the meta of <GET {web.url}/extra?0> is unknown: did"
            " you mean 'dont_obey_robotstxt'?"
        ),
        (
            f"'dont_pauze' in the meta of <GET {web.url}/extra?0> is unknown: did you"
            " mean 'dont_pause'?"
        ),
    ]


@ensureDeferred
async def test_correct_hooks_and_meta_keys_are_not_logged(webs):
    """Whatever takes the arguments, and the keys of Scrapy and of other packages."""
    web = site(webs)

    class Spider(LinksSpider):
        async def start(self):
            keys = ("dont_redirect", "dont_cache", "dont_retry", "playwright", "pause")
            meta = {**dict.fromkeys(keys, 1), "dont_pause": True, 1: 2}
            yield scrapy.Request(web.url + "/extra", meta=meta)

        def site_paused(self, site, **_):
            """Takes all."""

        async def site_resumed(self, site, paused_for, mine=None):
            """Takes more."""

    result = await crawl(Spider)
    assert not [one for one in result.messages if "hook" in one or "did you" in one]


@pytest.mark.parametrize(("number", "is_checked"), [(100, True), (101, False)])
def test_the_meta_keys_of_the_first_hundred_requests_are_checked(
    make_crawler, clock, monkeypatch, number, is_checked
):
    hooks = SpiderHooks(make_crawler())
    warnings = []
    monkeypatch.setattr(hooks, "_warn", warnings.append)
    for _ in range(number - 1):
        hooks.request_scheduled(scrapy.Request("https://example.com/"))
    meta = {"dont_pauses": True}
    hooks.request_scheduled(scrapy.Request("https://example.com/", meta=meta))
    assert bool(warnings) is is_checked
    clock.turn(0.0)


def test_no_other_receiver_misses_the_signal_at_which_the_check_ends(
    make_crawler, clock
):
    crawler = make_crawler()
    before, after = [], []

    def note_before(request):
        before.append(request)

    def note_after(request):
        after.append(request)

    scheduled = scrapy.signals.request_scheduled
    crawler.signals.connect(note_before, signal=scheduled)
    hooks = SpiderHooks.from_crawler(crawler)
    crawler.signals.connect(note_after, signal=scheduled)
    for _ in range(110):
        request = scrapy.Request("https://example.com/")
        crawler.signals.send_catch_log(scheduled, request=request)
        clock.turn(0.0)
    assert len(before) == len(after) == 110
    receivers = crawler.signals.send_catch_log(scheduled, request=request)
    assert hooks.request_scheduled not in [one for one, _ in receivers]
