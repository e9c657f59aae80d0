"""All that a crawl knows of one site: when a request may go, and what its answers mean.

Theory of operation. No I/O. Each of these constraints alone holds requests back:

================  ==================================  ==============================
constraint        state                               ends
================  ==================================  ==============================
manual hold       ``held_until``                      at its time, or as it is ended
missing rules     ``scout``                           when the scout has ended
pause             ``pause``: ``Pause``                at ``until``, for one probe
suspect section   ``faults``: a ``Pause`` each        as a pause, for it alone
crawl delay       ``pacer``: ``Pace``                 at the next turn
quota             ``pacer``: ``Quota``                as a request ends, or a reset
budget            ``SiteWithBudget.budget``           as a request ends without a
                                                      page, or in another run
================  ==================================  ==============================

``Site.decide`` is the one decision over all of them, on the next request of the queue
or on one that has left it; its ``Wait`` says what that request waits for. ``is_shut``
is about the site: whether its pause, a hold or its visit times stop it, be it that the
next request may go as the probe.

Where others wait for the end of one request, that request holds a ``Reservation`` with
a purpose: ``RULES`` (the scout), ``PROBE``, ``TURN`` (at a crawl delay), ``QUOTA`` or
``BUDGET``. Every ending (a response, an exception, a request that returns to the queue,
waits, or was dropped or replaced) leads to ``Throttle.ended`` and ``Flight.settle``,
which releases each reservation once. ``Throttle.scouted`` settles ``RULES`` earlier, as
the scout continues with its own page. If a release lets others go, ``Throttle.update``
wakes them.

``pause``, ``faults`` and ``failures`` are shared empty objects until the first refusal
or failure, and are never written to. Every method that changes a site ends in
``recheck()``, which alone sets ``is_plain``: nothing holds requests back. It also sets
``is_calm``: its good answers are merely noted.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from sys import maxsize
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.politeness.concurrency_limit import ConcurrencyLimit
from scrapy_mandelbot.politeness.connection_ceiling import (
    HOLDS_NO_PLACE_AFTER,
    ConnectionCeiling,
)
from scrapy_mandelbot.politeness.failures import MOST_FORGIVEN, Failures
from scrapy_mandelbot.politeness.faults import Faults
from scrapy_mandelbot.politeness.flight import (
    GO,
    NEVER,
    NOBODY,
    Decision,
    Purpose,
    Wait,
)
from scrapy_mandelbot.politeness.pacer import Pacer
from scrapy_mandelbot.politeness.pause import Pause, PauseEffect, PauseState
from scrapy_mandelbot.politeness.pause_policy import Mode, Refusal
from scrapy_mandelbot.politeness.tally import Tally
from scrapy_mandelbot.time_text import clock_time

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.bot_blocks import BotBlockDetector
    from scrapy_mandelbot.politeness.budget import Budget
    from scrapy_mandelbot.politeness.failures import FailedPage
    from scrapy_mandelbot.politeness.faults import Section
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.pause_policy import LeftPause, PausePolicy

_RECENT = 64  # good answers; what a site that says no for the first time bore
_TRIMMED_AT = 80  # of them; then the older ones are dropped
# shared, as those of a request take 1.4 KiB
_NO_HEADERS: Mapping[bytes, Sequence[bytes]] = {}


def _nothing() -> None:
    pass


class Site:
    """What is known of one site. ``now`` is in seconds since the epoch."""

    budget: Budget | None = None
    """What the project takes of it at the most; only a `SiteWithBudget` has one."""

    __slots__ = (
        "__weakref__",
        "_bot_blocks",
        "_good_at",
        "_held_since",
        "_policy",
        "_recent",
        "ceiling",
        "concurrency",
        "dead_until",
        "failures",
        "faults",
        "has_answered",
        "has_refused",
        "held_until",
        "is_calm",
        "is_plain",
        "is_timed",
        "name",
        "pacer",
        "pause",
        "reported",
        "reserving",
        "rules",
        "rules_asked_at",
        "scout",
        "slots",
        "tally",
        "ticks",
        "was_out_before",
        "well_url",
        "well_way",
    )

    def __init__(  # noqa: PLR0915 -- its fields
        self, name: str, policy: PausePolicy, tally: Tally | None = None
    ) -> None:
        self.name = name
        self._policy = policy
        self.is_plain = True
        """Whether nothing holds its requests back."""
        self.is_calm = True
        """Whether its answers are good and no more: it is plain, has refused nothing
        lately, and nobody asks when they come.
        """
        self.is_timed = False
        """Whether the ends of its requests are recorded, as it asks for a delay in
        vain.
        """
        self.ticks = 0
        """A number that grows with each request handed out, and with each good answer.
        """
        self.scout: Flight[Any] | None = None
        """The one request on its way while the site's rules are not known."""
        self.reserving: frozenset[Flight[Any]] = NOBODY
        """The requests for whose end others wait, as they hold a reservation."""
        self.held_until = -inf
        """When the manual hold ends."""
        self.dead_until = inf
        """When a host that never answered, and is given up, may be met anew."""
        self._held_since = 0.0
        self.pacer = Pacer()
        """Its crawl delay and quota."""
        self.pause = Pause.NONE
        """Its pause; shared by all sites until :meth:`_own_pause`."""
        self.faults = Faults.NONE
        """Its suspect sections and pages; shared by all sites until
        :meth:`_own_faults`.
        """
        self.failures = Failures.NONE
        """Its pages that failed; shared by all sites until :meth:`_own_failures`."""
        self.ceiling = ConnectionCeiling.NONE
        """How many connections it accepts; shared by all sites that lose none."""
        self.concurrency = (
            ConcurrencyLimit.BEGINNING if policy.recovers else ConcurrencyLimit.STATED
        )
        """How many requests it gets at once; shared by all sites that refuse none."""
        self.has_answered = False
        """Whether it has answered a request well in this run."""
        self.was_out_before = False
        """Whether it was paused when the previous run, or worker, left it."""
        self.has_refused = False
        """Whether any request was refused lately: what it answers is looked at."""
        # when the requests of its last good answers were sent; most sites have few, for
        # which a list of numbers is twice as large, and a deque four times
        self._recent: array[float] | None = None
        self._good_at = -1
        self._bot_blocks: BotBlockDetector | None = None
        self.well_url = ""
        """A page that it answered well in this run."""
        self.well_way: tuple[Any, Any] = (None, None)
        """The headers and meta of the request for that page: by these it is requested
        again. No headers, if the middlewares gave it all that it had, and it went
        through no proxy, which may need one.
        """
        self.rules: Callable[[], Any] = _nothing
        """Returns its rules as they were found out last, if they are at hand."""
        self.rules_asked_at = -inf
        """When its robots.txt was asked for that came last; a limit counts it."""
        self.slots: tuple[str, ...] = ()
        """Download slots through which its requests went."""
        self.tally = tally or Tally()
        """What became of its requests."""
        self.reported: tuple[str, ...] = ()
        """The facts that are reported once for each site."""

    def __repr__(self) -> str:
        return f"<{self.name}: {self.as_text()}>"

    # When may a request go?

    def decide(
        self, now: float, flight: Flight[Any] | None = None, section: str = ""
    ) -> Decision:
        """Decide on a request: on the next of the queue, or on one that has left it.

        Changes nothing. `section`: the path of the section that is set aside with the
        next one.
        """
        if flight is None:
            decision = GO if self.is_plain else self._decide_on_next(now, section)
        elif flight.keeps_pauses:
            decision = self._decide_on_flight(now, flight)
        else:
            decision = GO  # only its turn counts
        if decision is not GO or self.is_plain:
            return decision
        if flight is not None and self.pacer.has_turn(flight, now):
            return GO
        due = self.pacer.due(now)
        if due <= now:
            return GO
        return Decision(Wait.TURN, due)

    def _decide_on_next(self, now: float, section: str) -> Decision:
        """Decide on the next request of the queue, its turn apart."""
        # A scout finds out by itself that its site is given up.
        if self.pause.is_given_up and self.scout is None:
            return NEVER
        due = self.pause_due(now)
        if section in self.faults.aside:
            decision = self.faults.aside[section].decide(now)
            if decision is NEVER:
                return NEVER
            if decision is not GO:
                return decision._replace(until=max(decision.until, due))
        if due > now:
            return self._wait_for_site(now)
        if self.scout is not None:
            return Decision(Wait.RULES, inf)
        return GO

    def _decide_on_flight(self, now: float, flight: Flight[Any]) -> Decision:
        """Decide on a request that has left the queue or never was in it."""
        if flight.not_before > now:
            return Decision(Wait.PAUSE, flight.not_before)  # its URL alone is refused
        if self.is_plain:
            return GO
        if self.has_given_up(flight):
            return NEVER
        if self.held_until > now or self._is_late(now, flight):
            return self._wait_for_site(now)
        return GO

    def _wait_for_site(self, now: float) -> Decision:
        """Return the wait for its hold, its pause, or a turn of its recovery."""
        wait = Wait.PAUSE
        if self.pause.state is PauseState.RECOVERING and self.held_until <= now:
            wait = Wait.RECOVERY
        return Decision(wait, self.pause_due(now))

    def _is_late(self, now: float, flight: Flight[Any]) -> bool:
        """Return whether the site was paused since the request was handed out."""
        # The queue takes back what it handed out, also if a probe may go now.
        if flight.is_from_queue or self.pause.due(now) > now:
            return self._is_shut_for(flight)
        return False

    def due(self, now: float, section: str = "") -> float:
        """Return when the next request may be handed out; ``inf``: as another one ends.

        `section`: the path of the section that is set aside with it.
        """
        return max(now, self.decide(now, section=section).until)

    def pause_due(self, now: float) -> float:
        """Return when a request may be sent as far as pauses are concerned."""
        return max(self.held_until, self.pause.due(now))

    def is_shut(self, now: float) -> bool:
        """Return whether no request may go: paused, given up, or outside visit times.

        A site that is merely slowed, by its pace or a recovery, is not shut.
        """
        if self.is_plain:
            return False
        if self.held_until > now or self.pacer.shut_since is not None:
            return True
        return not self.pause.is_passable

    @property
    def suspected_connections(self) -> int:
        """How many connections, those used last, may be why a page failed just now.

        All, if a probe failed.
        """
        if self.pause.failed_probes:
            return maxsize
        if self.pause.is_passable:
            return int(self.failures.may_be_of_connections)
        return 1

    def has_given_up(self, flight: Flight[Any]) -> bool:
        """Return whether a request is sent no more in this run.

        While final attempts are made: one that was refused in them, or twice before.
        Once may be a limit's doing. Its fingerprint counts, if it has one.
        """
        states = [self.pause.state]
        if self.faults.aside:
            section = self.faults.of(flight.request)
            if section is not None:
                states.append(section.pause.state)
        if PauseState.GIVEN_UP in states:
            return True
        if PauseState.LAST_ATTEMPTS not in states:
            return False
        return self.times(flight.fingerprint or b"") > 1

    def _is_shut_for(self, flight: Flight[Any]) -> bool:
        """Return whether the pause holds a request back that has not had its turn."""
        pause = self.pause
        if pause.is_open or pause.probe is flight:
            return False
        # Who comes from the queue was handed out at the rate of the recovery.
        had_turn = flight.is_from_queue or flight.had_turn
        return not (pause.is_passable and had_turn)

    # Requests come and go.

    def handed_out(self, flight: Flight[Any], now: float, *, as_scout: bool) -> None:
        """Note that the queue hands a request out; where a probe is due, this is it."""
        self.ticks += 1
        flight.tick = self.ticks
        flight.sent_at = now
        flight.is_from_queue = True
        if as_scout:  # it takes its turn when the rules are known
            self.scout = flight
            flight.reserve(Purpose.RULES, self._scout_released)
        elif self.is_plain:
            return
        elif not self.pause.is_given_up:
            self.pacer.let_pass(flight)
        if self.has_refused:
            self.faults.let_pass(flight, now)
        if flight.keeps_pauses and self.pause is not Pause.NONE:
            self.pause.let_pass(flight, now)
        self.recheck()

    def let_pass(self, flight: Flight[Any], now: float) -> None:
        """Note that a request is about to leave: it takes its turn, if it had none."""
        if self.is_plain:
            return
        self.pacer.let_pass(flight)
        if flight.keeps_pauses and self._is_shut_for(flight):
            flight.had_turn = True
            self.pause.let_pass(flight, now)
            self.recheck()

    def sent(self, flight: Flight[Any], now: float) -> None:
        """Note that a request leaves for the site."""
        flight.is_sent = True
        flight.sent_at = now
        if not flight.is_from_queue:
            self.ticks += 1
            flight.tick = self.ticks
        if not self.is_plain and self.pause.rate_control is not None:
            self.pause.rate_control.left(now)
        self.pacer.sent(now)

    def ended(self, flight: Flight[Any], now: float) -> bool:
        """Note that a request has its answer, or will get none.

        Returns whether others may go now.

        All that it held is released, in this one place. A probe that ends so says
        nothing about the site, and a turn that was not used is free.
        """
        if self.pacer.is_on or self.pacer.known_until < now:
            self.pacer.ended(flight, now)
        is_news = flight.reservations != () and flight.settle(now)
        if not self.is_plain:
            flight.is_sent = False
        if is_news:
            self.recheck()
        return is_news

    def _scout_released(self, flight: Flight[Any], now: float) -> bool:
        if self.scout is not flight:
            return False
        self.scout = None
        flight.sent_at = now  # its page: a robots.txt may take long
        return True

    @property
    def awaited(self) -> frozenset[Flight[Any]]:
        """The requests for whose end others wait, and the probe of a shared pause."""
        probe = self.pause.probe
        if probe is None:
            return self.reserving
        return self.reserving | {probe}

    @property
    def has_brought_page(self) -> bool:
        """Whether it answered a page well in this run, and not only its robots.txt."""
        return self.well_way[0] is not None

    # What it answers.

    def answered(  # noqa: C901 -- no call more for a page
        self,
        flight: Flight[Any],
        now: float,
        fingerprint: bytes,
        *,
        is_page: bool = True,
        is_check: bool = False,
    ) -> PauseEffect | None:
        """Note an answer that causes no pause.

        `fingerprint`: anything where `has_refused` is False. `is_page`: it is no error.
        `is_check`: the page was requested again, as others failed.
        """
        self.ticks += 1
        self.has_answered = True
        tick = flight.tick
        is_last = tick > self._good_at
        if is_last:
            self._good_at = tick
        if is_page:
            request = flight.request
            if self._bot_blocks is not None:
                self._bot_blocks.well(request.url)
            if is_last or not self.well_url:
                meta = request.meta
                headers = _NO_HEADERS
                if flight.has_headers or "proxy" in meta:
                    headers = request.headers
                self.well_url = request.url
                self.well_way = (headers, meta)
        recent = self._recent
        if recent is None:
            self._recent = array("d", (flight.sent_at,))
        else:
            recent.append(flight.sent_at)
            if len(recent) == _TRIMMED_AT:
                del recent[:-_RECENT]
        if not self.has_refused:
            return None
        self._note_served(flight, now)
        self._note_well(flight, fingerprint, is_check=is_check)
        ended = self.faults.answered(flight, fingerprint, now)
        suspects = self._put_suspects_aside(now)
        effect = self.pause.answered(flight, now)
        if effect is None and (ended or suspects):
            effect = PauseEffect.SECTION
        if self._is_well_for_long(now):
            self.pause = Pause.NONE
            self.faults = Faults.NONE
            self.failures = Failures.NONE
            self.ceiling = ConnectionCeiling.NONE
            self.has_refused = False
        self.recheck()
        return effect

    def _note_well(
        self, flight: Flight[Any], fingerprint: bytes, *, is_check: bool
    ) -> None:
        """Note a good answer, which says whose the failures before it are."""
        if self.failures is not Failures.NONE:
            self.failures.answered(fingerprint, flight.tick)
        if self.ceiling is not ConnectionCeiling.NONE:
            self.ceiling.answered(self.ticks, is_check=is_check)

    def _put_suspects_aside(self, now: float) -> list[Section]:
        """Set the sections aside that alone are refused, and return them."""
        suspects = self.faults.suspects(self.pause.share)
        rate_control = self.pause.rate_control
        for section in suspects:
            if rate_control is not None:
                rate_control.disregard(section.refused.values())
            self.faults.put_aside(section, Refusal(now, "its pages alone are refused"))
        return suspects

    def _is_well_for_long(self, now: float) -> bool:
        """Return whether nothing is lost if its refusals and failures are forgotten."""
        if self.faults.aside or not self.pause.is_faded(now) or self.ceiling.most < inf:
            return False
        return self.failures.is_faded(now)

    def refused(
        self, flight: Flight[Any], fingerprint: bytes, refusal: Refusal
    ) -> PauseEffect | None:
        """Note that the site refused a request, by a pause status or by no answer."""
        if refusal.marked is not None:
            return self._refused_as_robot(flight, fingerprint, refusal)
        faults = self._own_faults()
        pause = self._own_pause()
        section = None
        if faults.aside:
            section = faults.of(flight.request)
        url = faults.refused(flight, fingerprint, refusal, section)
        # A part is to blame; but a time that is named is one for the whole site.
        is_of_a_part = section is not None or url.is_alone
        if refusal.retry_after is not None or not is_of_a_part:
            if faults.resumed and faults.is_mixed(flight.request):
                refusal = refusal._replace(is_of_rate=False)
            effect = pause.refused(
                flight, refusal, self._counted_lately(), has_served=self.has_answered
            )
        else:
            pause.released(flight, refusal.now)
            effect = PauseEffect.SET_ASIDE if section is None else None
            rates = pause.rate_control
            if rates is not None and rates.counts and faults.are_all_alone():
                rates.forget_limit()
        if section is not None:
            section_news = faults.probe_refused(flight, refusal)
            effect = effect or section_news
        has_begun = effect is PauseEffect.PAUSED and section is None
        if has_begun and self.failures is not Failures.NONE:
            self.failures.site_is_out()
        if flight.at_once or not self.concurrency.is_shared:
            self._note_refused(flight, begins_pause=has_begun)
        if not has_begun and self._makes_final_attempts(faults.of(flight.request)):
            url.times += 1  # a refused final attempt is not sent again
        self.recheck()
        return effect

    def _note_refused(self, flight: Flight[Any], *, begins_pause: bool) -> None:
        """Look whether the number of requests in flight is what the site refuses."""
        limit = self.concurrency.own()
        self.concurrency = limit
        rate_control = self.pause.rate_control
        # refusals are known to come whatever the rate
        by_chance = rate_control is not None and rate_control.mode is Mode.CHANCE
        may_be_why = limit.refused(
            flight.at_once, begins_pause=begins_pause, may_guess=not by_chance
        )
        if rate_control is None or not may_be_why:
            return
        if limit.is_guess:
            rate_control.doubt_limit()
        else:
            rate_control.disregard((flight.sent_at,))
            rate_control.forget_limit()

    def _note_served(self, flight: Flight[Any], now: float) -> None:
        """Look whether more was served than the limit of its rate lets through."""
        limit = self.concurrency
        if limit.is_shared:
            return
        limit.served(flight.at_once)
        rate_control = self.pause.rate_control
        if not limit.is_guess or rate_control is None:
            return
        if rate_control.is_limit_refuted(now):
            rate_control.forget_limit()
            limit.confirm_guess()

    def _refused_as_robot(
        self, flight: Flight[Any], page: bytes, refusal: Refusal
    ) -> PauseEffect | None:
        """Note a challenge, a price, or a bare refusal without the marks of either."""
        if self.faults.of(flight.request) is not None:
            return self.faults.probe_refused(flight, refusal)
        detector = self._own_bot_blocks()
        path = detector.note(flight.request.url, page, is_marked=bool(refusal.marked))
        if path is None:
            is_suspected = bool(self.well_url) and detector.suggests_block
            if is_suspected and self.note_once("403"):
                return PauseEffect.MAY_REFUSE_ROBOTS
            return None
        self._own_faults().refuse_robots(path, refusal)
        self.recheck()
        return PauseEffect.REFUSES_ROBOTS

    def _makes_final_attempts(self, section: Section | None) -> bool:
        """Return whether final attempts are made: of the site, or of the section."""
        if self.pause.state is PauseState.LAST_ATTEMPTS:
            return True
        return section is not None and section.pause.makes_final_attempts

    def failed(
        self,
        flight: Flight[Any],
        fingerprint: bytes,
        refusal: Refusal,
        *,
        is_check: bool = False,
        lost_at: int = 0,
    ) -> tuple[bool, PauseEffect | None]:
        """Note a failure, which may be the page's or the site's: see `failures.py`.

        `is_check`: of a page that was answered well before. `lost_at`: how many were in
        flight, this one included, when its new connection was lost; 0: it was not.
        Returns whether the request is sent again without a retry being counted, and the
        effect on the pause.
        """
        is_shut = self.held_until > refusal.now or self._is_shut_for(flight)
        if not (self.has_answered or is_shut):
            return False, None  # nothing is known of the site
        if is_check or self._is_a_probe(flight):
            return True, self._probe_failed(flight, fingerprint, refusal)
        page = self._note_failure(flight, fingerprint, refusal)
        if page.times <= MOST_FORGIVEN:
            if is_shut or flight.sent_at < self.pause.opened_at:
                return True, None
            if lost_at and self._note_lost_connection(
                flight, page, fingerprint, lost_at
            ):
                return True, None
        page.spent += 1
        if self.ceiling.take_owed(fingerprint):
            page.spent += 1
            page.owed -= 1
        if is_shut or not (self.has_answered and self.failures.are_many_in_doubt):
            return False, None
        return False, PauseEffect.DOUBTED

    def _note_failure(
        self, flight: Flight[Any], fingerprint: bytes, refusal: Refusal
    ) -> FailedPage:
        failures = self._own_failures()
        return failures.failed(fingerprint, flight.tick, self.ticks, refusal.now)

    def _note_lost_connection(
        self, flight: Flight[Any], page: FailedPage, fingerprint: bytes, at_once: int
    ) -> bool:
        """Note a lost connection; return whether the site accepts no more at once."""
        if self.ceiling is ConnectionCeiling.NONE:
            self.ceiling = ConnectionCeiling()
        if self.ceiling.most == inf and page.times > 1:
            return False  # it may fail by itself
        return self.ceiling.lost(fingerprint, at_once, flight.tick, self.ticks)

    def _is_a_probe(self, flight: Flight[Any]) -> bool:
        """Return whether a request is the probe of the site or of a section."""
        if self.pause.probe is flight:
            return True
        section = self.faults.of(flight.request)
        return section is not None and section.pause.probe is flight

    def _probe_failed(
        self, flight: Flight[Any], fingerprint: bytes, refusal: Refusal
    ) -> PauseEffect | None:
        """Note that a probe failed, or a check: a page that was well."""
        if self.pause.probe is not flight:
            if self._is_a_probe(flight):
                return self.refused(flight, fingerprint, refusal)
            if not self.pause.is_passable:
                return None  # it is out
            is_unanswered = not refusal.is_outage
            if is_unanswered and self.ceiling.most < inf:
                self.ceiling.lost_check(flight.tick, self.ticks)
                return None  # the check was one connection too many
            if self._own_failures().check_failed():
                return self.note_outage(flight, refusal)
            return None
        is_final = self.pause.makes_final_attempts
        effect = self.note_outage(flight, refusal)
        if is_final:
            page = self._note_failure(flight, fingerprint, refusal)
            page.times += 1  # it is not sent again
        return effect

    def note_outage(self, flight: Flight[Any], refusal: Refusal) -> PauseEffect | None:
        """Note that the site is out: a page failed that was well, or none can be asked.

        Returns the effect on its pause.
        """
        pause = self._own_pause()
        effect = pause.refused(
            flight, refusal, self._counted_lately(), has_served=self.has_answered
        )
        if effect is PauseEffect.PAUSED:
            self._own_failures().site_is_out()
            if flight.at_once or not self.concurrency.is_shared:
                self._note_refused(flight, begins_pause=True)
        self.recheck()
        return effect

    def times(self, fingerprint: bytes) -> int:
        """Return how often a page was refused or failed since its last good answer."""
        return self.faults.times(fingerprint) + self.failures.times(fingerprint)

    def forget(self, fingerprint: bytes) -> None:
        """Forget how often a page was refused, or failed: it is tried no more."""
        self.faults.forget(fingerprint)
        self.failures.forget(fingerprint)

    def may_go_at(self, fingerprint: bytes) -> tuple[float, bool]:
        """Return when a refused request may be sent again, and whether it is alone.

        0: it was not refused, or may go at once, or its site is given up. One that
        alone is refused has a time of its own; one that was refused with its site lets
        others go first, for as long as a first pause takes.
        """
        if self.pause.state is PauseState.GIVEN_UP:
            return 0.0, False
        url = self.faults.urls.get(fingerprint)
        if url is None:
            if fingerprint in self.failures.pages:
                return self.pause.others_go_until, False
            return 0.0, False
        if url.is_alone:
            return url.may_go_at, True
        return max(url.may_go_at, self.pause.others_go_until), False

    # Its crawl delay, and what other crawls, the previous run and the operator say.

    def pause_as_peer(self, refusal: Refusal) -> bool:
        """Pause the site as another crawl did; return whether that is news."""
        # as where it refused this crawl itself: its answers are looked at
        self._own_faults()
        effect = self._own_pause().trip(refusal)
        self.recheck()
        return effect is not None

    def restore(self, now: float, left: LeftPause) -> None:
        """Restore a pause of the previous run or of another worker.

        One that has ended meanwhile still ends with a probe; one that is known stays as
        it is.
        """
        faults = self._own_faults()
        pause = self._own_pause()
        if left.section:
            faults.restore(now, left)
        else:
            pause.restore(now, left)
            self.was_out_before = True
        self.recheck()

    def hold(self, now: float, until: float) -> None:
        """Send nothing before a time, whatever the site answers."""
        if self.held_until == -inf:
            self._held_since = now
        self.held_until = until
        self.recheck()

    def release(self, now: float) -> None:
        """Let the hold end at once: the next :meth:`end_hold` says how long it was."""
        if self.held_until > now:
            self.hold(now, now)

    def end_hold(self, now: float) -> float | None:
        """Return how long the hold was that is over now.

        None: there is none, or it is not over.
        """
        if self.held_until == -inf or now < self.held_until:
            return None
        self.held_until = -inf
        self.recheck()
        return now - self._held_since

    def give_up(self, reason: str) -> bool:
        """Send the site nothing more in this run; return whether that is news."""
        is_news = self._own_pause().give_up(reason)
        self.recheck()
        return is_news

    def forget_refusals(self) -> None:
        """Be as a site that nothing is known of: it has never answered."""
        self.dead_until = inf
        self.pause.reset()
        self.faults = Faults.NONE
        self.failures = Failures.NONE
        self.has_refused = False
        self.recheck()

    def note_once(self, what: str) -> bool:
        """Note that a fact is reported; return whether it is for the first time."""
        if what in self.reported:
            return False
        self.reported += (what,)
        return True

    # What it is made of.

    def counts_since(self, now: float) -> float:
        """Return since when a request is in flight that hangs, and is not counted."""
        meta = self.well_way[1] or {}
        usual: float = meta.get("download_latency", 0.0)
        return now - max(HOLDS_NO_PLACE_AFTER, 3.0 * usual)

    @property
    def well_at(self) -> float:
        """When that request was sent which it answered well last.

        ``-inf``: there is none.
        """
        if self._recent:
            return self._recent[-1]
        return -inf

    def as_text(self, now: float = -inf) -> str:
        """Return its state, as text."""
        if self.pacer.shut_since is not None:
            return f"outside of {self.pacer.pace.visits_text}"
        words = []
        if self.pause is not Pause.NONE:
            words.append(self.pause.as_text())
        if self.held_until > now:
            end = clock_time(self.held_until)
            if self.held_until == inf:
                end = "resumed"
            words.append(f"held until {end}")
        if self.scout is not None:
            words.append("its rules are being found out")
        return ", ".join(words) or "open"

    def left(self) -> Iterator[LeftPause]:
        """Yield its pauses that are not over, those of sections last.

        A host that never answered has none: its next owner begins with the first try.
        """
        if not self.pause.is_open and self.dead_until == inf:
            yield self.pause.left()
        for section in self.faults.aside.values():
            if not section.pause.is_given_up:
                yield section.pause.left()._replace(
                    section=section.path, refuses_robots=section.refuses_robots
                )

    def _own_pause(self) -> Pause:
        if self.pause is Pause.NONE:
            self.pause = Pause(self._policy)
        return self.pause

    def _lately(self) -> Sequence[float]:
        """Return when the requests of its last good answers were sent."""
        return (self._recent or ())[-_RECENT:]

    def _counted_lately(self) -> Sequence[float]:
        """Return when those requests were sent that a limit has counted lately.

        That for robots.txt counts until a page was answered: then pages say more, and
        it may be long ago.
        """
        pages = self._lately()
        if pages or self.rules_asked_at == -inf:
            return pages
        return (self.rules_asked_at,)

    def _own_faults(self) -> Faults:
        if not self.has_refused:
            good = min(len(self._recent or ()), _RECENT)
            self.faults = Faults(self._policy, good)
            self.faults.good_at = self._good_at
            self.has_refused = True
            self.is_calm = False
        return self.faults

    def _own_bot_blocks(self) -> BotBlockDetector:
        if self._bot_blocks is None:
            from scrapy_mandelbot.politeness.bot_blocks import (  # noqa: PLC0415 -- few sites
                BotBlockDetector,
            )

            self._bot_blocks = BotBlockDetector()
        return self._bot_blocks

    def _own_failures(self) -> Failures:
        if self.failures is Failures.NONE:
            self._own_faults()  # its answers are looked at
            self.failures = Failures(len(self._lately()), self._good_at)
        return self.failures

    def recheck(self) -> None:
        """Decide anew whether anything holds its requests back: a part has changed."""
        if self.scout is not None or self.held_until > -inf or self.faults.aside:
            self.is_plain = False
        else:
            is_open = self.pause.state is PauseState.OPEN
            self.is_plain = is_open and self.pacer.is_free
        self.is_calm = (
            self.is_plain
            and not self.has_refused
            and not self.is_timed
            and not self.concurrency.is_measured
        )
