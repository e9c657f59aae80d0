"""The same spider, for ``scrapy distributed``; settings say what its workers share."""

from sample_project.spiders.demo import DemoSpider


class DistributedSpider(DemoSpider):
    """Crawls the sites that it is given, as one of several workers."""

    name = "distributed"

    def __init__(self, start="", **arguments):
        super().__init__(start_urls=start.split(), **arguments)
