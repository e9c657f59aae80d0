"""The sites of a crawl: one bounded map of all that is known of each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary, finalize

from mandelbot.origins import site_of
from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot.politeness.site_state import Site
from scrapy_mandelbot.politeness.tally import Tally

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_mandelbot.politeness.pause_policy import PausePolicy
    from scrapy_mandelbot.politeness.rate_control import RateControl

MOST_SITES = 10_000
"""Sites that are remembered though nothing refers to them: those that came up last."""
MOST_IN_TROUBLE = 50_000
"""Sites that are remembered because they are paused, given up, or slowed."""
MOST_LEARNT = 10_000  # sites whose runs between pauses are remembered, some KiB each
LEARNT_FOR = 3_600.0  # seconds without a refusal until they are forgotten


def site_of_request(request: Request) -> str:
    """Return the name of the site that the request goes to."""
    return site_of(urlparse_cached(request))


class Sites:
    """The states of sites by name, as ``sites["https://example.com"]``.

    A site stays while anything refers to it: its requests in the queue or in flight,
    requests that wait for it, its timer. Of the others, the most recent ones stay, up
    to a limit, and those in trouble, up to another. A forgotten site is like a new one.
    """

    def __init__(self, policy: PausePolicy, *, is_paced: bool = True) -> None:
        self._policy = policy
        self._is_paced = is_paced
        self.make: Callable[..., Site] = Site
        """Makes the state of a site, given its name, policy and tally."""
        self.had_trouble = False
        """Whether any site has been in trouble, or refused a request, in this run."""
        self._counted = Tally()
        """What was counted of all sites while nobody kept a record of each."""
        self._tally_of: Callable[[str], Tally] | None = None
        self._folds: WeakKeyDictionary[Site, Any] = WeakKeyDictionary()
        """Add what was counted of a site that is forgotten, or of one that is not."""
        self._tallies: Callable[[], Iterable[Tally]] = tuple
        self._all: WeakValueDictionary[str, Site] = WeakValueDictionary()
        self._recent: OrderedDict[str, Site] = OrderedDict()
        self._forget_oldest = partial(self._recent.popitem, last=False)
        self._in_trouble: OrderedDict[str, Site] = OrderedDict()
        self._learnt: OrderedDict[RateControl, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all))

    def __getitem__(self, name: str) -> Site:
        return self._all[name]

    def __repr__(self) -> str:
        return (
            f"<{len(self)} sites, {len(self._in_trouble)} of them paused, probed or"
            " slowed>"
        )

    def __contains__(self, name: object) -> bool:
        return name in self._all

    def get(self, name: str) -> Site | None:
        """Return the state of a site; None: there is none."""
        return self._all.get(name)

    def of(self, name: str) -> Site:
        """Return the state of a site; the first call creates it."""
        site = self._recent.get(name)
        if site is not None:
            self._recent.move_to_end(name)
            return site
        site = self._all.get(name)
        if site is None:
            site = self.make(name, self._policy, self._tally(name))
            self._all[name] = site
            if self._tally_of is None:  # what is counted outlasts the site
                fold = finalize(site, self._counted.add, site.tally)
                fold.atexit = False
                self._folds[site] = fold
            if not self._is_paced:
                site.pacer.known_until = inf
        self._recent[name] = site
        if len(self._recent) > MOST_SITES:
            self._forget_oldest()
        return site

    def of_request(self, request: Request) -> Site:
        """Return the state of the site that a request goes to."""
        return self.of(site_of_request(request))

    def count_by(
        self, tally_of: Callable[[str], Tally], tallies: Callable[[], Iterable[Tally]]
    ) -> None:
        """Count the requests to each site separately.

        `tally_of` returns what counts those of a site, by its name; `tallies` all of
        these, those included whose sites are forgotten.
        """
        for name, site in self._all.items():
            if site in self._folds:
                self._folds.pop(site)()
            site.tally = tally_of(name)
        self._tally_of = tally_of
        self._tallies = tallies

    def counted(self) -> Tally:
        """Return what was counted of all sites."""
        total = Tally()
        total.add(self._counted)
        tallies = self._tallies()
        if self._tally_of is None:
            tallies = [site.tally for site in list(self._all.values())]
        for one in tallies:
            total.add(one)
        return total

    def _tally(self, name: str) -> Tally:
        """Return what counts the requests to a site: that of a record, if there are."""
        return Tally() if self._tally_of is None else self._tally_of(name)

    def note_trouble(self, site: Site) -> None:
        """Remember a site that is in trouble, and no longer one that is not."""
        if site.is_plain:
            self._in_trouble.pop(site.name, None)
            self.had_trouble = self.had_trouble or site.has_refused
            return
        self.had_trouble = True
        self._in_trouble[site.name] = site
        if len(self._in_trouble) > MOST_IN_TROUBLE:
            self._in_trouble.popitem(last=False)
        learnt = site.pause.rate_control
        if learnt is not None:
            self._learnt[learnt] = None
            self._learnt.move_to_end(learnt)
            since = learnt.ended_at - LEARNT_FOR
            oldest = next(iter(self._learnt))
            while len(self._learnt) > MOST_LEARNT or oldest.ended_at < since:
                del self._learnt[oldest]
                oldest.forget_runs()
                oldest = next(iter(self._learnt))

    def forget(self, site: Site) -> None:
        """Forget a site: another crawl requests it from now on."""
        self._recent.pop(site.name, None)
        self._in_trouble.pop(site.name, None)
        self._all.pop(site.name, None)

    def in_trouble(self) -> list[Site]:
        """Return the sites that are paused, probed, given up, or slowed."""
        return list(self._in_trouble.values())
