"""Hook methods: a spider receives what happens to its sites, and acts on it.

Each is optional. It may be a plain method, a coroutine, or a generator whose requests
and items are used as if a callback had yielded them.
"""

import gzip

import scrapy
from scrapy.selector import Selector

from sample_project.items import ForbiddenPage
from sample_project.spiders.demo import DemoSpider


class HooksSpider(DemoSpider):
    """Crawls the demo web, and also the pages that only its sitemaps name."""

    name = "hooks"

    def robots_fetched(self, site, robots, outcome):
        """Receive a site's robots.txt."""
        sitemaps = len(robots.sitemaps)
        self.logger.info(
            "robots_fetched: %s: %s; sitemaps: %d", site, outcome.reason, sitemaps
        )

    def request_forbidden(self, request, verdict):
        """Receive a forbidden request, and yield an item for it."""
        self.logger.info("request_forbidden: %s: %s", request.url, verdict)
        yield ForbiddenPage(url=request.url, line=verdict.rule.line, why=str(verdict))

    async def site_paused(self, site, until, reason):
        """Receive the start of a pause."""
        self.logger.info(
            "site_paused: %s until %s: %s", site, f"{until:%H:%M:%S %Z}", reason
        )

    def site_resumed(self, site, paused_for):
        """Receive the end of a pause."""
        self.logger.info("site_resumed: %s after %.1f s", site, paused_for)

    def site_given_up(self, site, reason, lost):
        """Receive a site that did not recover: here an alert could be sent."""
        self.logger.warning("site_given_up: %s: %s, %d lost", site, reason, lost)

    async def crawl_ended(self, verdict):
        """Receive the last line of the log: here a mail could be sent."""
        self.logger.info("crawl_ended: %s", verdict)

    async def sitemaps_discovered(self, site, urls):
        """Receive a site's sitemaps, and yield a request for each."""
        self.logger.info("sitemaps_discovered: %s: %s", site, ", ".join(urls))
        for url in urls:
            yield scrapy.Request(url, callback=self.parse_sitemap)

    def parse_sitemap(self, response):
        """Follow what a sitemap, or an index of sitemaps, lists."""
        body = response.body
        if response.url.endswith(".gz"):
            body = gzip.decompress(body)
        sitemap = Selector(text=body.decode(), type="xml")
        sitemap.remove_namespaces()
        yield from response.follow_all(
            sitemap.xpath("/sitemapindex/sitemap/loc/text()").getall(),
            callback=self.parse_sitemap,
        )
        yield from response.follow_all(sitemap.xpath("/urlset/url/loc/text()").getall())
