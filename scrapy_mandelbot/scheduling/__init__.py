"""The queue of a crawl, over Scrapy's: order, fairness, and skipping waiting sites.

Whether a request may go to its site, and when to look again, is decided by
``throttle``.
"""
