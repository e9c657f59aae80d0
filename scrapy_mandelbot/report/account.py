"""The account of a crawl: how each accepted request ended, and how many are lost."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any

import scrapy.signals
from mandelbot import Failure
from mandelbot.answers.failures import failure_of
from mandelbot.formatting import counted, shown, without_credentials
from scrapy.exceptions import IgnoreRequest, NotConfigured

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.tally import End
from scrapy_mandelbot.report.lost_requests import LostRequests
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.throttle.in_flight import SitePausedError, is_of_the_package
from scrapy_mandelbot.throttle.manual_control import BUDGET_REACHED
from scrapy_mandelbot.time_text import clock_time, duration

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.politeness.tally import Tally

_ATTRIBUTE = "_scrapy_mandelbot_account"
_ONE_AND_MORE = {
    End.PAGE: ("page", "pages"),
    End.OTHER: ("other answer", "other answers"),
    End.CACHED: ("answered from a cache",),
    End.FORBIDDEN: ("forbidden by robots.txt",),
    End.USE: ("not sent, as the use is disallowed",),
    End.SEEN: ("filtered as a duplicate", "filtered as duplicates"),
    End.DROPPED: ("dropped by other components",),
    End.TRIED_AGAIN: ("tried again",),
    End.REPLACED: ("replaced by a middleware",),
    End.CANCELLED: ("cancelled",),
    End.NO_HOST: ("without such a host",),
    End.NETWORK: ("without an answer",),
    End.SITE: ("of a site that was given up", "of sites that were given up"),
    End.SECTION: ("of a section that was given up", "of sections that were given up"),
    End.URL: (
        "given up, as its page alone is refused",
        "given up, as each page alone is refused",
    ),
    End.WAITED: ("that waited too long",),
    End.ERROR: ("ended by an error in the project",),
    End.BUDGET: ("above the budget of its site", "above the budget of their site"),
    End.LEFT: ("left in the queue",),
}
HOW_RUNS_END = {
    "finished": ("Finished", ""),
    "not finished": ("Running", ""),
    "shutdown": ("Stopped", "Ctrl-C or SIGTERM"),
    "sites_paused": ("Stopped", "only what is paused or given up is left"),
    BUDGET_REACHED: ("Finished", "within MANDELBOT_SITE_BUDGET"),
    "job_set_aside": (
        "Finished",
        "but for requests set aside, which `scrapy robots job` lists",
    ),
    "job_idle": ("Stopped", "other workers go on"),
    "job_not_saved": ("Stopped", "the job could not be saved"),
    "job_unreadable": ("Stopped", "the job could not be read"),
    "job_forgotten": ("Stopped", "Redis has lost the job"),
}
"""Of finish reasons, the first word of the verdict, and why; of all others, they are
the why.
"""
FAILING_REASONS = frozenset({"job_not_saved", "job_unreadable", "job_forgotten"})
"""Finish reasons with which a run exits with status 1, whatever the settings."""
_COMPLETE_REASONS = frozenset({"finished", "job_idle", BUDGET_REACHED})


class Result(Enum):
    """How a crawl went, in the word that begins its last log line and its report."""

    OK = "OK"
    """Each request was answered, forbidden by a rule for it, or above a budget."""
    INCOMPLETE = "INCOMPLETE"
    """Requests were lost or left, a site forbade all, or the crawl was stopped."""
    FAILED = "FAILED"
    """The exit status is 1; or requests were lost, and there is no answer at all."""

    def __str__(self) -> str:
        return str(self.value)


def result_of(total: Tally, *, is_complete: bool) -> Result:
    """Return in one word how requests went that ended so.

    `is_complete`: whether all that was to come has come.
    """
    is_answered = total.pages or total.others or total.cached
    if total.lost and not is_answered:
        return Result.FAILED
    if total.lost or not is_complete:
        return Result.INCOMPLETE
    return Result.OK


class Account:
    """Counts requests that end without an answer, and logs how all ended.

    It is the downloader middleware nearest the engine, so no other middleware retries
    an exception that reaches it. Other components count answers and refusals (`Tally`).
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        if not self._crawl.config.enabled:
            raise NotConfigured
        if "forbidden" in self._crawl.config.exit_status:
            Recorder.of(crawler)
        self.from_former_run = 0
        """Requests that the previous run left."""
        self._lost = LostRequests(self._crawl.events)
        self._left: int | None = None
        self._above_budget = 0
        """Of those left, requests that the project's own budgets keep back."""
        self._began = inf
        self._ended = inf
        self._next_at = inf
        """When the first paused site is due, at the end of the crawl."""
        self._answer = ""
        """The status of the last answer to a person who fetches a single page."""
        self._failures_lost: set[Failure] = set()
        """Why requests had no answer."""
        self._aside = ""
        """The first request that the job has set aside."""
        self._unanswered = ""
        """The first site that lost a request without an answer, and what failed."""
        self._crawl.events.subscribe(self._set_aside, events.JOB_SET_ASIDE)
        connect = crawler.signals.connect
        connect(self._spider_opened, signal=scrapy.signals.spider_opened)
        connect(self._request_dropped, signal=scrapy.signals.request_dropped)
        connect(self._spider_closed, signal=scrapy.signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Account:
        """Build the middleware."""
        account = cls(crawler)
        setattr(crawler, _ATTRIBUTE, account)
        return account

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Count a request that fails for good."""
        if is_of_the_package(request):
            return
        throttle = self._crawl.throttle
        site = throttle.sites.of_request(request)
        fates = throttle.in_flight.fates
        end = fates.pop(request) if request in fates else _end_of(exception)
        site.tally.count(End.TRIED_AGAIN, -1)
        site.tally.count(end)
        if end in site.tally.LOST:
            self._lost.report(request, site.name, end, exception)
        if end is End.NETWORK:
            self._failures_lost.add(failure_of(exception))
        if end is End.NETWORK and not self._unanswered:
            self._unanswered = f"{site.name}: {failure_of(exception).value}"
            proxy = request.meta.get("proxy")
            if proxy:
                through = without_credentials(str(proxy))
                self._unanswered += f" through the proxy {through}"

    @property
    def left(self) -> int:
        """Requests that wait or are in flight; after the crawl, those in the queue.

        Of a job that workers share: those that this worker has sent and not finished.
        """
        if self._left is not None:
            return self._left
        so_far = self._crawl.throttle.sites.counted()
        return self.from_former_run + so_far.taken - so_far.ended

    @property
    def known_to_come(self) -> int:
        """Requests that wait or are in flight; many sites do not make it slower."""
        return self._waiting() + len(self._crawl.throttle.in_flight.flights)

    def counted(self) -> Tally:
        """Return how all requests so far ended."""
        total = self._crawl.throttle.sites.counted()
        total.count(End.LEFT, self.left)
        return total

    def verdict(self, reason: str, total: Tally | None = None) -> str:
        """Return in one line how a crawl with this finish reason ended, and what to do.

        `total`: how all requests ended, as `counted` returns it.
        """
        if total is None:
            total = self.counted()
        left = self.left
        lost = {
            end: count for end, count in total.by_end().items() if end in total.LOST
        }
        keeps = self._crawl.throttle.keeps_given_up
        parts = [self._how_it_ended(reason), f"{counted(total.pages, 'page')}."]
        if left and keeps:
            waits = counted(left, "request waits", "requests wait")
            parts.append(f"{waits}{self._next_time()}.")
        elif left and reason != "not finished":
            parts.append(f"{counted(left, 'request was', 'requests were')} not sent.")
        if lost:
            how = ends_text(lost)
            if example := self._unanswered or self._given_up():
                how += f", such as {example}"
            text = "links on those pages were not followed"
            parts.append(f"{counted(total.lost, 'request')} failed ({how}); {text}.")
        if self._aside:
            aside = self._crawler.stats.get_value(events.JOB_SET_ASIDE.stats[0])
            are = counted(aside, "request is", "requests are")
            parts.append(f"{are} set aside, such as {self._aside}.")
        if forbidden := self.forbidden_sites():
            where = counted(len(forbidden), "site")
            parts.append(f"{where} forbade all requests, such as {forbidden[0]}.")
        if left and keeps and reason == BUDGET_REACHED:
            parts.append("Raise MANDELBOT_SITE_BUDGET to continue.")
        elif left and keeps and reason not in {"finished", "not finished"}:
            parts.append("Run the same command to continue.")
        return " ".join((*parts, *self._advice(lost, left)))

    def result(self, reason: str, total: Tally | None = None) -> Result:
        """Return in one word how a crawl with this finish reason went.

        `total`: as for `verdict`.
        """
        if total is None:
            total = self.counted()
        if self._exits_with_1(reason, total):
            return Result.FAILED
        is_left = self.left > self._above_budget  # which the project asked for
        is_complete = reason in _COMPLETE_REASONS and not is_left
        return result_of(total, is_complete=is_complete and not self.forbidden_sites())

    def _exits_with_1(self, reason: str, total: Tally) -> bool:
        if reason == "not finished":
            return False
        if reason in FAILING_REASONS or engine.has_failed(self._crawler):
            return True
        if self._failures(total):
            return True
        return reason == "sites_paused" and self._crawl.config.pause_idle == "fail"

    def forbidden_sites(self) -> list[str]:
        """Return the sites whose robots.txt forbade all requests, if it is recorded."""
        recorder = Recorder.found_in(self._crawler)
        if recorder is None:
            return []
        return sorted(shown(one.site) for one in recorder.record if one.is_forbidden)

    def _how_it_ended(self, reason: str) -> str:
        first, why = HOW_RUNS_END.get(reason, ("Stopped", shown(reason)))
        seconds = round(self._now_or_end() - self._began, 1)
        text = f"{first} after {duration(max(0.0, seconds))}"
        return f"{text} ({why})." if why else f"{text}."

    def _next_time(self) -> str:
        if not self._now_or_end() < self._next_at < inf:
            return ""
        return f" (next at {clock_time(self._next_at)})"

    def _now_or_end(self) -> float:
        return min(self._crawl.now(), self._ended)

    def _given_up(self) -> str:
        sites = self._crawl.throttle.sites.in_trouble()
        found = (
            f"{one.name}: {one.pause.reason}" for one in sites if one.pause.is_given_up
        )
        return shown(next(found, ""))

    def _spider_opened(self) -> None:
        self._began = self._crawl.now()
        if not self._crawl.asks_for_more:
            self._crawler.signals.connect(
                self._answered, scrapy.signals.response_received
            )
        if not self._crawl.config.shares_job:
            taken = self._crawl.throttle.sites.counted().taken
            self.from_former_run = self._waiting() - taken
        engine.before_requests_are_left(self._crawler, self._count_leftovers)

    def _set_aside(self, values: Mapping[str, Any]) -> None:
        self._aside = self._aside or shown(str(values["request"]))

    def _answered(self, response: Response) -> None:
        self._answer = str(response.status)

    def _count_leftovers(self) -> None:
        """Count what stays queued or set aside.

        A request that is still in flight has been replaced.
        """
        throttle = self._crawl.throttle
        control = self._crawl.manual_control
        self._ended = self._crawl.now()  # the report and the log say the same
        shut, given_up = control.count_shut()
        self._above_budget = control.count_above_budget()
        # what is given up is not sent, though its pages may be due
        if shut != given_up:
            self._next_at = self._ended + control.next_due()
        elif throttle.keeps_given_up:  # the next run asks no sooner
            ends = [one.pause.until for one in throttle.sites.in_trouble()]
            self._next_at = min((at for at in ends if at > self._ended), default=inf)
        for flight in throttle.in_flight.flights.values():
            if not is_of_the_package(flight.request):
                flight.site.tally.count(flight.end)
        if self._crawl.config.shares_job:  # what is left is with the job
            return
        unreadable = self._crawler.stats.get_value(
            events.JOB_REQUEST_UNREADABLE.stats[0], 0
        )
        left_to_next_run = sum(
            sum(one.left_to_next_run().values()) for one in throttle.in_flight.queues
        )
        self._left = self._waiting() + unreadable + left_to_next_run

    def _waiting(self) -> int:
        """Count waiting requests; a third-party scheduler's are not accepted yet."""
        if self._crawl.job is None:
            return sum(map(len, self._crawl.throttle.in_flight.queues))
        return engine.scheduler_length(self._crawler)

    def _request_dropped(self, request: Request) -> None:
        tally = self._crawl.throttle.sites.of_request(request).tally
        tally.accept()
        tally.count(End.SEEN)

    def _spider_closed(self, reason: str) -> None:
        total = self.counted()
        result = self.result(reason, total)
        verdict = f"{result}: {self.verdict(reason, total)}"
        is_worker = self._crawl.config.shares_job and self._crawl.asks_for_more
        has_any = total.taken or self.from_former_run or self._aside
        if has_any or is_worker:
            verdict = self._log_end(total, result, verdict)
        self._crawl.events.emit(events.ENDED, verdict=verdict)

    def _log_end(self, total: Tally, result: Result, verdict: str) -> str:
        """Log how all requests and the crawl ended; return the last line."""
        ends = total.by_end()
        values: dict[str, Any] = {str(end): ends.get(end, 0) for end in End}
        emit = self._crawl.events.emit
        emit(
            events.REQUESTS_ENDED,
            account=self._account(total),
            taken_in=total.taken,
            from_former_run=self.from_former_run,
            lost=total.lost,
            **values,
        )
        is_bad = bool(total.lost) or result is Result.FAILED
        if failures := self._failures(total):
            names = " and ".join(map(repr, failures))
            verdict += f" Exit status 1: MANDELBOT_EXIT_STATUS names {names}."
            engine.fail(self._crawler, "", lambda: None)
        if self.left and self._given_up():
            is_bad = True
        level = logging.WARNING if is_bad else None
        emit(events.CRAWL_ENDED, level=level, verdict=verdict)
        return verdict

    def _failures(self, total: Tally) -> list[str]:
        """Return which ends of this crawl the project takes for a failure."""
        happened = {
            "lost": total.lost > 0 or bool(self._aside),
            "left": self.left > self._above_budget,
            "forbidden": bool(self.forbidden_sites()),
        }
        return [one for one in self._crawl.config.exit_status if happened[one]]

    def _account(self, total: Tally) -> str:
        retries = self._crawler.stats.get_value("retry/count", 0)
        answer = self._answer or self._unanswered
        is_one = not self._crawl.asks_for_more and total.taken == retries + 1
        if answer and is_one:
            tried = f" ({counted(retries, 'retry', 'retries')})" if retries else ""
            return f"1 request{tried}: {answer}"
        accepted = total.taken + self.from_former_run
        return f"{accepted:,} accepted: {ends_text(total.by_end())}"

    def _advice(self, lost: dict[End, int], left: int) -> Iterator[str]:
        given_up = {End.SITE, End.SECTION} & lost.keys()
        if (given_up or left) and not self._crawl.throttle.keeps_given_up:
            yield "Set JOBDIR to store such requests for the next run."
        if given_up:
            config = self._crawl.config
            names = ["tries"] if config.pause_total is None else ["tries", "total"]
            options = " and ".join(
                f"MANDELBOT_PAUSE_OPTIONS[{name!r}]" for name in names
            )
            yield f"Raise {options} to wait longer for such sites."
        if End.NETWORK in lost:
            if self._crawler.stats.get_value(events.ROBOTS_TRIED_ENOUGH.stats[0], 0):
                yield (
                    "Of hosts that never answered, robots.txt alone was asked for:"
                    " see the warnings."
                )
            elif self._failures_lost == {Failure.REFUSED}:
                yield "Nothing accepts connections there: is it down for good?"
            else:
                yield "Raise RETRY_TIMES to retry more often."
        if End.URL in lost:
            yield "The sites answer their other pages: see the log for those refused."
        if End.WAITED in lost:
            option = "MANDELBOT_PAUSE_OPTIONS['wait']"
            yield f"Raise {option} to wait longer outside the queue."
        if End.ERROR in lost:
            yield "See the errors in the log."


def account_of(crawler: Crawler) -> Account | None:
    """Return the crawler's account; None: there is none."""
    found = vars(crawler).get(_ATTRIBUTE)
    return found if isinstance(found, Account) else None


def _end_of(exception: Exception) -> End:
    if isinstance(exception, SitePausedError):
        return End.SITE
    if isinstance(exception, IgnoreRequest):
        return End.DROPPED
    failure = failure_of(exception)
    if failure is Failure.NO_SUCH_HOST:
        return End.NO_HOST
    if failure is Failure.OTHER:
        return End.ERROR
    return End.NETWORK


def ends_text(ends: dict[End, int]) -> str:
    """Return how many requests ended in each way, for people."""
    parts = []
    for end, count in ends.items():
        names = _ONE_AND_MORE[end]
        parts.append(counted(count, names[0], names[-1]))
    return ", ".join(parts)
