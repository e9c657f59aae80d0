r"""The Robots Exclusion Protocol: robots.txt, sitemaps, robot tags, usage preferences.

It reads, checks, fixes and explains what a site says to robots, in six dialects, from
any bytes.

>>> from mandelbot import RobotsTxt
>>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /private\n")
>>> robots.allowed("https://example.com/private/notes", "Mandelbot")
False

The public names stand below, and each is imported when it is first used: who only
decides does not wait for the linter. Public are these, ``mandelbot.protego`` and
``mandelbot.robotparser``. All else is internal: it may change in any release, and only
scrapy-mandelbot of the same release uses it.
"""

from mandelbot.lazy import lazy_names

_HOMES = {
    "__version__": "._version",
    "Agent": ".robotstxt.agents",
    "Answer": ".answers.outcome",
    "DIALECTS": ".robotstxt.dialects",
    "Delivery": ".findings.delivery",
    "Dialect": ".robotstxt.dialects",
    "Failure": ".answers.outcome",
    "Finding": ".findings.catalogue",
    "Outcome": ".answers.outcome",
    "OutcomeKind": ".answers.outcome",
    "OutcomePolicy": ".answers.outcome",
    "Record": ".robotstxt.records",
    "RequestRate": ".robotstxt.times",
    "RobotTag": ".tags",
    "RobotTags": ".tags",
    "RobotsTxt": ".robotstxt.robots_txt",
    "Rule": ".robotstxt.verdict",
    "Severity": ".findings.catalogue",
    "SitemapEntry": ".sitemaps",
    "SitemapReader": ".sitemaps",
    "Statement": ".preferences.statements",
    "Terms": ".preferences.statements",
    "TimeWindow": ".robotstxt.times",
    "Usage": ".preferences.statements",
    "Verdict": ".robotstxt.verdict",
    "known_robot_verdict": ".robotstxt.known_robots",
    "lint": ".findings",
    "lint_delivery": ".findings",
    "normalize": ".fix.correction",
    "page_usage": ".preferences.in_pages",
    "robot_tags": ".tags",
    "usage": ".preferences.of_file",
    "wait_asked_for": ".answers.retry_after",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
