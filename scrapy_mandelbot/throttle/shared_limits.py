"""MANDELBOT_TOGETHER: sites of a domain or an address share slots and pauses."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

import scrapy.signals
from mandelbot.origins import host_of

from scrapy_mandelbot import engine
from scrapy_mandelbot.politeness.pause import Pause
from scrapy_mandelbot.store.memory import Recent
from scrapy_mandelbot.throttle.site_map import site_of_request

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from tldextract import TLDExtract

    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.throttle.in_flight import InFlight
    from scrapy_mandelbot.throttle.site_map import Sites

_ONE_MOMENT = 1.0  # seconds; what is refused within it may be refused as one
# sites whose address is known, and groups of which a site has a pace
_MOST_GROUPED = 50_000


class _SharedSlot:
    """Sites that share a download slot."""

    __slots__ = ("pause", "refused_at", "sites")

    def __init__(self) -> None:
        self.sites: WeakSet[Site] = WeakSet()
        self.refused_at: WeakKeyDictionary[Site, float] = WeakKeyDictionary()
        self.pause: Pause | None = None
        """Of those that are paused as one."""


class SharedLimits:
    """Sites that share concurrency, pace and pauses, by MANDELBOT_TOGETHER.

    Their requests go through one download slot, so that what Scrapy sets for a slot
    holds for all of them. A request to one site with a pace makes the others with a
    pace wait, too. Sites that are refused within a second of each other, and are at
    least half of those requested then, share one pause, one probe and one rate from
    then on: the limit is the server's, not the site's.
    """

    def __init__(  # noqa: PLR0913 -- what they share
        self,
        mode: str,
        crawler: Crawler,
        *,
        sites: Sites,
        in_flight: InFlight,
        now: Callable[[], float],
        update: Callable[[Site], None],
    ) -> None:
        self._sites = sites
        self._in_flight = in_flight
        self._now = now
        self._update = update
        self._groups: Recent[_SharedSlot] = Recent(_MOST_GROUPED)
        self._is_updating = False
        self._addresses: Recent[str] = Recent(_MOST_GROUPED)
        self._group_of: Callable[[str], str | None] = self._addresses.get
        if mode == "domain":
            self._group_of = domain_of
        else:
            crawler.signals.connect(
                self._note_address, signal=scrapy.signals.response_downloaded
            )
            most = engine.at_once_in_a_slot(crawler.settings)
            in_flight.unresponsive.limit_to(most)
        in_flight.shared_slot = self.slot_of

    def slot_of(self, site: Site, slot: str) -> str:
        """Return the download slot of a site's requests; a spider's choice stays."""
        self._group(site).sites.add(site)
        if slot != host_of(site.name).strip("[]"):
            return slot
        return self._group_of(site.name) or slot

    def join(self, site: Site, now: float) -> None:
        """Note that a site has a pace.

        If others have one, it waits as after a turn of theirs.
        """
        if any(other.pacer.is_on for other in self._others(site)):
            site.pacer.postpone(site.pacer.due_after(now))

    def turn_taken(self, site: Site, now: float) -> None:
        """Postpone the turns of the others, as a turn of a site has begun or ended."""
        if not site.pacer.is_on:
            return
        for other in self._others(site):
            if other.pacer.is_on:
                other.pacer.postpone(other.pacer.due_after(now))

    def refused(self, site: Site, now: float) -> None:
        """Note a site's refusal before its pause does: that may become shared."""
        group = self._group(site)
        group.refused_at[site] = now
        refused = {
            one for one, at in group.refused_at.items() if at > now - _ONE_MOMENT
        }
        are_well = sum(one.well_at > now - _ONE_MOMENT for one in group.sites - refused)
        if len(refused) == 1 or len(refused) < are_well:
            return
        pause = group.pause
        if pause is None or pause.is_faded(now):
            pause = next(
                (one.pause for one in refused if one.pause is not Pause.NONE), None
            )
            group.pause = pause
        if pause is not None:
            for one in refused:
                one.pause = pause

    def updated(self, site: Site) -> None:
        """Update the sites that share the pause of a site."""
        pause = self._group(site).pause
        if self._is_updating or pause is None or site.pause is not pause:
            return
        self._is_updating = True
        for other in [one for one in self._others(site) if one.pause is pause]:
            other.recheck()
            if other.is_shut(self._now()):
                self._in_flight.evict(other)
            self._update(other)
        self._is_updating = False

    def _group(self, site: Site) -> _SharedSlot:
        name = self._group_of(site.name) or site.name
        group = self._groups.get(name)
        if group is None:
            group = _SharedSlot()
            self._groups.put(name, group, 1)
        return group

    def _others(self, site: Site) -> list[Site]:
        return [one for one in self._group(site).sites if one is not site]

    def _note_address(self, response: Response, request: Request) -> None:
        """Note the address from which a site first answered, unless a proxy did."""
        name = site_of_request(request)
        address = response.ip_address
        if address is None or request.meta.get("proxy"):
            return
        if self._addresses.get(name):
            return
        self._addresses.put(name, str(address), 1)
        site = self._sites.of(name)
        if site.pacer.is_on:
            self.join(site, self._now())
        self._in_flight.share_slots(site)
        self._update(site)


@lru_cache(maxsize=10_000)
def domain_of(site: str) -> str | None:
    """Return the registered domain of a site, by tldextract's public suffix list.

    None: its host has none, as an address, or a name of one label.
    """
    found = _extract()(host_of(site))
    if found.domain and found.suffix:
        return f"{found.domain}.{found.suffix}"
    return None


@lru_cache(maxsize=1)
def _extract() -> TLDExtract:
    """Load the list of the package; nothing is fetched or stored."""
    from tldextract import TLDExtract  # noqa: PLC0415 -- its import takes a while

    return TLDExtract(
        cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True
    )
