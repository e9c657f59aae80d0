"""What a worker has to say to Redis, in exchanges; without I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from scrapy_mandelbot.fleet.changes import UNKNOWN
from scrapy_mandelbot.fleet.held_site import FIRST
from scrapy_mandelbot.fleet.holdings import Exchange, UnackedEntry, UnackedExchanges

if TYPE_CHECKING:
    from scrapy_mandelbot.fleet.holdings import Entry
    from scrapy_mandelbot.fleet.job_server import JoinReply

MOST_ENTRIES = 500  # of an exchange: Redis serves no other worker for some 10 ms
_ENTRY = 300  # bytes of an entry beside the body of its request, about


class Outbox:
    """Entries, said in the order in which they were added.

    An exchange without an answer is sent again unchanged, whatever was added meanwhile.
    What no request of the job would have said again is kept for a minute after its
    answer: Redis may lose it.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.sent: Exchange | None = None
        """The exchange that waits for its answer."""
        self.last = 0
        """The number of the last exchange that Redis has kept."""
        self._worker = 0
        self._token = ""
        self._run = 0
        self._entries: list[UnackedEntry] = []
        self._sent_entries: list[UnackedEntry] = []
        self._size = 0  # bytes of both
        self._exchanges = 0  # made so far
        self._report: Entry | None = None  # to go with the next exchange
        self._unacked = UnackedExchanges(forgotten=UNKNOWN)

    def join(self, joined: JoinReply, moved: int) -> None:
        """Speak as another worker, whose requests have numbers that are moved."""
        self._worker = joined.worker
        self._token = joined.token
        self._run = joined.run
        self.last = 0
        self._entries = [one.moved(moved) for one in self._entries]

    @property
    def uncommitted(self) -> int:
        return len(self._entries) + len(self._sent_entries)

    @property
    def uncommitted_bytes(self) -> int:
        return self._size + _ENTRY * self.uncommitted

    @property
    def has_entries(self) -> bool:
        """Whether there are any that no exchange has yet."""
        return bool(self._entries)

    @property
    def has_report(self) -> bool:
        return self._report is not None

    def add(self, entry: Entry, size: int = 0, parent: int | None = None) -> None:
        self._entries.append(UnackedEntry(entry, size, parent))
        self._size += size

    def report(self, writer: str, run: int, body: bytes) -> None:
        """Leave a report with the next exchange that says something; the last counts.

        `run`: that of which it is.
        """
        self._report = ("report", writer, run, body)

    def unsent(self, word: str) -> Iterator[Entry]:
        """Yield the entries of a kind that no exchange has yet."""
        for one in self._entries:
            if one.entry[0] == word:
                yield one.entry

    def pack(
        self, take: int, idle: str, also: Sequence[Entry], *, is_last: bool
    ) -> Exchange:
        """Make the next exchange: the first entries, and what is said only once.

        `take`: how many more sites to request. `is_last`: a report goes with it even if
        there is nothing else to say.
        """
        entries = self._entries[:MOST_ENTRIES]
        self._entries = self._entries[MOST_ENTRIES:]
        self._sent_entries = entries
        self._exchanges += 1
        words = [*(one.entry for one in entries), *also]
        if self._report is not None and (entries or is_last):
            words.append(self._report)
            self._report = None
        self.sent = Exchange(
            self._worker,
            self._token,
            self._exchanges,
            self.last,
            self._run,
            take,
            FIRST,
            idle,
            tuple(words),
        )
        return self.sent

    def only_renewing(self) -> Exchange:
        """Return an empty exchange, which renews the lease.

        Callable from any thread; it may arrive before or after the pending one.
        """
        sent = self.sent
        number = UNKNOWN if sent is None else sent.number
        return Exchange(
            self._worker, self._token, number, self.last, self._run, 0, 0, "", ()
        )

    def answered(self, *, is_kept: bool) -> int:
        """Note the answer to what was sent; return how many requests it has pushed.

        `is_kept`: Redis has it as the last exchange, though it had no entries.
        """
        sent = self.sent
        assert sent is not None  # noqa: S101 -- an answer is to something
        if sent.entries or is_kept:
            self.last = sent.number
        self._unacked.add(sent.number, self._now(), self._sent_entries)
        said = sum(one.is_push for one in self._sent_entries)
        self._size -= sum(one.size for one in self._sent_entries)
        self.sent = None
        self._sent_entries = []
        return said

    def lose(self, last: int) -> tuple[bool, list[tuple[bytes, bytes, str]]]:
        """Keep only what no request would have said again; the lease is lost.

        `last`: the number of the last exchange that Redis has. Returns whether all of
        what it has lost is known, and what was said of sites since: name, state and
        milliseconds.
        """
        is_kept = self.sent is not None and self.sent.number <= last
        entries = list(self._entries)
        if not is_kept:
            entries = [*self._sent_entries, *entries]
        self.sent = None
        self._sent_entries = []
        is_whole, again = self._unacked.after(last)
        unsaid = (one for one in entries if one.entry[0] == "rest")
        self._unacked.add(self._exchanges + 1, self._now(), unsaid)
        rests = list(self._unacked.rests_after(last, self._now()))
        # by this number, or under another one
        self._unacked = UnackedExchanges(forgotten=0)
        self.last = min(self.last, last)
        self._entries = [*again, *(one for one in entries if one.is_alone)]
        self._size = sum(one.size for one in self._entries)
        return is_whole, rests
