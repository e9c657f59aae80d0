"""The package's signals. Connect to them as to Scrapy's own.

Each signal also calls the spider's method of the same name, if there is one. All carry
``spider`` as well, and are sent with ``crawler.signals.send_catch_log``.
"""

site_paused = object()
"""``(site: str, until: datetime, reason: str)``: nothing is sent to the site until then
(UTC).
"""

site_resumed = object()
"""``(site: str, paused_for: float)``: the site answers again, after a pause of so many
seconds.
"""

site_given_up = object()
"""``(site: str, reason: str, lost: int)``: the site did not recover in time, or has
never answered. ``lost``: its requests that have failed for good or are about to; those
that are kept for the next run (``JOBDIR``) do not count. Without a next run the site is
tried a last time: if it answers after all, ``site_resumed`` follows.
"""

site_refuses_robots = object()
"""``(site: str, reason: str, until: datetime)``: the site, or a section of it, answers
robots with challenges or prices; nothing is sent there until then (UTC).
"""

sitemaps_discovered = object()
"""``(site: str, urls: tuple[str, ...])``: the absolute URLs that the site's robots.txt
cites, or the project names where it cites none; once a run.
"""

robots_fetched = object()
"""``(site: str, robots: RobotsTxt, outcome: Outcome)``: the site answered
/robots.txt."""

request_forbidden = object()
"""``(request: Request, verdict: Verdict)``: robots.txt forbids the request."""

output_dropped = object()
"""``(response: Response, output: Request | Any, tag: RobotTag)``: the robot tags of the
page forbid what its callback yielded, and they are obeyed.
"""

usage_disallowed = object()
"""``(response: Response | None, output: Request | Any, statement: Statement | None)``:
the owner of a page disallows the crawl's purpose. ``output`` is a dropped item of the
response, or the request for the page, which is not sent (``response`` is None).
``statement`` is None where the owner states nothing and ``MANDELBOT_USAGE_UNKNOWN`` is
``drop``.
"""

crawl_ended = object()
"""``(verdict: str)``: the crawl has ended. The verdict is the last line of its log,
such as ``OK: Finished after 2.9 s. 41 pages.``
"""
