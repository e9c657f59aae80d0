"""All that a crawl knows of how one site is to be asked, in one object without I/O.

It answers one question, *when may it be asked next, and by whom*: :meth:`SiteState.due` for whoever
is about to hand out a request, :meth:`SiteState.admit` for a request that is on its way. Facts go
in with ``now``; what comes out is news to be told. It reads no clock and knows no Scrapy.

What holds a site's requests back, any of these alone:

- its rules are not known: one request, the scout, is on its way to find them out;
- the operator has paused it by hand;
- it has asked for a pause, or recovers from one (``pause.py``, ``routes.py``);
- its owner asks for a pace (``robots/pace.py``, ``flight.py``);
- a section or page that is refused while others are answered well waits alone (``sections.py``).
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.robots.pace import Metronome, Pace
from scrapy_mandelbot.sites.flight import Turns
from scrapy_mandelbot.sites.pause import Refusal, clock_time
from scrapy_mandelbot.sites.pause_table import Fact, News, PauseState
from scrapy_mandelbot.sites.routes import Routes
from scrapy_mandelbot.sites.sections import Blame, Sections, sections_of
from scrapy_mandelbot.sites.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy_mandelbot.sites.flight import Flight
    from scrapy_mandelbot.sites.pause import LeftPause, Pause, PauseLaw
    from scrapy_mandelbot.sites.sections import Section

_MOST_UNANSWERED = 1_000  # fingerprints; two prove as much
_RECENT = 64  # good answers; what a site that says no for the first time bore
_LOOKED_THROUGH = 64  # requests, for a probe from elsewhere; twice as many after each that failed
MOST_LOOKED_THROUGH = 512
"""Requests of a queue that are held while a probe is looked for."""
_GOLDEN = 0.618  # of the requests that are looked through; its multiples are spread evenly
_FREE = Pace()


def _nothing() -> None:
    pass


class Admission(Enum):
    """Whether a request on its way may leave for its site."""

    GO = "go"
    PAUSED = "paused"
    """The site is paused, or asked by another request just now."""
    NO_TURN = "no turn"
    """It is not the request's turn at the pace of the site."""


class SiteState:
    """What is known of one site. ``now`` is in seconds since the epoch.

    Args:
        name: the site, as ``https://example.com``.
        law: how long its pauses last.
    """

    __slots__ = (
        "__weakref__",
        "_answered_at",
        "_good_at",
        "_held_since",
        "_law",
        "_parts",
        "_recent",
        "_routes",
        "_turns",
        "_unanswered",
        "alarm_at",
        "has_refused",
        "held_until",
        "is_plain",
        "name",
        "pace_until",
        "resumes_at",
        "rules",
        "scout",
        "slots",
        "tally",
        "ticks",
        "told",
        "well_url",
    )

    def __init__(self, name: str, law: PauseLaw) -> None:
        self.name = name
        self._law = law
        self.is_plain = True
        """Whether nothing holds its requests back; what is set here is settled by `_settle`."""
        self.ticks = 0
        """A number that grows with each request handed out, and with each good answer."""
        self.rules: Callable[[], Any] = _nothing
        """Returns its rules as they were found out last, if they are at hand."""
        self.scout: Flight | None = None
        """The one request on its way while the site's rules are not known."""
        self.held_until = -inf
        """When the operator lets the site be asked again."""
        self._held_since = 0.0
        self._routes: Routes | None = None
        self._turns: Turns | None = None
        self.pace_until = -inf
        """Until when the pace need not be learnt."""
        self.resumes_at = -inf
        """When it may be asked, as the pace of a former run has left it."""
        self._answered_at: float | None = None
        self._recent: deque[float] | None = None
        self._good_at = -1
        self._unanswered: set[bytes] | None = None
        self._parts: Sections | None = None
        self.well_url = ""
        """A page that it answered well in this run."""
        self.has_refused = False
        """Whether any request was refused lately: what it answers is looked at."""
        self.slots: set[str] = set()
        """Download slots through which it was asked."""
        self.tally = Tally()
        """None: nothing is counted."""
        self.alarm_at = inf
        """When the crawl looks at it again."""
        self.told: frozenset[str] = frozenset()
        """What has been told of it once."""

    def __repr__(self) -> str:
        return f"<{self.name}: {self.in_words()}>"

    # When may it be asked?

    def due(self, now: float, route: str = "") -> float:
        """Return when the next request may be handed out; ``inf``: when another one has ended."""
        if self.is_plain:
            return now
        if self.scout is not None:
            return inf
        due = self.pause_due(now, route)
        return due if due > now or self._turns is None else self._turns.due(now)

    def pause_due(self, now: float, route: str = "") -> float:
        """Return when a request may be sent as far as pauses are concerned."""
        due = now if self._routes is None else self._routes.due(route, now)
        return max(self.held_until, due)

    def holds_back(self, now: float, route: str = "", section: str = "") -> bool:
        """Return whether its requests wait for a time: a pause, a turn, the rate of a recovery.

        One that waits for another to find out the rules, or for a place to be sent from, does not.
        """
        if self.is_plain:
            return False
        if max(self.pause_due(now, route), self.section_due(section, now)) > now:
            return True
        return self._turns is not None and self._turns.due(now) > now

    def has_given_up(self, route: str = "") -> bool:
        """Return whether the site is not asked again in this run."""
        return self._routes is not None and self._routes.has_given_up(route)

    def is_shut(self, now: float, route: str = "") -> bool:
        """Return whether it is asked nothing now: paused, probed, given up, or unvisited.

        A site that is merely asked at a pace or at the rate of a recovery is not.
        """
        if self.is_plain:
            return False
        return (
            self.held_until > now
            or self.shut_since is not None
            or (self._routes is not None and self._routes.is_shut(route))
        )

    def shut_routes(self, now: float) -> Iterator[str]:
        """Yield the routes by which the site is asked nothing now."""
        for route in sorted(self.route_names()):
            if self.is_shut(now, route):
                yield route

    def route_names(self) -> Iterable[str]:
        """Return the routes by which it was asked, and the one that is none."""
        return {"", *(self._routes or ())}

    # Which request goes?

    def seeks_probe(self, route: str = "") -> int:
        """Return how many requests are to be looked through for the one that asks it next.

        One: any will do. A probe comes from elsewhere than what was refused, and from further away
        with each one that failed. Where none of them will do, more are looked through.
        """
        pause = self.pause(route)
        if pause is None or pause.state is not PauseState.PAUSED or self._parts is None:
            return 1
        doublings = min(pause.failed_probes, 10)
        return int(min(_LOOKED_THROUGH * 2**doublings, MOST_LOOKED_THROUGH))

    def choose_probe(
        self, urls: Sequence[str], fingerprint_of: Callable[[int], bytes], route: str = ""
    ) -> int | None:
        """Return which of these requests had best be the probe.

        One that was never refused, from no section that is suspected; and one from far between, so
        that it is no neighbour of what was refused. None: there is no such request.

        Args:
            urls: of the requests.
            fingerprint_of: returns the fingerprint of one of them, by its number.
            route: that they go.
        """
        pause, parts = self.pause(route), self._parts
        if parts is None or pause is None:
            return 0
        first = self._from_far(len(urls), pause.failed_probes)
        well = frozenset(sections_of(self.well_url))
        for number in chain(range(first, len(urls)), range(first)):
            if parts.is_suspect(urls[number], well):
                continue
            if not parts.was_refused(fingerprint_of(number)):
                return number
        return None

    @staticmethod
    def _from_far(count: int, failed_probes: int) -> int:
        return int(count * (_GOLDEN * (failed_probes + 1) % 1.0))

    def section_of(self, url: str) -> Section | None:
        """Return the section that is set aside in which a URL is; None: it is in none."""
        return None if self._parts is None else self._parts.section_of(url)

    def section_due(self, path: str, now: float) -> float:
        """Return when a request of a section may be sent, as far as that is set aside."""
        if not path or self._parts is None:
            return now
        return self._parts.due(path, now)

    def sections(self) -> Iterator[Section]:
        """Yield the sections that are set aside."""
        if self._parts is not None:
            yield from self._parts.set_aside()

    def is_given_up_for(self, flight: Flight, fingerprint: bytes) -> bool:
        """Return whether a request is sent no more in this run.

        Where a site or section is in its last round, that is one which was refused before.
        """
        route = flight.route if flight.passed is None else flight.passed
        if self.has_given_up(route):
            return True
        if self._parts is None:
            return False
        pause, section = self.pause(route), self._parts.section_of(flight.request.url)
        if section is not None and section.is_over():
            return True
        is_last_round = (pause is not None and pause.is_last_round) or (
            section is not None and section.pause is not None and section.pause.is_last_round
        )
        return is_last_round and self._parts.was_refused(fingerprint)

    # Requests come and go.

    def hand_out(self, flight: Flight, now: float, *, as_scout: bool) -> None:
        """Note that the queue hands a request out; where a probe is due, this is it."""
        self.ticks = flight.tick = self.ticks + 1
        flight.sent_at = now
        flight.is_from_queue = True
        flight.passed = flight.route
        if as_scout:  # it takes its turn when the rules are known
            self.scout = flight
            self.is_plain = False
        elif self.is_plain:
            return
        elif self._turns is not None and not self.has_given_up(flight.route):
            self._turns.give(flight)
        if self._parts is not None:
            self._parts.hand_out(flight, now)
        if self._routes is not None:
            self._routes.let_pass(flight, now)

    def admit(self, flight: Flight, now: float) -> Admission:
        """Return whether a request may leave for the site now; if so, it has taken its turn."""
        if self.is_plain:
            return Admission.GO
        takes_turn = False
        if flight.keeps_pauses:
            if self.held_until > now:
                return Admission.PAUSED
            if self._routes is not None and self._routes.is_shut_for(flight):
                if not self._routes.may_take_turn(flight, now):
                    return Admission.PAUSED
                takes_turn = True
        if self._turns is not None:
            if not self._turns.has_turn(flight, now):
                return Admission.NO_TURN
            self._turns.give(flight)
        if takes_turn and self._routes is not None:
            self._routes.let_pass(flight, now)
        return Admission.GO

    def sent(self, flight: Flight, now: float) -> None:
        """Note that a request leaves for the site."""
        flight.is_sent = True
        if not flight.is_from_queue:
            self.ticks = flight.tick = self.ticks + 1
            flight.sent_at = now
        if self._turns is not None:
            self._turns.metronome.sent(now)
            self.tally.left(now)

    def still_waits(self, now: float) -> None:
        """Note that the request sent last is not on its way yet: the downloader holds it."""
        if self._turns is not None:
            self._turns.metronome.sent(now)

    def ended(self, flight: Flight, now: float) -> bool:
        """Note that a request has its answer, or will get none; return whether others may go.

        A probe that ends so has told nothing of the site, and a turn that was not used is free.
        """
        if self._turns is None and self.pace_until < now:
            self._answered_at = now
        if self.is_plain:
            return False
        is_news = self._parts is not None and self._parts.lost(flight, now)
        if self.scout is flight:
            self.scout = None
            is_news = True
        if self._routes is not None:
            is_news |= self._routes.lost(flight, now)
        if self._turns is not None:
            is_news |= self._turns.ended(flight, now)
        flight.is_sent = False
        if is_news:
            self._settle()
        return is_news

    def end_scout(self) -> None:
        """Note that the rules are known now, or never will be."""
        self.scout = None
        self._settle()

    def awaited(self) -> Iterator[Flight]:
        """Yield the requests whose end others wait for."""
        if self.scout is not None:
            yield self.scout
        if self._routes is not None:
            yield from self._routes.probes()
        yield from (one.probe for one in self.sections() if one.probe is not None)
        if self._turns is not None and self._turns.turn is not None:
            yield self._turns.turn

    # What it answers.

    def answered(
        self, flight: Flight, now: float, fingerprint: bytes, *, is_page: bool = True
    ) -> News | None:
        """Note that the site answered a request, and asked for no pause.

        Args:
            flight: the request.
            now: seconds.
            fingerprint: of the request; anything where :attr:`has_refused` is False.
            is_page: whether it is a page that may be asked for again, and not an error.
        """
        self.ticks += 1
        if flight.tick > self._good_at:
            self._good_at = flight.tick
            if is_page:
                self.well_url = flight.request.url
        if self._recent is None:
            self._recent = deque(maxlen=_RECENT)
        self._recent.append(flight.sent_at)
        self._unanswered = None
        if self._parts is None or self._routes is None:
            return None
        ended = self._parts.answered(flight, fingerprint, now)
        suspects = self._parts.suspects(self._routes.share)
        for section in suspects:
            self._routes.disregard(section.refused.values())
            self._parts.put_aside(section, Refusal(now, "its pages alone are refused"))
        news = self._routes.answered(flight, now, self.ticks)
        if news is None and (ended or suspects):
            news = News.SECTION_RESUMED if ended else News.SECTION_PAUSED
        if self._routes.is_faded(now):
            self._forget_refusals()
        self._settle()
        return news

    def refused(self, flight: Flight, fingerprint: bytes, refusal: Refusal) -> News | None:
        """Note that the site refused a request: by a pause status, or by no answer at all."""
        parts, routes = self._use_parts(), self.use_routes()
        has_limit = routes.has_limit(flight.route)
        blame = parts.refused(flight, fingerprint, refusal, has_limit=has_limit)
        if blame is Blame.SITE or refusal.retry_after is not None:
            has_served = self._good_at >= 0
            news = routes.refused(flight, refusal, self._recent or (), has_served=has_served)
        else:
            news = News.SET_ASIDE if blame is Blame.PAGE else None
            routes.lost(flight, refusal.now)
        if blame is Blame.SECTION:
            section_news = parts.probe_refused(flight, refusal)
            news = news or section_news
        self._settle()
        return news

    def is_silent(
        self, flight: Flight, fingerprint: bytes, now: float, *, is_certain: bool
    ) -> bool:
        """Return whether a request without an answer means that the site is down for a while.

        Not one that never answered in this run, and not for a single URL: such requests are
        RetryMiddleware's, as always.

        Args:
            flight: the one that got no answer.
            fingerprint: of the request.
            now: seconds.
            is_certain: whether no server listens there, so that one request is proof enough.
        """
        if self.held_until > now or (self._routes and self._routes.is_shut_for(flight)):
            return True
        if self._good_at < 0:
            return False
        if self._unanswered is None:
            self._unanswered = set()
        if len(self._unanswered) < _MOST_UNANSWERED:
            self._unanswered.add(fingerprint)
        return is_certain or len(self._unanswered) > 1

    def is_probe(self, flight: Flight) -> bool:
        """Return whether the request is the one that asks a paused site whether it is well."""
        return self._routes is not None and flight in self._routes.probes()

    def awaits_probe(self, route: str = "") -> bool:
        """Return whether the request that goes next asks the paused site whether it is well."""
        pause = self.pause(route)
        return pause is not None and pause.state in {PauseState.PAUSED, PauseState.ONCE_EACH}

    def is_probed(self, route: str = "") -> bool:
        """Return whether a probe is on its way."""
        one = None if self._routes is None else self._routes.get(route)
        return one is not None and one.probe is not None

    @property
    def has_answered(self) -> bool:
        """Whether it has answered a request well in this run."""
        return self._good_at >= 0

    def may_go_at(self, fingerprint: bytes, route: str = "") -> float:
        """Return when a request may be sent again that was refused; 0: it was not, or at once.

        One that alone is refused has a time of its own. One that was refused with its site lets
        others go first, for as long as a first pause takes.
        """
        if self._parts is None or not self._parts.was_refused(fingerprint):
            return 0.0
        at, pause = self._parts.may_go_at(fingerprint), self.pause(route)
        if self._parts.times_alone(fingerprint) or pause is None:
            return at
        return max(at, max(pause.until, pause.lengths.resumed_at) + self._law.first)

    def times_alone(self, fingerprint: bytes) -> int:
        """Return how often a request was refused, where its page is to blame."""
        return 0 if self._parts is None else self._parts.times_alone(fingerprint)

    def forget_refusals(self, fingerprint: bytes) -> None:
        """Forget how often a request was refused: it is tried no more."""
        if self._parts is not None:
            self._parts.forget(fingerprint)

    # Its pace.

    @property
    def pace(self) -> Pace:
        """What its owner asks for, as far as it is known."""
        return _FREE if self._turns is None else self._turns.metronome.pace

    @property
    def has_pace(self) -> bool:
        """Whether it is asked at a pace."""
        return self._turns is not None

    def needs_turn(self, now: float) -> bool:
        """Return whether the request that goes next takes a turn."""
        return self._turns is not None and not self._turns.metronome.is_free_at(now)

    @property
    def has_unused_turn(self) -> bool:
        """Whether a request has its turn and has not left yet."""
        turn = None if self._turns is None else self._turns.turn
        return turn is not None and not turn.is_sent

    @property
    def shut_since(self) -> float | None:
        """Since when a request waits for the site's visit time; None: none does."""
        return None if self._turns is None else self._turns.shut_since

    def keep_to(self, pace: Pace, until: float, now: float) -> bool:
        """Have the site asked at this pace; return whether it is another one than just now.

        Args:
            pace: what its owner asks for, or the project has set.
            until: when it is to be learnt again.
            now: seconds.
        """
        self.pace_until = until
        if self._turns is not None:
            metronome = self._turns.metronome
            if metronome.pace == pace:
                return False
            metronome.keep_to(pace, now)
            if pace.is_free and self._turns.is_idle(now):
                self._turns = None
                self._settle()
            return True
        if pace.is_free:
            return False
        self._begin_turns(pace, now)
        return True

    def keep_to_what_is_left(self, longest: float, now: float) -> bool:
        """Leave a site alone whose pace is not known yet, and was when a former run asked it.

        Args:
            longest: seconds between requests that any site is given.
            now: seconds.
        """
        if self._turns is not None or self.resumes_at <= now:
            return False
        turns = self._begin_turns(Pace(longest), now)
        turns.metronome.pace = _FREE  # its robots.txt is asked for next, and says what it asks for
        return True

    def note_wait(self, now: float) -> float | None:
        """Note that a request waits for its turn; return when the visit time begins if it is news.

        News is what has just been found out: that the site is not to be asked at this time.
        """
        turns = self._turns
        if turns is None:
            return None
        if turns.wanted_since is None:
            turns.wanted_since = now
        opens = turns.metronome.pace.opens(now)
        if opens <= now or turns.shut_since is not None:
            return None
        turns.shut_since = now
        return opens

    def end_wait(self, now: float) -> float | None:
        """Return for how long a turn was waited for that is taken now; None: it was not."""
        turns = self._turns
        if turns is None or turns.wanted_since is None or turns.turn is None:
            return None
        waited, turns.wanted_since = now - turns.wanted_since, None
        return waited

    def end_shut(self, now: float) -> float | None:
        """Return for how long the site was shut whose visit time has begun; None: it was not."""
        turns = self._turns
        if turns is None or turns.shut_since is None or turns.metronome.pace.opens(now) > now:
            return None
        shut_for, turns.shut_since = now - turns.shut_since, None
        return shut_for

    def next_turn(self, now: float) -> float:
        """Return when the site may be asked again if an answer ends now; now: it has no pace."""
        return now if self._turns is None else self._turns.metronome.due_after(now)

    # What other crawls say of it.

    def longest_wait(self, now: float) -> float:
        """Return for how many seconds its pace can have it left alone; 0: it has none."""
        return 0.0 if self._turns is None else self._turns.metronome.due_after(now) - now

    def hold_turn(self, until: float) -> None:
        """Take no turn before then; another crawl asks the site at the same pace."""
        if self._turns is None:
            self.resumes_at = max(self.resumes_at, until)
        else:
            self._turns.hold(until)

    def overhear(self, now: float, route: str, refusal: Refusal) -> Pause | None:
        """Leave the site alone as another crawl does; return the pause, if that is news."""
        self._use_parts()  # as where it refused this crawl itself: its answers are looked at
        pause = self.use_routes().use(route).pause
        news = pause.take(Fact.REFUSED, now, refusal)
        self._settle()
        return pause if news is not None else None

    def _begin_turns(self, pace: Pace, now: float) -> Turns:
        since = -inf if self._answered_at is None else self._answered_at
        metronome = Metronome(pace, since, self.resumes_at)
        metronome.keep_to(pace, now)
        self._answered_at, self.resumes_at = None, -inf
        self._turns = Turns(metronome)
        self.is_plain = False
        return self._turns

    # Told by the operator, and by the end of a run.

    def hold(self, now: float, until: float) -> None:
        """Have nothing sent before ``until``, whatever the site answers; now: end the hold."""
        if self.held_until == -inf:
            self._held_since = now
        self.held_until = until
        self.is_plain = False

    def end_hold(self, now: float) -> float | None:
        """Return how long the hold was that is over now; None: there is none, or it is not over."""
        if self.held_until == -inf or now < self.held_until:
            return None
        self.held_until = -inf
        self._settle()
        return now - self._held_since

    def end_pause(self, now: float) -> None:
        """Let the probe go at once, as the operator knows that the site is well."""
        if self._routes is not None:
            self._routes.end_pause(now)

    def give_up(self, now: float, reason: str) -> list[str]:
        """Ask the site no more, whatever the law says; return the routes given up by this."""
        routes = self.use_routes()
        self.is_plain = False
        return routes.give_up(now, reason)

    def go_on(self, now: float, left: LeftPause) -> None:
        """Go on with a pause that a former run, or another worker, has left.

        One that is over by now ends with a probe all the same; one that is known goes on as it is.
        """
        routes, parts = self.use_routes(), self._use_parts()
        if left.section:
            parts.go_on(now, left)
        else:
            routes.use(left.route).pause.go_on(now, left)
        self._settle()

    # What it is made of.

    def pause(self, route: str = "") -> Pause | None:
        """Return the pause of a route; None: it was never paused."""
        one = None if self._routes is None else self._routes.get(route)
        return None if one is None else one.pause

    def use_routes(self, route: str = "") -> Routes:
        """Return the routes, this one noted if it is a proxy."""
        if self._routes is None:
            self._routes = Routes(self._law)
        if route:
            self._routes.use(route)
            self.is_plain = False
        return self._routes

    def in_words(self, route: str = "", now: float = -inf) -> str:
        """Return how it stands, for people."""
        if self.shut_since is not None:
            return f"outside of {self.pace.visits_in_words}"
        pause = self.pause(route)
        words = [] if pause is None else [pause.in_words()]
        if self.held_until > now:
            words.append(f"held until {clock_time(self.held_until)}")
        if self.scout is not None:
            words.append("its rules are being found out")
        if not words and self._routes is not None and self._routes.is_shut(route):
            words.append("all its proxies are shut")
        return ", ".join(words) or "open"

    def left(self) -> Iterator[LeftPause]:
        """Yield its pauses that are not over, those of sections last."""
        if self._routes is not None:
            for name, route in self._routes.items():
                if not route.pause.is_open:
                    yield route.pause.left(name)
        for section in self.sections():
            if section.pause is not None and not section.is_over():
                yield section.pause.left("", section.path)

    def _use_parts(self) -> Sections:
        if self._parts is None:
            self._parts = Sections(self._law)
            self._parts.good_at = self._good_at
            self.has_refused = True
        return self._parts

    def _settle(self) -> None:
        """See whether anything holds requests back."""
        if self._routes is not None and self._parts is None and self._routes.is_plain:
            self._routes = None
        self.is_plain = (
            (self._routes is None or self._routes.is_plain)
            and self._turns is None
            and self.scout is None
            and self.held_until == -inf
            and next(self.sections(), None) is None
        )

    def _forget_refusals(self) -> None:
        """Forget how it refuses: it has been well for long."""
        if self._parts is not None and next(self.sections(), None) is None:
            self._parts = self._routes = None
            self.has_refused = False
