r"""The Robots Exclusion Protocol: robots.txt, sitemaps, robot tags, usage preferences.

It reads, checks, fixes and explains what a site says to robots, in six dialects, from
any bytes.

>>> from mandelbot import RobotsTxt
>>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /private\n")
>>> robots.allowed("https://example.com/private/notes", "Mandelbot")
False

The public names stand below. Each is imported when it is first used: who
only decides does not wait for the linter.
"""

from mandelbot.lazy import lazy_names

_HOMES = {
    "__version__": "._version",
    "Answer": ".answers.outcome",
    "Failure": ".answers.outcome",
    "Outcome": ".answers.outcome",
    "OutcomeKind": ".answers.outcome",
    "OutcomePolicy": ".answers.outcome",
    "wait_asked_for": ".answers.retry_after",
    "Finding": ".findings",
    "Severity": ".findings",
    "lint": ".findings",
    "normalize": ".fix",
    "page_usage": ".preferences.in_pages",
    "usage": ".preferences.of_file",
    "Statement": ".preferences.statements",
    "Usage": ".preferences.statements",
    "DIALECTS": ".robotstxt",
    "Dialect": ".robotstxt",
    "RobotsTxt": ".robotstxt",
    "Rule": ".robotstxt",
    "Verdict": ".robotstxt",
    "SitemapEntry": ".sitemaps",
    "SitemapReader": ".sitemaps",
    "RobotTag": ".tags",
    "RobotTags": ".tags",
    "robot_tags": ".tags",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
