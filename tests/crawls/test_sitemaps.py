"""Sitemaps that robots.txt files cite, followed over real HTTP."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise

import pytest
import scrapy
from crawling import LinksSpider, crawl, ensureDeferred
from jobs import SPIDER
from scrapy import signals as scrapy_signals
from scrapy.spiders import SitemapSpider
from webs import Answer, Closed, html

FOLLOW = {"MANDELBOT_SITEMAPS": "follow"}


def urlset(*entries: str) -> Answer:
    """Return a sitemap of URLs, or of whole entries."""
    urls = [one if one.startswith("<") else f"<loc>{one}</loc>" for one in entries]
    body = "".join(f"<url>{one}</url>" for one in urls)
    head = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return Answer(f"{head}{body}</urlset>".encode(), headers={"Content-Type": "application/xml"})


def index(*urls: str) -> Answer:
    body = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    head = '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    return Answer(f"{head}{body}</sitemapindex>".encode())


def shop(webs, pages: int, *sitemaps: str, host: str = "127.0.0.1", rules: str = "Disallow:"):
    """Return a site whose front page links to nothing, with sitemaps cited in its robots.txt."""
    web = webs(host)
    web.pages["/"] = html()
    for number in range(pages):
        web.pages[f"/{number}"] = html()
    lines = [f"Sitemap: {web.url}{path}" for path in sitemaps]
    web.pages["/robots.txt"] = Answer("\n".join(["User-agent: *", rules, *lines]).encode())
    return web


def urls(web, *numbers: int) -> list[str]:
    return sorted(f"{web.url}/{number}" for number in numbers)


@ensureDeferred
async def test_what_a_sitemap_lists_is_crawled(webs):
    """With an unchanged spider: each page goes to parse(), with what the sitemap says of it."""
    web = shop(webs, 3, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(
        f"<loc>{web.url}/0</loc><lastmod>2026-11-01</lastmod><priority>0.5</priority>",
        f"{web.url}/1",
        f"{web.url}/2",
    )
    seen = {}

    class Spider(LinksSpider):
        def parse(self, response):
            seen[response.url] = response.meta.get("sitemap_entry")
            yield from super().parse(response)

    result = await crawl(Spider, FOLLOW, start_urls=[web.url + "/"])

    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 2)])
    assert seen[f"{web.url}/0"] == {
        "loc": f"{web.url}/0",
        "lastmod": "2026-11-01",
        "modified": "2026-11-01T00:00:00+00:00",
        "priority": 0.5,
        "sitemap": f"{web.url}/sitemap.xml",
    }
    assert seen[f"{web.url}/"] is None
    assert web.asked("/robots.txt") == web.asked("/sitemap.xml") == 1
    assert result.stats["mandelbot/sitemaps/read"] == 1
    assert result.stats["mandelbot/sitemaps/entries"] == result.stats["mandelbot/sitemaps/fed"] == 3
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_by_default_sitemaps_are_only_told_of(webs):
    """``signal``: the hook hears of them, and nothing is asked for."""
    web = shop(webs, 1, "/sitemap.xml")
    result = await crawl(LinksSpider, start_urls=[web.url + "/"])
    assert result.signals("sitemaps_discovered")[0]["urls"] == (f"{web.url}/sitemap.xml",)
    assert web.asked("/sitemap.xml") == 0


@ensureDeferred
async def test_indexes_and_every_format(webs):
    """An index of a packed sitemap, a list of URLs, RSS, Atom, and an index within the index."""
    web = shop(webs, 6, "/index.xml")
    packed = gzip.compress(urlset(f"{web.url}/0").body)
    rss = f"<rss version='2.0'><channel><item><link>{web.url}/2</link></item></channel></rss>"
    link = f"<link href='{web.url}/3'/>"
    atom = f"<feed xmlns='http://www.w3.org/2005/Atom'><entry>{link}</entry></feed>"
    web.pages |= {
        "/index.xml": index(*(f"{web.url}/{name}" for name in ("a.gz", "b.txt", "c", "d", "e"))),
        "/a.gz": Answer(packed, headers={"Content-Type": "application/x-gzip"}),
        "/b.txt": Answer(f"{web.url}/1\n".encode(), headers={"Content-Type": "text/plain"}),
        "/c": Answer(rss.encode()),
        "/d": Answer(atom.encode()),
        "/e": index(f"{web.url}/f", f"{web.url}/index.xml"),
        "/f": urlset(f"{web.url}/4", f"{web.url}/5"),
    }

    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])

    assert result.urls() == sorted([web.url + "/", *urls(web, *range(6))])
    assert result.stats["mandelbot/sitemaps/read"] == 7
    assert web.asked("/index.xml") == 1, "it lists itself, and is read once"


@ensureDeferred
async def test_the_spider_says_what_it_wants(webs):
    """sitemap_rules, _follow, _filter and _alternate_links, as for SitemapSpider."""
    web = shop(webs, 0, "/index.xml")
    for path in ("/shop/1", "/shop/2", "/blog/1", "/de/blog/1", "/other/1"):
        web.pages[path] = html()
    link = f'<xhtml:link rel="alternate" hreflang="de" href="{web.url}/de/blog/1"/>'
    web.pages |= {
        "/index.xml": index(f"{web.url}/wanted.xml", f"{web.url}/ignored.xml"),
        "/wanted.xml": urlset(
            f"{web.url}/shop/1",
            f"<loc>{web.url}/shop/2</loc><priority>0.1</priority>",
            f"<loc>{web.url}/blog/1</loc>{link}",
            f"{web.url}/other/1",
        ),
    }

    class Spider(scrapy.Spider):
        name = "wishes"
        sitemap_rules = [("/shop/", "parse_shop"), ("/blog/", "parse_blog")]
        sitemap_follow = ["/wanted"]
        sitemap_alternate_links = True

        def sitemap_filter(self, entries):
            for entry in entries:
                if float(entry.get("priority", 1)) > 0.2:
                    yield entry

        def parse(self, response):
            yield {"url": response.url, "by": "parse"}

        def parse_shop(self, response):
            yield {"url": response.url, "by": "shop"}

        def parse_blog(self, response):
            yield {"url": response.url, "by": "blog"}

    result = await crawl(Spider, FOLLOW, start_urls=[web.url + "/"])

    by = {item["url"].removeprefix(web.url): item["by"] for item in result.items}
    assert by == {"/": "parse", "/shop/1": "shop", "/blog/1": "blog", "/de/blog/1": "blog"}
    assert web.asked("/ignored.xml") == 0


@ensureDeferred
async def test_pages_of_another_site_need_its_word(webs):
    """Its own robots.txt has to cite the sitemap. (sitemaps.org, "Sitemaps & Cross Submits")"""
    willing, silent = shop(webs, 1, host="127.0.0.2"), shop(webs, 1, host="127.0.0.3")
    web = shop(webs, 1, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0", f"{silent.url}/0", f"{willing.url}/0")
    web.pages["/sitemap.xml"].delay = 0.5  # both robots.txt files are read by then
    willing.pages["/robots.txt"] = Answer(f"Sitemap: {web.url}/sitemap.xml".encode())

    starts = [one.url + "/" for one in (willing, silent, web)]
    result = await crawl(LinksSpider, FOLLOW, start_urls=starts)

    assert result.urls() == sorted([*starts, *urls(web, 0), *urls(willing, 0)])
    assert result.stats["mandelbot/sitemaps/foreign"] == 1
    (line,) = result.logged(f"{web.url}/sitemap.xml lists pages of {silent.url}")
    assert "does not cite it" in line


@ensureDeferred
async def test_what_leads_nowhere_is_not_made(webs):
    """A page that the rules forbid becomes no request; a sitemap that they forbid is not read."""
    web = shop(webs, 4, "/sitemap.xml", "/secret.xml", rules="Disallow: /2\nDisallow: /secret")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(4)))
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 3)])
    assert result.stats["mandelbot/sitemaps/forbidden"] == 1
    assert result.stats["robotstxt/forbidden"] == 1, "the sitemap's own request"
    assert web.asked("/secret.xml") == 0
    (line,) = result.logged(f"The sitemap {web.url}/secret.xml could not be had")
    assert "Forbidden by robots.txt" in line


@ensureDeferred
async def test_a_sitemap_that_cannot_be_had_stops_no_other(webs):
    """A 404, an HTML page, and one on a host that does not answer: then the next is read."""
    web = shop(webs, 1, "/missing.xml", "/page.html", "/sitemap.xml")
    web.pages["/page.html"] = html("/0")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0")
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])
    assert result.stats["mandelbot/sitemaps/failed"] == 1
    assert result.stats["mandelbot/sitemaps/problems"] == 1


@ensureDeferred
async def test_a_sitemap_waits_for_its_paused_site(webs):
    """It is asked for politely: a 503 pauses, and it comes later."""
    web = shop(webs, 30, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(30)))
    web.refuse = closed = Closed(seconds=1, after=1, retry_after="1", robots_too=False)
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert len(result.items) == len(set(result.urls())) == 31
    assert not [hit for hit in web.hits if closed.began + 0.3 < hit.at < closed.began + 1]
    assert result.stats["mandelbot/pause/count"] >= 1


@ensureDeferred
async def test_entries_wait_on_disk(webs):
    """Of two thousand entries no more than a hundred or so are requests at a time."""
    web = shop(webs, 2000, "/index.xml")
    web.pages["/index.xml"] = index(f"{web.url}/a.xml", f"{web.url}/b.xml")
    web.pages["/a.xml"] = urlset(*(f"{web.url}/{number}" for number in range(1200)))
    web.pages["/b.xml"] = urlset(*(f"{web.url}/{number}" for number in range(1200, 2000)))
    lengths = []

    def before(crawler) -> None:
        def measure(response) -> None:
            lengths.append(len(crawler.engine._slot.scheduler))

        before.keep = measure
        crawler.signals.connect(measure, signal=scrapy_signals.response_received)

    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"], before=before)

    assert len(result.items) == len(set(result.urls())) == 2001
    assert max(lengths) <= 110


@ensureDeferred
async def test_entries_are_fed_while_more_are_read(webs, monkeypatch):
    """A crawl that is faster than the reading waits for the rest."""
    monkeypatch.setattr("scrapy_mandelbot.following.follower._SLICE", 1)
    web = shop(webs, 30, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(30)))
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert len(result.items) == len(set(result.urls())) == 31


@ensureDeferred
async def test_duplicates_keep_no_crawl_from_its_end(webs):
    """A sitemap that lists pages again that are known fills no room, and the next is read."""
    web = shop(webs, 3, "/a.xml", "/b.xml")
    web.pages["/a.xml"] = urlset(*(f"{web.url}/{number % 2}" for number in range(1000)))
    web.pages["/b.xml"] = urlset(f"{web.url}/2")
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 2)])
    assert result.stats["elapsed_time_seconds"] < 5


@ensureDeferred
async def test_limits_are_named_when_they_are_hit(webs):
    """Entries and bytes beyond them are not read; the log says so."""
    web = shop(webs, 5, "/many.xml", "/long.xml")
    web.pages["/many.xml"] = urlset(*(f"{web.url}/{number}" for number in range(3)))
    padding = f"<!--{'x' * 5000}-->"
    long = urlset(f"{web.url}/3", f"<loc>{web.url}/4</loc>").body
    web.pages["/long.xml"] = Answer(long.replace(b"<url>", padding.encode() + b"<url>"))
    result = await crawl(
        LinksSpider,
        {**FOLLOW, "MANDELBOT_SITEMAP_MAX_ENTRIES": 2, "MANDELBOT_SITEMAP_MAX_BYTES": 6000},
        start_urls=[web.url + "/"],
    )
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 3)])
    warnings = result.logged(f"The sitemap {web.url}/many.xml:")
    assert len(warnings) == 1
    assert "2 entries" in warnings[0]
    assert result.logged(f"The sitemap {web.url}/long.xml:")


@ensureDeferred
async def test_a_bomb_is_cut(webs):
    """100 MB in 100 KB: what is within the limit is read, and memory is not filled."""
    web = shop(webs, 1, "/bomb.xml.gz")
    good = urlset(f"{web.url}/0").body.removesuffix(b"</urlset>")
    web.pages["/bomb.xml.gz"] = Answer(gzip.compress(good + b" " * 100_000_000))
    result = await crawl(
        LinksSpider,
        {**FOLLOW, "MANDELBOT_SITEMAP_MAX_BYTES": 1_000_000},
        start_urls=[web.url + "/"],
    )
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])


@pytest.mark.parametrize(
    ("since", "expected"),
    [("2026-11-10", [1, 2]), ("2026-11-10T12:00:00+00:00", [2]), ("2027", [2])],
)
@ensureDeferred
async def test_only_what_was_modified_since(webs, since, expected):
    """MANDELBOT_SITEMAP_SINCE; what says no date may be new."""
    web = shop(webs, 3, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(
        f"<loc>{web.url}/0</loc><lastmod>2026-11-01</lastmod>",
        f"<loc>{web.url}/1</loc><lastmod>2026-11-10T10:00:00Z</lastmod>",
        f"{web.url}/2",
    )
    settings = {**FOLLOW, "MANDELBOT_SITEMAP_SINCE": since}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, *expected)])
    assert result.stats["mandelbot/sitemaps/older"] == 3 - len(expected)


@ensureDeferred
async def test_only_what_was_modified_since_the_last_run(webs, tmp_path):
    """The first run crawls all; the second what was modified since the first began."""
    web = shop(webs, 2, "/sitemap.xml")
    old, new = (
        f"<loc>{web.url}/{number}</loc><lastmod>{year}-01-01</lastmod>"
        for number, year in enumerate((2020, 2099))
    )
    web.pages["/sitemap.xml"] = urlset(old, new)
    settings = {
        **FOLLOW,
        "MANDELBOT_SITEMAP_SINCE": "last_run",
        "MANDELBOT_STORE": str(tmp_path / "store.db"),
    }
    first = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    second = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert first.urls() == sorted([web.url + "/", *urls(web, 0, 1)])
    assert second.urls() == sorted([web.url + "/", *urls(web, 1)])


FOLLOWING = SPIDER.replace('"DOWNLOAD_DELAY": 0,', '"DOWNLOAD_DELAY": 0, **SITEMAPS,').replace(
    "import scrapy", f"import scrapy\nSITEMAPS = {FOLLOW | {'CONCURRENT_REQUESTS': 4}}"
)


@ensureDeferred
async def test_a_restart_goes_on_where_it_stopped(webs, job):
    """Interrupted in the middle of a sitemap: over both runs every page exactly once."""
    web = shop(webs, 400, "/a.xml", "/b.xml")
    web.pages["/a.xml"] = urlset(*(f"{web.url}/{number}" for number in range(300)))
    web.pages["/b.xml"] = urlset(*(f"{web.url}/{number}" for number in range(300, 400)))
    web.refuse = closed = Closed(seconds=10**6, after=120, retry_after="1")

    log, _ = await job.run([web.url + "/"], interrupt_at="PAUSED", spider=FOLLOWING)
    assert "Closing spider (shutdown)" in log, log
    assert 100 < len(job.items()) < 200
    closed.seconds = 0
    log, _ = await job.run([web.url + "/"], spider=FOLLOWING)

    assert "Closing spider (finished)" in log, log
    both = job.items()
    assert len(both) == 401
    assert both.pop(web.url + "/") in {1, 2}  # Scrapy asks for start URLs again
    assert set(both.values()) == {1}
    assert web.asked("/a.xml", 200) == web.asked("/b.xml", 200) == 1


@ensureDeferred
async def test_scrapys_sitemap_spider_is_left_to_itself(webs):
    """It reads its sitemaps as ever, and robots.txt is fetched once in all."""
    web = shop(webs, 3, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(3)))

    class Spider(SitemapSpider):
        name = "stock"

        def parse(self, response):
            yield {"url": response.url}

    result = await crawl(Spider, FOLLOW, sitemap_urls=[web.url + "/robots.txt"])

    assert result.urls() == urls(web, 0, 1, 2)
    assert web.asked("/robots.txt") == web.asked("/sitemap.xml") == 1
    assert result.logged("Sitemaps are left to the spider")


@ensureDeferred
async def test_books_that_cannot_be_read_are_begun_again(webs, tmp_path):
    """A warning, and the sitemaps are asked for again."""
    web = shop(webs, 1, "/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0")
    folder = tmp_path / "mandelbot.sitemaps"
    folder.mkdir()
    (folder / "state.json").write_text(json.dumps({"number": 1, "sites": {"x": 7}}))
    (folder / "9.jsonl").write_text("{}")
    result = await crawl(
        LinksSpider, {**FOLLOW, "JOBDIR": str(tmp_path)}, start_urls=[web.url + "/"]
    )
    assert result.urls() == sorted([web.url + "/", *urls(web, 0)])
    assert result.logged("Sitemaps are asked for again")
    assert [path.name for path in folder.iterdir()] == ["state.json"]


@ensureDeferred
async def test_indexes_within_indexes_have_an_end(webs):
    """Three deep they are read, deeper not, and the log says so."""
    web = shop(webs, 6, "/i0.xml")
    for depth in range(6):
        web.pages[f"/i{depth}.xml"] = index(f"{web.url}/i{depth + 1}.xml", f"{web.url}/{depth}.txt")
        web.pages[f"/{depth}.txt"] = Answer(f"{web.url}/{depth}".encode())
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1, 2)])
    assert result.logged(f"{web.url} has indexes of sitemaps within indexes, more than 3 deep")


@ensureDeferred
async def test_a_full_scheduler_is_not_fed(webs, monkeypatch):
    """Who was not fed as others had filled it is fed when there is room."""
    monkeypatch.setattr("scrapy_mandelbot.following.follower._MOST", 5)
    sites = [shop(webs, 30, "/sitemap.xml", host=f"127.0.0.{n}") for n in (1, 2, 3)]
    for web in sites:
        web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(30)))
    result = await crawl(LinksSpider, FOLLOW, start_urls=[web.url + "/" for web in sites])
    assert len(result.items) == len(set(result.urls())) == 93


class Swallowing:
    """A downloader middleware that sends other requests in place of some."""

    def process_request(self, request):
        if request.url.endswith("/swallowed.xml"):
            return scrapy.Request(request.url.replace("swallowed", "0"), dont_filter=True)
        return None


@ensureDeferred
async def test_a_sitemap_whose_request_is_swallowed_keeps_no_crawl_open(webs):
    """Nobody tells what became of it; the next is read, and the crawl ends."""
    web = shop(webs, 2, "/swallowed.xml", "/sitemap.xml")
    web.pages["/0.xml"] = html()
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/1")
    settings = {**FOLLOW, "DOWNLOADER_MIDDLEWARES": {Swallowing: 500}}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert f"{web.url}/1" in result.urls()
    assert result.logged(f"The sitemap {web.url}/swallowed.xml could not be had")
    assert result.stats["finish_reason"] == "finished"


@ensureDeferred
async def test_sitemaps_are_asked_for_at_the_pace_of_their_site(webs):
    """robots.txt, pages, index and sitemap: none comes closer than the owner asks."""
    web = shop(webs, 2, "/index.xml", rules="Disallow:\nCrawl-delay: 0.3")
    web.pages["/index.xml"] = index(f"{web.url}/sitemap.xml")
    web.pages["/sitemap.xml"] = urlset(f"{web.url}/0", f"{web.url}/1")
    settings = {**FOLLOW, "MANDELBOT_PACE": "obey"}
    result = await crawl(LinksSpider, settings, start_urls=[web.url + "/"])
    assert result.urls() == sorted([web.url + "/", *urls(web, 0, 1)])
    assert len(web.hits) == 6
    assert min(b.at - a.at for a, b in pairwise(web.hits)) >= 0.3
