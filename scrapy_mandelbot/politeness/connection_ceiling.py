"""How many connections at once a site accepts that resets each one above that number.

Theory of operation. mod_qos, HAProxy and packet filters accept so many connections of a
client at once, and reset further ones before a byte is answered. No answer says so, but
each loss says how many requests were in flight when it came:

- *Falling.* Two pages that lose their connections with no good answer between them may
  have met such a limit. The site gets no more requests at once than are left in flight
  then, and one less with each further one of these that is lost. The pages go back to
  the queue, uncounted.
- *Trying.* After two round trips of good answers one request more is given. If a
  connection is lost of those that were sent then, its page may be why: a page that was
  answered well is requested again beside the others, the check. If that is lost, too,
  or more connections are, the number is confirmed, and the next trial comes after twice
  as many. (From then on a lost connection alone confirms it.) If not, another one
  follows, up to the number with which the first one was lost. (A reset may be late:
  what was given when its request was sent counts.)
- *Refuted.* A site that loses a connection with no other request in flight has no such
  limit, nor has one that loses more with what it is given than in trials: its pages
  fail by themselves. It gets as many as before at once. Before it gets fewer again, it
  has to answer well, and twice as many pages have to be lost.

So what this costs a site with pages that drop their connections is a place or two of
its requests at once for some round trips. Requests that hang hold no place for longer
than `HOLDS_NO_PLACE_AFTER`: they are no answer to the question, and would hold up all.

The caller says which losses count: those of connections made for a request that is
safe, and fails for the first time. See `mandelbot.answers.was_new_connection`.

Sources: Apache mod_qos, ``QS_SrvMaxConnPerIP``; HAProxy, ``tcp-request connection
reject``; iptables, ``connlimit``.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import ClassVar, NamedTuple

HOLDS_NO_PLACE_AFTER = 1.0
"""Seconds, or three times the site's last answer, after which a request in flight is
not counted.
"""
_IN_A_ROW = 2  # pages lost, at first
_MOST_IN_A_ROW = 64
_SURE = 2  # trials that were lost: chance may be why one was
_PAGES_OWN = 2  # losses in a trial that may be the pages', as checks are well
_ROUND_TRIPS = 2  # of good answers until one more is tried, at first
_LONGEST = 64  # of them, at most
_REMEMBERED = 16  # numbers that were given: a reset may be late


class _Given(NamedTuple):
    """What a site got from some tick on."""

    tick: int
    most: float
    is_trial: bool
    """Whether it is one more than is known to be well."""


class ConnectionCeiling:
    """The number of requests at once that a site gets, as it resets further ones.

    Pure: fingerprints, numbers of requests in flight and ticks come in.
    """

    __slots__ = (
        "_accepted",
        "_burst_ended",
        "_contrary",
        "_doubtful",
        "_given",
        "_has_answered",
        "_in_a_row",
        "_left",
        "_losses",
        "_lost_at",
        "_needed",
        "_owed",
        "_round_trips",
        "_sent_back",
        "confirmed",
        "most",
    )

    NONE: ClassVar[ConnectionCeiling]
    """Of all sites that lose no connection; a site has its own before it writes any."""

    def __init__(self) -> None:
        self.most: float = inf
        """Requests at once; ``inf``: as many as others allow."""
        self.confirmed = 0
        """How often one more than that was tried, and lost."""
        self._contrary = 0  # losses that the number does not explain
        self._in_a_row: set[bytes] = set()  # pages lost since the last good answer
        self._needed = _IN_A_ROW  # of them, before the site gets fewer
        self._has_answered = True  # since a limit was refuted
        # Of the burst of losses that began it: when the last of its requests was sent,
        # in ticks, how many of these are left, and how many were in flight.
        self._burst_ended = -1
        self._accepted = 0
        self._lost_at = 0
        self._sent_back: set[bytes] = set()  # pages of that burst, uncounted
        self._owed: set[bytes] = set()  # those of bursts that no limit explains
        self._given: deque[_Given] = deque(maxlen=_REMEMBERED)
        self._round_trips = _ROUND_TRIPS
        self._left = 0  # good answers until one more is tried
        self._losses = 0  # in the trial
        self._doubtful = inf  # the least number of a trial that lost any

    def __repr__(self) -> str:
        return f"<gets {self.most} at once>"

    @property
    def is_certain(self) -> bool:
        """Whether chance does not explain the number."""
        return self.confirmed >= _SURE

    @property
    def is_in_doubt(self) -> bool:
        """Whether a trial lost a connection, and the page or the number may be why."""
        return self._losses > 0

    def lost(self, page: bytes, at_once: int, sent: int, now: int) -> bool:
        """Note a lost connection; return whether a limit explains it.

        `page` is a fingerprint; `at_once` were in flight, this one included; `sent` and
        `now` are in ticks.
        """
        is_limited = self.most < inf
        if is_limited and sent <= self._burst_ended:
            return self._fall(page, self._accepted - 1, now)
        given = self._given_at(sent)
        if given is not None and given.is_trial and at_once > 1:
            self._lost_in_trial(given.most, now)
            return True
        if is_limited:
            self._contrary += 1
            if at_once <= 1 or self._contrary > self.confirmed:
                self._refute()
                return False
        if at_once > 1 and self._has_answered:
            self._in_a_row.add(page)
        if len(self._in_a_row) >= self._needed:
            self._lost_at = max(self._lost_at, at_once + 1)
            self._burst_ended = now
            self._sent_back.clear()
            return self._fall(page, at_once - 1, now)
        return False

    def take_owed(self, page: bytes) -> bool:
        """Return whether a loss of this page is counted late, once."""
        is_owed = page in self._owed
        self._owed.discard(page)
        return is_owed

    def lost_check(self, sent: int, now: int) -> None:
        """Note that a page was lost that was well; `sent` and `now` are in ticks."""
        given = self._given_at(sent)
        if given is not None and given.is_trial and self._doubtful < inf:
            self._confirm(now)

    def answered(self, now: int, *, is_check: bool = False) -> None:
        """Note a good answer, to a check or another request; `now` is in ticks."""
        if not is_check:
            self._has_answered = True
        self._in_a_row.clear()
        if self.most == inf:
            return
        self._left -= 1
        if self._left <= 0:
            self._try_more(now)

    def _fall(self, page: bytes, accepted: int, now: int) -> bool:
        """Give no more than were accepted; return whether any was."""
        self._accepted = accepted
        if accepted < 1:
            self._owed |= self._sent_back
            self._refute()
            return False
        self._sent_back.add(page)
        if accepted < self.most:
            self._give(accepted, now)
        return True

    def _given_at(self, tick: int) -> _Given | None:
        """Return what the site got when a request was sent; None: all."""
        found = None
        for one in self._given:
            if one.tick < tick:
                found = one
        return found

    def _lost_in_trial(self, number: float, now: int) -> None:
        self._doubtful = min(self._doubtful, number)
        self._losses += 1
        self._left = int(self._round_trips * self.most)  # the trial goes on
        if self.confirmed or self._losses > _PAGES_OWN:
            self._confirm(now)

    def _confirm(self, now: int) -> None:
        """Give one less than was too many in trials."""
        most = self._doubtful - 1
        self.confirmed += 1
        self._doubtful = inf
        self._losses = 0
        if most >= self.most:
            return  # it is known already
        self._round_trips = min(2 * self._round_trips, _LONGEST)
        self._give(most, now)

    def _try_more(self, now: int) -> None:
        if self.most >= self._lost_at:
            self._end()
            return
        self._give(self.most + 1, now, is_trial=True)

    def _give(self, most: float, now: int, *, is_trial: bool = False) -> None:
        self.most = most
        self._left = int(self._round_trips * most)
        self._losses = 0
        self._given.append(_Given(now, most, is_trial))

    def _refute(self) -> None:
        if not self.is_certain:
            self._needed = min(2 * self._needed, _MOST_IN_A_ROW)
        self._has_answered = False
        self._end()

    def _end(self) -> None:
        self.most = inf
        self.confirmed = 0
        self._contrary = 0
        self._doubtful = inf
        self._losses = 0
        self._round_trips = _ROUND_TRIPS
        self._burst_ended = -1
        self._lost_at = 0
        self._in_a_row.clear()
        self._sent_back.clear()
        self._given.clear()


ConnectionCeiling.NONE = ConnectionCeiling()
