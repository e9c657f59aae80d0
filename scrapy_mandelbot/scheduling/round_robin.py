"""Which sub-queue is next, and what the others wait for.

Fewest active downloads first, round robin among equals.

The next one costs the same among ten queues and among fifty thousand. Queues stand by
how active their slot is; none is looked at twice to find that it must wait: it steps
out until something says that this may have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, NamedTuple

from mandelbot.origins import host_of

from scrapy_mandelbot.politeness.flight import Wait

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.site_state import Site
    from scrapy_mandelbot.scheduling.storage import RequestStorage

_LOOK_AGAIN = 1.0  # seconds
# empty sub-queues that are kept; more requests are seldom in flight
_MOST_RESTING = 1_000
_PAUSES = frozenset({Wait.PAUSE, Wait.ROBOTS})

PAST_PAUSES = "/ dont_pause"
"""In place of a section's path: these requests wait for no pause."""
DELAYED = "/ delay"
"""The same: each of these requests waits for a time of its own."""
DUE = "mandelbot_due"
"""Meta key of such a request: when it may be sent, its delay, in seconds, and its own
priority. Written as it is scheduled, by the time of day, so that a job that is resumed
knows it.
"""


class QueueParts(NamedTuple):
    """What the name of a sub-queue says.

    The queue of a site's requests has the name of the site: ``https://example.com
    mine`` are those that a spider sends through the download slot ``mine``. A slot's
    space is ``%20`` there, and its percent sign ``%25``. The queue of a section that is
    set aside has a third part, the section's path. Names that Scrapy's own queue left
    in JOBDIR are download slots: hosts, or any string.
    """

    site: str
    """Its name; the whole name of the queue, where Scrapy's own left it."""
    slot: str
    section: str = ""
    """The path of the section with which it was set aside; empty: it was not."""
    is_ours: bool = True
    """Whether its name is one of ours."""

    @classmethod
    def of(cls, name: str) -> QueueParts:
        """Read a name."""
        site, slot, section = (*name.split(" ", 2), "", "")[:3]
        if " " in name:
            slot = slot.replace("%20", " ").replace("%25", "%")
        else:
            slot = _host_of(site)
        is_path = section.lstrip(ascii_uppercase).lstrip(" ")[:1] in {"", "/"}
        parts = cls(site, slot, section)
        is_ours = "://" in site and is_path and parts.name == name
        if is_ours:
            return parts
        return cls(name, name, is_ours=False)

    @property
    def name(self) -> str:
        """The name of the sub-queue, from which :meth:`of` reads the parts again."""
        site, slot, section, is_ours = self
        if not is_ours or (not section and self._is_slot_of_site()):
            return site
        word = f"{slot}".replace("%", "%25").replace(" ", "%20")
        if section:
            return f"{site} {word} {section}"
        return f"{site} {word}"

    def _is_slot_of_site(self) -> bool:
        """Return whether the slot is the one that Scrapy chooses for the site."""
        host = self.site.partition("://")[2]
        if host == self.slot and host.replace(".", "").isalnum():
            return True  # as most
        return self.slot == _host_of(self.site)


def _host_of(site: str) -> str:
    return host_of(site).strip("[]")  # as Scrapy names download slots


class SubQueue:
    """The requests of a site, or of its section, through one download slot."""

    __slots__ = (
        "activity",
        "apart",
        "delayed",
        "has_joined",
        "is_ours",
        "is_sharing",
        "name",
        "named_slot",
        "section",
        "site",
        "slot",
    )

    def __init__(self, site: Site, parts: QueueParts) -> None:
        self.name = parts.name
        self.site = site
        self.slot = parts.slot
        self.named_slot = self.slot
        """Through which its requests go, and the one in its name: others may share the
        former.
        """
        self.section = parts.section
        """The path of the section with which its requests were set aside."""
        self.activity: int | None = None
        """Of its slot, as it stands; None: it has stepped out."""
        self.apart: Apart | None = None
        """Where its requests are counted, if not among those that wait for a turn."""
        self.delayed = 0
        """How many of its requests wait for a time of their own."""
        self.has_joined = False
        """Whether it takes part: it has a request that may be handed out."""
        self.is_sharing = False
        """Whether there are other queues for its slot."""
        self.is_ours = True
        """Whether all its requests are of this site: Scrapy's own queue keeps several
        in one.
        """


class Apart:
    """Counts requests of some sub-queues apart from the others that wait."""

    def __init__(self) -> None:
        self.total = 0
        """How many there are in all."""
        self._numbers: dict[SubQueue, int] = {}

    def put(self, queue: SubQueue, number: int) -> None:
        """Count so many requests of a sub-queue, however many there were before."""
        if queue.apart is not None and queue.apart is not self:
            queue.apart.drop(queue)
        queue.apart = self
        self.total += number - self._numbers.get(queue, 0)
        self._numbers[queue] = number

    def drop(self, queue: SubQueue) -> None:
        """Count the requests of a sub-queue among the others again."""
        queue.apart = None
        self.total -= self._numbers.pop(queue)


class RoundRobin(dict[tuple[str, str, str], SubQueue]):
    """The queues by site, slot and section; those that take part by activity."""

    def __init__(self, activity: Callable[[str], int]) -> None:
        super().__init__()
        self._activity = activity
        self._by_site: dict[Site, tuple[SubQueue, ...]] = {}
        # Whose last turn is longest ago first. Most slots have one queue, which a tuple
        # holds in a fifth of the memory of a dict.
        self._by_slot: dict[str, Any] = {}
        self.standing: dict[int, dict[SubQueue, None]] = {}
        """By activity, those whose turn may come, in order: the first of the least
        activity is the next one.
        """
        self._waits_for_an_end: set[SubQueue] = set()
        """Queues that wait until a request in flight has ended: a full slot, a scout, a
        probe.
        """
        self._looked_again_at = -inf
        self.is_settled = False
        """Whether all have stepped out, and nothing has changed since: no request may
        go.
        """
        self.kept_out: dict[SubQueue, None] = {}
        """Queues that wait until fewer requests are in flight of all sites that are as
        theirs.
        """
        self._resting: dict[SubQueue, None] = {}
        """Queues that had no request left, in the order in which that happened first.
        """

    def of(self, site: Site) -> Sequence[SubQueue]:
        """Return those of a site, as they came."""
        return self._by_site.get(site, ())

    def add(self, queue: SubQueue) -> None:
        """Note one more."""
        self[queue.site.name, queue.named_slot, queue.section] = queue
        self._by_site[queue.site] = (*self._by_site.get(queue.site, ()), queue)

    def rest(self, queue: SubQueue) -> None:
        """Keep an empty queue for a while: a page under way may link to more of it."""
        self._resting[queue] = None
        if len(self._resting) > _MOST_RESTING:
            first = next(iter(self._resting))
            if first.has_joined or first.delayed or first.apart is not None:
                del self._resting[first]
            else:
                self.drop(first)

    def drop(self, queue: SubQueue) -> None:
        """Forget one of them: a crawl may come by a million sites."""
        self._resting.pop(queue, None)
        del self[queue.site.name, queue.named_slot, queue.section]
        queues = self._by_site.pop(queue.site)
        if len(queues) > 1:
            self._by_site[queue.site] = tuple(
                [one for one in queues if one is not queue]
            )

    def join(self, queue: SubQueue) -> None:
        """Let a queue take part, behind those that are as active."""
        queue.has_joined = True
        others = self._by_slot.get(queue.slot)
        if others is None:
            self._by_slot[queue.slot] = (queue,)
        else:
            if isinstance(others, tuple):
                others[0].is_sharing = True
                others = dict.fromkeys(others)
                self._by_slot[queue.slot] = others
            others[queue] = None
            queue.is_sharing = True
        self.stand(queue)

    def leave(self, queue: SubQueue) -> None:
        """Remove a queue from the rotation."""
        self.step_out(queue)
        if queue.apart is not None:
            queue.apart.drop(queue)
        self._waits_for_an_end.discard(queue)
        self.kept_out.pop(queue, None)
        queue.has_joined = False
        queue.is_sharing = False
        queues = self._by_slot[queue.slot]
        if len(queues) > 1:
            del queues[queue]
        else:
            del self._by_slot[queue.slot]

    def move(self, queue: SubQueue, shared_slot: Callable[[Site, str], str]) -> None:
        """Move a sub-queue to the download slot that its site shares with others."""
        slot = shared_slot(queue.site, queue.named_slot)
        if slot != queue.slot and queue.has_joined:
            self.leave(queue)
            queue.slot = slot
            self.join(queue)
        queue.slot = slot

    def of_slot(self, slot: str) -> Iterable[SubQueue]:
        """Return the queues of a download slot that take part, also those that wait."""
        return tuple(self._by_slot.get(slot, ()))

    def take(self, queue: SubQueue) -> None:
        """Note that a queue takes its turn: it is now the last of its download slot."""
        queues = self._by_slot[queue.slot]
        if isinstance(queues, dict):
            del queues[queue]
            queues[queue] = None

    def step_out(self, queue: SubQueue, *, until_an_end: bool = False) -> None:
        """Take a sub-queue out of the rotation, perhaps until a request has ended."""
        if until_an_end:
            self._waits_for_an_end.add(queue)
        activity = queue.activity
        if activity is None:
            return
        queue.activity = None
        standing = self.standing[activity]
        del standing[queue]
        if not standing:
            del self.standing[activity]

    def keep_out(self, queue: SubQueue) -> None:
        """Take a sub-queue out until fewer requests to silent sites are in flight."""
        self.step_out(queue)
        self.kept_out[queue] = None

    def let_one_in(self) -> SubQueue:
        """Let the queue take part again that was kept out first, and return it.

        It is next: a site that is met anew waits behind those that were never met.
        """
        queue = next(iter(self.kept_out))
        del self.kept_out[queue]
        if queue.apart is not None:
            queue.apart.drop(queue)
        if queue.activity is None:
            self.stand(queue)
        return queue

    def stand(self, queue: SubQueue) -> None:
        """Put a queue behind those that are as active, wherever it stands."""
        self.is_settled = False
        if queue.activity is not None:
            self.step_out(queue)
        activity = self._activity(queue.slot)
        queue.activity = activity
        standing = self.standing.get(activity)
        if standing is None:
            standing = {}
            self.standing[activity] = standing
        standing[queue] = None

    def slot_changed(self, slot: str, activity: int) -> None:
        """Move the queues of a slot whose activity has changed, and those that wait."""
        self.is_settled = False
        for queue in self._by_slot.get(slot, ()):
            before = queue.activity
            # as step_out() and stand(), of which this is most of the calls
            if before is not None:
                standing = self.standing[before]
                del standing[queue]
                if not standing:
                    del self.standing[before]
            queue.activity = activity
            there = self.standing.get(activity)
            if there is None:
                self.standing[activity] = {queue: None}
            else:
                there[queue] = None

    def look_again(self, now: float) -> bool:
        """Add back queues whose wait may be over unnoticed.

        Returns whether there are any.

        Every end is noticed, but that of a request which some middleware swallowed.
        """
        if not self._waits_for_an_end or now < self._looked_again_at + _LOOK_AGAIN:
            return False
        self._looked_again_at = now
        for queue in self._waits_for_an_end:
            if queue.activity is None:
                self.stand(queue)
        self._waits_for_an_end.clear()
        return True


class QueueCounts:
    """The requests of a site queue, as Scrapy would count them.

    All that wait are in the storage. Those of a sub-queue are counted apart from when
    it steps out because of its site, until it is looked at again.
    """

    def __init__(self, storage: RequestStorage, round_robin: RoundRobin) -> None:
        self.storage = storage
        self.round_robin = round_robin
        self.paused = Apart()
        """Those whose site or section is paused, or waits behind silent ones."""
        self.left = Apart()
        """Those that are not sent in this run: they are left to the next one."""

    def note(self, queue: SubQueue, wait: Wait | None, now: float) -> None:
        """Count the requests of a sub-queue by what it waits for.

        A site that recovers from a pause, or has a crawl delay, is not paused: they
        wait for their turn.
        """
        length = self.storage.length(queue.name)
        if wait is Wait.NOTHING:
            self.left.put(queue, length)
        elif wait in _PAUSES or queue.site.is_shut(now):
            self.paused.put(queue, length)
        elif queue.apart is not None:
            queue.apart.drop(queue)

    def note_silent(self, queue: SubQueue) -> None:
        """Count the requests of a sub-queue that waits behind other silent sites."""
        self.paused.put(queue, self.storage.length(queue.name))
