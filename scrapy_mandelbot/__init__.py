"""Scrapy reads every robots.txt right, pauses sites in trouble, finds their sitemaps.

The public names stand in ``__init__.pyi``. Each is imported when it is first used:
Scrapy loads the package's commands on every call. What a site's files say is read by
the library, ``mandelbot``.
"""

from mandelbot.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
