"""What is told of a crawl while it runs, and when it has ended.

One record (``recorder.py``, ``site_record.py``) holds what happened at each site, bounded
whatever the size of the crawl: the table at the end, the page and the metrics are made from it.
"""
