"""How many requests a site gets at once: as many as the project states.

Theory of operation. ``CONCURRENT_REQUESTS_PER_DOMAIN`` is the project's word, as a
``Retry-After`` is the site's. Two things hold a site below it:

- *The start.* A site that nothing is known of gets :data:`FIRST` requests at once, so
  that one with a limit refuses few. As soon as half of them have been answered well, it
  gets the project's number: a site that bears all answers these at the same time, so
  the start takes one answer's time at most. If it refuses any of them, it gets one
  more with each answer instead (slow start).
- *What it states by refusing.* If it refuses each request above a number, it gets that
  number (``connection_limit.py``).

Most sites need no object of their own: until one refuses a request, its limit is
:attr:`ConcurrencyLimit.BEGINNING` or :attr:`ConcurrencyLimit.STATED`.

With ``MANDELBOT_CONCURRENCY = "measured"`` a site may get fewer
(``measured_limit.py``).
"""

from __future__ import annotations

from sys import maxsize
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from scrapy_mandelbot.politeness.connection_limit import ConnectionLimit

FIRST = 16
"""Requests at once of a site that nothing is known of; fewer if the project says so."""

HALF = FIRST // 2
"""Good answers after which a site gets as many as the project states."""

FEWEST = 8
"""Answers and requests in flight before a site is looked at (``measured_limit.py``)."""


class Comparison(NamedTuple):
    """Two numbers of requests at once, of which the smaller was found to be enough."""

    bound: int
    rate: float
    """Pages a second with it."""
    other: int
    """The greater number."""
    other_rate: float

    @property
    def times_as_long(self) -> float:
        """How many times as long an answer took with the greater number."""
        return (self.other / self.other_rate) / (self.bound / self.rate)


class ConcurrencyLimit:
    """The limit on the requests in flight of a site.

    Pure: counts, and times in seconds, come in. A site also gets no more than the
    project states, which is not repeated in `bound`.
    """

    __slots__ = ("_first", "_reported", "bound", "connections", "full_at", "look_at")

    BEGINNING: ClassVar[ConcurrencyLimit]
    """That of all sites of which nothing is known yet."""
    STATED: ClassVar[ConcurrencyLimit]
    """That of all sites that get as many as the project states."""

    is_measured = False
    """Whether it compares numbers, and may take times."""
    takes_times = False
    """Whether it takes note of how long answers take."""
    comparison: Comparison | None = None
    """Why fewer are enough; None: nothing has been found."""

    def __init__(self, first: int = FIRST) -> None:
        self._first = first  # requests at once until it has answered a few
        self.bound = first
        """Requests that may be in flight at once, now."""
        self.connections: ConnectionLimit | None = None
        """What its refusals say of the number it serves; None: it has refused none."""
        self._reported = 0  # the bound that was news last; 0: the project's number
        self.full_at = 0
        """The answers at which the bound was reached last."""
        self.look_at = 0
        """The answers from which on it has something to do when the bound is reached.

        Before them, it is enough to note `full_at`, unless that is more than two bounds
        of answers ago.
        """

    def __repr__(self) -> str:
        return f"<{self.bound} at once>"

    @property
    def is_beginning(self) -> bool:
        """Whether the site has not answered enough to get the project's number."""
        return self._first < maxsize

    @property
    def is_shared(self) -> bool:
        """Whether it is that of many sites, and never changes."""
        return self is ConcurrencyLimit.BEGINNING or self is ConcurrencyLimit.STATED

    def own(self) -> ConcurrencyLimit:
        """Return the limit of one site, which may change."""
        if self.is_shared:
            return ConcurrencyLimit(self._first)
        return self

    def note(self, at_once: int, sent_at: float, now: float) -> None:
        """Note an answer to a request that was sent with so many in flight."""

    def full(self, answers: int, now: float, most: int) -> bool:  # noqa: ARG002
        """Note that as many requests are in flight as may be.

        Returns whether it is news what the limit is: `found` says why.

        Args:
            answers: of the site so far, those of refused requests not counted.
            now: seconds, of any clock that runs evenly.
            most: what the project allows, at least 1.
        """
        self._note_answers(answers)
        self.bound = self._serves()
        return self.note_found(most)

    def _note_answers(self, answers: int) -> None:
        if not self.is_beginning:
            return
        if self.connections is not None:
            self._first = FIRST + answers
        elif answers >= HALF:
            self._first = maxsize

    def _serves(self) -> int:
        """Return how many it gets at the most, whatever the project states."""
        if self.connections is None:
            return self._first
        return int(min(self._first, self.connections.most))

    # What is known.

    def note_found(self, most: int) -> bool:
        """Note that this limit is reported; return whether it is news."""
        if self.is_guess:
            return False
        found = 0
        if self.found(most) is not None:
            found = self.bound
        if found == self._reported:
            return False
        self._reported = found
        return True

    def found(self, most: int) -> Comparison | int | None:
        """Return why a site gets fewer requests at once than the project allows.

        A comparison, or the number that it serves and refuses more; None: it gets
        `most`, or nothing was found.
        """
        if self.bound >= most:
            return None
        connections = self.connections
        if connections is not None and connections.most <= self.bound:
            return None if connections.is_guess else self.bound
        return self.comparison

    # Refusals.

    def served(self, at_once: int) -> None:
        """Note a good answer of a site that has refused a request lately.

        `at_once`: the requests in flight when it was sent, itself included.
        """
        if self.connections is not None and at_once:
            self.connections.served(at_once)

    def refused(
        self, at_once: int, *, begins_pause: bool, may_guess: bool = True
    ) -> bool:
        """Note a refusal.

        Returns whether the number of requests may be why it was refused; where that is
        a guess, the rate may be as well.
        """
        if not at_once:
            return False
        if self.connections is None:
            from scrapy_mandelbot.politeness.connection_limit import (  # noqa: PLC0415 -- few sites
                ConnectionLimit,
            )

            self.connections = ConnectionLimit(at_once if begins_pause else 0)
        else:
            self.connections.refused(
                at_once, begins_pause=begins_pause, may_guess=may_guess
            )
        self.bound = self._serves()
        self.look_at = 0
        return at_once > self.connections.most

    @property
    def is_guess(self) -> bool:
        """Whether a limit of connections is in force that may be one of the rate."""
        return self.connections is not None and self.connections.is_guess

    def confirm_guess(self) -> None:
        """Note that it is the number which the site refuses by, and no rate."""
        if self.connections is not None:
            self.connections.is_guess = False


ConcurrencyLimit.BEGINNING = ConcurrencyLimit()
ConcurrencyLimit.STATED = ConcurrencyLimit(maxsize)
