"""What is asked of stores that crawls share as they run, and what is heard of them."""

from __future__ import annotations

import queue
from math import inf

from scrapy_mandelbot.store.contract import Lease

SITE = "https://example.com"
_PATIENCE = 20.0  # seconds until a test fails that waits for something


class Events:
    """What is heard of, perhaps in another thread; a test waits for it."""

    def __init__(self) -> None:
        self._heard = queue.Queue()

    def __call__(self, *arguments) -> None:
        self._heard.put(arguments)

    def next(self):
        return self._heard.get(timeout=_PATIENCE)

    @property
    def is_empty(self) -> bool:
        return self._heard.empty()


class Listener:
    """Hears what other crawls tell."""

    def __init__(self) -> None:
        self.heard = Events()

    def pause_stored(self, key, pause) -> None:
        self.heard("pause", key, pause)

    def turn_stored(self, name, due) -> None:
        self.heard("turn", name, due)

    def waiting_stored(self, name) -> None:
        self.heard("waits", name)

    def all_stored(self, pauses, turns) -> None:
        self.heard("all", dict(pauses), dict(turns))


def claim(
    store, key=SITE, lease_for=100.0, lease=Lease.PROBE, longest_wait=inf
) -> float:
    """Return the answer, having waited for it."""
    answers = Events()
    store.claim(lease, key, lease_for, answers, longest_wait)
    return answers.next()[0]


def find(store, fresh_since, lease_for=100.0, site=SITE):
    """Return the answer, having waited for it."""
    answers = Events()
    store.find_copy(site, fresh_since, lease_for, answers)
    return answers.next()
