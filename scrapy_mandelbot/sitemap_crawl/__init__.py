"""Sitemaps that the package follows itself: asked for, read, and fed to the crawl as it has room.

An entry waits on disk, not in the scheduler: a million entries are no million requests.
"""
