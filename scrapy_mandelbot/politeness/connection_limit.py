"""How many requests at once a site serves that refuses each one above that number.

Theory of operation. nginx's ``limit_conn`` and many application servers serve so many
requests of a client at once, and refuse what is above. There a refusal depends on the
requests in flight alone. A rate limit refuses when its bucket is full; outages, dead
pages and chance refuse at any number. So each refusal and each good answer is noted
with the number in flight when its request was sent, its own included. The site limits
connections if two pauses in a row began at about the same number, and so little was
served at that number or above meanwhile, and so much below it, that chance does not
explain it.

From then on the site gets one request less than the least that was refused. At first
that is a *guess*: after a pause more are in flight the faster requests are sent, so a
rate explains two pauses as well. The first pause that begins otherwise ends a guess. It
is *known* when a third pause begins at that number, or when more was answered than the
rate would have let through (``rate_control.py``). After many answers without a refusal
one more is tried; if it is refused, the next trial comes after twice as many. Two
pauses in a row that began otherwise end what was known: it is not what the site refuses
by.

Source: nginx, ``ngx_http_limit_conn_module``.
"""

from __future__ import annotations

from collections import Counter, deque
from math import inf

from scrapy_mandelbot.politeness.pause_policy import BY_CHANCE

_RUNS = 2  # pauses that have to begin at about the same number
_ABOUT = 1.5  # times the least number of them, or one more
# Good answers to each refusal: answers on their way back are counted as in flight.
_SERVED_ABOVE = 1
_SERVED_BELOW = 12  # good answers, at least: short runs are those of chance
_DOUBTS = 2  # pauses in a row that began otherwise
_LONG = 200  # answers, for each request at once, after which one more is tried
_LONGEST = 16  # times as many, at most


class _PauseAtNumber:
    """A pause, and what followed until the next."""

    __slots__ = ("_left", "refused_at", "served")

    def __init__(self, refused_at: int) -> None:
        self.refused_at = refused_at
        """The least number in flight of a refused request."""
        self._left = refused_at  # of those in flight together, the last one refused
        self.served: Counter[int] = Counter()
        """Good answers, by the number in flight."""

    def refused(self, at_once: int) -> None:
        """Note another refusal.

        Of requests that were sent together, those above the number are refused: each
        refusal shows that the number is one less.
        """
        self._left = max(1, self._left - 1)
        self.refused_at = min(self.refused_at, self._left, at_once)


class ConnectionLimit:
    """The number of requests at once that a site serves, found by its refusals.

    Pure: only numbers of requests in flight come in.

    `first`: with how many a request was sent that began the first pause, which shows no
    limit by itself; 0: there was none.
    """

    __slots__ = ("_doubts", "_left", "_long", "_runs", "is_guess", "most")

    def __init__(self, first: int = 0) -> None:
        self.most: float = inf
        """Requests at once that the site serves; ``inf``: no such limit is known."""
        self.is_guess = False
        """Whether a rate explains the refusals as well."""
        self._runs: deque[_PauseAtNumber] = deque(maxlen=_RUNS)
        self._doubts = 0
        if first:
            self._runs.append(_PauseAtNumber(first))
            self._doubts = 1
        self._long = 1  # times _LONG
        self._left = 0  # answers until one more is tried

    def __repr__(self) -> str:
        return f"<serves {self.most} at once>"

    def served(self, at_once: int) -> None:
        """Note a good answer to a request that was sent with so many in flight."""
        if self._runs:
            self._runs[-1].served[at_once] += 1
        if self.most == inf:
            return
        self._left -= 1
        if self._left <= 0:
            self.most += 1
            self._wait_to_try()

    def refused(
        self, at_once: int, *, begins_pause: bool, may_guess: bool = True
    ) -> None:
        """Note a refusal of a request that was sent with so many in flight.

        `may_guess`: whether the number may be taken for a limit that was none before;
        not where refusals are known to come by chance, or of dead pages.
        """
        if not begins_pause:
            if self._runs:
                self._runs[-1].refused(at_once)
            return
        self._runs.append(_PauseAtNumber(at_once))
        least = self._limit()
        if least is None or (self.most == inf and not may_guess):
            self._doubt()
            return
        if self.most < inf and at_once >= self.most:
            self._long = min(2 * self._long, _LONGEST)
        self.is_guess = self.most == inf
        self.most = least - 1
        self._doubts = 0
        self._wait_to_try()

    def _doubt(self) -> None:
        self._doubts += 1
        if self.is_guess or self._doubts >= _DOUBTS:
            self.most = inf
            self.is_guess = False

    def _wait_to_try(self) -> None:
        self._left = int(_LONG * self._long * self.most)

    def _limit(self) -> int | None:
        """Return the least number that is refused, if refusals depend on it alone."""
        runs = self._runs
        if len(runs) < _RUNS:
            return None
        least = min(run.refused_at for run in runs)
        most = max(run.refused_at for run in runs)
        if least <= 1 or most > max(_ABOUT * least, least + 1):
            return None
        above = 0
        below = 0
        for run in runs:
            for at_once, count in run.served.items():
                if at_once >= least:
                    above += count
                else:
                    below += count
        if above > _SERVED_ABOVE * _RUNS or below < _SERVED_BELOW:
            return None
        share = (_RUNS + above) / (_RUNS + above + below)
        return least if share**_RUNS <= BY_CHANCE else None
