"""What the demo adds to a crawl: a web to crawl, and a check of what came of it."""

from collections import defaultdict
from datetime import datetime, timezone
from urllib.parse import urljoin

from scrapy import signals
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import gatherResults

from sample_project import check
from sample_project.demoweb.sites import demo_sites
from sample_project.items import Page
from sample_project.record import Pause, SiteRecord
from scrapy_mandelbot import signals as mandelbot_signals


class DemoWeb:
    """Serves the demo web while the spider is open, and gives the spider its URLs."""

    def __init__(self, outage):
        self.sites = demo_sites(outage)

    @classmethod
    def from_crawler(cls, crawler):
        """Return the extension, connected to the crawl."""
        ext = cls(crawler.settings.getfloat("DEMO_OUTAGE"))
        crawler.signals.connect(ext.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(ext.spider_closed, signal=signals.spider_closed)
        return ext

    def spider_opened(self, spider):
        """Open the sites, before the spider's first request."""
        # Importing the reactor installs one, if Scrapy has not: so not at the top of
        # the file.
        from twisted.internet import reactor  # noqa: PLC0415

        for number, site in enumerate(self.sites, start=1):
            site.listen(reactor, f"127.0.0.{number}")
        spider.start_urls = [f"{site.url}/" for site in self.sites]

    async def spider_closed(self):
        """Close the sites."""
        await maybe_deferred_to_future(
            gatherResults([site.close() for site in self.sites])
        )


class CrawlCheck:
    """Records the signals of a crawl, and compares them with the demo web's counts.

    What the crawl says is made from signals and stats.
    """

    def __init__(self, crawler):
        self.crawler = crawler
        self.records = defaultdict(SiteRecord)  # by site
        self.text = ""

    @classmethod
    def from_crawler(cls, crawler):
        """Return the extension, connected to signals of Scrapy and of the package."""
        ext = cls(crawler)
        for receiver, signal in (
            (ext.item_scraped, signals.item_scraped),
            (ext.robots_fetched, mandelbot_signals.robots_fetched),
            (ext.request_forbidden, mandelbot_signals.request_forbidden),
            (ext.site_paused, mandelbot_signals.site_paused),
            (ext.site_resumed, mandelbot_signals.site_resumed),
            (ext.sitemaps_discovered, mandelbot_signals.sitemaps_discovered),
            (ext.spider_closed, signals.spider_closed),
            (ext.engine_stopped, signals.engine_stopped),
        ):
            crawler.signals.connect(receiver, signal=signal)
        return ext

    def item_scraped(self, item):
        """Note a page."""
        if isinstance(item, Page):
            self.records[site_of(item.url)].pages.append((now(), item.url))

    def robots_fetched(self, site):
        """Note that a site's robots.txt is known."""
        self.records[site].robots_known = True

    def request_forbidden(self, request, verdict):
        """Note a forbidden URL, and the rule that decided."""
        self.records[site_of(request.url)].forbidden.append((request.url, verdict.rule))

    def site_paused(self, site, reason):
        """Note the beginning of a pause."""
        self.records[site].pauses.append(Pause(at=now(), reason=reason))

    def site_resumed(self, site, paused_for):
        """Note the end of a pause."""
        pause = self.records[site].pauses[-1]
        pause.resumed_at = now()
        pause.paused_for = paused_for

    def sitemaps_discovered(self, site, urls):
        """Note a site's sitemaps."""
        self.records[site].sitemaps.extend(urls)

    def spider_closed(self):
        """Compare the records with the demo web."""
        stats = self.crawler.stats
        rows = check.compare(
            self.records, stats, self.crawler.get_extension(DemoWeb).sites
        )
        stats.set_value("demo/mismatches", sum(not row.holds for row in rows))
        self.text = f"\n{check.render(rows)}"

    def engine_stopped(self):
        """Print the check, when the log has said its last."""
        print(self.text)


def site_of(url):
    """Return the site of a URL: its scheme, host and port."""
    return urljoin(url, "/").rstrip("/")


def now():
    """Return the time; in UTC, as the package gives it."""
    return datetime.now(tz=timezone.utc)
