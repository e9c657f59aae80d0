"""The events of a crawl: a table of their log lines, stats and signals.

A test compares the documents' tables of stats and signals with this one.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field, replace
from functools import partial

from scrapy_mandelbot import signals
from scrapy_mandelbot.politeness.tally import End

_IN_ACCOUNT = ("taken_in", "from_former_run", "lost", *map(str, End))
"""The names of all numbers of an account."""


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happens in a crawl, and what log, stats and a signal say of it."""

    text: str = ""
    """The format of the log line, with the names of its values; ``""``: no line."""
    level: int = logging.INFO
    stats: tuple[str, ...] = ()
    """Stats that grow by one."""
    sums: tuple[tuple[str, str], ...] = ()
    """Stats that grow by a value, each with the name of the value; 0 creates no stat.
    """
    families: tuple[tuple[str, str], ...] = ()
    """Stats that grow by one and end in a value: their prefix, and the name of the
    value.
    """
    signal: object | None = None
    signal_values: tuple[str, ...] = ()
    """The names of the values that the signal carries."""
    in_text: tuple[str, ...] = field(init=False, repr=False)
    """The names of the values in the log line."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "in_text", tuple(re.findall(r"%\((\w+)\)", self.text)))


_warning = partial(Event, level=logging.WARNING)
_error = partial(Event, level=logging.ERROR)

PAUSED = Event(
    "Paused %(where)s until %(until)s: %(reason)s (%(waiting)s queued)",
    stats=("mandelbot/pause/count",),
    signal=signals.site_paused,
    signal_values=("site", "until", "reason"),
)
HELD = replace(PAUSED, stats=("mandelbot/pause/count", "mandelbot/pause/held"))
SHUT = replace(PAUSED, stats=("mandelbot/pace/shut",))
PAUSED_BY_PEER = Event(
    "Paused %(where)s until %(until)s: another crawl reports %(reason)s (%(waiting)s"
    " queued)",
    stats=("mandelbot/pause/overheard",),
    signal=signals.site_paused,
    signal_values=PAUSED.signal_values,
)
RESTORED = Event(
    "%(where)s is still paused until %(until)s (%(source)s): %(reason)s",
    stats=("mandelbot/pause/restored",),
)
PROLONGED = Event(
    "%(where)s is still paused until %(until)s: %(reason)s (%(tries)s; given up"
    " %(end)s unless it answers or names a time)",
    stats=("mandelbot/pause/prolonged",),
)
NETWORK_DOWN = _warning(
    "No site answers since %(since)s: is the network up? Until %(until)s nothing is"
    " counted against a site.",
    stats=("mandelbot/network/down",),
)
NETWORK_UP = Event("Sites answer again after %(paused_for).1f s")
CONCURRENCY_LOWERED = Event(
    "Limited %(site)s to %(at_once)s at once: with %(other)s no more pages came a"
    " second (%(other_rate)s, and %(now_rate)s now), and an answer took %(times)s times"
    " as long",
    stats=("mandelbot/concurrency/lowered",),
)
CONNECTIONS_LIMITED = Event(
    "Limited %(site)s to %(at_once)s at once: it refuses those above that number",
    stats=("mandelbot/concurrency/lowered",),
)
CONCURRENCY_RAISED = Event("%(site)s bears %(at_once)s at once again")
RETRY_AFTER_UNREADABLE = _warning(
    "Ignored an invalid Retry-After of %(site)s: %(value)s",
)
SET_ASIDE = Event(
    "Set aside for %(seconds).1f s: %(reason)s; %(where)s answers all other requests",
    logging.DEBUG,
    stats=("mandelbot/pause/set_aside",),
)
SECTION_PAUSED = Event(
    "Set aside %(path)s of %(where)s until %(until)s: only its pages are refused",
    stats=("mandelbot/pause/sections",),
)
SECTION_PROLONGED = Event(
    "%(path)s of %(where)s is still set aside until %(until)s: %(reason)s (%(tries)s;"
    " given up %(end)s unless it answers or names a time)",
)
REFUSES_ROBOTS = _warning(
    "%(where)s%(path)s %(reason)s (%(waiting)s queued). Nothing is sent there until"
    " %(until)s, then one request an hour. Identify your robot, contact the owner, or"
    " pay (docs/pauses.rst)",
    stats=("mandelbot/pause/refuses_robots",),
    signal=signals.site_refuses_robots,
    signal_values=("site", "reason", "until"),
)
MAY_REFUSE_ROBOTS = _warning(
    "%(where)s may refuse this crawler: pages of several paths are forbidden, and none"
    " was good since (%(why)s). Nothing is paused: they may be private"
    " (docs/pauses.rst)",
)
REFUSES_ROBOTS_STILL = _warning(
    "Gave up %(where)s%(path)s, which %(reason)s (%(waiting)s queued: %(fate)s)",
    stats=("mandelbot/pause/sections_given_up",),
)
SECTION_RESUMED = Event("Resumed %(path)s of %(where)s: it answers again")
LAST_ATTEMPTS = _warning(
    "Gave up %(where)s after %(tries)s in %(paused_for).0f s: %(reason)s (%(waiting)s"
    " queued: those not refused twice are sent once more)",
    stats=("mandelbot/pause/given_up",),
)
SECTION_GIVEN_UP = _warning(
    "Gave up %(path)s of %(where)s, which answers elsewhere: %(reason)s (its requests:"
    " %(fate)s)",
    stats=("mandelbot/pause/sections_given_up",),
)
PAGE_GIVEN_UP = Event(
    "Gave up %(request)s: it alone is refused (%(reason)s). It is kept for the next"
    " run, and so are other such pages of %(site)s.",
    stats=("mandelbot/pause/pages_given_up",),
)
RETRIED_ON_ITS_OWN = Event(stats=("mandelbot/pause/asked_again",))
SLOWER = Event(
    "Rate limit of %(where)s: about %(limit)s (%(waiting)s queued, about %(time)s)",
)
RESUMED = Event(
    "Resumed %(where)s after %(paused_for).1f s (%(waiting)s queued)",
    stats=("mandelbot/pause/resumed",),
    sums=(("mandelbot/pause/seconds", "paused_for"),),
    signal=signals.site_resumed,
    signal_values=("site", "paused_for"),
)
RECOVERED = Event(
    "%(where)s is back to its request rate before the pause", logging.DEBUG
)
OPENED = Event(
    RESUMED.text, signal=signals.site_resumed, signal_values=RESUMED.signal_values
)
GIVEN_UP = _warning(
    "Gave up %(where)s after %(tries)s in %(paused_for).0f s: %(reason)s (%(waiting)s"
    " queued: %(fate)s)",
    stats=("mandelbot/pause/given_up",),
)
# After GIVEN_UP, and for a host that never answered.
SITE_GIVEN_UP = Event(
    signal=signals.site_given_up, signal_values=("site", "reason", "lost")
)
REFUSAL_FAILED = _error(
    "MANDELBOT_REFUSAL: %(function)s failed, and %(url)s counts as a page: %(error)s",
    stats=("mandelbot/pause/refusal_errors",),
)
REFUSED = Event(stats=("mandelbot/pause/refused",))
WAITING = Event("%(status)s")
BOUNCED = Event(stats=("mandelbot/pause/bounced",))
WAITED = Event(stats=("mandelbot/pause/waited",))
EVICTED = Event(sums=(("mandelbot/pause/evicted", "count"),))
HANDED_ON = Event(stats=("mandelbot/pause/handed_on",))

PACE = Event(
    "Pace of %(where)s: %(pace)s (%(source)s)", stats=("mandelbot/pace/sites",)
)
PACE_NOT_OBEYED = Event(
    '%(where)s: %(pace)s (%(source)s) is not obeyed; set MANDELBOT_PACE = "obey" to'
    " obey it",
    stats=("mandelbot/pace/not_obeyed",),
)
PACE_CAPPED = _warning(
    "%(where)s: %(asked)g s between requests is capped at %(longest)g s"
    ' (MANDELBOT_PACE_OPTIONS["longest"])',
    stats=("mandelbot/pace/capped",),
)
PACE_UNREADABLE = _warning(
    "Ignored an invalid pace in the robots.txt of %(where)s, line %(lines)s",
    sums=(("mandelbot/pace/unreadable", "count"),),
)
QUOTA = Event(
    "Paused %(where)s until %(until)s: its quota is used up (RateLimit header)",
    stats=("mandelbot/pace/quota",),
)
BUDGET_REACHED = Event(
    "%(site)s has reached its budget after %(spent)s (%(waiting)s queued: %(fate)s)",
    stats=("mandelbot/budget/reached",),
)
# Not by this run.
BUDGET_STILL_REACHED = Event(stats=("mandelbot/budget/reached",))
BUDGET_DROPPED = Event(stats=("mandelbot/budget/dropped",))
QUOTA_SLOW = _warning(
    "The quota of %(where)s holds up the crawl: %(rate)s (RateLimit header),"
    " %(waiting)s queued, at least %(length)s."
    ' MANDELBOT_PACE_OPTIONS["quota"] limits each wait',
    stats=("mandelbot/pace/quota_slow",),
)
# Nothing is queued when the warning is due.
QUOTA_SLOW_NEXT = _warning(
    "The quota of %(where)s is used up: %(rate)s (RateLimit header). The next request"
    ' waits %(length)s. MANDELBOT_PACE_OPTIONS["quota"] limits each wait',
    stats=("mandelbot/pace/quota_slow",),
)
TURN_WAITED = Event(
    stats=("mandelbot/pace/waited",), sums=(("mandelbot/pace/seconds", "seconds"),)
)
TURN_RESTORED = Event(stats=("mandelbot/pace/restored",))
TURN_MISSED = Event(stats=("mandelbot/pace/sent_back",))

# A reason begins with "robots.txt: ".
ROBOTS_FETCHED = Event(
    "Fetched %(site)s/%(reason)s",
    logging.DEBUG,
    stats=(
        "robotstxt/request_count",
        "mandelbot/robots/fetched",
        "robotstxt/response_count",
    ),
    families=(
        ("mandelbot/robots/", "case"),
        ("robotstxt/response_status_count/", "status"),
    ),
)
# Without a response.
ROBOTS_NOT_FETCHED = replace(
    ROBOTS_FETCHED,
    text="Could not fetch %(site)s/%(reason)s",
    stats=ROBOTS_FETCHED.stats[:2],
    families=ROBOTS_FETCHED.families[:1],
)
ROBOTS_NO_SUCH_HOST = _warning(
    "Could not fetch %(site)s/%(reason)s. A request outside the queue is tried once: it"
    " is sent without rules, and fails unless the name resolves by then.",
)
ROBOTS_EXCEPTION = Event(families=(("robotstxt/exception_count/", "error"),))
ROBOTS_CUT = _warning(
    "The robots.txt of %(site)s %(cut)s: the rest is ignored",
    stats=("mandelbot/robots/cut",),
)
ROBOTS_COSTLY = _warning(
    "The robots.txt of %(site)s has too many rules with wildcards: its long URLs are"
    " forbidden",
    stats=("mandelbot/robots/costly",),
)
ROBOTS_TRUNCATED = _warning(
    "The robots.txt of %(site)s is truncated after %(size)s of whole lines"
    " (%(reason)s)",
    stats=("mandelbot/robots/broken_off",),
)
ROBOTS_UNANSWERED = _warning(
    "%(site)s has never answered in this run, and its requests %(fate)s: %(reason)s."
    " %(why)s A request that comes after %(next)s asks again.",
)
ROBOTS_ASKED_AGAIN = Event(
    "%(site)s does not answer yet (%(failure)s). Its robots.txt is asked for again"
    " until %(until)s, or until %(next)s while other sites are crawled; then its"
    " requests %(fate)s.",
)
ROBOTS_TRIED_ENOUGH = Event(stats=("mandelbot/robots/unanswered",))
ROBOTS_ERROR = _error(
    "An error in the project, not at %(site)s, prevents fetching its robots.txt:"
    " %(reason)s",
)
ROBOTS_SLOW = _warning(
    "The robots.txt of %(site)s took %(seconds).1f s; the limit is %(most)g s",
    stats=("mandelbot/robots/slow",),
)
ROBOTS_AWAITED = Event(
    "Waiting for the robots.txt of %(site)s: no answer after %(seconds)g s; its pages"
    " wait for it, %(most)g s at most",
    stats=("mandelbot/robots/awaited",),
)
ROBOTS_TESTED = Event(
    "Testing %(site)s with / and %(path)s, once a day at most: its robots.txt answers"
    " %(status)s each time, as some servers do for any missing page",
    stats=("mandelbot/robots/tested",),
)
ROBOTS_STALE = _warning(
    "%(site)s/%(reason)s: from %(since)s, until %(until)s at most; next attempt at"
    " %(next)s",
)
ROBOTS_UNREADABLE = _error(
    "ROBOTSTXT_PARSER failed on the robots.txt of %(site)s, which is not obeyed:"
    " %(error)s",
)
ROBOTS_READ = Event(
    signal=signals.robots_fetched, signal_values=("site", "robots", "outcome")
)
ROBOTS_FROM_CACHE = Event(stats=("mandelbot/robots/from_cache",))
ROBOTS_CACHED = Event(
    "The robots.txt of %(site)s was cached at %(since)s and is valid until %(until)s"
    " (to drop it: %(command)s)",
)
ROBOTS_ANSWERED = Event(stats=("mandelbot/robots/answered",))
ROBOTS_UNKNOWN = _warning(
    "The rules of %(site)s are not known (%(reason)s). A crawl would pause the site and"
    " try again later; this interactive request is sent anyway.",
)
ROBOTS_MISSPELT = _warning(
    "The robots.txt of %(site)s: line %(line)s '%(text)s' is not read (Google's and"
    " Scrapy's parsers read it as %(field)s); set MANDELBOT_DIALECT = 'google' to"
    " obey it",
)
COMMENTED = Event(
    "%(site)s has a comment for this robot in its robots.txt: %(comments)s"
)
FORBIDDEN = Event(
    "Forbidden by robots.txt: %(request)s (%(file)s: %(verdict)s)",
    logging.DEBUG,
    stats=("robotstxt/forbidden",),
    signal=signals.request_forbidden,
    signal_values=("request", "verdict"),
)
FORBIDDEN_ALL = Event(
    "Every page of %(site)s is forbidden (%(file)s: %(verdict)s); see"
    " docs/went_wrong.rst",
)
FORBIDDEN_UNEXPLAINED = Event(
    "Forbidden by robots.txt: %(request)s", logging.DEBUG, stats=FORBIDDEN.stats
)

SITEMAPS_DISCOVERED = Event(
    sums=(("mandelbot/sitemaps/discovered", "count"),),
    signal=signals.sitemaps_discovered,
    signal_values=("site", "urls"),
)
SITEMAPS_UNCITED = Event(
    "The robots.txt of %(site)s cites no sitemap: only links lead to its pages"
    " (MANDELBOT_SITEMAPS = ['/sitemap.xml'] reads that path of such sites)",
    stats=("mandelbot/sitemaps/uncited",),
)
SITEMAPS_LEFT_TO_SPIDER = Event(
    "Sitemaps are left to the spider, which is a SitemapSpider"
)
SITEMAP_DROPPED = _warning(
    "Sitemaps are not followed in this run; sitemap requests left by the previous run"
    " are dropped, such as %(url)s",
    stats=("mandelbot/sitemaps/dropped",),
)
SITEMAP_READ = Event(
    "The sitemap %(url)s (%(kind)s) has %(entries)s, %(wanted)d to crawl",
    logging.DEBUG,
    stats=("mandelbot/sitemaps/read",),
    sums=(
        ("mandelbot/sitemaps/entries", "entries"),
        ("mandelbot/sitemaps/older", "older"),
    ),
)
SITEMAP_FAILED = _warning(
    "The sitemap %(url)s was not read: %(reason)s",
    stats=("mandelbot/sitemaps/failed",),
)
SITEMAP_PROBLEM = _warning(
    "The sitemap %(url)s: %(problem)s", stats=("mandelbot/sitemaps/problems",)
)
SITEMAP_PROBLEMS_MUTED = _warning(
    "Further problems with the sitemaps of %(site)s are only counted in stats",
)
SITEMAPS_INSIDE = _warning(
    "%(site)s cites sitemaps on this machine or in its network; they are not fetched"
    ' (MANDELBOT_LIMITS["private_hosts"] allows them)',
)
SITEMAPS_TOO_MANY = _warning(
    "%(site)s has more than %(most)d sitemaps; the rest are ignored",
)
SITEMAPS_TOO_DEEP = _warning(
    "%(site)s nests sitemap indexes more than %(most)d deep; deeper ones are ignored",
)
SITEMAPS_CROSS_HOST = _warning(
    "%(site)s cites sitemaps on other hosts; no more are fetched, as %(limit)s",
)
SITES_TOO_MANY = _warning(
    "The sitemaps of %(site)s list pages of more than %(most)d sites whose robots.txt"
    " does not cite them, or is not known yet; pages of further sites are ignored",
)
SITE_LEFT_OUT = _warning(
    "%(sitemap)s lists pages of %(site)s, whose robots.txt %(why)s; they are ignored",
)
PAGE_FED = Event(stats=("mandelbot/sitemaps/fed",))
PAGE_FORBIDDEN = Event(stats=("mandelbot/sitemaps/forbidden",))
PAGES_FOREIGN = Event(sums=(("mandelbot/sitemaps/foreign", "pages"),))

TAGGED = Event(
    stats=("mandelbot/tags/pages",),
    sums=(
        ("mandelbot/tags/noindex", "noindex"),
        ("mandelbot/tags/nofollow", "nofollow"),
        ("mandelbot/tags/unavailable", "unavailable"),
    ),
)
REQUEST_DROPPED = Event(
    "Dropped by robot tags: %(what)s (%(response)s: %(tag)s)",
    logging.DEBUG,
    stats=("mandelbot/tags/requests_dropped",),
    signal=signals.output_dropped,
    signal_values=("response", "output", "tag"),
)
ITEM_DROPPED = replace(REQUEST_DROPPED, stats=("mandelbot/tags/items_dropped",))
LINK_DROPPED = replace(REQUEST_DROPPED, stats=("mandelbot/tags/links_dropped",))

JOB_RESUMED = Event(
    "Resuming the job: %(waiting)s queued for %(lines)s; the previous run %(how)s",
    sums=(("mandelbot/job/resumed", "waiting"),),
)
JOB_HAD_FINISHED = Event(
    "This %(job)s finished at %(when)s; the %(requests)s that it has crawled are not"
    " sent again: use %(instead)s for a new crawl"
)
JOB_START_SKIPPED = Event(
    "Skipped %(requests)s of start() that the job already has: %(named)s"
)
JOB_PASSED_OVER = Event(stats=("mandelbot/job/passed_over",))
JOB_IN_MEMORY = _warning(
    "Stored in memory only, as it cannot be serialized (is each callback a method of"
    " the spider?): %(request)s: %(error)s",
    stats=("mandelbot/job/in_memory", "scheduler/unserializable"),
)
JOB_LEFT_IN_MEMORY = _warning(
    "Lost %(waiting)s that only memory held; the next run fetches such pages again",
)
JOB_REQUEST_UNREADABLE = _error(
    "A request of %(line)s cannot be restored, and is set aside in the job: %(error)s",
    stats=("mandelbot/job/unreadable",),
)
JOB_SET_ASIDE = _error(
    "%(request)s is set aside: %(reason)s. `scrapy robots job … requeue` restores it",
    stats=("mandelbot/job/set_aside",),
)
JOB_FEED_NOT_KEPT = _warning(
    "After a crash the feed %(uri)s may lack items or have them twice: %(reason)s",
)
JOB_NOT_SAVED = _warning(
    "The job cannot be saved for now and continues in memory: %(error)s",
    stats=("mandelbot/job/not_saved",),
)
JOB_SAVED_AGAIN = Event("The job is saved again")
JOB_GIVEN_UP = _error(
    "The spider is closed, as the job cannot be saved: %(error)s",
)
JOB_UNREADABLE = _error("The spider is closed, as the job cannot be read: %(error)s")
JOB_LOST = _error(
    "The end of this run is not saved; the next run fetches its last pages again:"
    " %(error)s",
)

JOB_JOINED = Event(
    "Worker %(worker)s joined the job %(where)s: unassigned sites: %(unassigned)s,"
    " other workers: %(others)s"
)
JOB_AT_RISK = _warning("The Redis of this job: %(reason)s")
JOB_SETTINGS_DIFFER = _warning(
    "Other workers of this job have other values of %(settings)s: what is sent to a"
    " site depends on the worker that it gets",
)
JOB_SITES_TAKEN = Event(sums=(("mandelbot/job/sites", "count"),))
JOB_GIVEN_BEFORE = Event(sums=(("mandelbot/job/passed_over", "count"),))
JOB_LEASE_LOST = _warning(
    "This worker was silent for longer than its lease; other workers have its"
    " %(sites)s now",
    stats=("mandelbot/job/leases_lost",),
)
JOB_SET_BACK = _warning(
    "Redis has an older state of the job, as after a failover to a lagging replica:"
    " later work is repeated, and this worker returns its %(sites)s",
    stats=("mandelbot/job/set_back",),
)
JOB_FORGOTTEN = _error("The spider is closed, as Redis has %(reason)s")

USAGE_READ = Event(
    stats=("mandelbot/usage/pages",),
    sums=(
        ("mandelbot/usage/allowed", "allowed"),
        ("mandelbot/usage/disallowed", "disallowed"),
        ("mandelbot/usage/unknown", "unknown"),
        ("mandelbot/usage/terms", "terms"),
    ),
)
USAGE_REQUEST_DROPPED = Event(
    "Not requested, as its use is disallowed: %(what)s (%(statement)s)",
    logging.DEBUG,
    stats=("mandelbot/usage/requests_dropped",),
    signal=signals.usage_disallowed,
    signal_values=("response", "output", "statement"),
)
USAGE_ITEM_DROPPED = Event(
    "Dropped, as its use is disallowed: %(what)s (%(response)s: %(why)s)",
    logging.DEBUG,
    stats=("mandelbot/usage/items_dropped",),
    signal=signals.usage_disallowed,
    signal_values=USAGE_REQUEST_DROPPED.signal_values,
)
USAGE_ITEMS_KEPT = _warning(
    "Kept %(items)s of pages whose owners disallow the use: MANDELBOT_USAGE ="
    " 'annotate'",
    sums=(("mandelbot/usage/items_against", "count"),),
)
TDM_FETCHED = Event(
    "%(url)s: %(reason)s", logging.DEBUG, stats=("mandelbot/usage/tdm_files",)
)
TERMS_STATED = Event(
    "%(site)s states terms in place of a page: %(status)d, %(terms)s (%(url)s). Nothing"
    " is paid or accepted; its further such answers are only counted",
    stats=("mandelbot/usage/terms_stated",),
)
REQUEST_LOST = _warning("Lost %(request)s: %(why)s")
REQUESTS_LOST_UNLOGGED = _warning(
    "Further lost requests of %(site)s are not logged; with MANDELBOT_REPORT, a file"
    " beside the report lists all"
)
LOST_NOT_WRITTEN = _error(
    "The list of lost requests cannot be written to %(path)s: %(why)s",
)
REQUESTS_ENDED = Event(
    "Requests: %(account)s",
    sums=tuple((f"mandelbot/requests/{name}", name) for name in _IN_ACCOUNT),
)
CRAWL_ENDED = Event("%(verdict)s")
# Also where no request was made, and CRAWL_ENDED is not logged.
ENDED = Event(signal=signals.crawl_ended, signal_values=("verdict",))
REPORT_WRITTEN = Event("Wrote the report on the crawl: %(path)s")
REPORT_FAILED = _error(
    "The report on the crawl cannot be written to %(path)s: %(why)s",
    stats=("mandelbot/report/failed",),
)

NOT_COMPARED = _warning(
    "Not compared with the previous crawl, as %(path)s cannot be used: %(why)s. Remove"
    " or rename it to compare the next crawls",
)
PREVIOUS_NOT_KEPT = _error(
    "The next crawl cannot be compared with this one: %(path)s: %(why)s",
)

METRICS_SERVED = Event("Metrics for Prometheus are at %(where)s")
METRICS_WRITTEN = Event("Wrote the metrics of the crawl: %(path)s")
METRICS_NOT_WRITTEN = _error("MANDELBOT_METRICS: cannot write %(path)s: %(error)s")
METRICS_PUSHED = Event("Pushed the metrics of the crawl to %(where)s")
METRICS_NOT_PUSHED = _error("MANDELBOT_METRICS: cannot push to %(where)s: %(error)s")
METRICS_NOT_SERVED = _error(
    "MANDELBOT_METRICS: cannot serve at %(where)s: %(error)s",
)

SIGNED = Event(stats=("mandelbot/signatures/sent",))
SIGNATURE_REQUESTED = Event(
    "%(site)s asks for signed requests; all requests to it are signed from now on",
    stats=("mandelbot/signatures/asked",),
)
CLOCKS_DIFFER = _warning(
    "The clocks of this machine and of %(site)s differ by %(seconds)d s: sites may"
    " reject signatures as expired or not yet valid",
)

EVENTS = {name: value for name, value in vars().items() if isinstance(value, Event)}
"""All events by name."""
