"""An ordinary spider: it follows every link, and knows nothing of scrapy-mandelbot."""

import scrapy

from sample_project.items import Page


class DemoSpider(scrapy.Spider):
    """Crawls the demo web."""

    name = "demo"
    allowed_domains = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    # The demo web listens on free ports; its extension sets start_urls once they are
    # known.
    start_urls = []

    def parse(self, response):
        """Scrape a page and follow its links."""
        yield Page(url=response.url, title=response.css("title::text").get())
        yield from response.follow_all(css="a", callback=self.parse)
