"""The off switch: the same crawl with stock Scrapy."""

from sample_project.spiders.demo import DemoSpider


class OffSpider(DemoSpider):
    """Crawls the demo web without the package; the rest of the project keeps it."""

    name = "off"
    custom_settings = {
        "MANDELBOT_ENABLED": False,
        # What the check finds missing at the end is what this spider is here to show.
        "DEMO_CHECK": False,
    }
