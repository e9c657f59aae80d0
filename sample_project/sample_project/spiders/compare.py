"""Two crawls in one process, with the package and with stock Scrapy.

`scrapy crawl compare`.
"""

from sample_project.spiders.demo import DemoSpider


class CompareSpider(DemoSpider):
    """Crawls a site that answers 503 for five seconds, beside another spider."""

    name = "compare"
    beside = ("stock",)
    custom_settings = {
        "DEMO_OUTAGE": 5,
        # In place of the demo web: each of the two crawls has a site, with an outage,
        # to itself.
        "EXTENSIONS": {"sample_project.comparison.Outage": 100},
    }


class StockSpider(CompareSpider):
    """The same spider without the package."""

    name = "stock"
    beside = ()
    custom_settings = {**CompareSpider.custom_settings, "MANDELBOT_ENABLED": False}
