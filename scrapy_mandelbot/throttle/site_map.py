"""The sites of a crawl, one bounded map of all that is known of each; the names of their queues.

The queue of a site's requests is called as the site, with a route behind ``|``:
``https://example.com mine`` are those that a spider sends through the download slot ``mine``. A
slot's space is ``%20`` there, and its percent sign ``%25``. What was set aside of a site has a
third part, the path of its section. Names that Scrapy's own queue left in JOBDIR are download
slots: hosts, mostly, but any string is one.
"""

from __future__ import annotations

from collections import OrderedDict
from string import ascii_uppercase
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from scrapy.utils.httpobj import urlparse_cached

from scrapy_mandelbot.robots.origins import host_of, site_of
from scrapy_mandelbot.sites.flight import Tally
from scrapy_mandelbot.sites.site import Site
from scrapy_mandelbot.store.memory import Recent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_mandelbot.sites.flight import Flight
    from scrapy_mandelbot.sites.pause_law import PauseLaw

_MARK = "|"
TRY_ANOTHER_AFTER = 0.5
"""Seconds after which a request is sent again whose proxy is shut, to be given another."""


def route_by_proxy(request: Request) -> str:
    """Return the route of a request: its proxy; ``""``: it has none."""
    proxy = request.meta.get("proxy")
    return _without_secrets(str(proxy)) if proxy else ""


def key_of(site: str, route: str) -> str:
    """Return the name under which the store and the queue keep what is a route's."""
    return f"{site}{_MARK}{route}" if route else site


def split_key(key: str) -> tuple[str, str]:
    """Return the site and the route of such a name."""
    site, _, route = key.partition(_MARK)
    return site, route


def in_words(site: str, route: str) -> str:
    """Return a route to a site in words."""
    return f"{site} via {route}" if route else site


def _without_secrets(proxy: str) -> str:
    """Return the proxy's address without user and password; no space, so that it is one word."""
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:  # Scrapy will say so when it comes to use it
        return "unreadable"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".replace(" ", "%20")


REFUSAL_FLAG = "mandelbot_refused"
"""The flag of a response that answers for a site which was not asked."""

REFUSALS_LIMIT = 16 * 1024 * 1024
"""Bytes of the last refusals that are kept, of all sites."""
REFUSAL_LIMIT = 64 * 1024
"""Bytes of the body of one."""
_OVERHEAD = 2 * 1024  # bytes of a response without its body


class Refusals:
    """The last refusal of each site and route, as many as fit."""

    def __init__(self) -> None:
        self._kept: Recent[Response] = Recent(REFUSALS_LIMIT)

    def keep(self, flight: Flight, response: Response) -> None:
        """Keep what a site said to a request, in place of what it said before."""
        # Without its request: that would hold meta, and what hangs on it.
        kept = response.replace(body=response.body[:REFUSAL_LIMIT], request=None)
        self._kept.put(key_of(flight.site.name, flight.route), kept, _OVERHEAD + len(kept.body))

    def answer(self, flight: Flight) -> Response | None:
        """Return it as the answer to another request; None: nothing was said, or is kept."""
        kept = self._kept.get(key_of(flight.site.name, flight.route))
        if kept is None:
            return None
        request = flight.request
        return kept.replace(url=request.url, request=request, flags=[REFUSAL_FLAG])


MOST_SITES = 10_000
"""Sites that are remembered though nothing refers to them: those that came up last."""
MOST_IN_TROUBLE = 50_000
"""Sites that are remembered as they are paused, given up, or asked at a pace."""


def site_of_request(request: Request) -> str:
    """Return the name of the site that the request goes to."""
    return site_of(urlparse_cached(request))


def shut_routes(site: Site, now: float) -> Iterator[str]:
    """Yield the routes by which a site is asked nothing now."""
    for route in sorted({"", *site.routes}):
        if site.is_shut(now, route):
            yield route


class Sites:
    """The states of sites by name, as ``sites["https://example.com"]``.

    One rule says what is forgotten. A site is kept while anything refers to it: its requests in the
    queue or in flight, those that wait for it, its alarm. Of the others so many are kept that came
    up last, and so many that are in trouble. What is forgotten is a site not heard of yet.
    """

    def __init__(self, law: PauseLaw) -> None:
        self._law = law
        self._counted = Tally()
        """What was counted of all sites while nobody kept a record of each."""
        self._tally_of: Callable[[str], Tally] = lambda _: self._counted
        self._tallies: Callable[[], Iterable[Tally]] = tuple
        self._all: WeakValueDictionary[str, Site] = WeakValueDictionary()
        self._recent: OrderedDict[str, Site] = OrderedDict()
        self._in_trouble: OrderedDict[str, Site] = OrderedDict()

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._all))

    def __getitem__(self, name: str) -> Site:
        return self._all[name]

    def __repr__(self) -> str:
        return f"<{len(self)} sites, {len(self._in_trouble)} of them paused, probed or slowed>"

    def __contains__(self, name: object) -> bool:
        return name in self._all

    def get(self, name: str) -> Site | None:
        """Return what is known of a site; None: nothing."""
        return self._all.get(name)

    def of(self, name: str) -> Site:
        """Return what is known of a site, which is nothing at first."""
        site = self._recent.get(name)
        if site is not None:
            self._recent.move_to_end(name)
            return site
        site = self._all.get(name)
        if site is None:
            site = self._all[name] = Site(name, self._law)
            site.tally = self._tally_of(name)
        self._recent[name] = site
        if len(self._recent) > MOST_SITES:
            self._recent.popitem(last=False)
        return site

    def count_by(
        self, tally_of: Callable[[str], Tally], tallies: Callable[[], Iterable[Tally]]
    ) -> None:
        """Have the requests to each site counted on its own.

        `tally_of` returns what counts those of a site, by its name; `tallies` all of these, those
        included whose sites are forgotten.
        """
        self._tally_of, self._tallies = tally_of, tallies
        for name, site in self._all.items():
            site.tally = tally_of(name)

    def counted(self) -> Tally:
        """Return what was counted of all sites."""
        total = Tally()
        for one in (self._counted, *self._tallies()):
            total.add(one)
        return total

    def note_trouble(self, site: Site) -> None:
        """Remember a site that is in trouble, and no longer one that is not."""
        if site.is_plain:
            self._in_trouble.pop(site.name, None)
            return
        self._in_trouble[site.name] = site
        if len(self._in_trouble) > MOST_IN_TROUBLE:
            self._in_trouble.popitem(last=False)

    def forget(self, site: Site) -> None:
        """Know nothing of a site any more, as another crawl asks it from now on."""
        self._recent.pop(site.name, None)
        self._in_trouble.pop(site.name, None)
        self._all.pop(site.name, None)

    def in_trouble(self) -> list[Site]:
        """Return the sites that are paused, probed, given up, or asked at a pace."""
        return list(self._in_trouble.values())


class QueueParts(NamedTuple):
    """What a queue is named after."""

    key: str
    """Site and route; the whole name, where Scrapy's own queue left it."""
    slot: str
    section: str
    """The path of the section with which it was set aside; empty: it was not."""
    is_ours: bool
    """Whether the name is one that :func:`queue_name` gives."""


def queue_name(key: str, slot: str, section: str = "") -> str:
    """Return the name of the queue for requests of a site and route in a download slot.

    With the path of the section with which they are set aside. A slot is any string.
    """
    is_a_host = key.partition("://")[2] == slot and slot.replace(".", "").isalnum()  # as most are
    if not section and (is_a_host or slot == _host_of(key)):
        return key
    word = f"{slot}".replace("%", "%25").replace(" ", "%20")
    return f"{key} {word} {section}" if section else f"{key} {word}"


def parts_of_name(name: str) -> QueueParts:
    """Return what a queue is named after."""
    key, slot, section = (*name.split(" ", 2), "", "")[:3]
    slot = slot.replace("%20", " ").replace("%25", "%") if " " in name else _host_of(key)
    is_path = section.lstrip(ascii_uppercase).lstrip(" ")[:1] in {"", "/"}
    if "://" in key and is_path and queue_name(key, slot, section) == name:
        return QueueParts(key, slot, section, is_ours=True)
    return QueueParts(name, name, "", is_ours=False)


def _host_of(key: str) -> str:
    return host_of(split_key(key)[0]).strip("[]")  # as Scrapy names download slots
