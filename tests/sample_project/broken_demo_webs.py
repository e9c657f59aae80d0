"""Demo webs on which the sample crawl cannot succeed."""

from sample_project.extensions import DemoWeb


class ForgetfulWeb(DemoWeb):
    """Links to a page that is gone."""

    def __init__(self, outage):
        super().__init__(outage)
        _, shop, _ = self.sites
        shop.pages.remove("/shelf/3/3")


class CalmWeb(DemoWeb):
    """Promises an outage that never comes."""

    def __init__(self, outage):
        super().__init__(outage)
        _, shop, _ = self.sites
        shop.outage_after = 1_000
