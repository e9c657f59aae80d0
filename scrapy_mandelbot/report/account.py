"""The account of a crawl: how each accepted request ended, and how many are lost."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import scrapy.signals
from mandelbot import Failure
from mandelbot.answers.failures import failure_of
from mandelbot.formatting import counted, shown, without_credentials
from scrapy.exceptions import IgnoreRequest, NotConfigured

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.politeness.tally import End, Tally
from scrapy_mandelbot.report.judgement import (
    FAILING_REASONS,
    HOW_RUNS_END,
    Counts,
    Found,
    Judgement,
    Result,
    Verdict,
    judge,
)
from scrapy_mandelbot.report.project_errors import ProjectErrors, ProjectRecord
from scrapy_mandelbot.report.recorder import Recorder
from scrapy_mandelbot.throttle.in_flight import SitePausedError, is_of_the_package
from scrapy_mandelbot.throttle.manual_control import BUDGET_REACHED, TOTAL_IS_OVER
from scrapy_mandelbot.time_text import clock_time, duration

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_mandelbot.report.expectations import Came
    from scrapy_mandelbot.report.lost_requests import LostRequests
    from scrapy_mandelbot.report.previous_crawl import PreviousCrawl

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
    End.SITE_FAILED: (
        "answered with 5xx by a site in doubt",
        "answered with 5xx by sites in doubt",
    ),
    End.ERROR: ("ended by an error in the project",),
    End.PAGE_FAILED: ("failed page", "failed pages"),
    End.BUDGET: ("above the budget of its site", "above the budget of their site"),
    End.LEFT: ("left in the queue",),
}
_MOST_STATUSES = 3
_HAS_LOST_THE_JOB = frozenset({"job_unreadable", "job_forgotten"})
"""Finish reasons after which the same command does not continue."""
_COMPLETE_REASONS = frozenset({"finished", "job_idle", BUDGET_REACHED})


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
        config = self._crawl.config
        if "forbidden" in config.exit_status or "sites" in config.expect:
            Recorder.of(crawler)
        self.from_former_run = 0
        """Requests that the previous run left."""
        self._errors = ProjectErrors(crawler)
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
        self._unknown_host = ""
        """The first site whose host has no address."""
        self._is_continued = False
        """Whether the job is that of an earlier run, and may have little left to do."""
        self._unanswered = ""
        """The first site that lost a request without an answer, and what failed."""
        self._lost_first = ""
        """Of the lost requests that had an answer, or were not sent: the first one's
        site, and why.
        """
        self._crawl.events.subscribe(self._set_aside, events.JOB_SET_ASIDE)
        self._crawl.events.subscribe(self._note_lost, events.REQUEST_LOST)
        for event in (events.JOB_RESUMED, events.JOB_HAD_FINISHED):
            self._crawl.events.subscribe(self._continues, event)
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

    @cached_property
    def _lost(self) -> LostRequests:
        from scrapy_mandelbot.report.lost_requests import (  # noqa: PLC0415 -- few crawls
            LostRequests,
        )

        return LostRequests(self._crawl.events)

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
        if end is End.NO_HOST:
            self._unknown_host = self._unknown_host or site.name
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

    def verdict(self, reason: str, total: Tally | None = None) -> Verdict:
        """Return how a crawl with this finish reason ended, and what to do.

        `total`: how all requests ended, as `counted` returns it.
        """
        if total is None:
            total = self.counted()
        left = self.left
        lost = {
            end: count for end, count in total.by_end().items() if end in total.LOST
        }
        to_do: list[str] = []
        if left and self._crawl.throttle.keeps_given_up:
            to_do += _how_to_continue(reason)
        to_do += self._advice(lost, left)
        return Verdict(
            came=f"{self._how_it_ended(reason)} {came_text(total)}",
            missing=tuple(self._missing(reason, total, lost)),
            to_do=tuple(to_do),
        )

    def _missing(
        self, reason: str, total: Tally, lost: dict[End, int]
    ) -> Iterator[str]:
        left = self.left
        if left and self._crawl.throttle.keeps_given_up:
            waits = counted(left, "request waits", "requests wait")
            yield f"{waits}{self._next_time()}."
        elif left and reason != "not finished":
            yield f"{counted(left, 'request was', 'requests were')} not sent."
        if lost:
            how = ends_text(lost)
            if example := self._unanswered or self._given_up() or self._lost_first:
                how += f", such as {example}"
            text = "links on those pages were not followed"
            yield f"{counted(total.lost, 'request')} failed ({how}); {text}."
        yield from self._shortfalls(reason, total)
        if self._aside:
            aside = self._crawler.stats.get_value(events.JOB_SET_ASIDE.stats[0])
            are = counted(aside, "request is", "requests are")
            yield f"{are} set aside, such as {self._aside}."
        if forbidden := self.forbidden_sites(total):
            where = counted(len(forbidden), "site")
            yield f"{where} forbade all requests, such as {forbidden[0]}."

    def result(self, reason: str, total: Tally | None = None) -> Result:
        """Return in one word how a crawl with this finish reason went.

        `total`: as for `verdict`.
        """
        return self.judged(reason, total).result

    def judged(self, reason: str, total: Tally | None = None) -> Judgement:
        """Return the word of a crawl with this finish reason, and what it is for.

        `total`: as for `verdict`.
        """
        if total is None:
            total = self.counted()
        its = self._counts(reason, total)
        return judge(its._replace(exits_with_1=self._exits_with_1(reason, total)))

    def _counts(self, reason: str, total: Tally) -> Counts:
        """Return what a crawl is judged by, but for its exit status."""
        is_part = self._crawl.config.shares_job or self._is_continued
        its = Counts(
            requested=total.taken + self.from_former_run,
            answers=total.handed_on,
            pages=total.pages + total.cached,
            lost=total.lost,
            left=max(0, self.left - self._above_budget),
            unknown_hosts=total.by_end().get(End.NO_HOST, 0),
            forbidden_sites=len(self.forbidden_sites(total)),
            denied_sites=len(self._denied_sites(total)),
            unmet=len(self.expectations(reason, total).unmet),
            is_running=reason == "not finished",
            is_stopped=reason not in _COMPLETE_REASONS,
            is_by_hand=reason == "shutdown",
            is_part=is_part or self.from_former_run > 0 or bool(self._aside),
        )
        return self.project.joined_with(its)

    def _shortfalls(self, reason: str, total: Tally) -> Iterator[str]:
        """Yield what is missing though no request is lost."""
        its = self._counts(reason, total)
        has = judge(its).reasons
        if "nothing requested" in has:
            why = ": no start URL?" if reason == "finished" else "."
            yield f"Nothing was requested{why}"
        elif not its.requested and its.is_part and self._crawl.config.shares_job:
            yield "No site was left for this worker."
        if its.unknown_hosts:
            yield self._unknown_hosts(its)
        elif "no page" in has and its.answers:
            yield "No page came."
        failed = total.by_end().get(End.PAGE_FAILED)
        if failed:
            pages = counted(failed, "page")
            yield f"{pages} failed (5xx) at sites that are well."
        yield from self._sites_short_of_pages(total)
        yield from self.project.sentences()
        yield from self.expectations(reason, total).sentences()

    @property
    def project(self) -> ProjectRecord:
        """Items that passed the pipelines, and what failed in the project."""
        return self._errors.record

    def expectations(self, reason: str, total: Tally | None = None) -> Found:
        """Return which expectations of the project a crawl that ends so does not meet.

        A run that goes on, or was stopped manually, is not judged; nor is a worker, nor
        the run of a job that leaves requests to the next.
        """
        expected = self._crawl.config.expect
        is_open = reason in {"not finished", "shutdown"}
        if not expected or is_open or self._crawl.config.shares_job:
            return Found([], [])
        if self.left > self._above_budget and self._crawl.job is not None:
            return Found([], [])
        from scrapy_mandelbot.report.expectations import (  # noqa: PLC0415 -- few crawls
            judged,
            sums_by_place,
        )
        from scrapy_mandelbot.report.previous_crawl import (  # noqa: PLC0415
            previous_of,
        )

        if total is None:
            total = self.counted()
        sites = sums_by_place(expected.get("sites", ()), self._tallies(total), Tally())
        is_resumed = self.from_former_run > 0 or self._is_continued
        previous = previous_of(self._crawler)
        before = None
        if previous is not None:
            before = previous.ended_before(is_resumed=is_resumed)
        came = self._came(total, previous, is_resumed=is_resumed)
        return judged(expected, came, before, dict(sites))

    def _came(
        self, total: Tally, previous: PreviousCrawl | None, *, is_resumed: bool
    ) -> Came:
        """Return what came of the crawl, that of its job's earlier runs included."""
        from scrapy_mandelbot.report.expectations import Came  # noqa: PLC0415
        from scrapy_mandelbot.report.previous_crawl import job_of  # noqa: PLC0415

        pages: int | None = total.pages + total.cached
        project = self.project
        items: int | None = project.items
        if is_resumed:
            earlier = previous and previous.earlier_runs(job_of(self._crawler))
            if earlier:
                pages = _added(pages, earlier.pages)
                items = _added(items, earlier.items)
            else:
                pages = None
                items = None
        return Came(
            pages=pages,
            items=items,
            lost=total.lost,
            failed=total.by_end().get(End.PAGE_FAILED, 0),
            callbacks=project.callbacks.total(),
            unwritten=project.unwritten.total(),
        )

    def _unknown_hosts(self, its: Counts) -> str:
        example = f", such as {shown(self._unknown_host)}" if self._unknown_host else ""
        if not its.answers:
            return f"No host was found (DNS){example}: is the network up?"
        requests = counted(its.unknown_hosts, "request")
        return f"{requests} went to hosts that do not exist (DNS){example}."

    def _sites_short_of_pages(self, total: Tally) -> Iterator[str]:
        denied = self._denied_sites(total)
        if denied:
            one, name = denied[0]
            sites = counted(len(denied), "site")
            verb = "does" if len(denied) == 1 else "do"
            of_all = f"{one.denied:,} of {one.handed_on:,} answers are 401, 403 or 407"
            example = f"such as {name}: " if name else ""
            yield f"{sites} {verb} not let the crawler in ({example}{of_all})."
        denied_names = {name for _, name in denied}
        without = [
            (one, name)
            for one, name in self._with_errors(total)
            if name and name not in denied_names and has_errors_alone(one)
        ]
        if without and total.pages:
            one, name = without[0]
            sites = counted(len(without), "site")
            yield f"{sites} brought no page, such as {name} ({errors_text(one)})."

    def _denied_sites(self, total: Tally) -> list[tuple[Tally, str]]:
        return [its for its in self._with_errors(total) if its[0].is_denied]

    def _with_errors(self, total: Tally) -> list[tuple[Tally, str]]:
        """Return the numbers of the sites that sent no pages alone, and their names.

        Most sites of a crawl send nothing else: these cost a look each. The ones with
        the most errors are first.
        """
        recorder = Recorder.found_in(self._crawler)
        if recorder is None:
            return [(total, "")]
        if not total.others:
            return []
        others = [one for one in recorder.record if one.others]
        return sorted(((one, shown(one.site)) for one in others), key=_errors_first)

    def _tallies(self, total: Tally) -> list[tuple[Tally, str]]:
        """Return the numbers of each site, and its name.

        Where no sites are recorded, it returns their sums, without a name.
        """
        recorder = Recorder.found_in(self._crawler)
        if recorder is None:
            return [(total, "")]
        return [(one, shown(one.site)) for one in recorder.record]

    def _exits_with_1(self, reason: str, total: Tally) -> bool:
        if reason == "not finished":
            return False
        if reason in FAILING_REASONS or engine.has_failed(self._crawler):
            return True
        if self._failures(reason, total):
            return True
        return reason == "sites_paused" and self._crawl.config.pause_idle == "fail"

    def forbidden_sites(self, total: Tally) -> list[str]:
        """Return the sites whose robots.txt forbade all requests, if it is recorded.

        `total`: as for `verdict`.
        """
        recorder = Recorder.found_in(self._crawler)
        if recorder is None or not total.ends.get(End.FORBIDDEN):
            return []
        without = [one for one in recorder.record if not one.pages]  # few
        return sorted(shown(one.site) for one in without if one.is_forbidden)

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

    def _options_that_help(self) -> list[str]:
        """Return the settings that have ended the waits for the sites given up."""
        ends = set()
        for one in self._crawl.throttle.sites.in_trouble():
            if one.pause.is_given_up:
                is_total = TOTAL_IS_OVER in one.pause.reason
                ends.add("total" if is_total else "tries")
        if not ends:  # only sections are given up
            ends = {"tries"}
            if self._crawl.config.pause_total is not None:
                ends.add("total")
        return [f"MANDELBOT_PAUSE_OPTIONS[{name!r}]" for name in sorted(ends)]

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

    def _continues(self, _values: Mapping[str, Any]) -> None:
        self._is_continued = True

    def _note_lost(self, values: Mapping[str, Any]) -> None:
        if self._lost_first or values["end"] not in Tally.LOST - {End.NETWORK}:
            return
        site, why = shown(values["site"]), values["why"]
        self._lost_first = why if why.startswith(site) else f"{site}: {why}"

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
        verdict = f"{result}: {self.verdict(reason, total).line}"
        has_any = total.taken or self.from_former_run or self._aside
        if has_any or self._crawl.asks_for_more:
            verdict = self._log_end(reason, total, result, verdict)
        self._crawl.events.emit(events.ENDED, verdict=verdict)

    def _log_end(self, reason: str, total: Tally, result: Result, verdict: str) -> str:
        """Log how all requests and the crawl ended; return the last line."""
        ends = total.by_end()
        values: dict[str, Any] = {str(end): ends.get(end, 0) for end in End}
        emit = self._crawl.events.emit
        accepted = total.taken + self.from_former_run
        report = emit if accepted else self._crawl.events.count
        report(
            events.REQUESTS_ENDED,
            account=self._account(total),
            taken_in=total.taken,
            from_former_run=self.from_former_run,
            lost=total.lost,
            **values,
        )
        is_bad = bool(total.lost) or result is Result.FAILED
        is_bad = is_bad or not _is_usual(self.judged(reason, total))
        if failures := self._failures(reason, total):
            names = " and ".join(map(repr, failures))
            verdict += f" Exit status 1: MANDELBOT_EXIT_STATUS names {names}."
            engine.fail(self._crawler, "", lambda: None)
        if self.left and self._given_up():
            is_bad = True
        level = logging.WARNING if is_bad else None
        emit(events.CRAWL_ENDED, level=level, verdict=verdict)
        return verdict

    def _is_incomplete(self, reason: str, total: Tally) -> bool:
        return judge(self._counts(reason, total)).result is not Result.OK

    def _failures(self, reason: str, total: Tally) -> list[str]:
        """Return which ends of this crawl the project takes for a failure."""
        happened = {
            "incomplete": self._is_incomplete(reason, total),
            "expectations": bool(self.expectations(reason, total).unmet),
            "lost": total.lost > 0 or bool(self._aside),
            "left": self.left > self._above_budget,
            "forbidden": bool(self.forbidden_sites(total)),
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
        if self._crawl.throttle.network.down_since <= self._now_or_end():
            yield "No site answered at the end: is the network up?"
        elif given_up:
            options = " and ".join(self._options_that_help())
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


def _how_to_continue(reason: str) -> Iterator[str]:
    """Yield how the requests that a job keeps after this finish reason are crawled."""
    if reason == BUDGET_REACHED:
        yield "Raise MANDELBOT_SITE_BUDGET to continue."
    elif reason in _HAS_LOST_THE_JOB:
        yield "See the error in the log."
    elif reason not in {"finished", "not finished"}:
        yield "Run the same command to continue."


def account_of(crawler: Crawler) -> Account | None:
    """Return the crawler's account; None: there is none."""
    found = vars(crawler).get(_ATTRIBUTE)
    return found if isinstance(found, Account) else None


def _end_of(exception: Exception) -> End:
    if isinstance(exception, SitePausedError):
        return End.SITE
    if isinstance(exception, IgnoreRequest):
        return End.FORBIDDEN if engine.is_forbidden(exception) else End.DROPPED
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


def _added(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return None
    return one + other


def came_text(total: Tally) -> str:
    """Return in sentences how many pages and errors came."""
    text = f"{counted(total.pages, 'page')}"
    if total.unchanged:
        text += f" ({total.unchanged:,} unchanged)"
    if total.cached and not total.pages:
        text += f", {total.cached:,} from a cache"
    if total.errors:
        text += f". {errors_text(total)}"
    return f"{text}."


def errors_text(one: Tally) -> str:
    """Return how many answers of each 4xx and 5xx came, at most three of them."""
    parts = []
    for status, count in list(one.errors.items())[:_MOST_STATUSES]:
        parts.append(f"{counted(count, 'answer')} of {status}")
    return ", ".join(parts)


def has_errors_alone(one: Tally) -> bool:
    """Return whether a site answered, and none of its answers was a page."""
    return bool(one.errors) and not (one.pages or one.cached)


def _errors_first(tally_of: tuple[Tally, str]) -> tuple[int, str]:
    one, name = tally_of
    return -sum(one.errors.values()), name


def _is_usual(judged: Judgement) -> bool:
    """Return whether a word is for what the project itself has wished or stopped."""
    return set(judged.reasons) <= {"left", "forbidden", "stopped"}
