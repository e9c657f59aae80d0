"""Status, summary, report and metrics of a crawl.

One record (``recorder.py``, ``site_record.py``) holds what happened at each site, in
bounded memory whatever the size of the crawl. The table at the end, the page and the
metrics come from it.
"""
