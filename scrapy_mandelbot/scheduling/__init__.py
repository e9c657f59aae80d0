"""The queue of a crawl, over Scrapy's own: order, fairness, and sites passed by that must wait.

How a site is to be asked is not decided here: ``throttle`` says whether it may be, and when to look
again.
"""
