r"""Parse sitemaps incrementally: any format, chunks of any size, constant memory.

Bytes go in, entries come out: no Scrapy, no network, no file, no clock.

>>> reader = SitemapReader("https://example.com/sitemap.txt")
>>> [entry.loc for entry in reader.feed(b"https://example.com/a\nhttps://exam")]
[]
>>> [entry.loc for entry in reader.close()]
['https://example.com/a', 'https://exam']
"""

from mandelbot.sitemaps.entries import SitemapEntry
from mandelbot.sitemaps.problems import SitemapProblem
from mandelbot.sitemaps.reader import SitemapReader
from mandelbot.sitemaps.urls import LONGEST_URL, http_url

__all__ = [
    "LONGEST_URL",
    "SitemapEntry",
    "SitemapProblem",
    "SitemapReader",
    "http_url",
]
