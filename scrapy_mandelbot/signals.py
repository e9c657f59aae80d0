"""The package's signals. Connect to them as to Scrapy's own.

Each is sent with ``crawler.signals.send_catch_log``, and each reaches the spider's hook method of
the same name, if it defines one. All carry ``spider`` as well.
"""

site_paused = object()
"""``(site: str, until: datetime, reason: str)``: the site is left alone until then (UTC)."""

site_resumed = object()
"""``(site: str, paused_for: float)``: the site answers again, after this many seconds."""

site_refuses_robots = object()
"""``(site: str, reason: str, until: datetime)``: robots get challenges, prices or bare refusals
from the site, or a section of it, which is left alone until then (UTC)."""

sitemaps_discovered = object()
"""``(site: str, urls: tuple[str, ...])``: what its robots.txt cites, absolute; once a run."""

robots_fetched = object()
"""``(site: str, robots: RobotsTxt, outcome: Outcome)``: an answer to /robots.txt came in."""

request_forbidden = object()
"""``(request: Request, verdict: Verdict)``: the rules of its site forbid the request."""

output_dropped = object()
"""``(response: Response, output: Request | Any, tag: RobotTag)``: the tags of the response's page
forbid what its callback has yielded, and they are obeyed."""

usage_disallowed = object()
"""``(response: Response | None, output: Request | Any, statement: Statement | None)``: the owner of
a page refuses what it is wanted for. ``output`` is an item of the response that is dropped, or the
request for the page, which is not sent (``response`` is None). ``statement`` is None where nothing
is said, and ``MANDELBOT_USAGE_UNKNOWN`` is ``drop``."""
