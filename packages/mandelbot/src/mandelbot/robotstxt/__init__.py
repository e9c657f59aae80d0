r"""A robots.txt parser: any bytes, six dialects, every verdict with its rule and line.

No Scrapy, no network, no file, no clock.

>>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /private\n")
>>> robots.allowed("https://example.com/private/notes", "Mandelbot")
False
>>> print(robots.verdict("https://example.com/private/notes", "Mandelbot"))
forbidden by line 2: Disallow: /private (agent *)
"""

from mandelbot.lazy import lazy_names

_HOMES = {
    "Agent": ".agents",
    "header_text": ".agents",
    "product_tokens": ".agents",
    "LARGE": ".decider",
    "DIALECTS": ".dialects",
    "Dialect": ".dialects",
    "known_robot_verdict": ".known_robots",
    "as_servers_read_it": ".paths",
    "RobotsTxt": ".robots_txt",
    "TIME_READERS": ".times",
    "RequestRate": ".times",
    "TimeWindow": ".times",
    "Rule": ".verdict",
    "Verdict": ".verdict",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
