"""A crash-safe job: requests, fingerprints and state of a crawl in one file.

A page's request leaves the file when its callback has run to its end and everything it
yielded is in the file or has passed the item pipelines, in one commit. Users read
``docs/jobs.rst``.
"""
