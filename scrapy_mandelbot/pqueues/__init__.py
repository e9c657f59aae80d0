"""The site queue: hands out requests of sites that may be asked, and keeps the others' for later.

A request held here holds no downloader place, is counted, so that the crawl does not go idle, and
is written to JOBDIR like any other.
"""

from scrapy_mandelbot.pqueues.site import SiteQueue

__all__ = ["SiteQueue"]
