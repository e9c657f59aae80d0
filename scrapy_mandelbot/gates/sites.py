"""What is known of a site: its gate, who is on the way to it, what it answered and refused."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot.politeness import Gate, GateState, Goodput, site_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult

_REMEMBERED_SITES = 10_000


def site_of_request(request: Request) -> str:
    """Return the site that the request goes to."""
    return site_of(urlparse_cached(request))


@dataclass
class GoodAnswers:
    """The good answers of a site."""

    goodput: Goodput = field(default_factory=Goodput)
    latest: int = 0
    """When the last came in, in ticks of ``Handouts``."""
    unanswered_since: set[bytes] = field(default_factory=set)
    """The requests that got no answer since then, by fingerprint."""

    def note(self, now: float, tick: int) -> None:
        """Note one more."""
        self.goodput.answered(now)
        self.latest = tick
        if self.unanswered_since:
            self.unanswered_since.clear()


class LatelyWell:
    """The sites that answered well latest."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, GoodAnswers] = OrderedDict()

    def get(self, site: str) -> GoodAnswers | None:
        """Return the site's good answers, if it has given any lately."""
        return self._sites.get(site)

    def note(self, site: str, now: float, tick: int) -> None:
        """Note that the site answered well."""
        good = self._sites.get(site)
        if good is None:
            good = self._sites[site] = GoodAnswers()
            if len(self._sites) > _REMEMBERED_SITES:
                self._sites.popitem(last=False)
        else:
            self._sites.move_to_end(site)
        good.note(now, tick)


@dataclass
class _Refusals:
    """How often one request was refused."""

    first_sent: int
    """When it was handed out first, in ticks."""
    count: int = 0


@dataclass
class SiteState:
    """A site that is not simply open."""

    gate: Gate
    scout: Request | None = None
    """The one request on its way while nobody knows the site's rules."""
    probe: Request | None = None
    may_pass: WeakSet[Request] = field(default_factory=WeakSet)
    """Requests that never were in the queue, and have waited for their turn."""
    alarm: CallLaterResult | None = None
    last_refusal: Response | None = None
    last_refused: bytes | None = None
    _refusals: dict[bytes, _Refusals] = field(default_factory=dict)
    _refused_since_good: set[bytes] = field(default_factory=set)

    @property
    def is_plain(self) -> bool:
        """Whether nothing would be lost by forgetting the site."""
        return self.gate.state is GateState.OPEN and self.scout is None and not self._refusals

    def note_good_answer(self, fingerprint: bytes) -> None:
        """Note that the site answered this request well."""
        self._refused_since_good.clear()
        self._refusals.pop(fingerprint, None)

    def note_refusal(self, fingerprint: bytes, sent_at: int) -> None:
        """Note that the site refused this request, sent at this tick."""
        refusals = self._refusals.setdefault(fingerprint, _Refusals(sent_at))
        refusals.count += 1
        self._refused_since_good.add(fingerprint)
        self.last_refused = fingerprint

    def forget_refusals(self, fingerprint: bytes) -> None:
        """Forget how often the site refused this request: it is tried no more."""
        self._refusals.pop(fingerprint, None)

    def times_alone(self, fingerprint: bytes, good: GoodAnswers | None) -> int:
        """Return how often the site refused this request while it answered all others well.

        0: it answered none well since this one was first sent, or has refused others as well.
        """
        refusals = self._refusals.get(fingerprint)
        if refusals is None or self._refused_since_good != {fingerprint}:
            return 0
        return refusals.count if good is not None and good.latest > refusals.first_sent else 0
