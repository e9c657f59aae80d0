"""A crawl whose process may die: its requests, fingerprints and state are kept in one file.

The promise: a page's request leaves the file when its callback has run to its end and what it
yielded is in the file or has passed the item pipelines, in one commit. ``docs/jobs.rst`` tells it
to users.
"""
