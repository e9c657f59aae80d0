"""A crawl that has some of everything, for Scrapys that are not quite as usual."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import scrapy
from crawling import LinksSpider, crawl
from scrapy.http.request import NO_CALLBACK
from shops import FOLLOW, shop, urls, urlset
from webs import Answer, Closed, html

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawling import Crawled
    from scrapy.crawler import Crawler


class EverythingSpider(LinksSpider):
    """Pages, a download that a callback awaits, and an item of a hook."""

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse_awaiting)

    async def parse_awaiting(self, response):
        request = scrapy.Request(f"{response.url}?inline", callback=NO_CALLBACK)
        inline = await self.crawler.engine.download_async(request)
        yield {"url": response.url, "inline": inline.status}

    def site_paused(self, site, until, reason):
        yield {"url": "paused"}


async def crawl_a_bit_of_everything(
    webs,
    tmp_path,
    before: Callable[[Crawler], None] = lambda _: None,
    **settings: object,
) -> Crawled:
    """Crawl a site with rules, sitemaps and a pause, and one that has a pace; all must
    come.
    """
    web = shop(webs, 6, "/sitemap.xml", rules="Disallow: /5")
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}/{number}" for number in range(6)))
    web.pages["/"] = html("/0", "/1")
    web.pages |= {f"/{number}?inline": html() for number in range(6)}
    web.refuse = Closed(seconds=0.1, after=3, robots_too=False)
    slow = webs("127.0.0.2")
    slow.chain(3)
    slow.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /page/2")
    slow.pages |= {f"/page/{number}?inline": html() for number in range(3)}

    result = await crawl(
        EverythingSpider,
        {
            **FOLLOW,
            "MANDELBOT_CRAWL_DELAYS": {slow.url: 0.1},
            "MANDELBOT_PAUSE_OPTIONS": {"first": 0.2},
            "DOWNLOAD_DELAY": 0.01,
            "JOBDIR": str(tmp_path / "job"),
            "CONCURRENT_REQUESTS": 4,
            **settings,
        },
        before=before,
        start_urls=[f"{web.url}/", f"{slow.url}/"],
    )

    pages = [f"{web.url}/", *urls(web, *range(5)), *slow.urls(2)]
    assert sorted(set(result.urls()) - {"paused"}) == sorted(pages)
    assert "paused" in result.urls()
    assert result.stats["finish_reason"] == "finished"
    inline = [item for item in result.items if "inline" in item]
    assert {item["inline"] for item in inline} == {200}, inline
    assert web.asked("/5") == slow.asked("/page/2") == 0
    assert web.asked("/sitemap.xml", status=200) == 1
    assert [item["url"] for item in result.items].count(f"{web.url}/") == 1
    assert not result.logged("Error"), result.logged("Error")
    assert not result.logged("Unhandled"), result.logged("Unhandled")
    times = sorted(hit.at for hit in slow.hits)
    assert all(later - sooner > 0.09 for sooner, later in pairwise(times))
    return result
