r"""Read a robots.txt and decide: pure, any bytes, six dialects, every verdict explained.

No Scrapy, no network, no file, no clock: bytes go in, answers come out.

>>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /private\n")
>>> robots.allowed("https://example.com/private/notes", "Mandelbot")
False
>>> print(robots.verdict("https://example.com/private/notes", "Mandelbot"))
forbidden by line 2: Disallow: /private (agent *)
"""

from scrapy_mandelbot.robotstxt.dialects import DIALECTS, Dialect
from scrapy_mandelbot.robotstxt.records import Record, RecordProblem
from scrapy_mandelbot.robotstxt.robots import RobotsTxt
from scrapy_mandelbot.robotstxt.times import RequestRate, TimeWindow, rate_at
from scrapy_mandelbot.robotstxt.verdict import Rule, Verdict

__all__ = [
    "DIALECTS",
    "Dialect",
    "Record",
    "RecordProblem",
    "RequestRate",
    "RobotsTxt",
    "Rule",
    "TimeWindow",
    "Verdict",
    "rate_at",
]
