"""What one site of a crawl waits for at one moment, found from its state."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from typing import TYPE_CHECKING, NamedTuple

from mandelbot.formatting import counted, shown

from scrapy_mandelbot.politeness.concurrency_limit import HALF
from scrapy_mandelbot.politeness.measured_limit import MeasuredLimit, Phase
from scrapy_mandelbot.politeness.pause import PauseState
from scrapy_mandelbot.report.status import Reason, SiteStatus
from scrapy_mandelbot.time_text import clock_time, moment

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.pause import Pause
    from scrapy_mandelbot.politeness.site_state import Site


class Why(NamedTuple):
    """The reason why the requests of a site wait."""

    reason: Reason
    until: float | None
    """The end of the wait, in seconds since the epoch; ``inf``: when it is ended
    manually; None: with an answer, or not in this run.
    """
    details: str | None = None
    """Text, escaped and shortened. None: `SiteSnapshot.details` finds it out."""


def held(site: Site, now: float) -> Why | None:
    """Return what holds back the whole site, without details; None: nothing does."""
    if site.is_plain:
        return None
    if site.pause.is_given_up:
        return _given_up(site.pause, now)
    if site.budget is not None and site.budget.is_reached:
        return Why(Reason.BUDGET, None)
    if site.held_until > now:
        return Why(Reason.MANUAL, site.held_until)
    if site.scout is not None:
        return Why(Reason.ROBOTS_TXT, None)
    return _pause_reason(site.pause, now) or _delay_reason(site, now)


def _given_up(pause: Pause, now: float) -> Why:
    if not now < pause.until < inf:
        return Why(Reason.GIVEN_UP, None)
    until = clock_time(pause.until)
    return Why(Reason.GIVEN_UP, None, f"{pause.reason}; not before {until}")


def _pause_reason(pause: Pause, now: float) -> Why | None:
    if pause.state is PauseState.PAUSED:
        # Once the time is over, the next request from the queue is the probe.
        reason = Reason.PAUSED if pause.until > now else Reason.PROBED
        return Why(reason, pause.until)
    if pause.makes_final_attempts:
        return Why(Reason.LAST_ROUND, _finite(pause.due(now)))
    if pause.state is PauseState.PROBING:
        return Why(Reason.PROBED, None)
    due = pause.due(now)
    if due <= now or pause.rate_control is None:
        return None
    return Why(Reason.RECOVERING, due)


def _delay_reason(site: Site, now: float) -> Why | None:
    if not site.pacer.is_on:
        return None
    if site.pacer.pace.visits:
        opens = site.pacer.pace.opens(now)
        if opens > now:
            return Why(Reason.VISIT_TIME, opens)
    due = site.due(now)
    if due <= now:
        return None
    return Why(Reason.PACE, _finite(due))


def _finite(due: float) -> float | None:
    return due if isfinite(due) else None


def limit_text(site: Site, waiting: int) -> str:
    """Return a site's known rate limit, and how long its waiting requests take."""
    recovery = site.pause.rate_control
    if recovery is None or not recovery.counts:
        return ""
    limit, time = recovery.as_text(waiting)
    text = f"a limit of about {limit}"
    return f"{text}: about {time}" if waiting else text


def _details_of_pause(site: Site) -> str:
    pause = site.pause
    tries = counted(pause.failed_probes, "failed probe") if pause.failed_probes else ""
    return ", ".join(filter(None, (pause.reason, tries)))


def _rate(site: Site) -> str:
    recovery = site.pause.rate_control
    return "" if recovery is None else recovery.as_text(0)[0]


def _budget_text(site: Site) -> str:
    return "" if site.budget is None else site.budget.as_text()


def _at_once(site: Site) -> str:
    """Return how many requests a site gets at once, and what was found out of it."""
    limit = site.concurrency
    text = f"{limit.bound} at once"
    if limit.is_beginning:
        if limit.connections is not None:
            return f"{text}, and one more with each answer"
        return f"{text}, until {HALF} are answered"
    if isinstance(limit, MeasuredLimit) and limit.phase is Phase.MORE:
        return f"{text}, while it is found out whether it bears more"
    found = limit.comparison
    if found is None or found.bound != limit.bound:
        return text
    times = f"{found.times_as_long:.1f} times as long"
    return f"{text}; with {found.other}, an answer took {times}"


_DETAILS: dict[Reason, Callable[[Site], str]] = {
    Reason.GIVEN_UP: lambda site: site.pause.reason,
    Reason.PAUSED: _details_of_pause,
    Reason.PROBED: _details_of_pause,
    Reason.LAST_ROUND: _details_of_pause,
    Reason.VISIT_TIME: lambda site: site.pacer.pace.visits_text,
    Reason.ROBOTS_TXT: lambda _: "waiting for one request that fetches its rules",
    Reason.RECOVERING: _rate,
    Reason.PACE: lambda site: f"{site.pacer.pace} ({site.pacer.pace.source})",
    Reason.BUDGET: _budget_text,
    Reason.AT_ONCE: _at_once,
    Reason.SLOT_FULL: lambda site: (
        site.tally.ignored_delay() or "its slot has no free transfer"
    ),
    Reason.ASKED: lambda site: site.tally.ignored_delay(),
    Reason.NEXT: lambda site: site.tally.ignored_delay(),
}


class SiteSnapshot(NamedTuple):
    """The state of one site at one moment, before it is written for users."""

    state: Site
    why: Why
    waiting: int
    under_way: int

    @property
    def site(self) -> str:
        """Its name."""
        return self.state.name

    @property
    def reason(self) -> Reason:
        """The reason why its requests wait."""
        return self.why.reason

    @property
    def until(self) -> float | None:
        """The end of the wait; see :attr:`Why.until`."""
        return self.why.until

    @property
    def details(self) -> str:
        """Details of the reason, as text."""
        if self.why.details is not None:
            return self.why.details
        as_text = _DETAILS.get(self.reason)
        details = "" if as_text is None else as_text(self.state)
        if self.reason not in {Reason.PAUSED, Reason.PROBED, Reason.RECOVERING}:
            return details
        limit = limit_text(self.state, self.waiting)
        if limit and self.reason is Reason.RECOVERING:
            return limit
        return "; ".join(filter(None, (limit, details)))

    def as_status(self) -> SiteStatus:
        """Return the status for users."""
        details = shown(self.details)
        until = None if self.until is None else moment(self.until)
        return SiteStatus(
            self.site, self.reason, until, details, self.waiting, self.under_way
        )
