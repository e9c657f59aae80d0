"""The part of a job on Redis that one worker holds; without I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from scrapy_mandelbot.fleet.changes import key, push
from scrapy_mandelbot.fleet.changes import name as name_of
from scrapy_mandelbot.fleet.held_site import FIRST, HeldSite
from scrapy_mandelbot.fleet.holdings import LostLease
from scrapy_mandelbot.fleet.outbox import Outbox
from scrapy_mandelbot.job.job_store import OWN_START, START, StoredRequest
from scrapy_mandelbot.job.site_states import site_of_line

if TYPE_CHECKING:
    from scrapy_mandelbot.fleet.changes import Reply
    from scrapy_mandelbot.fleet.holdings import Entry, Exchange
    from scrapy_mandelbot.fleet.job_server import JoinReply
    from scrapy_mandelbot.job.job_store import Place

_NUMBERS = 1 << 40  # that a worker can give to requests
# in the order of a line, before and behind all that the server has numbered
_NEWEST = 1 << 60
MOST_RECENT = 100_000  # fingerprints that are remembered, or twice as many


class ClaimReply(NamedTuple):
    """What a reply brought."""

    sites: dict[str, bytes]  # new ones, with the state of their previous owner
    lines: list[str]  # the line of each request that was claimed
    said: int  # pushed requests, dropped ones included
    dry: list[str]  # sites without waiting requests


class SharedJob:
    """A :class:`~scrapy_mandelbot.job.job_store.JobStore` that workers share.

    Changes go into its `Outbox` in the order in which they were made, so the requests
    that a callback yielded are stored before its own request is acknowledged.
    """

    def __init__(self, joined: JoinReply, now: Callable[[], float]) -> None:
        self._now = now
        self.sites: dict[str, HeldSite] = {}  # those that are this worker's
        self._lines: dict[str, list[tuple[tuple[int, int, int], int, bytes]]] = {}
        """By line, heaps of claimed requests: place, number and body."""
        self._line_of_site: dict[str, set[str]] = {}
        self._claimed: dict[int, str] = {}  # by number: site; those that wait here too
        self._low: dict[str, None] = {}  # sites of which more is to be claimed
        # by parent: times it gave a fingerprint
        self._given: dict[int, dict[int, int]] = {}
        # fingerprints said lately
        self._recent: tuple[set[int], set[int]] = set(), set()
        self._outbox = Outbox(now)
        # in what was sent: requests that are out, and sites of which some are claimed
        self._sending: list[int] = []
        self._claiming: list[str] = []
        self._count = 0
        self._moves = 0
        self.out: set[int] = set()  # numbers of requests that Redis knows to be sent
        self._first_number = 0
        self.join(joined)

    def __repr__(self) -> str:
        return f"<SharedJob: worker {self.worker}, {len(self.sites)} sites>"

    def join(self, joined: JoinReply) -> None:
        """Take the number of a reply: at first, and after a lost lease."""
        self.worker = joined.worker
        self.run = joined.run
        self.born = joined.born
        self.token = joined.token
        before = self._first_number
        self._first_number = joined.worker * _NUMBERS
        # others may have the old numbers
        self._outbox.join(joined, self._first_number - before)

    def lengths(self) -> dict[str, int]:
        return {line: len(heap) for line, heap in self._lines.items()}

    @property
    def last(self) -> int:
        """The number of the last exchange that Redis has kept."""
        return self._outbox.last

    @property
    def uncommitted(self) -> int:
        return self._outbox.uncommitted

    @property
    def uncommitted_bytes(self) -> int:
        return self._outbox.uncommitted_bytes

    def push(self, line: str, place: Place, body: bytes) -> int:
        return self._push(line, place, body, None, ("", "", 0))

    def push_new(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int | None
    ) -> int:
        """Add a request unless the job has seen its fingerprint; return its number."""
        self._note_recent(fingerprint)
        return self._push(line, place, body, parent, (str(fingerprint), "", 0))

    def push_child(
        self, line: str, place: Place, body: bytes, fingerprint: int, parent: int
    ) -> int:
        """Add a request unless its parent has yielded it before, here or elsewhere.

        All workers together yield each request of ``start()`` as often as one of them
        does.
        """
        given = self._given.setdefault(parent, {})
        times = given.get(fingerprint, 0) + 1
        given[fingerprint] = times
        return self._push(line, place, body, parent, (str(fingerprint), parent, times))

    def claim(self, line: str) -> StoredRequest | None:
        heap = self._lines.get(line)
        if heap is None:
            return None
        _, number, body = heappop(heap)
        if not heap:
            del self._lines[line]
        site = self.sites[site_of_line(line)]
        site.waiting -= 1
        if site.is_low:
            self._low[site.name] = None
        return StoredRequest(number, body)

    def put_back(self, number: int, line: str, place: Place, body: bytes) -> None:
        site = site_of_line(line)
        before = self._claimed.get(number)
        if before is None:
            return
        self._moves += 1
        self.out.discard(number)
        # it goes elsewhere now: as a new one does
        if before != site or site not in self.sites:
            self._outbox.add(("done", key(before), number))
            self._forget_claim(number)
            self.push(line, place, body)
            return
        newest = _NEWEST + self._moves
        if place.is_last_first:
            newest = -self._moves
        self._wait(site, line, (place.priority, place.band, newest), number, body)
        self._outbox.add(
            ("put_back", *push(site, line, place, number, body)), len(body)
        )

    def acknowledge(self, number: int) -> None:
        self._given.pop(number, None)
        site = self._forget_claim(number)
        if site is not None:
            self._outbox.add(("done", key(site), number))

    def refuse(self, number: int, why: str, exception: str = "") -> None:
        """Leave a claimed request to another version of the spider.

        One whose callback raised an exception is set aside until it is requeued.
        """
        site = self._forget_claim(number)
        if site is not None:
            self._outbox.add(("refuse", key(site), number, why, exception))

    def leave_to_next_run(self, number: int) -> None:
        """Leave a claimed request to the next run: no worker gets it before."""
        site = self._forget_claim(number)
        if site is not None:
            self._outbox.add(("leave", key(site), number))

    def has_seen(self, fingerprint: int) -> bool:
        """Return whether this worker knows the fingerprint; the server knows more."""
        return fingerprint in self._recent[0] or fingerprint in self._recent[1]

    def see(self, fingerprint: int) -> None:
        self._note_recent(fingerprint)
        self._outbox.add(("see", fingerprint))

    def forget_children(self, parent: int) -> None:
        self._given.pop(parent, None)
        self._outbox.add(("forget", parent))

    def rest(self, name: str, state: bytes, milliseconds: str) -> None:
        """Report the state of a site for its next owner, and for how long it must wait.

        Empty state: nothing to report. ``inf`` milliseconds: until the next run.
        """
        site = self.sites[name]
        # from now on
        if site.said != (state, milliseconds) or milliseconds not in {"0", "inf"}:
            site.said = state, milliseconds
            self._outbox.add(("rest", key(name), state, milliseconds), len(state))

    def give_back(self, name: str) -> None:
        site = self.sites.pop(name)
        self._low.pop(name, None)
        for line in self._line_of_site.pop(name, ()):
            self._lines.pop(line, None)
        for number in site.numbers:  # those that came back and were delayed, too
            del self._claimed[number]
        self._outbox.add(("give_back", key(name)))

    def request_site(self, name: str) -> None:
        self._outbox.add(("ask", key(name)))

    def report(self, writer: str, run: int, body: bytes) -> None:
        """Leave a report with the next exchange that says something; the last counts.

        `run`: that of which it is.
        """
        self._outbox.report(writer, run, body)

    @property
    def has_report(self) -> bool:
        """Whether a report waits for an exchange."""
        return self._outbox.has_report

    def next_exchange(
        self,
        take: int,
        idle: str,
        out: Iterable[int] = (),
        *,
        is_last: bool = False,
    ) -> Exchange:
        """Return the next exchange; the same again, until it is answered.

        `take`: how many more sites to request. `out`: numbers of the requests that are
        sent. `is_last`: a report goes with it even if there is nothing else to say.
        """
        if self._outbox.sent is not None:
            return self._outbox.sent
        now = self._now()
        self._claiming = list(self._low)
        self._low.clear()
        self._sending = [number for number in out if number not in self.out]
        also: list[Entry] = []
        if self._sending:
            also.append(("out", " ".join(map(str, self._sending))))
        also += [
            ("claim", key(one), self.sites[one].begin_claim(now))
            for one in self._claiming
        ]
        return self._outbox.pack(take, idle, also, is_last=is_last)

    @property
    def has_more_to_say(self) -> bool:
        return self._outbox.has_entries or bool(self._low)

    def only_renewing(self) -> Exchange:
        """Return an exchange that only renews the lease; callable from any thread."""
        return self._outbox.only_renewing()

    def take_answer(self, answer: Reply) -> ClaimReply:
        is_kept = bool(answer.sites) or answer.is_again
        said = self._outbox.answered(is_kept=is_kept)
        self.out = {*self._sending, *self.out & self._claimed.keys()}
        now = self._now()
        new = {
            name: state
            for name, state in answer.sites.items()
            if name not in self.sites
        }
        if answer.is_again:  # what was given back since is on its way there
            given_back = {entry[1] for entry in self._outbox.unsent("give_back")}
            new = {
                name: state
                for name, state in new.items()
                if key(name) not in given_back
            }
        for name, state in new.items():
            self.sites[name] = HeldSite(name, now)
            self.sites[name].asked = FIRST
            # what this worker takes over is for its own next owner to drop
            self.sites[name].said = state, "0"
        claiming = (one for one in self._claiming if one in self.sites)
        counts = dict.fromkeys(chain(new, claiming), 0)
        done = {entry[2] for entry in self._outbox.unsent("done")}
        lines = []
        for one in answer.claimed:
            is_known = one.number in self._claimed or one.number in done
            if one.site in self.sites and not is_known:
                counts[one.site] = counts.get(one.site, 0) + 1
                self._wait(one.site, one.line, one.place, one.number, one.body)
                lines.append(one.line)
        dry = []
        for name, count in counts.items():
            site = self.sites[name]
            site.arrived(count)
            if site.is_low and site.has_more:
                self._low[name] = None
            elif site.is_exhausted:
                dry.append(name)
        return ClaimReply(new, lines, said, dry)

    def poll_dry(self, names: Iterable[str]) -> None:
        for name in names:
            site = self.sites.get(name)
            if site is not None and not site.waiting and not site.asked:
                self._low[name] = None

    def lose(self, last: int) -> LostLease:
        """Drop everything held and reported under a lost lease.

        The parents come back, to their new owners. Requests without a parent, such as
        those of ``start()``, are reported again under the next lease where Redis has
        lost them. `last`: the number of the last exchange that Redis has.
        """
        is_whole, rests = self._outbox.lose(last)
        left = []
        for one, state, milliseconds in rests:
            site = name_of(one)
            if site not in self.sites:  # of these more is known
                left.append((site, state, milliseconds))
        self.sites.clear()
        self._lines.clear()
        self._line_of_site.clear()
        self._claimed.clear()
        self.out.clear()
        self._low.clear()
        self._given = {one: self._given.pop(one, {}) for one in (START, OWN_START)}
        self._recent = set(), set()
        return LostLease(is_whole, left)

    def _push(
        self,
        line: str,
        place: Place,
        body: bytes,
        parent: int | None,
        once: tuple[str, int | str, int],
    ) -> int:
        self._count += 1
        number = self._first_number + self._count
        entry = ("push", *push(site_of_line(line), line, place, number, body), *once)
        self._outbox.add(entry, len(body), parent)
        return number

    def _wait(
        self,
        site: str,
        line: str,
        place: tuple[int, int, int],
        number: int,
        body: bytes,
    ) -> None:
        self._claimed[number] = site
        self.sites[site].numbers.add(number)
        self.sites[site].waiting += 1
        self._line_of_site.setdefault(site, set()).add(line)
        heappush(self._lines.setdefault(line, []), (place, number, body))

    def _forget_claim(self, number: int) -> str | None:
        site = self._claimed.pop(number, None)
        if site in self.sites:
            self.sites[site].numbers.discard(number)
        return site

    def _note_recent(self, fingerprint: int) -> None:
        newer, _ = self._recent
        newer.add(fingerprint)
        if len(newer) >= MOST_RECENT:
            self._recent = set(), newer
