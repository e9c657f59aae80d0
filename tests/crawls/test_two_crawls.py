"""Two crawls of one site at a time: in one process, or with one store."""

from __future__ import annotations

import gc
import logging
from contextlib import suppress
from weakref import ref

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from webs import Answer, site

from scrapy_mandelbot import engine
from scrapy_mandelbot.throttle.peers import Peers

pytestmark = pytest.mark.usefixtures("loop_is_turned")

QUIET = 12  # seconds that the site asks for


class SlowSpider(LinksSpider):
    """Asks for a page each half second."""

    async def start(self):
        from twisted.internet import reactor

        for number in range(self.pages):
            yield scrapy.Request(f"{self.url}/page/{number}?{self.mark}")
            await maybe_deferred_to_future(deferLater(reactor, 0.5, lambda: None))


@pytest.mark.parametrize(("shared", "within"), [("process", 0.01), ("store", 1.0)])
@ensureDeferred
async def test_what_one_crawl_is_refused_the_other_does_not_ask(
    webs, monkeypatch, tmp_path, shared, within
):
    """The site is asked by neither until the time that it has named to one; nothing is
    lost.
    """
    web = site(webs, 10)
    refused = []

    def refuse(path):
        if path == "/page/4?one" and not refused:
            refused.append(TIME.elapsed())
            return Answer(b"", 503, {"Retry-After": str(QUIET)})
        return None

    web.pages |= {
        f"/page/{n}?{mark}": Answer() for n in range(10) for mark in ("one", "other")
    }
    web.refuse = refuse
    store = "memory"
    if shared == "store":
        monkeypatch.setattr(Peers, "_others", lambda _: iter(()))
        store = str(tmp_path / "store.db")
    runs = [
        Deferred.fromCoroutine(
            crawl(
                SlowSpider, {"MANDELBOT_STORE": store}, url=web.url, mark=mark, pages=10
            )
        )
        for mark in ("one", "other")
    ]
    one, other = await gatherResults(runs)
    (began,) = refused
    assert [
        hit.path for hit in web.hits if began + within < hit.at < began + QUIET
    ] == []
    assert max(hit.at for hit in web.hits) >= began + QUIET
    assert len(one.items) == len(other.items) == 10
    assert other.stats["mandelbot/pause/overheard"] == 1
    assert "mandelbot/pause/count" not in other.stats


def ends(crawler):
    """Let it end by itself."""


def fails(crawler):
    engine.fail(crawler, "", lambda: None)


def never_begins(crawler):
    crawler.settings.set("ITEM_PIPELINES", {"no.such.Pipeline": 1})


@pytest.mark.parametrize("how", [ends, fails, never_begins])
@ensureDeferred
async def test_nothing_is_kept_of_a_crawl_that_has_ended(webs, monkeypatch, how):
    """A process may run one crawl after the other, for days."""
    from twisted.internet import reactor

    # pytest's handlers keep what is logged, and with it the spider
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    filters = list(logging.getLogger("scrapy.utils.signal").filters)
    crawlers = []

    def note(crawler):
        crawlers.append(ref(crawler))
        how(crawler)

    with suppress(ImportError):
        await crawl(LinksSpider, before=note, start_urls=[f"{site(webs, 1).url}/"])
    # the timer that looks for slow robots.txt files runs out
    await deferLater(reactor, 60, lambda: None)
    gc.collect()
    assert crawlers[0]() is None
    assert logging.getLogger("scrapy.utils.signal").filters == filters
