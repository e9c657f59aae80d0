"""How many connections at once a site accepts that resets each one above that number.

Theory of operation. mod_qos, HAProxy and packet filters accept so many connections of a
client at once, and reset further ones before a byte is answered. No answer says so, but
each loss says how many requests were in flight when it came:

- *Falling.* Two pages that lose their connections with no good answer between them may
  have met such a limit. The site gets one request less than were in flight when the
  last of them was lost, at once, and less with each that is lost before a good answer
  comes. The pages go back to the queue, uncounted.
- *Trying.* After two round trips of good answers one request more is given. If its
  connection is lost, the number is confirmed, and the next trial comes after twice as
  many. If not, another one follows, up to the number with which the first one was lost.
- *Refuted.* A site that loses a connection with no other request in flight, or, once it
  has answered well, with no more than it is given, has no such limit: its pages fail by
  themselves. It gets as many as before at once. Before it gets fewer again, it has to
  answer well, and twice as many pages have to be lost.

So what this costs a site with pages that drop their connections is a place or two of
its requests at once for some round trips. Requests that hang hold no place for longer
than `HOLDS_NO_PLACE_AFTER`: they are no answer to the question, and would hold up all.

The caller says what a lost connection is: see `is_of_new_connection`, in the downloader
middleware.

Sources: Apache mod_qos, ``QS_SrvMaxConnPerIP``; HAProxy, ``tcp-request connection
reject``; iptables, ``connlimit``.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar

HOLDS_NO_PLACE_AFTER = 1.0
"""Seconds, or three times the site's last answer, after which a request in flight is
not counted.
"""
_IN_A_ROW = 2  # pages lost, at first
_MOST_IN_A_ROW = 64
_ROUND_TRIPS = 2  # of good answers until one more is tried, at first
_LONGEST = 64  # of them, at most


class ConnectionCeiling:
    """The number of requests at once that a site gets, as it resets further ones.

    Pure: fingerprints, numbers of requests in flight and ticks come in.
    """

    __slots__ = (
        "_fell_at",
        "_first_lost_at",
        "_has_answered",
        "_in_a_row",
        "_is_trial",
        "_left",
        "_needed",
        "_round_trips",
        "is_confirmed",
        "most",
    )

    NONE: ClassVar[ConnectionCeiling]
    """Of all sites that lose no connection; a site has its own before it writes any."""

    def __init__(self) -> None:
        self.most: float = inf
        """Requests at once; ``inf``: as many as others allow."""
        self.is_confirmed = False
        """Whether one more than that was tried, and lost."""
        self._in_a_row: set[bytes] = set()  # pages lost since the last good answer
        self._needed = _IN_A_ROW  # of them, before the site gets fewer
        self._has_answered = True  # since it got fewer, or the limit was refuted
        self._fell_at = 0  # in ticks
        self._first_lost_at = 0  # requests in flight
        self._is_trial = False  # one more than is known to be well is given
        self._round_trips = _ROUND_TRIPS
        self._left = 0  # good answers until one more is tried

    def __repr__(self) -> str:
        return f"<gets {self.most} at once>"

    def lost(self, page: bytes, at_once: int, sent: int, now: int) -> bool:
        """Note a lost connection; return whether a limit explains it.

        `page` is a fingerprint; `at_once` were in flight, this one included; `sent` and
        `now` are in ticks.
        """
        if self.most == inf:
            return self._may_fall(page, at_once, now)
        is_late = sent <= self._fell_at
        if at_once <= 1:
            self._refute()
            return False
        if is_late or not self._has_answered:
            self._fall(at_once, now)
            return True
        if self._is_trial and at_once >= self.most:
            self._confirm()
            return True
        self._refute()
        return False

    def answered(self) -> None:
        """Note a good answer."""
        self._has_answered = True
        self._in_a_row.clear()
        if self.most == inf:
            return
        self._left -= 1
        if self._left <= 0:
            self._try_more()

    def _may_fall(self, page: bytes, at_once: int, now: int) -> bool:
        if at_once <= 1 or not self._has_answered:
            return False
        self._in_a_row.add(page)
        if len(self._in_a_row) < self._needed:
            return False
        self._first_lost_at = at_once
        self._round_trips = _ROUND_TRIPS
        self._fall(at_once, now)
        return True

    def _fall(self, at_once: int, now: int) -> None:
        self._fell_at = now
        self._has_answered = False
        self._give(min(self.most, at_once - 1))

    def _confirm(self) -> None:
        self.is_confirmed = True
        self._round_trips = min(2 * self._round_trips, _LONGEST)
        self._give(self.most - 1)

    def _try_more(self) -> None:
        self._give(self.most + 1)
        self._is_trial = True
        if self.most >= self._first_lost_at:
            self._end()

    def _give(self, most: float) -> None:
        self.most = most
        self._is_trial = False
        self._left = int(self._round_trips * most)

    def _refute(self) -> None:
        self._needed = min(2 * self._needed, _MOST_IN_A_ROW)
        self._has_answered = False
        self._end()

    def _end(self) -> None:
        self.most = inf
        self.is_confirmed = False
        self._in_a_row.clear()


ConnectionCeiling.NONE = ConnectionCeiling()
