"""A Scrapy in which a private name that the package uses is gone: slower perhaps, and
as right.

The engine itself keeps what it has; the package, which reaches all of it by
``crawler.engine``, sees an engine without. A custom DOWNLOADER that has no more than
the engine calls is a real one.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import scrapy.pqueues
from crawling import SCRAPYS_FORM, LinksSpider, crawl, ensureDeferred
from everything import crawl_a_bit_of_everything
from scrapy import Request
from scrapy.core.downloader import Downloader
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.cookies import CookieJar
from scrapy.settings import Settings
from twisted.internet.defer import inlineCallbacks
from twisted.internet.task import deferLater
from webs import Closed, site

from scrapy_mandelbot import engine
from scrapy_mandelbot.job.job_lock import JobLock

pytestmark = pytest.mark.usefixtures("loop_is_turned")

HAS_SCHEDULER = hasattr(ExecutionEngine, "scheduler")

ENGINE_NAMES = [
    "_slot.nextcall",
    "_slot.closing",
    "_slot.inprogress",
    "downloader.active",
    "downloader.slots",
    "downloader.slots.*.queue",
    "downloader.slots.*.concurrency",
    "downloader.domain_concurrency",
    "downloader.per_slot_settings",
    "downloader.total_concurrency",
    "downloader.get_slot_key",
    "scraper.slot",
    # Scrapy 2.19 and newer have engine.scheduler; the older ones have both names for
    # ever.
    *(["_slot", "_slot.scheduler"] if HAS_SCHEDULER else []),
]
TOGETHER = {
    "no slots of any kind": [
        "_slot.closing",
        "downloader.slots",
        "downloader.domain_concurrency",
        "scraper.slot",
    ],
    "the active set of neither": ["_slot.inprogress", "downloader.active"],
    "all": ENGINE_NAMES,
}


class Without:
    """Stands for an object of which attributes are gone, by paths such as
    ``_slot.closing``.
    """

    def __init__(self, inner: object, gone: list[str]) -> None:
        self.__dict__.update(inner=inner, gone=gone)

    def __getattr__(self, name):
        value = getattr(self.inner, name)
        deeper = [
            path.partition(".")[2] for path in self.gone if path.startswith(f"{name}.")
        ]
        if name in self.gone:
            if name == "active":  # the engine asks whether it is empty
                return bool(value)
            raise AttributeError(name)
        if not deeper or value is None:
            return value
        if name == "slots":
            attributes = [path.removeprefix("*.") for path in deeper]
            return {key: Without(slot, attributes) for key, slot in value.items()}
        return Without(value, deeper)

    def __setattr__(self, name, value):
        setattr(self.inner, name, value)


@pytest.fixture
def without(monkeypatch):
    """Take names of the engine away from the package."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 0.1)
    create = Crawler._create_engine

    def take_away(*gone: str) -> None:
        monkeypatch.setattr(
            Crawler,
            "_create_engine",
            lambda crawler: Without(create(crawler), list(gone)),
        )

    return take_away


@pytest.mark.parametrize(
    "gone", [*((name,) for name in ENGINE_NAMES), *TOGETHER.values()], ids=str
)
@ensureDeferred
async def test_without_a_name_of_the_engine_a_crawl_ends_as_with_it(
    webs, tmp_path, without, gone
):
    """Every page, no forbidden one, no site sooner than it asks, and the end is the
    end.
    """
    without(*gone)
    # Without a slot a job cannot be kept over a crash, and the next test says what is
    # said then.
    settings = SCRAPYS_FORM if "_slot" in gone else {}
    await crawl_a_bit_of_everything(webs, tmp_path, **settings)


@pytest.mark.parametrize(
    "gone", [["_slot"], ["_slot.add_request"], ["_slot.remove_request"]]
)
@ensureDeferred
async def test_a_job_needs_to_know_when_a_request_is_settled(
    webs, tmp_path, without, gone
):
    """Where no name says it, the crawl ends with an error that says so, and sends
    nothing.
    """
    web = site(webs, 3)
    without(*gone)
    with pytest.raises(RuntimeError, match="crawl without JOBDIR"):
        await crawl(LinksSpider, {"JOBDIR": str(tmp_path)}, start_urls=[web.url + "/"])
    assert not web.hits
    assert not JobLock(tmp_path / "job.lock").is_held()


@ensureDeferred
async def test_without_a_name_of_the_queues_a_crawl_ends_as_with_it(
    webs, tmp_path, monkeypatch
):
    """The same, and its directories have the same names."""
    name = engine.path_safe("https://example.com/ä")
    monkeypatch.delattr(scrapy.pqueues, "_path_safe")
    assert engine.path_safe("https://example.com/ä") == name
    await crawl_a_bit_of_everything(webs, tmp_path)


def test_without_the_jars_private_name_the_same_cookies_are_found(monkeypatch):
    """The whole jar is looked through."""
    jar = CookieJar()
    for host in ("a.example", "b.example"):
        response = Response(f"https://{host}/", headers={"Set-Cookie": ["n=1", "m=1"]})
        for cookie in jar.make_cookies(response, Request(response.url)):
            jar.set_cookie(cookie)
    wanted = ["a.example", ".a.example"]
    found = engine.cookies_of(jar, wanted)["a.example"]
    assert len(found) == 2
    monkeypatch.delattr(CookieJar, "_cookies")
    assert engine.cookies_of(jar, wanted)["a.example"] == found


def test_without_the_private_parse_a_spider_needs_a_parse(monkeypatch):
    """Then no callback means `parse`, whatever the spider."""
    spider = scrapy.Spider("plain")
    assert engine.is_undefined(spider, None)
    monkeypatch.delattr(scrapy.Spider, "_parse")
    assert engine.is_undefined(spider, None)
    assert not engine.is_undefined(LinksSpider("links"), None)


@pytest.mark.parametrize("gone", [None, "_connections", "_timeouts", "_pool"])
@ensureDeferred
async def test_without_a_name_of_its_pool_a_connection_stays_open(webs, gone):
    """Else the one to the host that was used last is closed; none of another host."""
    web = site(webs, 2)
    left = []

    class ClosingSpider(LinksSpider):
        def parse(self, response):
            handlers = vars(self.crawler.engine.downloader.handlers)
            handler = handlers["_handlers"]["http"]
            pool = vars(handler)["_pool"]
            for owner in (vars(handler), vars(pool)):
                if gone in owner:
                    taken = owner.pop(gone)
                    self.close_idle(response.url)
                    owner[gone] = taken
            if gone is None:
                self.close_idle(response.url)
            left.append(sum(map(len, vars(pool)["_connections"].values())))

        def close_idle(self, url):
            for each in ("http://elsewhere.example", url):
                engine.close_idle_connections(self.crawler, Request(each), 1)

    await crawl(ClosingSpider, start_urls=[web.url + "/"])
    assert left == [0 if gone is None else 1]


class PlainDownloader:
    """All that the engine calls, and nothing else."""

    def __init__(self, crawler: Crawler) -> None:
        self._inner = Downloader(crawler)
        self.middleware = self._inner.middleware

    @property
    def active(self) -> bool:
        return bool(self._inner.active)

    def fetch(self, request):
        return self._inner.fetch(request)

    def needs_backout(self):
        return self._inner.needs_backout()

    def close(self):
        self._inner.close()


@pytest.mark.parametrize(
    "queue", ["ScrapyPriorityQueue", "DownloaderAwarePriorityQueue"]
)
@ensureDeferred
async def test_a_downloader_need_have_no_more_than_the_engine_calls(
    webs, tmp_path, queue
):
    """It runs with either of Scrapy's queues in the settings."""
    await crawl_a_bit_of_everything(
        webs,
        tmp_path,
        DOWNLOADER=PlainDownloader,
        SCHEDULER_PRIORITY_QUEUE=f"scrapy.pqueues.{queue}",
    )


# Scrapy PR 6931 deprecates all of them.
SLOT_NAMES = {
    "CONCURRENT_REQUESTS_PER_DOMAIN",
    "DOWNLOAD_SLOTS",
    "domain_concurrency",
    "download_slot",
    "get_slot_key",
    "per_slot_settings",
}


def names_in_code(path: Path) -> set[str]:
    """Return the attributes and the strings of a module, but its docstrings."""
    tree = ast.parse(path.read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Constant):
            names.add(node.value)
    return names


def test_only_one_module_knows_download_slots():
    """Scrapy will have scopes in their place: then that module changes."""
    package = Path(engine.__file__).parent
    who = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if names_in_code(path) & SLOT_NAMES
    }
    assert who == {"engine.py"}


@ensureDeferred
async def test_without_the_meta_key_of_slots_a_crawl_ends_as_with_it(
    webs, tmp_path, monkeypatch
):
    """Scrapy writes another one, or none."""
    monkeypatch.setattr(Downloader, "DOWNLOAD_SLOT", "another")
    await crawl_a_bit_of_everything(webs, tmp_path)


def test_without_the_settings_of_slots_they_are_as_in_scrapy_by_default():
    """A Scrapy that has dropped the settings says nothing of them."""
    settings = Settings()
    assert engine.at_once_in_a_slot(settings) == 8
    for name in ("CONCURRENT_REQUESTS_PER_DOMAIN", "DOWNLOAD_SLOTS"):
        if name in settings:  # the latter came after Scrapy 2.14
            settings.delete(name)
    assert engine.at_once_in_a_slot(settings) == 8

    crawler = Crawler(LinksSpider, settings)
    assert not engine.has_delays(crawler)
    crawler.engine = Without(None, ["downloader"])
    crawler.engine.__dict__["downloader"] = Without(None, [])
    assert engine.slot_concurrency(crawler, "example.com") == 8


def test_a_slot_without_a_queue_says_what_it_transfers():
    """As those of scrapy/scrapy#6931. Else no probe that takes long is ever late."""
    sent, waiting = (Request(f"https://a.example/{n}") for n in range(2))
    for request in (sent, waiting):
        engine.put_in_slot(request, "a.example")
    slot = SimpleNamespace(transferring={sent})
    downloader = SimpleNamespace(slots={"a.example": slot})
    crawler = SimpleNamespace(engine=SimpleNamespace(downloader=downloader))
    assert not engine.waits_in_slot(crawler, sent)
    assert engine.waits_in_slot(crawler, waiting)
    del slot.transferring
    assert engine.waits_in_slot(crawler, sent)


def test_every_private_name_is_taken_away():
    """A name that is used and missing here is one that nobody tried without."""
    source = Path(engine.__file__).read_text()
    names = re.findall(r"[.\"](_[a-z][a-z_]+)\b", source)
    used = {name for name in names if not name.startswith("_scrapy_mandelbot_")}
    of_connections = {"_handlers", "_pool", "_connections", "_timeouts"}
    of_engine = {"_slot", "_path_safe", "_parse", "_cookies", "_throttler_waiting"}
    assert used == of_engine | of_connections


@ensureDeferred
async def test_requests_that_the_engine_holds_back_are_under_way(webs, monkeypatch):
    """As the throttler of scrapy/scrapy#6931 does, before the downloader has them."""
    from twisted.internet import reactor

    download = ExecutionEngine._download
    is_idle = ExecutionEngine.spider_is_idle

    def is_idle_without_them(of_crawl):
        return not vars(of_crawl).get("_throttler_waiting") and is_idle(of_crawl)

    @inlineCallbacks
    def hold_back(of_crawl, request, *arguments, **options):
        held = vars(of_crawl).setdefault("_throttler_waiting", set())
        held.add(request)
        try:
            yield deferLater(reactor, 0.2)
        finally:
            held.discard(request)
        result = yield download(of_crawl, request, *arguments, **options)
        return result

    monkeypatch.setattr(ExecutionEngine, "_download", hold_back)
    monkeypatch.setattr(ExecutionEngine, "spider_is_idle", is_idle_without_them)
    web = site(webs, 20)
    web.refuse = Closed(seconds=1, after=4)
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert result.urls() == web.urls(20)
    assert "mandelbot/requests/lost" not in result.stats
