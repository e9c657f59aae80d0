"""What a response means: to a request for a robots.txt, a page or a sitemap.

The public names stand in ``__init__.pyi``; each is imported when it is first used.
"""

from mandelbot.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
