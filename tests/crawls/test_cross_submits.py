"""Pages of one site in the sitemaps of another, over real HTTP.

sitemaps.org, "Sitemaps & Cross Submits": they count if their own site's robots.txt
cites the sitemap.
"""

from __future__ import annotations

import pytest
import scrapy
from crawling import LinksSpider, ensureDeferred
from families import cite, crawl, pages, site
from shops import index, urlset
from webs import Answer, Closed, html

from scrapy_mandelbot.downloadermiddlewares.robotstxt import LISTED_IN
from scrapy_mandelbot.engine import scheduler_length

pytestmark = pytest.mark.usefixtures("loop_is_turned")


@ensureDeferred
async def test_a_site_that_nobody_knows_is_asked_whether_it_cites_the_sitemap(webs):
    """Its robots.txt is asked for once: if that cites it, its pages are crawled, and
    else not.
    """
    web, willing, silent = (
        site(webs, 1, 2, "/map.xml"),
        site(webs, 2, 2),
        site(webs, 3, 2),
    )
    cite(willing, f"{web.url}/map.xml")
    listed = [
        *pages(silent, 2),
        *pages(web, 2),
        *pages(willing, 2),
        f"{willing.url}/secret",
    ]
    web.pages["/map.xml"] = urlset(*listed)

    result = await crawl(start_urls=[web.url + "/"])

    assert result.urls() == sorted([web.url + "/", *pages(web, 2), *pages(willing, 2)])
    assert [hit.path for hit in silent.hits] == ["/robots.txt"]
    assert willing.asked("/robots.txt") == 1
    assert result.stats["mandelbot/sitemaps/foreign"] == 2
    assert result.stats["mandelbot/sitemaps/forbidden"] == 1
    assert result.stats["mandelbot/sitemaps/fed"] == 4
    (line,) = result.logged(f"{web.url}/map.xml lists pages of {silent.url}")
    assert "does not cite it" in line
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_a_page_for_another_site_is_sent_if_that_cites_the_sitemap_by_then(webs):
    """A spider may lead an entry elsewhere, and a robots.txt changes between runs."""
    web, other = site(webs, 1, 1), site(webs, 2, 2)
    cite(other, f"{web.url}/map.xml")

    class Spider(LinksSpider):
        async def start(self):
            for number, listed_in in enumerate(["map", "other"]):
                meta = {LISTED_IN: f"{web.url}/{listed_in}.xml"}
                yield scrapy.Request(f"{other.url}/{number}", meta=meta)

    result = await crawl(spider=Spider)
    assert result.urls() == [f"{other.url}/0"]
    assert [hit.path for hit in other.hits] == ["/robots.txt", "/0"]
    assert result.stats["mandelbot/sitemaps/foreign"] == 1


@ensureDeferred
async def test_a_site_cites_the_index_for_all_that_is_in_it(webs):
    """As the citing site itself does; and its robots.txt is asked for once for all of
    them.
    """
    web, willing = site(webs, 1, 1, "/index.xml"), site(webs, 2, 3)
    cite(willing, f"{web.url}/index.xml")
    web.pages["/index.xml"] = index(*(f"{web.url}/{name}.xml" for name in "abc"))
    for name, url in zip("abc", pages(willing, 3), strict=True):
        web.pages[f"/{name}.xml"] = urlset(url)
    result = await crawl(start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(willing, 3)])
    assert willing.asked("/robots.txt") == 1
    assert web.asked("/index.xml") == 1


@ensureDeferred
async def test_alternates_are_pages_of_their_own_sites(webs):
    """An entry with a page here and one there has both crawled, each by its own site's
    word.
    """
    web, willing, silent = (
        site(webs, 1, 1, "/map.xml"),
        site(webs, 2, 2),
        site(webs, 3, 1),
    )
    cite(willing, f"{web.url}/map.xml")
    links = "".join(
        f'<xhtml:link rel="alternate" hreflang="de" href="{url}"/>'
        for url in (*pages(willing, 2), *pages(silent, 1))
    )
    entry = f"<loc>{web.url}/0</loc>{links}"
    body = urlset().body.replace(
        b"></urlset>", f"><url>{entry}</url></urlset>".encode()
    )
    xhtml = b'<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    web.pages["/map.xml"] = Answer(body.replace(b"<urlset ", xhtml))

    class Spider(LinksSpider):
        sitemap_alternate_links = True

    result = await crawl(spider=Spider, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(web, 1), *pages(willing, 2)])
    assert result.stats["mandelbot/sitemaps/foreign"] == 1


@pytest.mark.parametrize(
    ("allowed", "asked"), [(["127.0.0.1"], 0), (["127.0.0.1", "127.0.0.2"], 1), ([], 1)]
)
@ensureDeferred
async def test_where_the_spider_may_not_go_nobody_is_asked(webs, allowed, asked):
    """allowed_domains, as Scrapy's off-site middleware reads it."""
    web, willing = site(webs, 1, 1, "/map.xml"), site(webs, 2, 1)
    cite(willing, f"{web.url}/map.xml")
    web.pages["/map.xml"] = urlset(*pages(willing, 1), *pages(web, 1))
    result = await crawl(start_urls=[web.url + "/"], allowed_domains=allowed)
    assert willing.asked("/robots.txt") == willing.asked("/0") == asked
    assert f"{web.url}/0" in result.urls()
    assert result.stats.get("mandelbot/sitemaps/foreign", 0) == 1 - asked


@ensureDeferred
async def test_without_the_off_site_middleware_the_spider_may_go_anywhere(webs):
    """The project has switched it off."""
    web, willing = site(webs, 1, 1, "/map.xml"), site(webs, 2, 1)
    cite(willing, f"{web.url}/map.xml")
    web.pages["/map.xml"] = urlset(*pages(willing, 1))
    offsite = "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware"
    settings = {"DOWNLOADER_MIDDLEWARES": {offsite: None}}
    result = await crawl(
        settings, start_urls=[web.url + "/"], allowed_domains=["127.0.0.1"]
    )
    assert result.urls() == sorted([web.url + "/", *pages(willing, 1)])


@ensureDeferred
async def test_a_slow_robots_txt_slows_no_entry_of_the_sitemaps_own_site(webs):
    """Its pages, and those of its next sitemap, are crawled meanwhile; then come the
    others.
    """
    web, slow = site(webs, 1, 40, "/map.xml", "/next.xml"), site(webs, 2, 2)
    cite(slow, f"{web.url}/map.xml")
    slow.pages["/robots.txt"].delay = 1.5
    web.pages["/map.xml"] = urlset(*pages(slow, 2), *pages(web, 20))
    web.pages["/next.xml"] = urlset(*pages(web, 40)[20:])
    result = await crawl(start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(web, 40), *pages(slow, 2)])
    assert max(hit.at for hit in web.hits) < slow.hits[1].at, (
        "the robots.txt is the first"
    )


@ensureDeferred
async def test_few_are_asked_at_a_time(webs):
    """However many wait for their word, the crawl's own pages have places left."""
    web = site(webs, 1, 15, "/map.xml")
    slow = [site(webs, 10 + number, 1) for number in range(10)]
    for other in slow:
        cite(other, f"{web.url}/map.xml")
        other.pages["/robots.txt"].delay = 0.5
    listed = [url for other in slow for url in pages(other, 1)]
    web.pages["/map.xml"] = urlset(*listed, *pages(web, 15))
    settings = {"CONCURRENT_REQUESTS": 10}  # each that is asked takes two
    result = await crawl(settings, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(web, 15), *listed])
    asked = sorted(other.hits[0].at for other in slow)
    assert all(asked[n + 4] - asked[n] >= 0.45 for n in range(6))
    assert max(hit.at for hit in web.hits) < asked[-1]


@ensureDeferred
async def test_sites_that_are_paused_keep_no_others_from_being_asked(webs, monkeypatch):
    """They wait in the queue, and hold no place."""
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations._AT_ONCE", 1)
    web, busy, willing = (
        site(webs, 1, 1, "/map.xml"),
        site(webs, 2, 1),
        site(webs, 3, 1),
    )
    busy.refuse = Closed(seconds=1.5, retry_after="2")
    for other in (busy, willing):
        cite(other, f"{web.url}/map.xml")
    web.pages["/map.xml"] = urlset(*pages(busy, 1), *pages(willing, 1))
    result = await crawl(start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(busy, 1), *pages(willing, 1)])
    assert willing.hits[-1].at < busy.hits[1].at


@ensureDeferred
async def test_a_restart_asks_those_that_were_not_asked_yet(
    webs, tmp_path, monkeypatch
):
    """The first run ends while one is asked, and another waits for that."""
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations._AT_ONCE", 1)
    web = site(webs, 1, 3, "/map.xml")
    slow = [site(webs, 2, 1), site(webs, 3, 1), site(webs, 4, 1)]
    for other in slow:
        cite(other, f"{web.url}/map.xml")
        other.pages["/robots.txt"].delay = 0.8
    listed = [url for other in slow for url in pages(other, 1)]
    web.pages["/map.xml"] = urlset(*listed, *pages(web, 3))
    settings = {"JOBDIR": str(tmp_path)}
    stop = {
        "CLOSESPIDER_ITEMCOUNT": 2,
        "EXTENSIONS": {"scrapy.extensions.closespider.CloseSpider": 0},
    }
    first = await crawl(settings | stop, start_urls=[web.url + "/"])
    assert first.stats["finish_reason"] == "closespider_itemcount"
    assert sum(bool(other.hits) for other in slow) == 1
    second = await crawl(settings, start_urls=[])
    assert {*first.urls(), *second.urls()} == {web.url + "/", *pages(web, 3), *listed}
    assert web.asked("/map.xml") == 1


@ensureDeferred
async def test_a_site_that_cannot_say_is_asked_again_after_its_pause(webs):
    """As any site is: its pages wait, and are crawled when it has said yes."""
    web, busy = site(webs, 1, 1, "/map.xml"), site(webs, 2, 2)
    cite(busy, f"{web.url}/map.xml")
    busy.refuse = Closed(seconds=0.8, retry_after="1")
    web.pages["/map.xml"] = urlset(*pages(busy, 2), *pages(web, 1))
    result = await crawl(start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(web, 1), *pages(busy, 2)])
    assert [hit.status for hit in busy.hits] == [503, 200, 200, 200]
    assert "mandelbot/sitemaps/foreign" not in result.stats


@ensureDeferred
async def test_a_site_that_never_says_keeps_no_crawl_open(webs):
    """Given up, or no such host: its pages are left out, and the crawl ends."""
    web, gone = site(webs, 1, 1, "/map.xml"), site(webs, 2, 1)
    gone.refuse = Closed(seconds=10**6, retry_after="1")
    web.pages["/map.xml"] = urlset(
        *pages(gone, 1), "http://nowhere.invalid/0", *pages(web, 1)
    )
    settings = {"MANDELBOT_PAUSE_OPTIONS": {"total": 0.3}}
    result = await crawl(settings, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(web, 1)])
    assert result.stats["mandelbot/sitemaps/foreign"] == 2
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_no_sitemap_has_a_million_sites_asked(webs, monkeypatch):
    """Beyond so many that have not said yes, the pages of others are left out, told
    once.
    """
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations.MOST_STRANGERS", 3)
    web = site(webs, 1, 1, "/a.xml", "/b.xml")
    others = [site(webs, 10 + number) for number in range(8)]
    web.pages["/a.xml"] = urlset(
        *(other.url + "/0" for other in others[:5]), *pages(web, 1)
    )
    web.pages["/b.xml"] = urlset(*(other.url + "/0" for other in others[3:]))
    result = await crawl(start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(web, 1)])
    assert sum(bool(other.hits) for other in others) == 3
    assert result.stats["mandelbot/sitemaps/foreign"] == 10
    (line,) = result.logged(
        f"The sitemaps of {web.url} list pages of more than 3 sites"
    )
    assert "pages of further sites are ignored" in line


@ensureDeferred
async def test_who_has_said_yes_is_no_stranger_any_more(webs, monkeypatch):
    """So a family of any size can be asked, sitemap by sitemap."""
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations.MOST_STRANGERS", 1)
    web = site(webs, 1, 1, *(f"/{number}.xml" for number in range(4)))
    others = [site(webs, 10 + number) for number in range(4)]
    for number, other in enumerate(others):
        cite(other, f"{web.url}/{number}.xml")
        web.pages[f"/{number}.xml"] = urlset(other.url + "/0")
        web.pages[f"/{number}.xml"].delay = 0.3  # the one before has said yes by then
    result = await crawl(start_urls=[web.url + "/"])
    assert result.urls() == sorted(
        [web.url + "/", *(other.url + "/0" for other in others)]
    )


@ensureDeferred
async def test_a_site_that_is_only_asked_is_not_crawled(webs):
    """It does not cite the sitemap that lists it: its own are not read either."""
    web, silent = site(webs, 1, 1, "/map.xml"), site(webs, 2, 2, "/own.xml")
    web.pages["/map.xml"] = urlset(*pages(silent, 1))
    silent.pages["/own.xml"] = urlset(*pages(silent, 2))
    result = await crawl(start_urls=[web.url + "/"])
    assert result.urls() == [web.url + "/"]
    assert [hit.path for hit in silent.hits] == ["/robots.txt"]


@ensureDeferred
async def test_a_site_that_was_only_asked_is_crawled_when_the_spider_goes_there(webs):
    """A link leads there, later on: its own sitemaps are read then."""
    web, silent = site(webs, 1, 1, "/map.xml"), site(webs, 2, 2, "/own.xml")
    web.pages["/map.xml"] = urlset(*pages(silent, 1), *pages(web, 1))
    web.pages["/0"] = html(silent.url + "/")
    web.pages["/0"].delay = 0.5
    silent.pages["/own.xml"] = urlset(*pages(silent, 2))
    result = await crawl(start_urls=[web.url + "/"])
    expected = [web.url + "/", *pages(web, 1), silent.url + "/", *pages(silent, 2)]
    assert result.urls() == sorted(expected)
    assert silent.asked("/robots.txt") == silent.asked("/own.xml") == 1


@ensureDeferred
async def test_a_site_that_cites_the_sitemap_has_its_own_read_too(webs):
    """It is part of the crawl as any other."""
    web, willing = site(webs, 1, 1, "/map.xml"), site(webs, 2, 3)
    cite(willing, f"{web.url}/map.xml", f"{willing.url}/own.xml")
    web.pages["/map.xml"] = urlset(*pages(willing, 1))
    willing.pages["/own.xml"] = urlset(*pages(willing, 3))
    result = await crawl(start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(willing, 3)])
    assert willing.asked("/own.xml") == 1


@ensureDeferred
async def test_also_where_the_pages_that_are_listed_may_not_be_crawled(webs):
    """It has said yes; that its rules forbid those pages says nothing of the others."""
    web, willing = site(webs, 1, 1, "/map.xml"), site(webs, 2, 1)
    cite(willing, f"{web.url}/map.xml", f"{willing.url}/own.xml")
    web.pages["/map.xml"] = urlset(f"{willing.url}/secret")
    willing.pages["/own.xml"] = urlset(*pages(willing, 1))
    result = await crawl(start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *pages(willing, 1)])


@ensureDeferred
async def test_pages_of_another_site_wait_on_disk_too(webs, monkeypatch):
    """A hundred or so of its requests at a time; and no more is read than may wait on
    disk.
    """
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations._MOST_BYTES", 5_000)
    web, other = site(webs, 1, 0, "/index.xml"), site(webs, 2, 500)
    cite(other, f"{web.url}/index.xml")
    web.pages["/index.xml"] = index(
        *(f"{web.url}/{number}.xml" for number in range(10))
    )
    for number in range(10):
        web.pages[f"/{number}.xml"] = urlset(
            *pages(other, 500)[50 * number : 50 * number + 50]
        )
    lengths, fed_when_asked = [], []

    def before(crawler) -> None:
        def measure(response) -> None:
            lengths.append(scheduler_length(crawler))
            if response.url.endswith(".xml"):
                fed_when_asked.append(
                    crawler.stats.get_value("mandelbot/sitemaps/fed", 0)
                )

        before.keep = measure
        crawler.signals.connect(measure, signal=scrapy.signals.response_received)

    result = await crawl(start_urls=[web.url + "/"], before=before)
    assert len(result.items) == len(set(result.urls())) == 501
    assert max(lengths) <= 110
    assert fed_when_asked[-1] > 250, (
        "the last sitemap was asked for when most pages were fed"
    )


@ensureDeferred
async def test_who_waited_for_room_on_disk_goes_on_while_the_crawl_is_busy_elsewhere(
    webs, monkeypatch
):
    """Its next sitemap is asked for when the pages of the last are fed, not when all
    are.
    """
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations._MOST_BYTES", 0)
    web, other, busy = (
        site(webs, 1, 0, "/index.xml"),
        site(webs, 2, 30),
        site(webs, 3, 60),
    )
    cite(other, f"{web.url}/index.xml")
    web.pages["/index.xml"] = index(*(f"{web.url}/{number}.xml" for number in range(3)))
    for number in range(3):
        web.pages[f"/{number}.xml"] = urlset(
            *pages(other, 30)[10 * number : 10 * number + 10]
        )
    busy.pages["/"] = html(*pages(busy, 60))
    for url in pages(busy, 60):
        busy.pages[url.removeprefix(busy.url)].delay = 0.2
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 4}
    result = await crawl(settings, start_urls=[busy.url + "/", web.url + "/"])
    assert len(result.items) == 92
    assert other.hits[-1].at < busy.hits[-1].at - 1


@ensureDeferred
async def test_two_sites_that_list_each_others_pages_wait_for_each_other_only_so_long(
    webs, monkeypatch
):
    """Neither may have entries of the other on disk when it asks for the next."""
    monkeypatch.setattr("scrapy_mandelbot.sitemap_crawl.citations._MOST_BYTES", 0)
    one, two = site(webs, 1, 30), site(webs, 2, 30)
    for web, other in ((one, two), (two, one)):
        cite(web, f"{one.url}/index.xml", f"{two.url}/index.xml")
        web.pages["/index.xml"] = index(
            *(f"{web.url}/{number}.xml" for number in range(3))
        )
        for number in range(3):
            web.pages[f"/{number}.xml"] = urlset(
                *pages(other, 30)[10 * number : 10 * number + 10]
            )
    result = await crawl(start_urls=[one.url + "/", two.url + "/"])
    assert len(result.items) == len(set(result.urls())) == 62
    assert result.stats["mandelbot/sitemaps/read"] == 8


class Swallowing:
    """A downloader middleware that sends other requests in place of some."""

    def process_request(self, request):
        if request.url.endswith("/robots.txt") and "127.0.0.2" in request.url:
            return scrapy.Request("data:,instead", dont_filter=True)
        return None


@ensureDeferred
async def test_a_request_that_is_swallowed_keeps_no_crawl_open(webs):
    """Nobody tells what became of it: the pages are left out, and the crawl ends."""
    web, other = site(webs, 1, 1, "/map.xml"), site(webs, 2, 1)
    cite(other, f"{web.url}/map.xml")
    web.pages["/map.xml"] = urlset(*pages(other, 1), *pages(web, 1))
    settings = {"DOWNLOADER_MIDDLEWARES": {Swallowing: 50}}
    result = await crawl(settings, start_urls=[web.url + "/"])
    assert {web.url + "/", f"{web.url}/0"} <= set(result.urls())
    assert other.asked("/0") == 0
    assert result.stats["mandelbot/sitemaps/foreign"] == 1
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_a_restart_goes_on_with_pages_that_wait_for_their_sites_word(
    webs, tmp_path
):
    """The first run ends while their site cannot say; the second asks it, and crawls
    them.
    """
    web, busy = site(webs, 1, 1, "/map.xml"), site(webs, 2, 3)
    cite(busy, f"{web.url}/map.xml")
    busy.refuse = closed = Closed(seconds=10**6, retry_after="1")
    web.pages["/map.xml"] = urlset(*pages(busy, 3), *pages(web, 1))
    settings = {"JOBDIR": str(tmp_path), "MANDELBOT_PAUSE_IDLE": "close"}
    first = await crawl(settings, start_urls=[web.url + "/"])
    assert first.stats["finish_reason"] == "sites_paused"
    assert first.urls() == sorted([web.url + "/", *pages(web, 1)])

    closed.seconds = 0
    del settings["MANDELBOT_PAUSE_IDLE"]
    second = await crawl(settings, start_urls=[])
    assert second.urls() == pages(busy, 3)
    assert second.stats["mandelbot/robots/answered"] == 1, (
        "the request of the first run"
    )
    assert second.stats["finish_reason"] == "finished"
    assert web.asked("/map.xml") == 1
