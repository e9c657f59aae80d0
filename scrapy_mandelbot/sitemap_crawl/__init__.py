"""Requests sitemaps, reads them, and feeds their pages to the crawl while it has room.

Entries wait on disk, not in the scheduler: a million entries are not a million
requests.
"""
