r"""A robots.txt parser: any bytes, six dialects, every verdict with its rule and line.

No Scrapy, no network, no file, no clock. It imports nothing of the library above it.

>>> from mandelbot import RobotsTxt
>>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /private\n")
>>> robots.allowed("https://example.com/private/notes", "Mandelbot")
False
>>> print(robots.verdict("https://example.com/private/notes", "Mandelbot"))
forbidden by line 2: Disallow: /private (agent *)
"""
