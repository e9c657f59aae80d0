"""Whose a failure is: the page's, or its site's.

Theory of operation. A *failure* is an answer that states nothing about its site: a 5xx
without a time that the spider does not handle, of a site that answered a page well in
this run; or no answer, from a site that answered anything well, its robots.txt too.
(What states something is no failure: a 503, a 429, any time that is named, a connection
that is refused, a name that does not resolve.) The rules:

1. A failure is RetryMiddleware's at once, as in stock Scrapy: its count, its errback.
   Nothing waits.
2. A good answer, a 404 too, to a request that was *sent after* a failure says: the page
   failed, not the site. From then on that page is known to fail, and is no evidence.
3. As long as there is none, the failure is in doubt. With two pages in doubt a page
   that was answered well is requested again, *beside* the others: the check.
4. The check is answered well: all doubts are cleared, and twice as many pages have to
   be in doubt before the next check (4, 8, up to 64).
5. The check fails, too: an outage, a pause as after a 503. Where a share *s* of the
   answers fails by chance, it takes *k* checks in a row, until s^k <= 0.05. The tries
   that pages spent since the last good answer are given back, up to six of a page, but
   not those of the page that failed first: it may be why, and dies alone. If no page
   can be checked, a request has to fail that was sent after the first failure was
   known. Before any page was well, time-outs are no outage: a site that answers only
   its robots.txt may never answer a page. Where new connections are lost then, a page
   has to fail that failed before. Where outages began with different pages, the site
   flaps, and the page that failed first is forgiven once.
6. What fails while the site is paused goes back to the queue, uncounted. The probe is
   the page of rule 3 first, also where a limit of the rate is known, which counts it:
   those that wait may be what takes the site down, and would probe it by turns.
7. *Connections*: a connection that is lost beside others may be one above the number
   that the site accepts. Then the page goes back uncounted, and the site gets fewer
   requests at once: see `connection_ceiling.py`. Nothing is paused. Where the site
   accepted none of a burst, the try is counted when the page fails next.
8. *Old connections*: a page that failed may have met a broken server behind a load
   balancer, by a connection that leads to this server as long as it is kept open. So
   the connection that was used last is closed, and what is sent next uses a new one:
   for sixteen failures, and for two more with each page that is mended. Where a probe
   fails, all that are not in use are closed.

A queue full of pages that fail cannot answer the question of rule 3, a page that was
well can: behind a section of 500 broken pages, six checks are sent in all.

Pure: ticks come in, by which a site counts its requests and good answers.
"""

from __future__ import annotations

from collections import OrderedDict
from math import inf
from typing import ClassVar

from scrapy_mandelbot.politeness.causes import BY_CHANCE

MOST_FAILED_PAGES = 1_000
"""Of a site; those that failed first are forgotten."""
MOST_FORGIVEN = 6
"""Failures of a page in a row, the tries of which are given back."""
_FORGIVEN_AS_FIRST = 1  # the same of the page that failed first, at a site that flaps
_FORGOTTEN_AFTER = 600.0  # seconds without a failure
_IN_DOUBT = 2  # pages, before the first check
_MOST_IN_DOUBT = 64
_IN_VAIN = 16  # failures that new connections may mend, at first
_FORGIVEN = -1  # no tick: the page failed with its site, and is not known to fail


class FailedPage:
    """A page that failed, and was not answered well since. Ticks are its site's."""

    __slots__ = ("first_sent", "is_forgiven", "last_sent", "owed", "spent", "times")

    def __init__(self, tick: int) -> None:
        self.first_sent = tick
        """When that request was sent which failed first, in ticks; -1: an outage
        explains its failures so far.
        """
        self.last_sent = tick
        self.times = 0
        """How often it failed."""
        self.is_forgiven = True
        """Whether an outage explains its failures. Not those of the page that failed
        first in it, nor of one that failed too often: these may be why.
        """
        self.spent = 0
        """The tries of RetryMiddleware that its failures in doubt have cost."""
        self.owed = 0
        """Tries that were spent in an outage, and are given back when it fails next;
        below 0: those that are counted late.
        """


class Failures:
    """The failures of one site.

    `good`: how many requests it answered well lately; `good_at`: when that was sent, in
    ticks, which it answered well and was sent last.
    """

    __slots__ = (
        "_are_of_site",
        "_began_with",
        "_checks",
        "_doubted_since",
        "_failed",
        "_failed_at",
        "_flaps",
        "_good",
        "_good_at",
        "_mended",
        "_needed",
        "_pages_failed",
        "doubted",
        "pages",
    )

    NONE: ClassVar[Failures]
    """Of all sites of which nothing failed; a site has its own before it writes any."""

    def __init__(self, good: int = 0, good_at: int = -1) -> None:
        self.pages: OrderedDict[bytes, FailedPage] = OrderedDict()
        """Those that failed, and were not answered well since, by fingerprint."""
        self.doubted: dict[bytes, FailedPage] = {}
        """Of these, those in doubt: nothing was answered well that was sent later."""
        self._good = good
        self._good_at = good_at
        self._pages_failed = 0  # failures that were the pages'
        self._failed = 0  # failures of any kind
        self._mended = 0  # pages that were answered well after they failed
        self._failed_at = -inf  # the last one, in seconds
        self._needed = _IN_DOUBT  # pages in doubt, before the next check
        self._doubted_since = 0  # when the first doubt came, in ticks
        self._checks = 0  # that failed, since the last good answer
        self._are_of_site = False  # the doubts are settled: it is out
        self._began_with = b""  # the page that failed first in the first outage
        self._flaps = False  # another outage began with another page

    def __len__(self) -> int:
        return len(self.pages)

    # Questions.

    def times(self, fingerprint: bytes) -> int:
        """Return how often this page failed since it was answered well."""
        page = self.pages.get(fingerprint)
        if page is None:
            return 0
        return page.times

    def spent(self, fingerprint: bytes) -> int:
        """Return the tries that its failures in doubt have cost this page."""
        page = self.pages.get(fingerprint)
        if page is None:
            return 0
        return page.spent

    def is_faded(self, now: float) -> bool:
        """Return whether nothing would be lost by forgetting them."""
        return self._failed_at < now - _FORGOTTEN_AFTER

    @property
    def are_many_in_doubt(self) -> bool:
        """Whether so many pages failed that the site may be out."""
        are_new = [page.first_sent > self._good_at for page in self.doubted.values()]
        return sum(are_new) >= self._needed

    @property
    def continue_to_come(self) -> bool:
        """Whether something fails that was sent after the first doubt came."""
        since = self._doubted_since
        return any(page.last_sent > since for page in self.doubted.values())

    @property
    def are_repeated(self) -> bool:
        """Whether a page fails again that was sent after the first doubt came.

        Very many pages that fail once say the same.
        """
        if len(self.doubted) >= _MOST_IN_DOUBT:
            return True
        since = self._doubted_since
        return any(
            page.times > 1 and page.last_sent > since for page in self.doubted.values()
        )

    @property
    def may_be_of_connections(self) -> bool:
        """Whether new connections may mend the pages that fail."""
        return self._failed <= _IN_VAIN + 2 * self._mended

    # What happens.

    def failed(
        self, fingerprint: bytes, sent: int, ticks: int, now: float
    ) -> FailedPage:
        """Note that a page failed. Returns what is known of it.

        `sent` and `ticks` are when its request was sent, and now, in ticks; `now` is in
        seconds.
        """
        self._failed_at = now
        if not self.doubted:
            self._doubted_since = ticks
        page = self.pages.get(fingerprint)
        if page is None:
            page = self._add(fingerprint, sent)
        if page.first_sent == _FORGIVEN:
            page.first_sent = sent
        self._failed += 1
        page.times += 1
        page.last_sent = sent
        self.doubted[fingerprint] = page
        return page

    def answered(self, fingerprint: bytes, tick: int) -> None:
        """Note a good answer: what was sent before, and failed, failed by itself."""
        self._good += 1
        if self.pages.pop(fingerprint, None) is not None:
            self._mended += 1
        if self.doubted:
            self._settle(fingerprint, tick)
        self._good_at = max(self._good_at, tick)

    def check_failed(self) -> bool:
        """Note that a page failed that was well; return whether that is no chance."""
        self._checks += 1
        total = self._good + self._pages_failed + 1
        share: float = self._pages_failed / total
        return share**self._checks <= BY_CHANCE

    def site_is_out(self) -> None:
        """Give the tries back that pages spent in doubt: it was not their fault."""
        self._are_of_site = True
        first = next(iter(self.doubted), b"")
        self._note_begin(first)
        for fingerprint, page in self.doubted.items():
            most = MOST_FORGIVEN
            if fingerprint == first:
                most = _FORGIVEN_AS_FIRST if self._flaps else 0
            page.is_forgiven = page.times <= most
            if page.is_forgiven:
                page.owed = page.spent
            page.spent = 0

    def take_owed(self, fingerprint: bytes) -> int:
        """Return how many tries a page gets back, once."""
        page = self.pages.get(fingerprint)
        if page is None:
            return 0
        owed = page.owed
        page.owed = 0
        return owed

    def forget(self, fingerprint: bytes) -> None:
        """Forget how often this page failed: it is tried no more."""
        self.pages.pop(fingerprint, None)
        self.doubted.pop(fingerprint, None)

    def _note_begin(self, first: bytes) -> None:
        """Note the page that failed first in an outage; empty: none is known."""
        if not self._began_with:
            self._began_with = first
        elif first and first != self._began_with:
            self._flaps = True

    def _add(self, fingerprint: bytes, tick: int) -> FailedPage:
        page = FailedPage(tick)
        self.pages[fingerprint] = page
        if len(self.pages) > MOST_FAILED_PAGES:
            oldest, _ = self.pages.popitem(last=False)
            self.doubted.pop(oldest, None)
        return page

    def _settle(self, fingerprint: bytes, tick: int) -> None:
        """Settle the doubts about what was sent before a request answered well."""
        were_many = self.are_many_in_doubt
        self.doubted.pop(fingerprint, None)
        for one, page in list(self.doubted.items()):
            if page.last_sent < tick:
                del self.doubted[one]
                self._settle_page(page)
        self._good_at = max(self._good_at, tick)
        if self.are_many_in_doubt:
            return
        self._checks = 0
        if self._are_of_site:
            self._needed = _IN_DOUBT
            self._are_of_site = False
        elif were_many:  # it was asked in vain
            self._needed = min(2 * self._needed, _MOST_IN_DOUBT)

    def _settle_page(self, page: FailedPage) -> None:
        page.spent = 0
        if not self._are_of_site:
            self._pages_failed += 1
        elif page.is_forgiven:
            page.first_sent = _FORGIVEN


Failures.NONE = Failures()
