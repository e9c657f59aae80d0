"""The same spider; it prints why the crawl waits when it does."""

from sample_project.spiders.demo import DemoSpider
from scrapy_mandelbot import site_rules, status, why_idle


class StatusSpider(DemoSpider):
    """Asks the running crawl how it stands, four seconds after a site was paused."""

    name = "status"
    custom_settings = {"DEMO_OUTAGE": 8}

    def site_paused(self, site, **_):
        """Look when the other sites are done: then nothing is left but to wait."""
        # Importing the reactor installs one, if Scrapy has not: so not at the top of
        # the file.
        from twisted.internet import reactor  # noqa: PLC0415

        reactor.callLater(4, self.look, site)

    def look(self, site):
        """Print the status of the crawl, why it is idle, and a rule of that site."""
        print(status(self.crawler), end="\n\n")
        print(why_idle(self.crawler), end="\n\n")
        print(site_rules(self.crawler, site).verdict(f"{site}/basket", "Samplebot"))
