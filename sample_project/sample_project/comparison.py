"""What `scrapy crawl compare` adds to a crawl: a site with an outage, and a count."""

from http import HTTPStatus

from scrapy import signals
from scrapy.utils.defer import maybe_deferred_to_future

from sample_project.check import align
from sample_project.demoweb.server import Site

PAGES_BEFORE = 15  # the outage


class Outage:
    """Serves a site of 41 pages that answers 503 for a while; counts its answers."""

    def __init__(self, crawler):
        self.crawler = crawler
        self.site = Site(
            links={"/": [f"/page/{number}" for number in range(1, 41)]},
            files={"/robots.txt": "User-agent: *\nDisallow:\n"},
            outage=crawler.settings.getfloat("DEMO_OUTAGE"),
            outage_after=PAGES_BEFORE,
        )

    @classmethod
    def from_crawler(cls, crawler):
        """Return the extension, connected to the crawl."""
        ext = cls(crawler)
        crawler.signals.connect(ext.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(ext.spider_closed, signal=signals.spider_closed)
        return ext

    @property
    def pages(self):
        """How many pages the site has served."""
        return len(self.site.asked(self.site.pages, HTTPStatus.OK))

    def spider_opened(self, spider):
        """Open the site, before the spider's first request."""
        # Importing the reactor installs one, if Scrapy has not: so not at the top of
        # the file.
        from twisted.internet import reactor  # noqa: PLC0415

        self.site.listen(reactor, "127.0.0.1")
        spider.start_urls = [f"{self.site.url}/"]

    async def spider_closed(self, spider):
        """Close the site. The crawl with the package must have all pages."""
        await maybe_deferred_to_future(self.site.close())
        missing = len(self.site.pages) - self.pages if spider.beside else 0
        self.crawler.stats.set_value("demo/mismatches", missing)

    def row(self):
        """Return the row of the table: spider, pages, refusals, seconds."""
        refusals = self.site.asked(status=HTTPStatus.SERVICE_UNAVAILABLE).total()
        seconds = self.crawler.stats.get_value("elapsed_time_seconds", 0.0)
        with_package = self.crawler.settings.getbool("MANDELBOT_ENABLED", default=True)
        return (
            "with scrapy-mandelbot" if with_package else "stock Scrapy",
            f"{self.pages} of {len(self.site.pages)}",
            str(refusals),
            f"{seconds:.1f}",
        )


def render(crawlers):
    """Return the table of crawls that ran beside each other."""
    rows = [crawler.get_extension(Outage).row() for crawler in crawlers]
    return "\n".join(align([("", "PAGES", "REFUSALS (503)", "SECONDS"), *rows]))
