"""The queue of a crawl, over Scrapy's own: order, fairness, and skipping sites that have to wait.

Whether a request may go to its site, and when to look again, is decided by
``throttle``.
"""
