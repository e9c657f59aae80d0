"""Claimed requests: what waits for them, what they raised, and the runs that died.

Those that had been sent when a run died are sent last, a few at a time, or set aside.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scrapy_mandelbot.job.unacked import exception_of

if TYPE_CHECKING:
    from scrapy_mandelbot.job.sqlite_job import SqliteJob


CLAIMED = "claimed"  # state: numbers of requests that had been sent at the last commit
# in the job's state: by number, in how many deaths a request had been sent
DEATHS = "deaths"
ASIDE = "aside"  # in the job's state: why requests are set aside, and their numbers
_MORE = 1.1  # write the set anew when it has grown by this factor
FEW = 8  # requests that had been sent at a death, sent at a time


def at_once(limit: int) -> tuple[int, ...]:
    """Return, by number of deaths, how many such requests a process sends at a time.

    Those with more deaths are set aside. The last attempt sends one alone, so that a
    death identifies it. A limit of 1 has such an attempt, too: of several that had been
    sent, the first death identifies none. ``fleet/lua/exchange.lua`` gets this table.
    """
    return (*(FEW,) * (max(limit, 2) - 1), 1)


class Deliveries:
    """Counts the deaths at which each request had been sent, and withholds those.

    A page may kill the process that fetches or reads it, in every run. Which request it
    was is unknown, so all that had been sent wait until nothing else is left to do.
    Then a few are sent at a time (:func:`at_once`). A death in a run's first seconds
    counts, too: a page whose download kills the process looks the same.
    """

    def __init__(self, store: SqliteJob, limit: int, *, has_died: bool) -> None:
        self._store = store
        self._at_once = at_once(limit)
        deaths = _read_deaths(store.states.get(DEATHS))
        aside = read_aside(store.states.get(ASIDE))
        if has_died:
            for number in json.loads(store.states.get(CLAIMED) or b"[]"):
                deaths[number] = deaths.get(number, 0) + 1
        self._deaths: dict[int, int] = {}
        self.lines: dict[int, str] = {}  # lines of the withheld requests
        self.aside: dict[int, str] = {}
        """Requests set aside, and why."""
        self._aside_written = 0  # how many of them the job has in its state
        for number in [*deaths, *(aside.keys() - deaths.keys())]:
            why = aside.get(number, "")
            times = deaths.get(number, 0)
            if not (times or exception_of(why)):
                continue
            line = store.withhold(number)
            if line is None:
                continue
            self.lines[number] = line
            if exception_of(why):
                self.aside[number] = why
                continue
            self._deaths[number] = times
            if times >= len(self._at_once):
                self.aside[number] = f"{times} runs have died with it"
        self.waiting = sorted(
            self._deaths.keys() - self.aside.keys(),
            key=lambda number: (self._deaths[number], number),
            reverse=True,
        )
        """Requests to send, the last one first."""
        self.sent: set[int] = set()  # numbers of those sent at the last commit
        store.states.put(DEATHS, _written(self._deaths))
        self.write_aside()

    def take(
        self, is_over: Callable[[str], bool] | None = None
    ) -> list[tuple[int, str]]:
        """Take the next ones, with their lines.

        `is_over`: whether this run requests no more of a line. Such ones stay, and
        others go before them.
        """
        ready = [
            one
            for one in reversed(self.waiting)
            if is_over is None or not is_over(self.lines[one])
        ]
        if not ready:
            return []
        deaths = self._deaths[ready[0]]
        most = self._at_once[deaths]
        taken = [one for one in ready[:most] if self._deaths[one] == deaths]
        return [(number, self.take_one(number)) for number in taken]

    def take_one(self, number: int) -> str:
        """Take a certain one out of its turn; return its line."""
        self.waiting.remove(number)
        return self.lines.pop(number)

    def keep(self, sent: set[int]) -> None:
        self.sent = sent
        self._store.states.put(CLAIMED, json.dumps(list(sent)).encode())
        if len(self.aside) > _MORE * self._aside_written:  # there may be a million
            self.write_aside()

    def write_aside(self) -> None:
        self._aside_written = len(self.aside)
        self._store.states.put(ASIDE, _by_reason(self.aside))


def read_aside(kept: bytes | None) -> dict[int, str]:
    reasons = json.loads(kept or b"{}")
    return {number: why for why, numbers in reasons.items() for number in numbers}


def _by_reason(aside: Mapping[int, str]) -> bytes | None:
    reasons: dict[str, list[int]] = {}
    for number, why in aside.items():
        reasons.setdefault(why, []).append(number)
    return _written(reasons)


def _read_deaths(kept: bytes | None) -> dict[int, int]:
    return {int(number): times for number, times in json.loads(kept or b"{}").items()}


def bring_back(store: SqliteJob, is_wanted: Callable[[str, str], bool]) -> list[str]:
    deaths = _read_deaths(store.states.get(DEATHS))
    aside = read_aside(store.states.get(ASIDE))
    lines = []
    for number in list(aside):
        line = store.line_of(number)
        if line is None or is_wanted(line, exception_of(aside[number])):
            deaths.pop(number, None)
            del aside[number]
            if line is not None:
                lines.append(line)
    store.states.put(DEATHS, _written(deaths))
    store.states.put(ASIDE, _by_reason(aside))
    return lines


def _written(values: Mapping[Any, object]) -> bytes | None:
    return json.dumps(values).encode() if values else None
