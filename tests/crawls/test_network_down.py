"""The crawler's own network fails for a while: no site is to blame."""

from __future__ import annotations

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from loop_time import TIME
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from test_first_contact import later
from twisted.internet.error import ConnectError, DNSLookupError
from webs import Web, site

from scrapy_mandelbot import status

pytestmark = pytest.mark.usefixtures("loop_is_turned")

IN_MEMORY = {"MANDELBOT_STORE": "memory"}
DELAYS = {f"127.0.2.{number}": 0.3 for number in range(1, 7)}
DOWN = "No site answers since "
BACK = "Sites answer again after "


class Network(HTTP11DownloadHandler):
    """The network of the machine, which fails for a while."""

    down_from = float("inf")
    down_until = float("inf")
    known: frozenset[str] = frozenset()
    error: type[Exception] = DNSLookupError

    async def download_request(self, request):
        if not Network.down_from <= TIME.elapsed() < Network.down_until:
            return await super().download_request(request)
        is_known = request.url.split("/page/")[0] in Network.known
        raise (Network.error if is_known else DNSLookupError)("no network")

    @classmethod
    def fail_for(cls, seconds: float) -> None:
        cls.down_from = TIME.elapsed()
        cls.down_until = cls.down_from + seconds


SETTINGS = {**IN_MEMORY, "DOWNLOAD_HANDLERS": {"http": Network}}
SETTINGS["MANDELBOT_CRAWL_DELAYS"] = DELAYS


class MeetsSpider(LinksSpider):
    """Crawls known sites; meets new ones when the network has just failed."""

    lasts = 8.0
    after = 12  # pages
    meets = 0.0  # seconds later
    known: tuple[Web, ...] = ()
    new: tuple[Web, ...] = ()

    async def start(self):
        self.pages = 0
        self.seen = []
        Network.down_from = float("inf")
        for page in range(10):
            for web in self.known:
                yield scrapy.Request(f"{web.url}/page/{page}")

    async def parse(self, response):
        yield {"url": response.url}
        self.pages += 1
        if self.pages == self.after:
            Network.fail_for(self.lasts)
            if self.meets:
                await later(self.meets)
            for web in self.new:
                for page in range(3):
                    yield scrapy.Request(f"{web.url}/page/{page}")


def sites(webs, known, new):
    """Return known and new sites."""
    return (
        tuple(site(webs, 10, f"127.0.2.{n}") for n in range(1, known + 1)),
        tuple(site(webs, 3, f"127.0.3.{n}") for n in range(1, new + 1)),
    )


@pytest.mark.parametrize("error", [DNSLookupError, ConnectError])
@ensureDeferred
async def test_all_pages_come_though_the_network_was_down_for_a_while(webs, error):
    """Of known sites, whose names are cached or not, and of sites first met then."""
    known, new = sites(webs, 6, 12)
    Network.error = error
    Network.known = frozenset(web.url for web in known)
    result = await crawl(MeetsSpider, SETTINGS, known=known, new=new)
    assert len(result.urls()) == 6 * 10 + 12 * 3
    assert len(result.logged(DOWN)) == 1
    assert len(result.logged(BACK)) == 1
    assert result.stats["mandelbot/network/down"] == 1
    assert result.seconds < 60


@ensureDeferred
async def test_nothing_is_counted_against_a_site_while_the_network_is_down(webs):
    """Five minutes: the tries for new hosts would be over after two minutes."""
    known, new = sites(webs, 3, 3)
    result = await crawl(MeetsSpider, SETTINGS, known=known, new=new, lasts=300.0)
    assert len(result.urls()) == 3 * 10 + 3 * 3
    assert "mandelbot/pause/given_up" not in result.stats
    assert result.seconds < 360


@ensureDeferred
async def test_new_sites_whose_robots_txt_is_not_asked_are_not_lost_either(webs):
    """RetryMiddleware would use up its retries within a second."""
    known, new = sites(webs, 3, 3)
    settings = {**SETTINGS, "ROBOTSTXT_OBEY": False}
    result = await crawl(MeetsSpider, settings, known=known, new=new, meets=2)
    assert len(result.urls()) == 3 * 10 + 3 * 3


@ensureDeferred
async def test_a_network_that_stays_down_ends_the_crawl_after_total(webs):
    """The option "total" limits the wait, as it does that for sites."""
    known, new = sites(webs, 3, 3)
    settings = {**SETTINGS, "MANDELBOT_PAUSE_OPTIONS": {"total": 600}}
    result = await crawl(MeetsSpider, settings, known=known, new=new, lasts=1e9)
    assert 600 < result.seconds < 700
    assert result.stats["mandelbot/pause/given_up"] >= 3


@ensureDeferred
async def test_a_network_that_stays_down_is_not_waited_for_without_end(webs):
    """Without "total", tries count again after as long as a dead site is waited for."""
    known, new = sites(webs, 3, 3)
    settings = {**SETTINGS, "MANDELBOT_PAUSE_OPTIONS": {"tries": 4}}
    result = await crawl(MeetsSpider, settings, known=known, new=new, lasts=1e9)
    assert result.stats["mandelbot/pause/given_up"] == 3
    assert 40 < result.seconds < 600


@ensureDeferred
async def test_hosts_that_are_dead_are_no_failure_of_the_network(webs):
    """Three of them, and one site that is well: it answers between their tries."""
    web = site(webs, 20)
    dead = [webs(f"127.0.4.{n}") for n in range(1, 5)]
    urls = [one.url + "/" for one in dead]
    for one in dead:
        one.close()
    result = await crawl(LinksSpider, IN_MEMORY, start_urls=[web.url + "/", *urls])
    assert result.urls() == web.urls(20)
    assert not result.logged(DOWN)
    assert result.seconds < 60


@ensureDeferred
async def test_a_known_site_whose_name_no_longer_resolves_is_paused(webs):
    """As one that refuses connections is: it alone, and nothing is lost."""
    (web,), _ = sites(webs, 1, 0)
    Network.known = frozenset()
    result = await crawl(MeetsSpider, SETTINGS, known=(web,), after=4)
    assert len(result.urls()) == 10
    assert result.stats["mandelbot/pause/count"] == 1
    assert not result.logged(DOWN)


@ensureDeferred
async def test_the_status_says_that_no_site_answers(webs):
    """As text, and as data."""
    known, new = sites(webs, 3, 3)
    said = []

    class LooksSpider(MeetsSpider):
        async def start(self):
            async for one in super().start():
                yield one
            while not said:
                await later(1)
                found = status(self.crawler)
                if found.no_answer_since is not None:
                    said.append(found)

    await crawl(LooksSpider, SETTINGS, known=known, new=new)
    assert "No site answers since" in str(said[0])
    assert said[0].as_data()["no_answer_since"] is not None


class PartSpider(LinksSpider):
    """Crawls sites of which three go down together, and the others answer on."""

    sites: tuple[Web, ...] = ()
    lasts = 8.0
    paths = 30

    async def start(self):
        self.pages = 0
        for page in range(self.paths):
            for web in self.sites:
                yield scrapy.Request(f"{web.url}/page/{page}")

    async def parse(self, response):
        yield {"url": response.url}
        self.pages += 1
        if self.pages == 40:
            from twisted.internet import reactor

            for web in self.sites[::2]:
                web.drop()
                reactor.callLater(self.lasts, web.listen_again)


@pytest.mark.parametrize("delay", [0.5, 5.0], ids=["often", "seldom"])
@ensureDeferred
async def test_sites_that_are_down_together_are_probed_by_their_own_backoff(
    webs, delay
):
    """Others answer, be it seldom: no answer of theirs has the probes go sooner."""
    sites = tuple(site(webs, 30, f"127.0.5.{n}") for n in range(1, 7))
    delays = {
        web.host: delay if number % 2 else 0.5 for number, web in enumerate(sites)
    }
    settings = {**IN_MEMORY, "MANDELBOT_CRAWL_DELAYS": delays}
    result = await crawl(PartSpider, settings, sites=sites)
    assert len(result.urls()) == len(set(result.urls())) == 6 * 30
    assert result.stats["mandelbot/pause/count"] == 3
    probes = result.stats.get("mandelbot/pause/prolonged", 0)
    assert probes <= 3 * 3, "after 1, 3 and 9 s, not with each answer of another site"
    longest = max(one["paused_for"] for one in result.signals("site_resumed"))
    assert longest < 20
