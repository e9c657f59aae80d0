"""Which parts of a site refuse while the rest is well: sections, and single pages.

A section is the URLs under one path, down to a ``/`` or a ``?``. It is set aside when
several of its pages were refused one after the other, none was answered well since, and
something elsewhere was that was sent later; it has a pause of its own then, and a probe
of its own, and its refusals are nobody else's business. Of sections within each other
the outermost one counts.

A page is set aside when it is refused again while others, sent later than its first
refusal, were answered well. The first refusal of a page is always the site's business.

A section that was set aside may be well again, or refuse some of its pages and others
not. So its pages are counted from then on. If chance explains several refusals in a
row, it is *mixed*: it is set aside again only for so many that chance does not explain
them, none of its pages probes its site, and no rate is concluded from what it refuses.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy_mandelbot.politeness.flight import GO, NEVER, Decision, Wait
from scrapy_mandelbot.politeness.pause import Pause, PauseEffect
from scrapy_mandelbot.politeness.pause_policy import BY_CHANCE, PausePolicy, Refusal

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.flight import Flight
    from scrapy_mandelbot.politeness.pause_policy import LeftPause

MOST_REFUSED_URLS = 1_000
"""Of a site; those that were refused first are forgotten."""
MOST_SECTIONS = 200
"""Of a site, that are suspected or set aside."""
REFUSES_ROBOTS = "refuses robots"
"""How the reason of such a pause begins, for people."""
SITE_PATH = "/"
"""Of the section that is the whole site; there is one only where the site refuses
robots.
"""
_DEEPEST = 8  # slashes; what is deeper belongs to the section above it
_LONGEST = 500  # characters of a section's path
_SUSPICIOUS = 3  # pages, at least
_COUNTED = 16  # refused pages of a section; so many prove it


def sections_of(url: str, method: str = "GET") -> Iterator[str]:
    """Yield the paths of the sections in which a URL is, outermost first.

    The site itself is none of them.

    ``https://example.com/a/b/c?d=1`` is in ``/a/``, ``/a/b/`` and ``/a/b/c?``. What is
    sent by another method than GET has sections of its own, as it may be refused alone:
    ``HEAD /``, ``HEAD /a/``.
    """
    if method != "GET":
        yield f"{method} /"
        yield from (f"{method} {path}" for path in sections_of(url))
        return
    host = url.find("://") + 3 if "://" in url else 0
    begin = url.find("/", host)
    if begin < 0 or "?" in url[:begin] or "#" in url[:begin]:
        return
    path = url[begin : begin + _LONGEST].partition("#")[0]
    query = path.find("?")
    end = len(path) if query < 0 else query
    found = 0
    at = 0
    while found < _DEEPEST and (at := path.find("/", at + 1, end)) > 0:
        found += 1
        yield path[: at + 1]
    if query > 1 and found < _DEEPEST:
        yield path[: query + 1]


class Section:
    """A path of a site, some pages of which were refused."""

    __slots__ = (
        "good_at",
        "is_reported",
        "path",
        "pause",
        "refused",
        "refused_at",
        "refuses_robots",
    )

    def __init__(self, path: str, good_at: int) -> None:
        self.path = path
        self.good_at = good_at
        """When that was sent which it answered well and was sent last, in ticks."""
        self.refused: dict[bytes, float] = {}
        """When those pages were sent that were refused since, in seconds."""
        self.refused_at = -1
        """When the last of those was sent, in ticks."""
        self.pause = Pause.NONE
        """Its own, while it is set aside; else that of all sections."""
        self.refuses_robots = False
        """Whether robots get nothing there but challenges, prices, refusals."""
        self.is_reported = False
        """Whether its pause has been reported."""

    def __repr__(self) -> str:
        how = self.pause.as_text() if self.is_aside else "suspected"
        return f"<Section {self.path}: {how}>"

    @property
    def is_aside(self) -> bool:
        """Whether it has a pause of its own."""
        return self.pause is not Pause.NONE

    def decide(self, now: float) -> Decision:
        """Decide on its next request, whatever holds the whole site back."""
        if self.pause.is_given_up:
            return NEVER
        due = self.pause.due(now)
        if due <= now:
            return GO
        wait = Wait.ROBOTS if self.refuses_robots else Wait.PAUSE
        return Decision(wait, due)


class ResumedSection:
    """What came of a section after it was set aside, and answered its probe well."""

    __slots__ = ("good", "refused")

    def __init__(self) -> None:
        self.good = 1
        """Good answers, the probe's first."""
        self.refused = 0
        """Pages that were refused, each counted once."""

    @property
    def share(self) -> float:
        """The share of its pages that are refused by chance: one here, one there."""
        return self.refused / (self.good + self.refused + 1)

    @property
    def is_mixed(self) -> bool:
        """Whether chance explains refusals in a row: they say nothing of its site."""
        return self.share**_SUSPICIOUS > BY_CHANCE


class RefusedUrl:
    """A request that was refused."""

    __slots__ = ("first_sent", "is_alone", "last_sent", "may_go_at", "times")

    def __init__(self, first_sent: int) -> None:
        self.first_sent = first_sent
        self.last_sent = first_sent
        """In ticks."""
        self.times = 0
        """How often it was refused."""
        self.is_alone = False
        """Whether the page is to blame."""
        self.may_go_at = 0.0
        """When it may go again, if it was refused more than once; 0: at once."""


class Faults:
    """The parts of one site that were refused. Ticks are those of its state.

    `good`: how many requests it answered well before.
    """

    __slots__ = (
        "_good",
        "_policy",
        "_refused",
        "_sections",
        "aside",
        "good_at",
        "resumed",
        "urls",
    )

    NONE: ClassVar[Faults]
    """Of all sites that have refused nothing; a site has its own before it writes any.
    """

    def __init__(self, policy: PausePolicy, good: int = 0) -> None:
        self._policy = policy
        self.urls: OrderedDict[bytes, RefusedUrl] = OrderedDict()
        """Requests that were refused, and not answered well since, by fingerprint."""
        self._sections: OrderedDict[str, Section] = OrderedDict()
        self.aside: dict[str, Section] = {}
        """The sections that are set aside, by path."""
        self.resumed: OrderedDict[str, ResumedSection] = OrderedDict()
        """Sections that were set aside, and answered well since, by path."""
        self._good = good
        self._refused = 0
        self.good_at = -1
        """When that was sent which the site answered well and was sent last, in ticks.
        """

    def __len__(self) -> int:
        return len(self.urls) + len(self._sections)

    # State.

    def of(self, request: Any) -> Section | None:
        """Return the section set aside in which a request is, by its URL and method."""
        if self.aside:
            for path in paths_around(request.url, request.method):
                if path in self.aside:
                    return self.aside[path]
        return None

    def is_suspect(self, request: Any, well: Container[str] = ()) -> bool:
        """Return whether the request's section was refused since its last good answer.

        Or refuses some pages and others not. `well`: paths of sections in which
        something was answered well before.
        """
        if self.is_mixed(request):
            return True
        sections = self._sections
        return any(
            path in sections and path not in well and sections[path].refused
            for path in sections_of(request.url, request.method)
        )

    def is_mixed(self, request: Any) -> bool:
        """Return whether the request's section refuses some pages and others not."""
        return any(section.is_mixed for section in self._resumed_around(request))

    def times(self, fingerprint: bytes) -> int:
        """Return how often this request was refused since it was answered well."""
        one = self.urls.get(fingerprint)
        if one is None:
            return 0
        return one.times

    def are_all_alone(self) -> bool:
        """Return whether each page that was refused is to blame itself."""
        return all(one.is_alone for one in self.urls.values())

    # Answers and refusals.

    def restore(self, now: float, left: LeftPause) -> None:
        """Restore the pause of a section that is not known yet."""
        if left.section in self._sections or len(self._sections) >= MOST_SECTIONS:
            return
        section = Section(left.section, self.good_at)
        self._sections[left.section] = section
        section.refuses_robots = left.refuses_robots
        section.is_reported = True
        self._new_pause(section).restore(now, left)

    def refuse_robots(self, path: str, refusal: Refusal) -> None:
        """Set a section aside, or the site, that challenges robots or refuses them."""
        section = self._sections.setdefault(path, Section(path, self.good_at))
        section.refuses_robots = True
        self.put_aside(section, refusal)

    def let_pass(self, flight: Flight[Any], now: float) -> None:
        """Note that a request goes out: its section's probe, where one is due."""
        section = self.of(flight.request)
        if section is not None:
            section.pause.let_pass(flight, now)

    def answered(
        self, flight: Flight[Any], fingerprint: bytes, now: float
    ) -> list[Section]:
        """Note a good answer; return the sections that are no longer set aside."""
        self._good += 1
        self.urls.pop(fingerprint, None)
        ended = []
        for path in paths_around(flight.request.url, flight.request.method):
            if path in self.resumed:
                self.resumed[path].good += 1
            section = self._sections.get(path)
            if section is None:
                continue
            if flight.tick > section.refused_at:
                section.refused.clear()
            section.good_at = max(section.good_at, flight.tick)
            is_aside = section.is_aside
            if is_aside and section.pause.answered(flight, now) is PauseEffect.RESUMED:
                ended.append(section)
                self._note_resumed(path)
                section.refused.clear()
                is_aside = False
            if not (is_aside or section.refused):
                del self._sections[path]
                self.aside.pop(path, None)
        self.good_at = max(self.good_at, flight.tick)
        return ended

    def suspects(self, share: float) -> list[Section]:
        """Return the sections that are to be set aside, outermost only.

        `share`: of requests that are refused by chance.
        """
        found = [
            section
            for section in self._sections.values()
            if not section.is_aside and self._refuses_alone(section, share)
        ]
        return [one for one in found if not _is_within_another(one, found)]

    def put_aside(self, section: Section, refusal: Refusal) -> None:
        """Set a section aside, with those within it.

        A probe of the section may go at once: the whole site may have been down, and be
        well again. Not where the section refuses robots.
        """
        for other in list(self._sections.values()):
            if other is not section and other.path.startswith(section.path):
                del self._sections[other.path]
                self.aside.pop(other.path, None)
        pause = self._new_pause(section)
        pause.trip(refusal)
        if not section.refuses_robots:
            pause.be_due(refusal.now)

    def _new_pause(self, section: Section) -> Pause:
        self.aside[section.path] = section
        policy = self._policy.of_a_part
        if section.refuses_robots:
            policy = self._policy.of_robots
        section.pause = Pause(policy)
        return section.pause

    def refused(
        self,
        flight: Flight[Any],
        fingerprint: bytes,
        refusal: Refusal,
        section: Section | None,
    ) -> RefusedUrl:
        """Note a refusal. Returns what is known of its URL."""
        one = self._note(fingerprint, flight.tick)
        if section is None:
            self._suspect(flight, fingerprint)
            one.may_go_at = 0.0
            if one.times == 1:
                if self.resumed:
                    self._count_refused(flight.request)
            else:  # the first time was its site's business
                one.is_alone = self._is_alone(one)
                step = one.times - 2 if one.is_alone else 0
                policy = self._policy.of_a_part
                one.may_go_at = policy.until(refusal, step)
            is_mixed = bool(self.resumed) and self.is_mixed(flight.request)
            if not (one.is_alone or is_mixed):
                self._refused += 1
        flight.is_refused_alone = False
        flight.not_before = 0.0
        if one.is_alone:
            flight.is_refused_alone = one.times - 2 >= self._policy.of_a_part.tries
            flight.not_before = one.may_go_at
        return one

    def _is_alone(self, one: RefusedUrl) -> bool:
        """Return whether a page is to blame: others are well, and it was no chance."""
        if self.good_at <= one.first_sent:
            return False
        return self._share ** (one.times - 1) <= BY_CHANCE

    def probe_refused(
        self, flight: Flight[Any], refusal: Refusal
    ) -> PauseEffect | None:
        """Note that a request of a section set aside was refused; return the effect."""
        section = self.of(flight.request)
        if section is None or section.pause.probe is not flight:
            return None
        effect = section.pause.refused(flight, refusal, has_served=True)
        return effect and PauseEffect.SECTION

    def give_up(self, reason: str) -> list[Section]:
        """Give up every section set aside. Returns those that had not been."""
        for one in self.urls.values():
            one.times = one.times + self._policy.of_a_part.tries
            one.may_go_at = 0.0
        return [
            section for section in self.aside.values() if section.pause.give_up(reason)
        ]

    def forget(self, fingerprint: bytes) -> None:
        """Forget how often the site refused this request: it is tried no more."""
        self.urls.pop(fingerprint, None)

    @property
    def _share(self) -> float:
        """The share of answers that were refusals, except of pages and sections."""
        return self._refused / (self._good + self._refused + 1)

    def _note(self, fingerprint: bytes, tick: int) -> RefusedUrl:
        one = self.urls.get(fingerprint)
        if one is None:
            one = RefusedUrl(tick)
            self.urls[fingerprint] = one
            if len(self.urls) > MOST_REFUSED_URLS:
                self.urls.popitem(last=False)
        one.times += 1
        one.last_sent = tick
        return one

    def _suspect(self, flight: Flight[Any], fingerprint: bytes) -> None:
        for path in sections_of(flight.request.url, flight.request.method):
            section = self._sections.get(path)
            if section is None:
                if len(self._sections) >= MOST_SECTIONS and not self._forget_one():
                    return
                section = Section(path, self.good_at)
                self._sections[path] = section
            is_new = flight.tick > section.good_at
            if is_new and len(section.refused) < _COUNTED:
                section.refused[fingerprint] = flight.sent_at
                section.refused_at = max(section.refused_at, flight.tick)

    def _note_resumed(self, path: str) -> None:
        self.resumed.setdefault(path, ResumedSection())
        if len(self.resumed) > MOST_SECTIONS:
            self.resumed.popitem(last=False)

    def _count_refused(self, request: Any) -> None:
        for resumed in self._resumed_around(request):
            resumed.refused += 1

    def _resumed_around(self, request: Any) -> list[ResumedSection]:
        """Return those sections of a request that were set aside before."""
        paths = sections_of(request.url, request.method)
        return [self.resumed[path] for path in paths if path in self.resumed]

    def _refuses_alone(self, section: Section, share: float) -> bool:
        pages = len(section.refused)
        if pages < _SUSPICIOUS or self.good_at <= section.refused_at:
            return False
        if section.path in self.resumed:
            share = max(share, self.resumed[section.path].share)
        return share**pages <= BY_CHANCE

    def _forget_one(self) -> bool:
        for section in self._sections.values():
            if not section.is_aside:
                del self._sections[section.path]
                return True
        return False


def _is_within_another(section: Section, others: Iterable[Section]) -> bool:
    return any(
        section is not other and section.path.startswith(other.path) for other in others
    )


Faults.NONE = Faults(PausePolicy())


def paths_around(url: str, method: str = "GET") -> Iterator[str]:
    """Yield the path of the site, and those of the sections in which a URL is."""
    yield SITE_PATH
    yield from sections_of(url, method)
