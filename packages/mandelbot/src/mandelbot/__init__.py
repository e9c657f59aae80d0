r"""The Robots Exclusion Protocol: robots.txt, sitemaps, robot tags, usage preferences.

It reads, checks, fixes and explains what a site says to robots, in six dialects, from
any bytes.

>>> from mandelbot import RobotsTxt
>>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /private\n")
>>> robots.allowed("https://example.com/private/notes", "Mandelbot")
False

The public names stand in ``__init__.pyi``. Each is imported when it is first used: who
only decides does not wait for the linter.
"""

from mandelbot.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
