"""Requests that were in flight when a run died: sent last, a few at a time, or set aside."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_mandelbot.job.sqlite_job import SqliteJob

CLAIMED = "claimed"  # state: numbers of requests in flight at the last commit
DEATHS = "deaths"  # in the job's state: by number, in how many deaths a request was in flight
ASIDE = "aside"  # in the job's state: why requests are set aside, and their numbers
_MORE = 1.1  # write the set anew when it has grown by this factor
FEW = 8  # requests that were in flight at a death, sent at a time


def most_at_once(deaths: int, limit: int) -> int:
    """Return how many requests that were in flight in so many deaths may be sent at a time.

    0 sets them aside. The last attempt sends one alone, so that a death identifies it.
    """
    if deaths >= limit:
        return 0
    return FEW if deaths + 1 < limit else 1


class Deliveries:
    """Counts in how many deaths each request was in flight, and withholds those with any.

    A page may kill the process whose callback reads it, in every run. Which of the requests in
    flight it was is unknown, so all of them wait until nothing else is left to do. Then
    :func:`most_at_once` are sent at a time.
    """

    def __init__(self, store: SqliteJob, limit: int, *, has_died: bool) -> None:
        self._store = store
        self._limit = limit
        deaths = _read_deaths(store.get_state(DEATHS))
        if has_died:
            for number in json.loads(store.get_state(CLAIMED) or b"[]"):
                deaths[number] = deaths.get(number, 0) + 1
        self._deaths: dict[int, int] = {}
        self.lines: dict[int, str] = {}  # lines of the withheld requests
        for number, times in deaths.items():
            line = store.withhold(number)
            if line is not None:
                self._deaths[number], self.lines[number] = times, line
        self.waiting = sorted(
            (number for number, times in self._deaths.items() if most_at_once(times, limit)),
            key=lambda number: (self._deaths[number], number),
            reverse=True,
        )
        """Requests to send, the last one first."""
        self.aside = {
            number: f"{times} runs have died with it"
            for number, times in self._deaths.items()
            if not most_at_once(times, limit)
        }
        """Requests set aside, and why."""
        self.in_flight: set[int] = set()  # in flight at the last commit
        store.put_state(DEATHS, _written(self._deaths))
        self.write_aside()

    def __len__(self) -> int:
        return len(self.waiting)

    def take(self) -> list[tuple[int, str]]:
        deaths = self._deaths[self.waiting[-1]]
        most = most_at_once(deaths, self._limit)
        taken = [one for one in reversed(self.waiting[-most:]) if self._deaths[one] == deaths]
        del self.waiting[-len(taken) :]
        return [(number, self.lines.pop(number)) for number in taken]

    def set_aside(self, number: int, why: str) -> None:
        self.aside[number] = sys.intern(why)

    def keep(self, in_flight: set[int]) -> None:
        self.in_flight = in_flight
        self._store.put_state(CLAIMED, json.dumps(list(in_flight)).encode())
        if len(self.aside) > _MORE * self._aside_written:  # there may be a million
            self.write_aside()

    def write_aside(self) -> None:
        self._aside_written = len(self.aside)
        self._store.put_state(ASIDE, _by_reason(self.aside))


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


def bring_back(store: SqliteJob, is_wanted: Callable[[str], bool]) -> list[str]:
    deaths, aside = _read_deaths(store.get_state(DEATHS)), read_aside(store.get_state(ASIDE))
    lines = []
    for number in list(aside):
        line = store.line_of(number)
        if line is None or is_wanted(line):
            deaths.pop(number, None)
            del aside[number]
            lines += [] if line is None else [line]
    store.put_state(DEATHS, _written(deaths))
    store.put_state(ASIDE, _by_reason(aside))
    return lines


def _written(values: Mapping[Any, object]) -> bytes | None:
    return json.dumps(values).encode() if values else None
