"""The crawl as a worker of a job on Redis: when it reports its work and claims more."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

import scrapy.signals
from scrapy.exceptions import CloseSpider, DontCloseSpider

from scrapy_mandelbot import engine, events
from scrapy_mandelbot.crawl import Crawl
from scrapy_mandelbot.fleet.job_server import JobTerms
from scrapy_mandelbot.fleet.link import Link
from scrapy_mandelbot.fleet.shared_cookies import SharedCookies
from scrapy_mandelbot.fleet.shared_job import SharedJob
from scrapy_mandelbot.fleet.shared_storage import SharedStorage
from scrapy_mandelbot.job.cookies import watch_cookies
from scrapy_mandelbot.job.job import JobError
from scrapy_mandelbot.job.job_store import StorageError
from scrapy_mandelbot.job.running_job import RunningJob
from scrapy_mandelbot.job.saves import Saves

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_mandelbot.fleet.changes import Reply
    from scrapy_mandelbot.fleet.job_server import JoinReply
    from scrapy_mandelbot.fleet.own_sites import OwnSites
    from scrapy_mandelbot.job.unacked import Unacked

    Answered = Callable[[Any], None]


T = TypeVar("T")

logger = logging.getLogger(__name__)
_TRY_AGAIN = 1.0  # seconds, where the server did not answer
# seconds between two questions for work
_POLL = 0.05
_POLL_SLOWLY = 1.0
_RENEWALS = 4  # in the time of a lease
_REFUSED = 20  # leases in which each call is refused, after which a worker ends
_SAFE = 0.9  # of a lease, after which nothing is sent unless it is renewed
_TAKEN_AT_ONCE = 16  # sites
# seconds for Redis before a callback; none, where it was slow
_WAIT_BEFORE = 0.25
_NOT_FOR = 10.0
_LOST = "the lease is lost"
_ANOTHER = (
    "another job of this name, or none: it was deleted, as by `scrapy robots job …"
    " forget`, or lost"
)
_PART = "lost a part of the job. Is appendonly off?"
_NOT_REPORTED = "The report of the job lacks the end of this worker: %s"
_WAIT_AT_END = 10.0  # seconds for Redis, at the start and at the end of a crawl


class JobWorker(RunningJob):
    """The state that SharedJobScheduler and JobMiddleware of one crawler share."""

    storage: SharedStorage
    _own: OwnSites  # set by serve()

    kind = "job on Redis"
    for_a_new_crawl = (
        'another MANDELBOT_JOB_OPTIONS["name"], or `scrapy robots job … forget`'
    )

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        config = self._crawl.config
        self._lease = config.job_lease
        terms = JobTerms.of(config, crawler.spider, crawler.settings)
        from scrapy_mandelbot.fleet.redis_job import (  # noqa: PLC0415 -- optional
            RedisJobServer,
        )

        self.server = RedisJobServer(config.job, terms)
        self._most_active = max(1, crawler.settings.getint("CONCURRENT_REQUESTS"))
        self._is_asking = False
        self._is_hungry = True
        self._is_idle = False
        # whether a request that was handed out waited at the last exchange
        self._has_unsent = False
        self._idle_since: float | None = None
        self._has_ended = False
        self._is_closed = False
        self._is_forsaken = False  # whether Redis has its job no longer
        self._leave_and_join: Callable[[], JoinReply] | None = None
        """What it has to do before it says more: it is made until it succeeds."""
        self._poll = _POLL
        self._asks_not_before = 0.0
        self._next_due: float | None = None  # seconds until a site without owner is due
        self._cookies: SharedCookies | None = None
        self._outcome = ""  # how the run has ended, where it has
        self._writer = os.urandom(8).hex()  # of reports; workers' numbers change
        self.link = Link(
            self._renew, self._lease / _RENEWALS, self.clock.loop(), self.clock.now
        )
        try:
            joined = self._when_there(self.server.join)
        except BaseException:
            self.link.thread.end(self.server.close)
            raise
        for risk in joined.risks:
            self._emit(events.JOB_AT_RISK, reason=risk)
        if joined.differing:
            names = ", ".join(joined.differing)
            self._emit(events.JOB_SETTINGS_DIFFER, settings=names)
        self.job = SharedJob(joined, self.clock.now)
        self.saves = Saves(self, self.job, self._start_exchange, again=_TRY_AGAIN)
        self._report_joined(joined)
        if joined.finished is not None:
            self.report_finished(*joined.finished)

    @classmethod
    def open(cls, crawler: Crawler) -> Self | None:
        crawl = Crawl.of(crawler)
        try:
            if crawl.config.shares_job and crawl.asks_for_more:
                return cls(crawler)
        except (StorageError, ValueError) as error:
            raise JobError(f"The job on Redis is not available: {error}") from error
        except ImportError as error:
            raise JobError(f'{error}: pip install "scrapy-mandelbot[redis]"') from error
        return None

    def begin(self, spider: Spider) -> SharedStorage:
        self.storage = SharedStorage.of(self._crawler, spider, self.job, self)
        # Feeds are not cut where a run died: other workers may have written to them.
        self._crawler.signals.connect(
            self.begin_feeds, signal=scrapy.signals.spider_opened
        )
        self._crawler.signals.connect(
            self._spider_idle, signal=scrapy.signals.spider_idle
        )
        return self.storage

    def serve(self, own: OwnSites) -> None:
        self._own = own
        self.cookie_watch = watch_cookies(self._crawler)
        if self.cookie_watch is not None:
            self._cookies = SharedCookies(
                self.cookie_watch, self.server, self.clock.now
            )
            try:
                self._cookies.restore(self._when_there)
            except StorageError as error:
                raise JobError(
                    f"The cookies of the job on Redis cannot be read: {error}"
                ) from error
        self.saves.acknowledged()

    # Called by the middleware.

    def gives(self, parent: Unacked, request: Request) -> bool:
        """Record the parent of a request; return True.

        Redis decides whether it is new.
        """
        self._given[request] = parent
        return True

    def begins(self, request: Request | None) -> None:
        """Record on Redis that a callback is about to run: it may kill the process."""
        one = self.unacked_of(request)
        if one is None or not one.has_row or one.number in self.job.out:
            return
        if self.clock.now() < self._asks_not_before or not self.may_send:
            return
        numbers = self.storage.sent(self._crawl.throttle.in_flight.unsent())
        sends = partial(self.server.sends, self.job.worker, self.job.token, numbers)
        try:
            if self.link.call_and_wait(sends, _WAIT_BEFORE):
                self.job.out |= numbers
        except StorageError:
            self._asks_not_before = self.clock.now() + _NOT_FOR

    # Called by the scheduler.

    @property
    def may_send(self) -> bool:
        """Whether this worker certainly still owns its sites."""
        return self.clock.now() < self.link.renewed_at + _SAFE * self._lease

    @property
    def has_unsaved(self) -> bool:
        return bool(self.job.uncommitted or self.storage.homeless)

    def pushed(self) -> None:
        self._is_idle = False
        self._has_ended = False
        if self._is_hungry:
            self.saves.acknowledged()
        self.saves.changed()

    def handed_out(self, *, is_plain: bool) -> None:
        """Record that a request is sent; report a pace for the site's next owner."""
        self._is_idle = False
        self._has_ended = False
        self._is_hungry = False
        self._idle_since = None
        if not is_plain:
            self.saves.within(0.0)

    def leave_report(self, body: bytes) -> None:
        """Leave a report of this crawl so far with the job, in place of the last one.

        It goes with the next exchange that says something, or with the last one.
        """
        run = self.job.run - 1 if self._has_ended else self.job.run
        self.job.report(self._writer, run, body)

    def wants_more(self) -> None:
        """Record that there is room for more requests than its sites allow now."""
        if not self.may_send:
            self._own.call_back()
        self._own.look()
        self._is_hungry = True
        if not self._is_asking:
            soon = 0.0 if self.job.has_more_to_say else self._poll
            self.saves.within(soon)

    def close(self) -> None:
        self._stop()
        if self._is_forsaken:
            self.link.thread.end(self.server.close)
            return
        self._own.say_all()
        self.report_leftovers()
        error = self._say_the_rest()
        if error is None:
            self._say_report()
        else:
            self.end_not_saved(error)
        self._leave()

    def release(self) -> None:
        self._stop()
        self._leave()

    def _start_exchange(self) -> Exception | None:
        """Report work and claim more; the reply goes to :meth:`_answered`."""
        if self._is_asking or self._is_closed:
            return None
        if self._leave_and_join is not None:  # Redis failed meanwhile
            self._start_joining(self._leave_and_join)
            return None
        try:
            self._flush_feeds()
            self._exchange()
        except StorageError as error:
            return self._went_wrong(error)
        except Exception as error:  # noqa: BLE001 -- unreported, the worker would wait for ever
            self.erred("Error while an exchange was made", error)
        return None

    def _flush_feeds(self) -> None:
        """Write the items of those pages that are to be settled.

        Raises:
            StorageError: a feed cannot be written, or was closed.
        """
        if self.feeds is None:
            return
        try:
            self.feeds.flush()
        except (OSError, ValueError) as error:
            raise StorageError(str(error)) from error

    def _exchange(self) -> None:
        self._own.look()
        for site in list(self.storage.homeless)[:_TAKEN_AT_ONCE]:
            self.job.request_site(site)
        take = 0
        if self.saves.error is None and not engine.is_closing(self._crawler):
            self.job.poll_dry([*self.storage.under_way])
            if self._is_hungry:
                room = self._most_active - sum(self.storage.under_way.values())
                take = max(1, min(room, _TAKEN_AT_ONCE))
        unsent = self._crawl.throttle.in_flight.unsent()
        self._has_unsent = bool(unsent)
        sent = self.storage.sent(unsent)
        exchange = self.job.next_exchange(take, self._idleness(), sent)
        self._is_asking = True
        if self._cookies is None:
            self.link.call(lambda: self.server.exchange(exchange), self._answered)
        else:
            self.link.call(self._cookies.with_exchange(exchange), self._answered)

    def _when_there(self, call: Callable[[], T]) -> T:
        return self.link.call_until_there(call, _WAIT_AT_END)

    def _wait_at_end(self, call: Callable[[], T]) -> T:
        return self.link.call_and_wait(call, _WAIT_AT_END)

    def _idleness(self) -> str:
        """Return whether the worker has nothing to do, as an exchange says it."""
        is_busy = self.job.uncommitted or self.job.sites or self.storage.unacked
        if is_busy or not self._is_idle:
            return ""
        return "close" if self._crawl.config.closes_when_paused else "wait"

    def _receive(self, answer: object) -> bool:
        """Note that a call has ended; return whether it has an answer to act on."""
        self._is_asking = False
        if isinstance(answer, StorageError) and not self._is_closed:
            self._went_wrong(answer)
        return not (self._is_closed or isinstance(answer, StorageError))

    def _answered(self, answer: Reply) -> None:
        if not self._receive(answer):
            return
        if answer.is_lost:
            self._join_again(answer)
            return
        if self.saves.error is not None:
            self.saves.succeeded()
        try:
            brought = self._go_by(answer)
        except Exception as error:  # noqa: BLE001 -- as above
            self.erred("Error while an answer was taken", error)
            return
        if brought:
            self._poll = _POLL
        else:
            self._poll = min(2 * self._poll, _POLL_SLOWLY)
        self.saves.within(self._next_in(brought=brought))
        if brought or self._has_ended or not self.has_unsaved:
            engine.wake(self._crawler)

    def _go_by(self, answer: Reply) -> bool:
        job = self.job
        own = self._own
        if self._cookies is not None:  # before requests of new sites are handed out
            self._cookies.take()
        own.server_time = answer.now - self.clock.now()
        self._next_due = answer.next_due
        self.workers = answer.workers
        arrived = job.take_answer(answer)
        self._count(arrived.said, answer)
        for line, why, body in answer.aside:
            shown = self.storage.form.shown(body, f"A request of {line}")
            self._emit(events.JOB_SET_ASIDE, request=shown, reason=why)
        for line in arrived.lines:
            self.storage.grow(line)
        has_brought = own.take(arrived.sites, arrived.lines)
        self.storage.touched.update(dict.fromkeys(arrived.dry))
        own.share(answer.give_back, answer.surplus)
        if answer.run != job.run:
            self._has_ended = True
            self._outcome = answer.outcome
            job.run = answer.run
        return has_brought

    def _next_in(self, *, brought: bool) -> float:
        if self.job.has_more_to_say and (brought or self.job.uncommitted):
            return 0.0
        longest = self._lease / _RENEWALS
        if self._has_unsent:  # its download may kill the process
            longest = min(longest, _POLL_SLOWLY)
        if not self._is_hungry:
            return longest
        return min(longest, max(_POLL, min(self._poll, self._next_due or inf)))

    def _went_wrong(self, error: StorageError) -> Exception:
        since = self.link.refused_since
        if since is not None and self.clock.now() > since + _REFUSED * self._lease:
            self.give_up(error)
            return error
        # A server that is full takes no more than this.
        self.link.call(self._renew, lambda _: None)
        return self.saves.failed(error)

    def _join_again(self, answer: Reply) -> None:
        """Join anew: other workers own its sites, or Redis was set back."""
        job = self.job
        if answer.born != job.born:
            self._forsake()
            return
        last = answer.last
        reason = events.JOB_SET_BACK if last < job.last else events.JOB_LEASE_LOST
        self._emit(reason, sites=len(job.sites))
        held = self._own.lose()
        lost = job.lose(last)
        if not lost.is_whole:
            self._forgotten(_PART)
        self.storage.lose()
        worker = job.worker
        token = job.token

        def leave_and_join() -> JoinReply:
            self.server.leave(worker, token, [*lost.left, *held])
            return self.server.join()

        self._leave_and_join = leave_and_join
        self._start_joining(leave_and_join)

    def _start_joining(self, leave_and_join: Callable[[], JoinReply]) -> None:
        self._is_asking = True
        self.link.call(leave_and_join, self._joined_again)

    def _forgotten(self, reason: str) -> None:
        self._emit(events.JOB_FORGOTTEN, reason=reason)
        engine.close_spider(self._crawler, "job_forgotten")

    def _forsake(self) -> None:
        """Close the spider, and say nothing more: it would be of another job."""
        self._forgotten(_ANOTHER)
        self._is_forsaken = True
        self._stop()

    def _joined_again(self, joined: JoinReply) -> None:
        if not self._receive(joined):
            return
        self._leave_and_join = None
        if joined.born != self.job.born:
            self._forsake()
            leave = partial(self.server.leave, joined.worker, joined.token)
            self.link.call(leave, lambda _: None)
            return
        self.job.join(joined)
        self._report_joined(joined)
        self.saves.within(0.0)

    def _spider_idle(self) -> None:
        """Wait for work while other workers have some; end when none has."""
        if self._has_ended:
            if self._outcome == "finished":
                return
            raise CloseSpider(self._outcome)
        now = self.clock.now()
        if self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since >= (
            self._crawl.config.closes_unless_due_within or inf
        ):
            raise CloseSpider("job_idle")
        if not self._is_idle:
            self._is_idle = True
            if not self._is_asking:
                self.saves.within(0.0)
        raise DontCloseSpider

    def _stop(self) -> None:
        self._is_closed = True
        self.saves.close()

    def _say_the_rest(self) -> StorageError | None:
        """Report all that is left, while the crawl waits; return why that failed."""
        ends_at = self.clock.now() + _WAIT_AT_END
        is_finished = self._has_ended and self._outcome == "finished"
        if self._cookies is not None and not is_finished:
            try:
                self._cookies.say_the_rest(self._wait_at_end)
            except StorageError as error:
                return error
        try:
            self._flush_feeds()
        except StorageError as error:
            return error
        while self.job.uncommitted:
            exchange = partial(self.server.exchange, self.job.next_exchange(0, ""))
            left = max(0.1, ends_at - self.clock.now())
            try:
                answer = self.link.call_and_wait(exchange, left)
            except StorageError as error:
                return error
            if answer.is_lost:
                return StorageError(_LOST)
            self._count(self.job.take_answer(answer).said, answer)
        return None

    def _say_report(self) -> None:
        """Leave the last report, if there is one; the job is whole without it."""
        while self.job.has_report:  # an exchange without an answer comes first
            exchange = self.job.next_exchange(0, "", is_last=True)
            try:
                answer = self.link.call_and_wait(
                    partial(self.server.exchange, exchange), _WAIT_AT_END
                )
            except StorageError as error:
                logger.warning(_NOT_REPORTED, error)
                return
            if answer.is_lost:
                logger.warning(_NOT_REPORTED, _LOST)
                return
            self.job.take_answer(answer)

    def _leave(self) -> None:
        job = self.job
        try:
            self.link.call_and_wait(
                lambda: self.server.leave(job.worker, job.token), _WAIT_AT_END
            )
        except StorageError as error:
            logger.debug(
                "Other workers get this worker's sites when its lease ends: %s", error
            )
        self.link.thread.end(self.server.close)

    def set_aside(self, number: int, why: str, exception: str = "") -> None:
        """Set a request aside that cannot be restored until a worker comes that can."""
        self.job.refuse(number, why, exception)

    def save_soon(self) -> None:
        self.saves.acknowledged()

    def _renew(self) -> object:
        return self.server.exchange(self.job.only_renewing())

    def _count(self, said: int, answer: Reply) -> None:
        count = self._crawler.stats.inc_value
        kept = said - answer.dropped - answer.passed_over
        if kept > 0:
            count("scheduler/enqueued/redis", kept)
            count("scheduler/enqueued", kept)
        if answer.dropped:
            count("dupefilter/filtered", answer.dropped)
        self._crawl.events.count(events.JOB_GIVEN_BEFORE, count=answer.passed_over)
        self._crawl.events.count(events.JOB_SITES_TAKEN, count=len(answer.sites))

    def _report_joined(self, joined: JoinReply) -> None:
        self._emit(
            events.JOB_JOINED,
            worker=joined.worker,
            unassigned=joined.waiting,
            others=joined.others,
            where=self.server.where,
        )
